import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import { closing } from '../world/opening.ts'
import { testDatabase } from './postgres.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })

type Use = Parameters<typeof openPool>[0]['use']

/** A migrated database and a pool for it, until the last test of the file. */
export async function openMigrated(use: Use = 'oltp', connections = 4): Promise<{ url: string; pool: Pool }> {
  const { url } = closing(await testDatabase())
  const pool = closing(openPool({ url, connections, use, log }))
  await migrate(pool, systemClock.now(), log)
  return { url, pool }
}
