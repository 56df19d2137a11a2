/** Migrates an installation and all its cells, wherever they are. */
import type { Log } from '../base/log.ts'
import { databaseOf, schemaOf } from './cells.ts'
import { migrate, migrateCell } from './migrate.ts'
import { openPool, type Pool } from './pool.ts'
import { listCells } from './cell-rows.ts'

/** The applied migrations with their cell; those of the installation are with cell 0. */
export interface Applied {
  cellNo: number
  names: string[]
}

/**
 * As the owner of the tables. Throws at the first cell that cannot be migrated, with its number; a
 * second call goes on there.
 */
export async function migrateAll(pool: Pool, databaseUrl: string, now: number, log: Log): Promise<Applied[]> {
  const all: Applied[] = [{ cellNo: 0, names: await migrate(pool, now, log) }]
  for (const own of await listCells(pool)) {
    const { cellNo } = own
    const schema = schemaOf(cellNo)
    if (schema === undefined) continue
    const cell = openPool({ ...databaseOf(databaseUrl, own), connections: 2, use: 'admin', log })
    try {
      all.push({ cellNo, names: await migrateCell({ cell, installation: pool, schema }, now) })
    } catch (error) {
      throw new Error(`cell ${cellNo} could not be migrated: ${(error as Error).message}`, { cause: error })
    } finally {
      await cell.close()
    }
  }
  return all
}
