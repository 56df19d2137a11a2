import currencyCodes from 'currency-codes'
import { decimalToMinor, knownCurrency } from '../../base/money.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import type { Order } from '../../order/decide/order.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities, statement, timestamp } from '../../storage/pool.ts'
import { pageOf, type ListPage } from '../action.ts'
import { changeInCell } from '../change.ts'
import { Conditions } from './conditions.ts'
import type { Databases, OrderDesk } from '../desk.ts'
import { firstOfAll, inEach, type Missed } from '../in-cells.ts'
import { anyOf, type HeldText } from '../persons/walk.ts'
import { cellsFor, keysOf, loginsIn, orderOf } from '../where.ts'
import type { ListedOrder } from '../order-lines.ts'
import { Refused, unfit } from '../refused.ts'
import type { Life, LifeDelivery } from './life.ts'

export interface OrderLine extends ListedOrder {
  finalAt?: number
  parked: boolean
  /** Why it was declined or filtered, or ended in error. */
  errorCode?: string
  errorMessage?: string
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
  /** Orders with these error codes. */
  code?: readonly string[]
  among?: readonly OrderKey[]
  held?: HeldText
  /** The page begins after this order, towards older ones. */
  after?: bigint
  /** The oldest order that is looked at. */
  downTo?: Place | undefined
  limit: number
  /** Takes cells that fail; without it, all have to be there. */
  missed?: Missed
}

/** Where an order lies in the order of lists. */
interface Place {
  createdAt: number
  orderId: bigint
}

/** The most that a column of 64 bits takes. */
const mostMinor = 2n ** 63n - 1n

type Row = Omit<OrderLine, 'login'>
export const newestFirst = (a: Place, b: Place): number => b.createdAt - a.createdAt || (a.orderId < b.orderId ? 1 : -1)

const fromParked = 'from all_transactions t where t.merchant_id = o.merchant_id and t.alarm is not null'

/**
 * Newest first, by time and then by id, which is unique over all cells: walks back along the index
 * by time.
 */
export async function findOrders(databases: Databases, query: OrderQuery): Promise<OrderLine[]> {
  const { logins, cells, asked } = await walkOf(databases, query)
  asked.add('o.client_orderid = ?', query.clientOrderid)
  asked.add('f.card_hash = ?', query.cardHashId?.toLowerCase())
  if (query.status) addStatus(asked, query.status)
  if (query.amount !== undefined) addAmount(asked, query.amount, query.currency)
  asked.add('o.currency = ?', query.currency)
  if (query.parked) asked.add(`o.order_id in (select t.order_id ${fromParked})`)
  asked.add(`o.result->>'errorCode' = any (?)`, query.code)
  if (query.among)
    asked.add('(o.merchant_id, o.order_id) in (select * from unnest(?::bigint[], ?::bigint[]))', ...keysOf(query.among))
  if (query.held) asked.add(`(${anyOf(query.held.texts, asked.put(query.held.values))})`)
  const oldest = timestamp(query.downTo?.createdAt)
  asked.add('o.created_at >= ? and (o.created_at, o.order_id) >= (?, ?)', oldest, oldest, query.downTo?.orderId)
  const found = entities<Row>(`
    select o.merchant_id, o.order_id, o.client_orderid, o.amount_minor, o.currency, o.status, f.card, o.created_at, o.final_at,
      o.result->>'errorCode' as error_code, o.result->>'errorMessage' as error_message,
      exists (select ${fromParked} and t.order_id = o.order_id) as parked
    from orders o
    join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id
    ${asked.where}
    order by o.created_at desc, o.order_id desc limit ${asked.put(query.limit)}`)
  const rows = await firstOfAll(cells, query.limit, newestFirst, ({ pool }) => pool.run(found, asked.values), query.missed)
  return rows.map(logins.named)
}

/** The cells, and the conditions that the index by time serves. */
async function walkOf(databases: Databases, { merchantId, after: last, from, to }: Omit<OrderQuery, 'limit'>) {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, merchantId)
  const after = last === undefined ? undefined : await orderOf(cells, logins, last, 'order of page')
  const asked = new Conditions()
  asked.add('o.created_at >= ?', timestamp(from))
  asked.add('o.created_at < ?', timestamp(to))
  const time = timestamp(after?.createdAt)
  asked.add('o.created_at <= ? and (o.created_at, o.order_id) < (?, ?)', time, time, after?.orderId)
  asked.add('o.merchant_id = ?', merchantId)
  return { logins, cells, asked }
}

/** So many orders of a cell are looked at for a page, where no index has what is asked for. */
const mostWalked = 10_000

/**
 * A page as `findOrders` finds it. A rare amount, currency or code would be looked for in every
 * order: such a page ends after so many, and the next one goes on there, even if nothing was found.
 */
export async function findPage(databases: Databases, { limit, ...query }: OrderQuery): Promise<ListPage<OrderLine>> {
  const { amount, currency, code, clientOrderid, cardHashId, parked } = query
  const isWalk = (amount ?? currency ?? code) !== undefined && (clientOrderid ?? cardHashId) === undefined && !parked
  const downTo = isWalk ? await endOfWalk(databases, query) : undefined
  const page = pageOf(await findOrders(databases, { ...query, downTo, limit: limit + 1 }), limit, (order) => order.orderId)
  return downTo && page.next === undefined ? { ...page, next: downTo.orderId } : page
}

/** The newest of the orders that the cells come to; undefined if each has fewer. */
async function endOfWalk(databases: Databases, query: Omit<OrderQuery, 'limit'>): Promise<Place | undefined> {
  const { cells, asked } = await walkOf(databases, query)
  const end = entities<Place>(`
    select o.created_at, o.order_id from orders o ${asked.where}
    order by o.created_at desc, o.order_id desc offset ${mostWalked} limit 1`)
  const ends = (await inEach(cells, ({ pool }) => pool.run(end, asked.values))).flat()
  return ends.toSorted(newestFirst)[0]
}

/**
 * Rare statuses have an index of their own, by a column that all others leave empty; it serves only
 * if no other status is wanted.
 */
function addStatus(asked: Conditions, statuses: readonly string[]): void {
  const unusual = new Set(['unknown', 'error', 'filtered'])
  asked.add(`o.${statuses.every((s) => unusual.has(s)) ? 'unusual' : 'status'} = any (?)`, [...statuses])
}

/**
 * An amount is minor units of its currency: 10 is 1000 in dollars and 10 in yen. There is no index
 * by amount, so every row that is walked over is compared. For 300,000 orders, comparing pairs
 * takes 4 s, and one list of currencies for each of the few possible numbers takes 0.2 s.
 */
function addAmount(asked: Conditions, amount: string, currency: string | undefined): void {
  const spellings = new Map<bigint, string[]>()
  for (const code of currency === undefined ? currencyCodes.codes() : [currency]) {
    const minor = decimalToMinor(amount, knownCurrency(code).exponent)
    if (minor !== undefined && minor <= mostMinor) spellings.set(minor, [...(spellings.get(minor) ?? []), code])
  }
  if (spellings.size === 0)
    throw new Refused(unfit('amount', `an amount${currency === undefined ? '' : ` in ${currency}`}, for example 10.42`))
  const each = Array.from(spellings, () => 'o.amount_minor = ? and o.currency = any (?)')
  asked.add(`(${each.join(' or ')})`, ...[...spellings].flat())
}

const events = entities<Life['events'][number]>(`
  select transaction_no, event, from_state as "from", to_state as "to", coalesce(facts, '{}') as facts, at
  from all_events where merchant_id = $1 and order_id = $2 order by event_no`)
const repeats = entities<Life['repeats'][number]>(`
  select serial_number, operation, transaction_no, at from request where merchant_id = $1 and order_id = $2 order by at`)
const deliveries = entities<Omit<LifeDelivery, 'tries'>>(`
  select delivery_no, transaction_no, kind, url, state, due_at, created_at
  from delivery where merchant_id = $1 and order_id = $2 order by delivery_no`)
const tries = entities<LifeDelivery['tries'][number] & { deliveryNo: number }>(`
  select delivery_no, at, duration_ms, http_status, failure, answer
  from all_tries where merchant_id = $1 and order_id = $2 order by delivery_no, try_no`)

/** Everything that is stored about an order. */
export async function orderWithLife(
  { pool: registry, cells }: Databases,
  orderId: bigint,
): Promise<{ order: Order; life: Life }> {
  const { cell, merchantId } = await orderOf(await cells(), await loginsIn(registry), orderId)
  const { pool } = cell
  const [order] = await openOrderStore(pool).load([{ merchantId, orderId }])
  if (!order) throw new Refused({ what: 'unknown', thing: 'order', name: String(orderId) })
  const key = [merchantId, orderId]
  const [e, r, d, t] = await Promise.all([
    pool.run(events, key),
    pool.run(repeats, key),
    pool.run(deliveries, key),
    pool.run(tries, key),
  ])
  const triesOf = (no: number) => t.filter(({ deliveryNo }) => deliveryNo === no)
  return { order, life: { events: e, repeats: r, deliveries: d.map((one) => ({ ...one, tries: triesOf(one.deliveryNo) })) } }
}

/** A process that still has the order in memory must not overwrite this change. */
export const raiseVersion = statement<object>(`update orders set version = version + 1 where merchant_id = $1 and order_id = $2`)
const parked = entities<Resumed>(`
  select transaction_no, step, alarm from all_transactions
  where merchant_id = $1 and order_id = $2 and alarm is not null order by transaction_no`)
const unpark = (table: string) =>
  statement<object>(`
  update ${table} set alarm = null, tries = 0, lease = null, due_at = case when step is null then null else $3::timestamptz end
  where merchant_id = $1 and order_id = $2 and alarm is not null`)
const unparkFirst = unpark('orders')
const unparkOthers = unpark('transaction')

export interface Resumed {
  transactionNo: number
  step?: string
  alarm: string
}

/** Resumes the parked transactions of an order: due now, as if never tried. */
export async function resumeOrder(desk: OrderDesk, orderId: bigint): Promise<Resumed[]> {
  const { cell, merchantId } = await orderOf(await desk.cells(), await loginsIn(desk.pool), orderId, 'order to resume')
  return changeInCell(desk, cell, async (runner) => {
    const key = [merchantId, orderId]
    // In the order in which the gateway writes them: two transactions must not wait for each other.
    await runner.run(raiseVersion, key)
    const resumed = await runner.run(parked, key)
    if (resumed.length === 0) throw new Refused({ what: 'nothing parked', orderId })
    for (const sql of [unparkFirst, unparkOthers]) await runner.run(sql, [...key, timestamp(desk.clock.now())])
    return { note: { subject: `order ${orderId}`, details: { transactions: resumed } }, result: resumed }
  })
}
