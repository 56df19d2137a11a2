import { databaseOf, schemaOf, type CellAddress } from '../../storage/cells.ts'
import { insertCell, listCells } from '../../storage/cell-rows.ts'
import { isDatabaseUrl, lineComplaint } from '../../storage/database-line.ts'
import { createCell } from '../../storage/migrate.ts'
import { openPool } from '../../storage/pool.ts'
import { change } from '../change.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'

/** Refuses an address that no process of production may use. */
function refuseUnfitAddress(address: string, { databaseUrl, sandbox }: Office): void {
  const unfit = (must: string) => new Refused({ what: 'unfit', field: 'databaseUrl', must })
  if (!isDatabaseUrl(address)) throw unfit('a postgres:// URL, such as postgres://db2.example:5432/tollgate')
  const { username, password, searchParams } = new URL(address)
  if (username || password || searchParams.has('user') || searchParams.has('password'))
    throw unfit('a URL without user and password: a cell has the same users as the installation')
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
    return { note: { subject: `cell ${cellNo}`, details }, of: undefined, result: undefined }
  })
}
