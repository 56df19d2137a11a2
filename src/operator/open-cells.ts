import { listCells } from '../storage/cell-rows.ts'
import { databaseOf } from '../storage/cells.ts'
import { openPool, type Pool, type PoolSettings } from '../storage/pool.ts'
import type { CellDesk } from './desk.ts'

interface CellLines {
  databaseUrl: string
  settings: Omit<PoolSettings, 'url'>
  /** Opens a database that is not that of the installation; it may refuse the line to it. */
  openOther: (url: string, settings: Omit<PoolSettings, 'url'>) => Pool
}

/**
 * The cells of an installation, each opened once somebody asks for them. Cell 0 is in the schema
 * of the installation. Closing them closes that pool too.
 */
export function openCells(pool: Pool, { databaseUrl, settings, openOther }: CellLines) {
  const opened = new Map<string, Pool>()
  const poolOf = (own: Omit<CellDesk, 'pool'>): Pool => {
    if (own.cellNo === 0) return pool
    const { url, schema } = databaseOf(databaseUrl, own)
    const line = `${schema} ${url}`
    const all = { ...settings, schema }
    // The line to the database of the installation is in use already.
    const found = opened.get(line) ?? (own.address === undefined ? openPool({ url, ...all }) : openOther(url, all))
    opened.set(line, found)
    return found
  }
  return {
    pool,
    cells: async (): Promise<readonly CellDesk[]> => (await listCells(pool)).map((own) => ({ ...own, pool: poolOf(own) })),
    async close() {
      for (const one of new Set([...opened.values(), pool])) await one.close().catch(() => {})
    },
  }
}
