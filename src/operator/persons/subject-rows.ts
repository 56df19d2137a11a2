/**
 * The orders that hold data of a person. There is no index by address or telephone number, which
 * every sale would pay for: orders are read partition by partition, in pages by their key.
 */
import { sleep, type Clock } from '../../base/clock.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import { entities, timestamp, type Runner } from '../../storage/pool.ts'
import { partitionsByNumber } from '../../storage/partitions.ts'
import type { CellDesk } from '../desk.ts'
import type { Bounds, OrderTrace, Person } from './subject.ts'

/** `$1`, `$2`: the bounds. The time that counts is the end of an order's last transaction. */
const columns = `o.merchant_id, o.order_id, o.client_orderid, o.amount_minor, o.currency, o.status, f.card, o.created_at,
  e.ended_at, f.request->>'erasedAt' as erased_at,
  case
    when e.ended_at is null then 'open'
    when exists (select from mobile_invoice i where i.merchant_id = o.merchant_id and i.ended_at is null
      and i.invoice_id = f.request->'mobile'->>'invoiceId') then 'open'
    when exists (select from delivery d where d.merchant_id = o.merchant_id and d.order_id = o.order_id and d.state = 'due')
      then 'callbacks'
    when e.ended_at >= case when o.status = 'approved' then $1::timestamptz else $2::timestamptz end then 'young'
  end as "left"`
const ends = `cross join lateral (
    select case when o.step is null and o.status in ('approved', 'declined', 'filtered', 'error')
      and count(*) = count(t.final_at) then greatest(o.final_at, max(t.final_at)) end as ended_at
    from transaction t where t.merchant_id = o.merchant_id and t.order_id = o.order_id) e`
const facts = `join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id`

const digitsOf = (value: string) => `ltrim(regexp_replace(${value}, '[^0-9]', '', 'g'), '0')`

/** SQL for phoneSpellings: these numbers by their digits, and by the country of the address. */
export const phonesOf = (country: string, ...numbers: string[]): string[] =>
  numbers.map(digitsOf).flatMap((digits) => [digits, `${country} || ':' || ${digits}`])

export const pageRows = 5_000
/** Payments come first. */
export const restMs = 5

/** Without an order if nothing was found. */
type ScanRow = Partial<OrderTrace> & { looked: bigint; lastMerchant?: bigint; lastOrder?: bigint }

/** A page of a partition, `$5` to `$6`: what fits, and the last row that was read. */
const scan = (texts: readonly string[]) =>
  entities<ScanRow>(`
  with looked as (
    select merchant_id, order_id, request, card from order_facts
    where order_id >= $5 and order_id < $6 and (merchant_id, order_id) > ($7, $8) and ($4::bigint is null or merchant_id = $4)
    order by merchant_id, order_id limit ${pageRows}),
  found as (
    select ${columns} from looked f join orders o on o.merchant_id = f.merchant_id and o.order_id = f.order_id ${ends}
    where ${texts.map((text) => `${text} = any ($3::text[])`).join(' or ')})
  select found.*, (select count(*) from looked) as looked, l.merchant_id as last_merchant, l.order_id as last_order
  from (values (1)) as one
  left join (select merchant_id, order_id from looked order by merchant_id desc, order_id desc limit 1) l on true
  left join found on true
  order by found.merchant_id, found.order_id`)
const scans = {
  email: scan([`lower(f.request->>'email')`, `lower(f.request->'mobile'->>'email')`]),
  phone: scan(phonesOf(`(f.request->>'country')`, `f.request->>'phone'`, `f.request->>'cellPhone'`)),
}
const byCard = entities<OrderTrace>(`
  select ${columns} from orders o ${facts} ${ends}
  where f.card_hash = any ($3::text[]) and ($4::bigint is null or o.merchant_id = $4)`)
const byPlace = entities<OrderTrace>(`
  select ${columns} from unnest($3::bigint[], $4::bigint[]) as n (merchant_id, order_id)
  join orders o on o.merchant_id = n.merchant_id and o.order_id = n.order_id ${facts} ${ends}`)

export const inSql = ({ approvedBefore, othersBefore }: Bounds) => [timestamp(approvedBefore), timestamp(othersBefore)]

/** A search in one cell. */
export interface Search {
  cell: CellDesk
  clock: Clock
  bounds: Bounds
  /** Whose orders are in the cell. */
  merchantIds: readonly bigint[]
  /** Only of this merchant. */
  merchantId?: bigint
  /** Called after each page of a search that reads everything, with its rows. */
  progress: (looked: number) => void
}

/** Those of these places that exist. */
export async function ordersAt(runner: Runner, bounds: Bounds, orderKeys: readonly OrderKey[]): Promise<OrderTrace[]> {
  return runner.run(byPlace, [...inSql(bounds), orderKeys.map((p) => p.merchantId), orderKeys.map((p) => p.orderId)])
}

/** The orders that hold data of the person, in the order of partitions, merchants and ids. */
export async function* ordersOf(search: Search, person: Person, after?: OrderKey): AsyncGenerator<OrderTrace> {
  const slices = await partitionsByNumber(search.cell.pool)
  const sliceOf = ({ orderId }: OrderKey) => slices.findIndex(({ from, to }) => orderId >= from && orderId < to)
  if (person.by === 'email' || person.by === 'phone') {
    const first = after === undefined ? 0 : sliceOf(after)
    for (const [no, slice] of slices.entries())
      if (no >= first) yield* scanned(search, person, slice, after !== undefined && no === first ? after : begin)
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
  const alone = scanned({ ...search, merchantId }, person, { from: orderId, to: orderId + 1n }, begin)
  return !(await alone.next()).done
}

const begin: OrderKey = { merchantId: 0n, orderId: 0n }

async function* scanned(
  { cell: { pool }, clock, bounds, merchantId, progress }: Search,
  { by, values }: Extract<Person, { by: 'email' | 'phone' }>,
  { from, to }: { from: bigint; to: bigint },
  after: OrderKey,
): AsyncGenerator<OrderTrace> {
  for (let at = after; ;) {
    const rows = await pool.run(scans[by], [...inSql(bounds), values, merchantId ?? null, from, to, at.merchantId, at.orderId])
    const { looked, lastMerchant, lastOrder } = rows[0]!
    for (const { looked: _looked, lastMerchant: _merchant, lastOrder: _order, ...trace } of rows)
      if (trace.orderId !== undefined) yield trace as OrderTrace
    progress(Number(looked))
    if (looked < pageRows) return
    at = { merchantId: lastMerchant!, orderId: lastOrder! }
    await sleep(clock, restMs)
  }
}

const ofCard = ({ cell, bounds, merchantId }: Search, hashIds: readonly string[]): Promise<OrderTrace[]> =>
  cell.pool.run(byCard, [...inSql(bounds), hashIds, merchantId ?? null])

/** The primary key begins with the merchant, so each one is asked for. */
function ofIds({ cell, bounds, merchantIds, merchantId }: Search, orderIds: readonly bigint[]): Promise<OrderTrace[]> {
  const some = merchantId === undefined ? merchantIds : [merchantId]
  return ordersAt(
    cell.pool,
    bounds,
    some.flatMap((id) => orderIds.map((orderId) => ({ merchantId: id, orderId }))),
  )
}
