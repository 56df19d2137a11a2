import { openLog } from '../../../src/base/log.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import { closing } from '../world/opening.ts'
import { migratedDatabase } from './postgres.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })

type Use = Parameters<typeof openPool>[0]['use']

/** A migrated database and a pool for it, until the last test of the file. */
export async function openMigrated(use: Use = 'oltp', connections = 4): Promise<{ url: string; pool: Pool }> {
  const { url } = closing(await migratedDatabase())
  return { url, pool: closing(openPool({ url, connections, use, log })) }
}
