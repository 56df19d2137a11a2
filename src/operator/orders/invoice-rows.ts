import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import type { Databases, OrderDesk } from '../desk.ts'
import { firstOfAll, inEach } from '../in-cells.ts'
import { Refused } from '../refused.ts'
import { changeInCell } from '../change.ts'
import { cellsFor, loginsIn, type Logins } from '../logins.ts'

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

const columns = 'merchant_id, invoice_id, kind, state, tries, alarm, created_at'
const from = 'from mobile_invoice where alarm is not null'
const parked = entities<Row>(`
  select ${columns} ${from} and ($1::bigint is null or merchant_id = $1) order by created_at desc, invoice_id limit $2`)
const named = entities<Row>(`select ${columns} ${from} and invoice_id = $1 and ($2::bigint is null or merchant_id = $2)`)
const hold = entities<Row>(`select ${columns} ${from} and invoice_id = $1 and merchant_id = $2 for update`)
const unpark = statement<object>(`
  update mobile_invoice set alarm = null, tries = 0, lease = null, due_at = $3
  where merchant_id = $1 and invoice_id = $2 and alarm is not null`)

const invoiceOf = (row: Row, logins: Logins): ParkedInvoice => ({ ...row, login: logins.of(row.merchantId) })

/** Newest first. */
export async function parkedInvoices(
  databases: Databases,
  merchantId: bigint | undefined,
  limit: number,
): Promise<ParkedInvoice[]> {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, merchantId)
  const rows = await firstOfAll(cells, limit, newestFirst, ({ pool }) => pool.run(parked, [merchantId ?? null, limit]))
  return rows.map((row) => invoiceOf(row, logins))
}

const newestFirst = (a: Row, b: Row): number => b.createdAt - a.createdAt || (a.invoiceId < b.invoiceId ? -1 : 1)

/** Resumes a parked invoice: due now, as if never tried. */
export async function resumeInvoice(desk: OrderDesk, invoiceId: string, merchantId: bigint | undefined): Promise<ParkedInvoice> {
  const logins = await loginsIn(desk.pool)
  const cells = await cellsFor(desk, logins, merchantId)
  const found = await inEach(cells, async (cell) => {
    const rows = await cell.pool.run(named, [invoiceId, merchantId ?? null])
    return rows.map((row) => ({ cell, row }))
  })
  const [one, ...others] = found.flat()
  if (!one) throw new Refused({ what: 'invoice not parked', invoiceId })
  if (others.length > 0)
    throw new Refused({
      what: 'invoice of several',
      invoiceId,
      logins: [one, ...others].map(({ row }) => logins.of(row.merchantId)),
    })
  return changeInCell(desk, one.cell, (runner) => resumeOf(runner, one.row, logins, desk.clock.now()))
}

async function resumeOf(runner: Runner, { merchantId, invoiceId }: Row, logins: Logins, now: number) {
  const [row] = await runner.run(hold, [invoiceId, merchantId])
  if (!row) throw new Refused({ what: 'invoice not parked', invoiceId })
  await runner.run(unpark, [merchantId, invoiceId, timestamp(now)])
  const invoice = invoiceOf(row, logins)
  const { login, state, alarm } = invoice
  const note = { subject: `invoice ${invoiceId}`, details: { merchant: login, state, alarm } }
  return { note, result: invoice }
}
