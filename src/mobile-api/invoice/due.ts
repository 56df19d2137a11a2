/** The statements that take up invoices and let them go: what a sweep needs. */
import { isTakable } from '../../leases/leased.ts'
import { entities, statement } from '../../storage/pool.ts'
import { columns, type InvoiceRow } from './rows.ts'

/**
 * Same rule as for transactions: takes invoices that are due and free, or leased by a dead process.
 */
export const claim = entities<InvoiceRow>(`
  with due as (
    select i.merchant_id, i.invoice_id from mobile_invoice i
    where i.due_at <= $2 and i.alarm is null and ${isTakable('i', { me: '$1', deadAfterMs: '$4', from: 6 })}
    order by i.due_at limit $3
    for update of i skip locked)
  update mobile_invoice i set lease = $1, due_at = $5
  from due where i.merchant_id = due.merchant_id and i.invoice_id = due.invoice_id
  returning ${columns}`)
export const firstDue = entities<{ dueAt: number }>(
  `select i.due_at from mobile_invoice i where i.due_at is not null and i.alarm is null order by i.due_at limit 1`,
)
const ofHolder = `merchant_id = $1 and invoice_id = $2 and lease = $3 and due_at is not null`
export const rest = statement<object>(`update mobile_invoice set lease = null, due_at = $4 where ${ofHolder}`)
/**
 * Due later; with an alarm no sweep finds it any more. Only the holder of the lease may do this.
 */
export const putBack = statement<object>(
  `update mobile_invoice set lease = null, due_at = $4, tries = tries + 1, alarm = $5 where ${ofHolder}`,
)
