/** The statement that erases card numbers of ended payments, step by step. */
import { statement, timestamp, type Pool } from '../storage/pool.ts'

const dayMs = 86_400_000

/** How long ago a payment must have ended, in milliseconds: as usual, and at least. */
export const keptFor = {
  approved: { usual: 180 * dayMs, least: 30 * dayMs },
  unapproved: { usual: dayMs, least: dayMs / 24 },
} as const

/** Times in milliseconds since 1970: what ended before them is erased. */
export interface Forgetting {
  approvedBefore: number
  /** For payments that were declined, filtered or ended in error. */
  othersBefore: number
}

/** An order in the order of time. */
type OrderKey = readonly [createdAt: string, merchantId: string, orderId: string]

const beforeAll: OrderKey = ['-infinity', '0', '0']

/** A walk through the orders, oldest first, to erase their cards. */
export interface Walk {
  /** The last order that was looked at. */
  at: OrderKey
  /** No order up to this one needs another look. */
  done: OrderKey
}

export const walkFromStart: Walk = { at: beforeAll, done: beforeAll }

export interface WalkBounds extends Forgetting {
  /** Orders made from then on are not looked at. */
  madeBefore: number
  /** Approved payments are left to another walk: they need no later look of this one. */
  skipsApproved: boolean
}

interface PageRow {
  looked: bigint
  forgotten: bigint
  last: [string, string, string] | null
  done: [string, string, string] | null
}

const keyOf = (row: string) => `array[${row}.created_at::text, ${row}.merchant_id::text, ${row}.order_id::text]`

/**
 * The next orders by time, and of them the cards of those that ended long enough ago. Whatever is
 * still to be done for an order keeps its card. Rows are locked in one order, so that walks that
 * meet do not wait for each other.
 */
const forgetPage = statement<PageRow>(`
  with looked as (
    select merchant_id, order_id, created_at, status, final_at, step,
      row_number() over (order by created_at, merchant_id, order_id) as no
    from orders
    where (created_at, merchant_id, order_id) > ($1::timestamptz, $2::bigint, $3::bigint) and created_at < $4
    order by created_at, merchant_id, order_id limit $5),
  judged as (
    select l.*, l.step is null and l.status in ('approved', 'declined', 'filtered', 'error')
      and l.final_at < case when l.status = 'approved' then $6::timestamptz else $7::timestamptz end
      and not exists (select from transaction t
        where t.merchant_id = l.merchant_id and t.order_id = l.order_id and t.final_at is null) as due
    from looked l),
  held as (select * from (
    select f.merchant_id, f.order_id from judged j
    join order_facts f on f.merchant_id = j.merchant_id and f.order_id = j.order_id
    where j.due and f.pan_sealed is not null
    order by j.no for update of f) locked),
  forgotten as (
    update order_facts f set pan_sealed = null, pan_key = null, destination_sealed = null,
      cvv2_sealed = null, cvv2_key = null
    from held h where f.merchant_id = h.merchant_id and f.order_id = h.order_id
    returning f.merchant_id, f.order_id),
  waiting as (select min(no) as no from judged where due is not true and not (status = 'approved' and $8))
  select (select count(*) from looked) as looked, (select count(*) from forgotten) as forgotten,
    (select ${keyOf('l')} from looked l order by l.no desc limit 1) as last,
    (select ${keyOf('l')} from looked l, waiting w where l.no < w.no or w.no is null order by l.no desc limit 1) as done`)

export interface WalkStep {
  forgotten: number
  walk: Walk
  isOver: boolean
}

/** Looks at the next `most` orders of a walk, and erases the cards that are due. */
export async function forgetStep(pool: Pool, walk: Walk, bounds: WalkBounds, most: number): Promise<WalkStep> {
  const { madeBefore, approvedBefore, othersBefore, skipsApproved } = bounds
  const times = [timestamp(approvedBefore), timestamp(othersBefore)]
  const [page] = await pool.run(forgetPage, [...walk.at, timestamp(madeBefore), most, ...times, skipsApproved])
  const { looked, forgotten, last, done } = page!
  // Past an order that needs another look, `done` stays before it.
  const isHeld = String(walk.at) !== String(walk.done)
  return {
    forgotten: Number(forgotten),
    walk: { at: last ?? walk.at, done: isHeld ? walk.done : (done ?? walk.done) },
    isOver: looked < most,
  }
}
