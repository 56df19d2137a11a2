import { statement, timestamp, type Pool } from '../storage/pool.ts'
import type { Desk } from './desk.ts'
import { Refused } from './refused.ts'
import { change } from './store-audit.ts'

/** A parked transaction of the mobile API. */
export interface ParkedInvoice {
  merchantId: bigint
  login: string
  invoiceId: string
  kind: string
  /** The step that failed belongs to this state. */
  state: string
  tries: number
  alarm: string
  createdAt: number
}

interface Row {
  merchant_id: bigint
  login: string
  invoice_id: string
  kind: string
  state: string
  tries: number
  alarm: string
  created_at: number
}

const columns = 'i.merchant_id, m.login, i.invoice_id, i.kind, i.state, i.tries, i.alarm, i.created_at'
const from = 'from mobile_invoice i join merchant m on m.merchant_id = i.merchant_id where i.alarm is not null'
const parked = statement<Row>(`
  select ${columns} ${from} and ($1::bigint is null or i.merchant_id = $1) order by i.created_at desc, i.invoice_id limit $2`)
const named = statement<Row>(`
  select ${columns} ${from} and i.invoice_id = $1 and ($2::bigint is null or i.merchant_id = $2) for update of i`)
const unpark = statement<object>(`
  update mobile_invoice set alarm = null, tries = 0, lease = null, due_at = $3
  where merchant_id = $1 and invoice_id = $2 and alarm is not null`)

const invoiceOf = (row: Row): ParkedInvoice => ({
  merchantId: row.merchant_id,
  login: row.login,
  invoiceId: row.invoice_id,
  kind: row.kind,
  state: row.state,
  tries: row.tries,
  alarm: row.alarm,
  createdAt: row.created_at,
})

/** Newest first. */
export async function parkedInvoices(pool: Pool, merchantId: bigint | undefined, limit: number): Promise<ParkedInvoice[]> {
  return (await pool.run(parked, [merchantId ?? null, limit])).map(invoiceOf)
}

/** Takes a parked invoice up again: due now, as if never tried. */
export async function resumeInvoice(desk: Desk, invoiceId: string, merchantId: bigint | undefined): Promise<ParkedInvoice> {
  return change(desk, 'orders', async (runner) => {
    const rows = await runner.run(named, [invoiceId, merchantId ?? null])
    const [row] = rows
    if (!row) throw new Refused({ what: 'invoice not parked', invoiceId })
    if (rows.length > 1) throw new Refused({ what: 'invoice of several', invoiceId, logins: rows.map((one) => one.login) })
    await runner.run(unpark, [row.merchant_id, row.invoice_id, timestamp(desk.clock.now())])
    const { login, state, alarm } = row
    const note = { action: 'invoice resume', subject: `invoice ${invoiceId}`, details: { merchant: login, state, alarm } }
    return { note, result: invoiceOf(row) }
  })
}
