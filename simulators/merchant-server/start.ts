import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import { openPool } from '../../src/storage/pool.ts'
import type { Configuration, Place } from './configuration.ts'
import type { Merchant } from './merchant.ts'
import { listen, type Listening } from './server.ts'
import { makeTables } from './store-tables.ts'

interface World {
  clock: Clock
  random: Random
  log: Log
}

/** Starts the merchant's server inside this process, at its own address. */
export async function startMerchantServer(options: Configuration & Place & World): Promise<Listening> {
  const { merchant, close } = await openMerchant(options)
  try {
    const server = await listen(merchant, options.host, options.port)
    return {
      ...server,
      close: async () => {
        await server.close()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Connects to the database, makes missing tables, and returns what the operations work on. */
export async function openMerchant(
  options: Configuration & Pick<Place, 'databaseUrl'> & World,
): Promise<{ merchant: Merchant; close: () => Promise<void> }> {
  const pool = openPool({ url: options.databaseUrl, connections: 8, use: 'search', log: options.log })
  const close = () => pool.close()
  try {
    await makeTables(pool)
    return { merchant: { ...options, pool }, close }
  } catch (error) {
    await close()
    throw error
  }
}
