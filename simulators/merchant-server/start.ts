import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import { openPool } from '../../src/storage/pool.ts'
import type { Configuration, Place } from './configuration.ts'
import { listen, type Listening } from './server.ts'
import { makeTables } from './store-tables.ts'

export interface MerchantServerOptions extends Configuration, Place {
  clock: Clock
  random: Random
  log: Log
}

/** Starts the merchant's server inside this process: makes its tables where they are not, and listens. */
export async function startMerchantServer(options: MerchantServerOptions): Promise<Listening> {
  const { databaseUrl, host, port, log } = options
  const pool = openPool({ url: databaseUrl, connections: 8, use: 'search', log })
  try {
    await makeTables(pool)
    const server = await listen({ ...options, pool }, host, port)
    const close = async () => {
      await server.close()
      await pool.close()
    }
    return { ...server, close }
  } catch (error) {
    await pool.close()
    throw error
  }
}
