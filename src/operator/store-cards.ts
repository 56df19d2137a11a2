import { sleep } from '../base/clock.ts'
import { statement, timestamp } from '../storage/pool.ts'
import type { Desk } from './desk.ts'
import { isoTime } from './moments.ts'
import { change } from './store-audit.ts'

/** Times in milliseconds since 1970: what ended before them is erased. */
export interface Forgetting {
  approvedBefore: number
  /** Of payments that were declined, filtered or ended in error. */
  othersBefore: number
}

interface PageRow {
  looked: bigint
  forgotten: bigint
  created_at: number | null
  merchant_id: bigint | null
  order_id: bigint | null
}

/**
 * The next orders by time, and of them the cards of those that ended long enough ago. Whatever is
 * still to be done for an order keeps its card.
 */
const forgetPage = statement<PageRow>(`
  with looked as (
    select merchant_id, order_id, created_at, status, final_at, step from orders
    where (created_at, merchant_id, order_id) > ($1, $2, $3) and created_at < greatest($4::timestamptz, $5::timestamptz)
    order by created_at, merchant_id, order_id limit $6),
  forgotten as (
    update order_facts f set pan_sealed = null, pan_key = null, destination_sealed = null,
      cvv2_sealed = null, cvv2_key = null
    from looked l
    where f.merchant_id = l.merchant_id and f.order_id = l.order_id and f.pan_sealed is not null
      and l.step is null and l.status in ('approved', 'declined', 'filtered', 'error')
      and l.final_at < case when l.status = 'approved' then $4::timestamptz else $5::timestamptz end
      and not exists (select from transaction t
        where t.merchant_id = l.merchant_id and t.order_id = l.order_id and t.final_at is null)
    returning 1)
  select (select count(*) from looked) as looked, (select count(*) from forgotten) as forgotten, last.*
  from (values (1)) as one
  left join (select created_at, merchant_id, order_id from looked
    order by created_at desc, merchant_id desc, order_id desc limit 1) last on true`)

const pageRows = 1_000
/** Payments come first. */
const restMs = 20

/**
 * Erases the card numbers of ended orders; what is shown of a card stays. Returns how many. It can
 * be stopped and begun again, and run beside payments and beside itself.
 */
export async function forgetCards(desk: Desk, { approvedBefore, othersBefore }: Forgetting): Promise<number> {
  const details = { approved_before: isoTime(approvedBefore), others_before: isoTime(othersBefore) }
  await note(desk, 'cards forget', details)
  let forgotten = 0
  let after: [string, bigint, bigint] = ['-infinity', 0n, 0n]
  for (;;) {
    const bounds = [timestamp(approvedBefore), timestamp(othersBefore)]
    const [page] = await desk.pool.run(forgetPage, [...after, ...bounds, pageRows])
    forgotten += Number(page!.forgotten)
    if (page!.looked < pageRows) break
    after = [timestamp(page!.created_at!)!, page!.merchant_id!, page!.order_id!]
    await sleep(desk.clock, restMs)
  }
  await note(desk, 'cards forgotten', { cards: forgotten })
  return forgotten
}

const note = (desk: Desk, action: string, details: object): Promise<void> =>
  change(desk, 'orders', () => Promise.resolve({ note: { action, subject: 'cards of orders', details }, result: undefined }))
