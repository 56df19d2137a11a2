/** How the cells are. */
import { reasonOf } from '../../base/log.ts'
import { home, seatOf, type CellSeat } from '../../storage/cell-seat.ts'
import { atNode, schemaOf, type CellAddress } from '../../storage/cells.ts'
import { isSafeLine, lineDemandOf } from '../../storage/database-line.ts'
import { pendingMigrations } from '../../storage/migrate.ts'
import { hasCitus, readPlacements } from '../../storage/nodes.ts'
import { statement, type Pool } from '../../storage/pool.ts'
import type { CellDesk, Databases } from '../desk.ts'
import { cellWork, type CellWork } from './cell-work.ts'

export interface CellFact extends CellDesk {
  /** The merchants whose orders are there. */
  merchants: number
  /** At which node of Citus gateways use it. */
  seat: CellSeat
  /** The reason why it cannot be served; undefined if it can. */
  trouble?: string
  /** Absent where there is trouble. */
  work?: CellWork
}

const merchantsOf = statement<{ cell_no: number; merchants: number }>(
  `select cell_no, count(*)::int as merchants from merchant group by cell_no`,
)

/** In the order of their numbers. Looks at each; one that is away is listed with the reason. */
export async function cellFacts({ pool, cells }: Databases, databaseUrl: string): Promise<CellFact[]> {
  const counts = new Map((await pool.run(merchantsOf)).map((row) => [row.cell_no, row.merchants]))
  const seats = await seatsOf(pool, databaseUrl)
  return Promise.all(
    (await cells()).map(async (cell) => {
      const own = { ...cell, merchants: counts.get(cell.cellNo) ?? 0, seat: seats(cell) }
      const trouble = await troubleOf(cell)
      return trouble === undefined ? { ...own, work: await cellWork(cell.pool, pool, cell.cellNo) } : { ...own, trouble }
    }),
  )
}

/** A gateway also looks whether it reaches the node under its name. */
async function seatsOf(pool: Pool, databaseUrl: string): Promise<(own: CellAddress) => CellSeat> {
  if (!(await hasCitus(pool))) return () => home
  const placements = await readPlacements(pool)
  return ({ cellNo, address }) =>
    seatOf(address === undefined ? placements.get(schemaOf(cellNo) ?? '') : undefined, (node) =>
      isSafeLine(lineDemandOf(atNode({ url: databaseUrl }, node).url)),
    )
}

async function troubleOf({ pool, cellNo }: CellDesk): Promise<string | undefined> {
  try {
    const pending = await pendingMigrations(pool, cellNo === 0 ? 'installation' : 'cell')
    return pending.length === 0 ? undefined : `lacks ${pending.join(', ')}`
  } catch (error) {
    return reasonOf(error)
  }
}
