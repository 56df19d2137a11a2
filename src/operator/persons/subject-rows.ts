/** The orders that hold data of a person. */
import type { OrderKey } from '../../order/decide/change.ts'
import { entities, type Runner } from '../../storage/pool.ts'
import { partitionsByNumber } from '../../storage/partitions.ts'
import { keysOf } from '../where.ts'
import type { Bounds, OrderTrace, Person } from './subject.ts'
import { anyOf, heldIn, inSql, nextBy, pagesOf, walk, type Search } from './walk.ts'

/** The time that counts is the end of an order's last transaction. */
const columns = (approvedBefore: string, othersBefore: string) => `
  o.merchant_id, o.order_id, o.client_orderid, o.amount_minor, o.currency, o.status, f.card, o.created_at,
  e.ended_at, f.request->>'erasedAt' as erased_at,
  case
    when e.ended_at is null then 'open'
    when exists (select from mobile_invoice i where i.merchant_id = o.merchant_id and i.ended_at is null
      and i.invoice_id = f.request->'mobile'->>'invoiceId') then 'open'
    when exists (select from delivery d where d.merchant_id = o.merchant_id and d.order_id = o.order_id and d.state = 'due')
      then 'callbacks'
    when e.ended_at >= case when o.status = 'approved' then ${approvedBefore}::timestamptz else ${othersBefore}::timestamptz end
      then 'young'
  end as "left"`
const ends = `cross join lateral (
    select case when o.step is null and o.status in ('approved', 'declined', 'filtered', 'error')
      and count(*) = count(t.final_at) then greatest(o.final_at, max(t.final_at)) end as ended_at
    from transaction t where t.merchant_id = o.merchant_id and t.order_id = o.order_id) e`
const facts = `join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id`

/** A page of a partition, `$7` to `$8`. */
const scan = (texts: readonly string[]) =>
  pagesOf<OrderTrace>(
    `select merchant_id, order_id as id, request, card from order_facts
    where order_id >= $7 and order_id < $8 and ${nextBy('merchant_id, order_id')}`,
    `select ${columns('$5', '$6')}
    from looked f join orders o on o.merchant_id = f.merchant_id and o.order_id = f.id ${ends} where ${anyOf(texts)}`,
  )
const scans = {
  email: scan(heldIn.email),
  phone: scan(heldIn.phone),
}
const byCard = entities<OrderTrace>(`
  select ${columns('$1', '$2')} from orders o ${facts} ${ends}
  where f.card_hash = any ($3::text[]) and ($4::bigint is null or o.merchant_id = $4)`)
const byKey = entities<OrderTrace>(`
  select ${columns('$1', '$2')} from unnest($3::bigint[], $4::bigint[]) as n (merchant_id, order_id)
  join orders o on o.merchant_id = n.merchant_id and o.order_id = n.order_id ${facts} ${ends}`)

/** Those of these places that exist. */
export const ordersAt = (runner: Runner, bounds: Bounds, orderKeys: readonly OrderKey[]): Promise<OrderTrace[]> =>
  runner.run(byKey, [...inSql(bounds), ...keysOf(orderKeys)])

/** The orders that hold data of the person, in the order of partitions, merchants and ids. */
export async function* ordersOf(search: Search, person: Person, after?: OrderKey): AsyncGenerator<OrderTrace> {
  const slices = await partitionsByNumber(search.pool)
  const sliceOf = ({ orderId }: OrderKey) => slices.findIndex(({ from, to }) => orderId >= from && orderId < to)
  if (person.by === 'email' || person.by === 'phone') {
    const first = after === undefined ? 0 : sliceOf(after)
    for (const [no, slice] of slices.entries())
      if (no >= first) yield* scanned(search, person, slice, no === first ? after : undefined)
    return
  }
  const ahead = (a: OrderKey, b: OrderKey) =>
    sliceOf(a) - sliceOf(b) || Number(a.merchantId - b.merchantId) || Number(a.orderId - b.orderId)
  const found = 'hashIds' in person ? await ofCard(search, person.hashIds) : await ofIds(search, person.orderIds)
  found.sort(ahead)
  for (const trace of found) if (after === undefined || ahead(trace, after) > 0) yield trace
}

/** Whether the search finds this order by itself. */
export async function isNamed(search: Search, person: Person, trace: OrderTrace): Promise<boolean> {
  if (person.by === 'order') return person.orderIds.includes(trace.orderId)
  if (person.by === 'card') return person.hashIds.includes(trace.card.hashId)
  const { merchantId, orderId } = trace
  const alone = scanned({ ...search, merchantId }, person, { from: orderId, to: orderId + 1n })
  return !(await alone.next()).done
}

const scanned = (
  search: Search,
  { by, values }: Extract<Person, { by: 'email' | 'phone' }>,
  { from, to }: { from: bigint; to: bigint },
  { merchantId, orderId }: OrderKey = { merchantId: 0n, orderId: 0n },
): AsyncGenerator<OrderTrace> =>
  walk(search, scans[by], [merchantId, String(orderId)], [values, ...inSql(search.bounds), from, to], search.progress)

const ofCard = ({ pool, bounds, merchantId }: Search, hashIds: readonly string[]): Promise<OrderTrace[]> =>
  pool.run(byCard, [...inSql(bounds), hashIds, merchantId ?? null])

/** The primary key begins with the merchant, so each one is asked for. */
function ofIds({ pool, bounds, merchantIds }: Search, orderIds: readonly bigint[]): Promise<OrderTrace[]> {
  const keys = merchantIds.flatMap((merchantId) => orderIds.map((orderId) => ({ merchantId, orderId })))
  return ordersAt(pool, bounds, keys)
}
