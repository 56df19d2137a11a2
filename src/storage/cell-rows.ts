/** The cells of an installation, as its configuration lists them. */
import type { CellAddress } from './cells.ts'
import { entities, statement, timestamp, type Runner } from './pool.ts'

const all = entities<CellAddress>(`select cell_no, address from cell order by cell_no`)
const insert = statement<object>(`
  insert into cell (cell_no, address, created_at) values ($1, $2, $3) on conflict (cell_no) do nothing returning cell_no`)

/** In the order of their numbers. */
export const listCells = (runner: Runner): Promise<CellAddress[]> => runner.run(all)

/** False if the number is taken. */
export const insertCell = async (runner: Runner, { cellNo, address }: CellAddress, now: number): Promise<boolean> =>
  (await runner.run(insert, [cellNo, address ?? null, timestamp(now)])).length > 0
