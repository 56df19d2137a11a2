import { statement, timestamp, type Pool } from '../storage/pool.ts'
import type { Desk } from './desk.ts'
import { Refused } from './refused.ts'
import { change } from './store-audit.ts'
import { loginsIn, type Logins } from './store-logins.ts'

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

interface Row {
  merchant_id: bigint
  invoice_id: string
  kind: string
  state: string
  tries: number
  alarm: string
  created_at: number
}

const columns = 'merchant_id, invoice_id, kind, state, tries, alarm, created_at'
const from = 'from mobile_invoice where alarm is not null'
const parked = statement<Row>(`
  select ${columns} ${from} and ($1::bigint is null or merchant_id = $1) order by created_at desc, invoice_id limit $2`)
const named = statement<Row>(`
  select ${columns} ${from} and invoice_id = $1 and ($2::bigint is null or merchant_id = $2) for update`)
const unpark = statement<object>(`
  update mobile_invoice set alarm = null, tries = 0, lease = null, due_at = $3
  where merchant_id = $1 and invoice_id = $2 and alarm is not null`)

const invoiceOf = (row: Row, logins: Logins): ParkedInvoice => ({
  merchantId: row.merchant_id,
  login: logins.of(row.merchant_id),
  invoiceId: row.invoice_id,
  kind: row.kind,
  state: row.state,
  tries: row.tries,
  alarm: row.alarm,
  createdAt: row.created_at,
})

/** Newest first. */
export async function parkedInvoices(pool: Pool, merchantId: bigint | undefined, limit: number): Promise<ParkedInvoice[]> {
  const rows = await pool.run(parked, [merchantId ?? null, limit])
  const logins = await loginsIn(pool)
  return rows.map((row) => invoiceOf(row, logins))
}

/** Resumes a parked invoice: due now, as if never tried. */
export async function resumeInvoice(desk: Desk, invoiceId: string, merchantId: bigint | undefined): Promise<ParkedInvoice> {
  const logins = await loginsIn(desk.pool)
  return change(desk, 'orders', async (runner) => {
    const rows = await runner.run(named, [invoiceId, merchantId ?? null])
    const [row] = rows
    if (!row) throw new Refused({ what: 'invoice not parked', invoiceId })
    if (rows.length > 1)
      throw new Refused({ what: 'invoice of several', invoiceId, logins: rows.map((one) => logins.of(one.merchant_id)) })
    await runner.run(unpark, [row.merchant_id, row.invoice_id, timestamp(desk.clock.now())])
    const invoice = invoiceOf(row, logins)
    const { login, state, alarm } = invoice
    const note = { action: 'invoice resume', subject: `invoice ${invoiceId}`, details: { merchant: login, state, alarm } }
    return { note, result: invoice }
  })
}
