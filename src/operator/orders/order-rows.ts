import { decimalToMinor, knownCurrency } from '../../base/money.ts'
import currencyCodes from 'currency-codes'
import type { ShownCard } from '../../card/number.ts'
import type { Order } from '../../order/decide/order.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities, statement, timestamp } from '../../storage/pool.ts'
import type { CellDesk, Databases, OrderDesk } from '../desk.ts'
import { firstOfAll } from '../in-cells.ts'
import type { Life, LifeDelivery } from './life.ts'
import { Refused, unfit } from '../refused.ts'
import { changeInCell } from '../change.ts'
import { cellsFor, loginsIn, orderById, type Logins } from '../logins.ts'

export interface OrderLine extends OrderKey {
  login: string
  clientOrderid: string
  amountMinor: bigint
  currency: string
  status: string
  card: ShownCard
  createdAt: number
  finalAt?: number
  /** One of its transactions was parked for an operator. */
  parked: boolean
}

export interface OrderQuery {
  merchantId?: bigint
  clientOrderid?: string
  cardHashId?: string
  status?: readonly string[]
  /** A decimal amount; without a currency, in every currency that can express it. */
  amount?: string
  currency?: string
  from?: number
  to?: number
  parked?: boolean
  /** The page begins after this order, towards older ones. */
  after?: bigint
  limit: number
}

/** Newest first, by time and then by id, which is unique over all cells. */
export async function findOrders(databases: Databases, query: OrderQuery): Promise<OrderLine[]> {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, query.merchantId)
  const at = query.after === undefined ? undefined : await orderById(cells, logins, query.after)
  if (query.after !== undefined && !at) throw new Refused({ what: 'unknown', thing: 'order of page', name: String(query.after) })
  const page = at && { createdAt: at.createdAt, orderId: query.after! }
  return firstOfAll(cells, query.limit, newestFirst, (cell) => findIn(cell, logins, query, page))
}

type Moment = Pick<OrderLine, 'createdAt' | 'orderId'>
const newestFirst = (a: Moment, b: Moment): number => b.createdAt - a.createdAt || (a.orderId < b.orderId ? 1 : -1)

/**
 * Walks back along the index by time, filtered by the conditions. The text of the query depends on
 * the conditions, so that the planner can use an index for them; values are always parameters.
 */
async function findIn({ pool }: CellDesk, logins: Logins, query: OrderQuery, after: Moment | undefined): Promise<OrderLine[]> {
  const values: unknown[] = []
  const put = (value: unknown) => `$${values.push(value)}`
  const conditions = [
    ...(query.clientOrderid === undefined ? [] : [`o.client_orderid = ${put(query.clientOrderid)}`]),
    ...(query.cardHashId === undefined ? [] : [`f.card_hash = ${put(query.cardHashId.toLowerCase())}`]),
    ...(query.status === undefined ? [] : [statusCondition(query.status, put)]),
    ...(query.amount === undefined ? [] : [amountCondition(query.amount, query.currency, put)]),
    ...(query.amount !== undefined || query.currency === undefined ? [] : [`o.currency = ${put(query.currency)}`]),
    ...(query.from === undefined ? [] : [`o.created_at >= ${put(timestamp(query.from))}`]),
    ...(query.to === undefined ? [] : [`o.created_at < ${put(timestamp(query.to))}`]),
    ...(query.parked === true
      ? [`o.order_id in (select t.order_id from all_transactions t where t.merchant_id = o.merchant_id and t.alarm is not null)`]
      : []),
  ]
  if (after !== undefined) {
    const time = put(timestamp(after.createdAt))
    conditions.push(`o.created_at <= ${time} and (o.created_at < ${time} or o.order_id < ${put(after.orderId)})`)
  }
  const limit = put(query.limit)
  const where = [...conditions, ...(query.merchantId === undefined ? [] : [`o.merchant_id = ${put(query.merchantId)}`])]
  const found = entities<Omit<OrderLine, 'login'>>(`
    select o.merchant_id, o.order_id, o.client_orderid, o.amount_minor, o.currency, o.status, f.card, o.created_at, o.final_at,
      exists (
        select from all_transactions t
        where t.merchant_id = o.merchant_id and t.order_id = o.order_id and t.alarm is not null) as parked
    from orders o
    join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id
    ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
    order by o.created_at desc, o.order_id desc limit ${limit}`)
  return (await pool.run(found, values)).map((line) => ({ ...line, login: logins.of(line.merchantId) }))
}

/**
 * Rare statuses have an index of their own, by a column that all others leave empty; it serves only
 * if no other status is wanted.
 */
function statusCondition(statuses: readonly string[], put: (value: unknown) => string): string {
  const unusual = new Set(['unknown', 'error', 'filtered'])
  return `o.${statuses.every((s) => unusual.has(s)) ? 'unusual' : 'status'} = any (${put([...statuses])})`
}

/**
 * An amount is minor units of its currency: 10 is 1000 in dollars and 10 in yen. There is no index
 * by amount, so every row that is walked over is compared. For 300,000 orders, comparing pairs
 * takes 4 s, and one list of currencies for each of the few possible numbers takes 0.2 s.
 */
function amountCondition(amount: string, currency: string | undefined, put: (value: unknown) => string): string {
  const spellings = new Map<bigint, string[]>()
  for (const code of currency === undefined ? currencyCodes.codes() : [currency]) {
    const minor = decimalToMinor(amount, knownCurrency(code).exponent)
    if (minor !== undefined) spellings.set(minor, [...(spellings.get(minor) ?? []), code])
  }
  if (spellings.size === 0)
    throw new Refused(unfit('amount', `an amount${currency === undefined ? '' : ` in ${currency}`}, for example 10.42`))
  const each = [...spellings].map(([minor, codes]) => `o.amount_minor = ${put(minor)} and o.currency = any (${put(codes)})`)
  return `(${each.join(' or ')})`
}

const events = entities<Omit<Life['events'][number], 'facts'> & { facts?: object }>(`
  select transaction_no, event, from_state as "from", to_state as "to", facts, at
  from all_events where merchant_id = $1 and order_id = $2 order by event_no`)
const repeats = entities<Life['repeats'][number]>(`
  select serial_number, operation, transaction_no, at from request where merchant_id = $1 and order_id = $2 order by at`)
const deliveries = entities<Omit<LifeDelivery, 'tries'>>(`
  select delivery_no, transaction_no, kind, url, state, due_at, created_at
  from delivery where merchant_id = $1 and order_id = $2 order by delivery_no`)
const tries = entities<LifeDelivery['tries'][number] & { deliveryNo: number }>(`
  select delivery_no, at, duration_ms, http_status, failure
  from all_tries where merchant_id = $1 and order_id = $2 order by delivery_no, try_no`)

export interface LivingOrder {
  order: Order
  life: Life
}

/** Everything that is stored about an order. */
export async function orderWithLife({ pool: registry, cells }: Databases, orderId: bigint): Promise<LivingOrder> {
  const unknown = new Refused({ what: 'unknown', thing: 'order', name: String(orderId) })
  const found = await orderById(await cells(), await loginsIn(registry), orderId)
  if (!found) throw unknown
  const { pool } = found.cell
  const [order] = await openOrderStore(pool).load([{ merchantId: found.merchantId, orderId }])
  if (!order) throw unknown
  const key = [found.merchantId, orderId]
  const [e, r, d, t] = await Promise.all([
    pool.run(events, key),
    pool.run(repeats, key),
    pool.run(deliveries, key),
    pool.run(tries, key),
  ])
  return {
    order,
    life: {
      events: e.map((event) => ({ ...event, facts: event.facts ?? {} })),
      repeats: r,
      deliveries: d.map((one) => ({ ...one, tries: t.filter(({ deliveryNo }) => deliveryNo === one.deliveryNo) })),
    },
  }
}

/** A process that still has the order in memory must not overwrite this change. */
const raiseVersion = statement<object>(`update orders set version = version + 1 where merchant_id = $1 and order_id = $2`)
const unpark = (table: string, transactionNo: string) =>
  entities<Omit<Resumed, 'alarm'>>(`
  update ${table} set alarm = null, tries = 0, lease = null, due_at = case when step is null then null else $3::timestamptz end
  where merchant_id = $1 and order_id = $2 and alarm is not null
  returning ${transactionNo} as transaction_no, step`)
const unparkFirst = unpark('orders', '1')
const unparkOthers = unpark('transaction', 'transaction_no')
const alarms = entities<Pick<Resumed, 'transactionNo' | 'alarm'>>(`
  select transaction_no, alarm from all_transactions where merchant_id = $1 and order_id = $2 and alarm is not null`)

export interface Resumed {
  transactionNo: number
  step?: string
  alarm: string
}

/** Resumes the parked transactions of an order: due now, as if never tried. */
export async function resumeOrder(desk: OrderDesk, orderId: bigint): Promise<Resumed[]> {
  const found = await orderById(await desk.cells(), await loginsIn(desk.pool), orderId)
  if (!found) throw new Refused({ what: 'unknown', thing: 'order to resume', name: String(orderId) })
  return changeInCell(desk, found.cell, async (runner) => {
    const place = [found.merchantId, orderId]
    // In the order in which the gateway writes them, so that nobody waits in a circle.
    await runner.run(raiseVersion, place)
    const why = new Map((await runner.run(alarms, place)).map((r) => [r.transactionNo, r.alarm]))
    const now = timestamp(desk.clock.now())
    const freed = [...(await runner.run(unparkFirst, [...place, now])), ...(await runner.run(unparkOthers, [...place, now]))]
    if (freed.length === 0) throw new Refused({ what: 'nothing parked', orderId })
    const resumed = freed.map((one) => ({ ...one, alarm: why.get(one.transactionNo) ?? '' }))
    return { note: { subject: `order ${orderId}`, details: { transactions: resumed } }, result: resumed }
  })
}
