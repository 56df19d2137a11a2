/** The statements that take up steps of orders and put them back: what a sweep needs. */
import { isTakable } from '../../leases/leased.ts'
import { statement } from '../../storage/pool.ts'
import type { OrderKeyRecord } from './rows.ts'

/**
 * How much longer than the dead-after span a silent process keeps a step whose call may still be
 * answered. Anything it sent left before it fell silent, and it may return to save the answer.
 * Measured by the heartbeat, not by the deadline of the attempt: the line may have held the request
 * back, and the wall clocks of two processes may disagree.
 */
const patience = (openAttempt: string) => `case
            when t.step = 'authorise' then coalesce(${openAttempt}, interval '0')
            when t.step in ('authenticate', 'enrol') then $6::int * interval '1 millisecond'
            else interval '0' end`

const openAttemptOf = (transactionNo: string) => `(
              select max(a.deadline_at - a.started_at) from attempt a
              where a.merchant_id = t.merchant_id and a.order_id = t.order_id and a.transaction_no = ${transactionNo}
                and a.outcome is null)`

const firstOrOther = `greatest(case when t.outcome is null then t.deadline_at - t.started_at end, ${openAttemptOf('1')})`

/** Due and free rows of one of the two tables that transactions stand in. */
const freeIn = (table: string, transactionNo: string, openAttempt: string) => `
    select t.merchant_id, t.order_id, ${transactionNo} as transaction_no, t.lease, t.due_at
    from ${table} t
    where t.due_at <= $2 and t.alarm is null
      and ${isTakable('t', { me: '$1', deadAfterMs: '$4', from: 7 }, patience(openAttempt))}
    order by t.due_at limit $3
    for update of t skip locked`

/** Takes steps that are due and free. For a leased row `due_at` is when to check it again. */
export const claimDue = statement<OrderKeyRecord & { transaction_no: number; tries: number; was: bigint | null }>(`
  with heads as (${freeIn('orders', '1', firstOrOther)}),
  others as (${freeIn('transaction', 't.transaction_no', openAttemptOf('t.transaction_no'))}),
  due as (select * from (select * from heads union all select * from others) d order by due_at limit $3),
  taken as (
    update orders o set lease = $1, due_at = $5 from due d
    where d.transaction_no = 1 and o.merchant_id = d.merchant_id and o.order_id = d.order_id
    returning o.merchant_id, o.order_id, 1 as transaction_no, o.tries, d.lease as was),
  taken_others as (
    update transaction t set lease = $1, due_at = $5 from due d
    where d.transaction_no > 1 and t.merchant_id = d.merchant_id and t.order_id = d.order_id
      and t.transaction_no = d.transaction_no
    returning t.merchant_id, t.order_id, t.transaction_no, t.tries, d.lease as was)
  select * from taken union all select * from taken_others`)

const firstIn = (table: string) =>
  `(select t.due_at from ${table} t where t.due_at is not null and t.alarm is null order by t.due_at limit 1)`
export const firstDue = statement<{ due_at: number | null }>(
  `select least(${firstIn('orders')}, ${firstIn('transaction')}) as due_at`,
)

const back = (table: string, also = '') => `
  update ${table} t set tries = tries + 1, due_at = $4, lease = null, alarm = $5
  where merchant_id = $1 and order_id = $2 and lease = $3 and step is not null ${also}`
/**
 * Returns a step that could not be run: due later, without a lease, and invisible to sweeps if it
 * has an alarm. Only the holder of the lease may do so.
 */
export const putBackHead = statement<object>(back('orders'))
export const putBack = statement<object>(back('transaction', 'and transaction_no = $6'))
