import { entities, statement, timestamp } from '../../storage/pool.ts'
import { changeInCell } from '../change.ts'
import type { Databases, OrderDesk } from '../desk.ts'
import { firstOfAll, inEach } from '../in-cells.ts'
import { cellsFor, loginsIn } from '../where.ts'
import { Refused } from '../refused.ts'

/** A parked transaction of the mobile API. */
export interface ParkedInvoice {
  merchantId: bigint
  login: string
  invoiceId: string
  kind: string
  /** The state whose step failed. */
  state: string
  tries: number
  alarm: string
  createdAt: number
}

type Row = Omit<ParkedInvoice, 'login'>

const parkedBy = (condition: string) =>
  entities<Row>(`
  select merchant_id, invoice_id, kind, state, tries, alarm, created_at from mobile_invoice
  where alarm is not null and ${condition}`)
const newest = parkedBy('($1::bigint is null or merchant_id = $1) order by created_at desc, invoice_id limit $2')
const named = parkedBy('invoice_id = $1 and ($2::bigint is null or merchant_id = $2)')
const hold = parkedBy('invoice_id = $1 and merchant_id = $2 for update')
const unpark = statement<object>(`
  update mobile_invoice set alarm = null, tries = 0, lease = null, due_at = $3
  where invoice_id = $1 and merchant_id = $2 and alarm is not null`)

/** Newest first. */
export async function parkedInvoices(
  databases: Databases,
  merchantId: bigint | undefined,
  limit: number,
): Promise<ParkedInvoice[]> {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, merchantId)
  const rows = await firstOfAll(cells, limit, newestFirst, ({ pool }) => pool.run(newest, [merchantId ?? null, limit]))
  return rows.map(logins.named)
}

const newestFirst = (a: Row, b: Row): number => b.createdAt - a.createdAt || (a.invoiceId < b.invoiceId ? -1 : 1)

/** Resumes a parked invoice: due now, as if never tried. */
export async function resumeInvoice(desk: OrderDesk, invoiceId: string, merchantId: bigint | undefined): Promise<ParkedInvoice> {
  const logins = await loginsIn(desk.pool)
  const found = await inEach(await cellsFor(desk, logins, merchantId), async (cell) => {
    const rows = await cell.pool.run(named, [invoiceId, merchantId ?? null])
    return rows.map((row) => ({ cell, ...logins.named(row) }))
  })
  const [one, ...others] = found.flat()
  if (!one) throw new Refused({ what: 'invoice not parked', invoiceId })
  if (others.length > 0)
    throw new Refused({ what: 'invoice of several', invoiceId, logins: [one, ...others].map(({ login }) => login) })
  return changeInCell(desk, one.cell, async (runner) => {
    const key = [invoiceId, one.merchantId]
    const [row] = await runner.run(hold, key)
    if (!row) throw new Refused({ what: 'invoice not parked', invoiceId })
    await runner.run(unpark, [...key, timestamp(desk.clock.now())])
    const { state, alarm } = row
    const note = { subject: `invoice ${invoiceId}`, details: { merchant: one.login, state, alarm } }
    return { note, result: logins.named(row) }
  })
}
