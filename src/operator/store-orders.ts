import { decimalToMinor, knownCurrency } from '../base/money.ts'
import currencyCodes from 'currency-codes'
import type { ShownCard } from '../card/number.ts'
import type { Order } from '../order/order.ts'
import type { Place } from '../order/change.ts'
import { openOrderStore } from '../order/store.ts'
import { statement, timestamp } from '../storage/pool.ts'
import type { CellDesk, Databases, OrderDesk } from './desk.ts'
import { firstOfAll } from './in-cells.ts'
import type { Life } from './life.ts'
import { Refused, unfit } from './refused.ts'
import { changeInCell } from './store-audit.ts'
import { cellsFor, loginsIn, orderById, type Logins } from './store-logins.ts'

export interface OrderLine extends Place {
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

interface LineRow {
  merchant_id: bigint
  order_id: bigint
  client_orderid: string
  amount_minor: bigint
  currency: string
  status: string
  card: ShownCard
  created_at: number
  final_at: number | null
  parked: boolean
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
  const found = statement<LineRow>(`
    select o.merchant_id, o.order_id, o.client_orderid, o.amount_minor, o.currency, o.status, f.card, o.created_at, o.final_at,
      exists (
        select from all_transactions t
        where t.merchant_id = o.merchant_id and t.order_id = o.order_id and t.alarm is not null) as parked
    from orders o
    join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id
    ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
    order by o.created_at desc, o.order_id desc limit ${limit}`)
  return (await pool.run(found, values)).map((r) => ({
    merchantId: r.merchant_id,
    orderId: r.order_id,
    login: logins.of(r.merchant_id),
    clientOrderid: r.client_orderid,
    amountMinor: r.amount_minor,
    currency: r.currency,
    status: r.status,
    card: r.card,
    createdAt: r.created_at,
    ...(r.final_at === null ? {} : { finalAt: r.final_at }),
    parked: r.parked,
  }))
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

const events = statement<{
  event_no: number
  transaction_no: number
  event: string
  from_state: string
  to_state: string
  facts: object | null
  at: number
}>(`
  select event_no, transaction_no, event, from_state, to_state, facts, at
  from all_events where merchant_id = $1 and order_id = $2 order by event_no`)
const repeats = statement<{ serial_number: string; operation: string; transaction_no: number; at: number }>(`
  select serial_number, operation, transaction_no, at from request where merchant_id = $1 and order_id = $2 order by at`)
const deliveries = statement<{
  delivery_no: number
  transaction_no: number
  kind: string
  url: string
  state: string
  due_at: number | null
  created_at: number
}>(`
  select delivery_no, transaction_no, kind, url, state, due_at, created_at
  from delivery where merchant_id = $1 and order_id = $2 order by delivery_no`)
const tries = statement<{
  delivery_no: number
  at: number
  duration_ms: number
  http_status: number | null
  failure: string | null
}>(`
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
      events: e.map((x) => ({
        transactionNo: x.transaction_no,
        event: x.event,
        from: x.from_state,
        to: x.to_state,
        facts: x.facts ?? {},
        at: x.at,
      })),
      repeats: r.map((x) => ({
        serialNumber: x.serial_number,
        operation: x.operation,
        transactionNo: x.transaction_no,
        at: x.at,
      })),
      deliveries: d.map((x) => ({
        deliveryNo: x.delivery_no,
        transactionNo: x.transaction_no,
        kind: x.kind,
        url: x.url,
        state: x.state,
        ...(x.due_at === null ? {} : { dueAt: x.due_at }),
        createdAt: x.created_at,
        tries: t
          .filter((y) => y.delivery_no === x.delivery_no)
          .map((y) => ({
            at: y.at,
            durationMs: y.duration_ms,
            ...(y.http_status === null ? {} : { httpStatus: y.http_status }),
            ...(y.failure === null ? {} : { failure: y.failure }),
          })),
      })),
    },
  }
}

/** A process that still has the order in memory must not overwrite this change. */
const raiseVersion = statement<object>(`update orders set version = version + 1 where merchant_id = $1 and order_id = $2`)
const unpark = (table: string, transactionNo: string) =>
  statement<{ transaction_no: number; step: string | null }>(`
  update ${table} set alarm = null, tries = 0, lease = null, due_at = case when step is null then null else $3::timestamptz end
  where merchant_id = $1 and order_id = $2 and alarm is not null
  returning ${transactionNo} as transaction_no, step`)
const unparkFirst = unpark('orders', '1')
const unparkOthers = unpark('transaction', 'transaction_no')
const alarms = statement<{ transaction_no: number; alarm: string }>(`
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
    const why = new Map((await runner.run(alarms, place)).map((r) => [r.transaction_no, r.alarm]))
    const now = timestamp(desk.clock.now())
    const freed = [...(await runner.run(unparkFirst, [...place, now])), ...(await runner.run(unparkOthers, [...place, now]))]
    if (freed.length === 0) throw new Refused({ what: 'nothing parked', orderId })
    const resumed = freed.map((r) => ({
      transactionNo: r.transaction_no,
      ...(r.step === null ? {} : { step: r.step }),
      alarm: why.get(r.transaction_no) ?? '',
    }))
    return { note: { action: 'order resume', subject: `order ${orderId}`, details: { transactions: resumed } }, result: resumed }
  })
}
