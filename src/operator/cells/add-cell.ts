/** Cells, as an operator adds and sees them. */
import { atNode, databaseOf, schemaOf, type CellAddress } from '../../storage/cells.ts'
import { home, seatOf, type CellSeat } from '../../storage/cell-seat.ts'
import { createCell, pendingMigrations } from '../../storage/migrate.ts'
import { openPool, statement, type Pool } from '../../storage/pool.ts'
import { insertCell, listCells } from '../../storage/cell-rows.ts'
import { hasCitus, readPlacements } from '../../storage/nodes.ts'
import { reasonOf } from '../../base/log.ts'
import { isDatabaseUrl, isSafeLine, lineComplaint, lineDemandOf } from '../../storage/database-line.ts'
import type { CellDesk, Databases } from '../desk.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'

/** A cell with its state. */
export interface CellFact extends CellDesk {
  /** The merchants whose orders are there. */
  merchants: number
  /** At which node of Citus gateways use it. */
  seat: CellSeat
  /** What keeps it from being served; undefined if nothing does. */
  trouble?: string
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
      const trouble = await troubleOf(cell)
      return { ...cell, merchants: counts.get(cell.cellNo) ?? 0, seat: seats(cell), ...(trouble && { trouble }) }
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

/** Refuses an address that no process of production may use. */
function refuseUnfitAddress(address: string, { databaseUrl, sandbox }: Office): void {
  const unfit = (must: string) => new Refused({ what: 'unfit', field: 'databaseUrl', must })
  if (!isDatabaseUrl(address)) throw unfit('a postgres:// URL, such as postgres://db2.example:5432/tollgate')
  const { username, password, searchParams } = new URL(address)
  if (username || password || searchParams.has('user') || searchParams.has('password'))
    throw unfit('a URL without user and password: everybody comes to a cell as to the installation')
  const complaint = sandbox ? undefined : lineComplaint(databaseOf(databaseUrl, { cellNo: 1, address }).url)
  if (complaint !== undefined) throw unfit(`a line that is safe: ${complaint.replace('DATABASE_URL', 'it')}`)
}

/**
 * Makes the schema of a cell and lists it; running processes serve it from then on. Needs the owner
 * of the tables. If it fails in between, the same call goes on.
 */
export async function addCell(desk: Office, own: CellAddress): Promise<void> {
  const { cellNo, address } = own
  if (address !== undefined) refuseUnfitAddress(address, desk)
  const taken = new Refused({ what: 'taken', thing: 'cell', name: String(cellNo) })
  if ((await listCells(desk.pool)).some((one) => one.cellNo === cellNo)) throw taken
  const cell = openPool({ ...databaseOf(desk.databaseUrl, own), connections: 2, use: 'admin', log: desk.log })
  try {
    await createCell({ cell, installation: desk.pool, schema: schemaOf(cellNo)! }, desk.clock.now())
  } finally {
    await cell.close()
  }
  await change(desk, 'config', async (runner) => {
    if (!(await insertCell(runner, own, desk.clock.now()))) throw taken
    const details = address === undefined ? {} : { database_url: address }
    return { note: { subject: `cell ${cellNo}`, details }, result: undefined }
  })
}
