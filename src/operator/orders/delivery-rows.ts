import { defined } from '../../base/defined.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import type { CellDesk, Databases, OrderDesk } from '../desk.ts'
import { firstOfAll, inCell, inEach, whereItIs } from '../in-cells.ts'
import { Refused } from '../refused.ts'
import { changeInCell } from '../change.ts'
import { cellsFor, loginsIn, orderById, type Logins } from '../logins.ts'

export type DeliveryState = 'due' | 'delivered' | 'given up'

/** A message by its order and its number there. */
export interface DeliveryKey {
  orderId: bigint
  deliveryNo: number
}

export interface DeliveryLine extends DeliveryKey {
  merchantId: bigint
  login: string
  kind: string
  url: string
  state: DeliveryState
  tries: number
  createdAt: number
  dueAt?: number
  /** The result of the last try; absent before the first. */
  last?: { at: number; httpStatus?: number; failure?: string }
}

export interface DeliveryQuery {
  merchantId?: bigint
  orderId?: bigint
  deliveryNo?: number
  state?: DeliveryState
  from?: number
  to?: number
}

/**
 * Conditions on `delivery d`. Due messages are found by their due time, given-up ones by their
 * partial index, those of an order by the primary key, and the rest by the blocks of their time; so
 * the text of the query depends on its conditions.
 */
function conditionsOf(query: PlacedQuery, put: (value: unknown) => string): string[] {
  return [
    ...(query.orderId === undefined ? [] : [`d.merchant_id = ${put(query.orderOf)}`, `d.order_id = ${put(query.orderId)}`]),
    ...(query.deliveryNo === undefined ? [] : [`d.delivery_no = ${put(query.deliveryNo)}`]),
    ...(query.merchantId === undefined ? [] : [`d.merchant_id = ${put(query.merchantId)}`]),
    ...(query.state === undefined
      ? []
      : [query.state === 'due' ? `d.state = 'due' and d.due_at is not null` : `d.state = '${query.state}'`]),
    ...(query.from === undefined ? [] : [`d.created_at >= ${put(timestamp(query.from))}`]),
    ...(query.to === undefined ? [] : [`d.created_at < ${put(timestamp(query.to))}`]),
  ]
}

/** Includes the merchant of its order: the primary key begins with the merchant. */
type PlacedQuery = DeliveryQuery & { orderOf?: bigint }

interface Placed {
  /** Where the messages are; none if there is no such order. */
  cells: readonly CellDesk[]
  query: PlacedQuery
}

async function placed(databases: Databases, logins: Logins, query: DeliveryQuery): Promise<Placed> {
  const cells = await cellsFor(databases, logins, query.merchantId)
  if (query.orderId === undefined) return { cells, query }
  const order = await orderById(cells, logins, query.orderId)
  return order ? { cells: [order.cell], query: { ...query, orderOf: order.merchantId } } : { cells: [], query }
}

interface LineRow extends Omit<DeliveryLine, 'login' | 'last'> {
  lastAt?: number
  httpStatus?: number
  failure?: string
}

/** Newest first. Continues after the message `after`. */
export async function listDeliveries(
  databases: Databases,
  { after, limit, ...asked }: DeliveryQuery & { after?: DeliveryKey; limit: number },
): Promise<DeliveryLine[]> {
  const logins = await loginsIn(databases.pool)
  const { cells, query } = await placed(databases, logins, asked)
  const createdAt = after && (await timeIn(await cellsFor(databases, logins, query.merchantId), logins, after))
  const page = after && { ...after, createdAt: createdAt! }
  return firstOfAll(cells, limit, newestFirst, (cell) => listIn(cell, logins, { query, page, limit }))
}

type Moment = DeliveryKey & { createdAt: number }
const newestFirst = (a: Moment, b: Moment): number =>
  b.createdAt - a.createdAt || (a.orderId === b.orderId ? b.deliveryNo - a.deliveryNo : a.orderId < b.orderId ? 1 : -1)

async function timeIn(cells: readonly CellDesk[], logins: Logins, { orderId, deliveryNo }: DeliveryKey): Promise<number> {
  const at = await whereItIs(cells, async ({ cellNo, pool }) => {
    const [row] = await pool.run(timeOf, [orderId, deliveryNo, logins.merchantIds(cellNo)])
    return row?.createdAt
  })
  if (at === undefined) throw new Refused({ what: 'unknown', thing: 'message of page', name: `${orderId}/${deliveryNo}` })
  return at
}

async function listIn(
  { pool }: CellDesk,
  logins: Logins,
  { query, page: after, limit }: { query: PlacedQuery; page: Moment | undefined; limit: number },
): Promise<DeliveryLine[]> {
  const values: unknown[] = []
  const put = (value: unknown) => `$${values.push(value)}`
  const conditions = conditionsOf(query, put)
  if (after) {
    const [time, order, no] = [put(timestamp(after.createdAt)), put(after.orderId), put(after.deliveryNo)]
    conditions.push(`d.created_at <= ${time} and (d.created_at, d.order_id, d.delivery_no) < (${time}, ${order}, ${no})`)
  }
  const page = entities<LineRow>(`
    select d.*, t.at as last_at, t.http_status, t.failure
    from (
      select d.merchant_id, d.order_id, d.delivery_no, d.kind, d.url, d.state, d.tries, d.created_at, d.due_at
      from delivery d ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by d.created_at desc, d.order_id desc, d.delivery_no desc limit ${put(limit)}) d
    left join lateral (
      select at, http_status, failure from all_tries a
      where a.merchant_id = d.merchant_id and a.order_id = d.order_id and a.delivery_no = d.delivery_no
      order by a.try_no desc limit 1) t on true
    order by d.created_at desc, d.order_id desc, d.delivery_no desc`)
  return (await pool.run(page, values)).map((row) => lineOf(row, logins))
}

const timeOf = entities<Pick<DeliveryLine, 'createdAt'>>(`
  select d.created_at from unnest($3::bigint[]) m (merchant_id)
  join delivery d on d.merchant_id = m.merchant_id and d.order_id = $1 and d.delivery_no = $2`)

const lineOf = ({ lastAt: at, httpStatus, failure, ...line }: LineRow, logins: Logins): DeliveryLine => ({
  ...line,
  login: logins.of(line.merchantId),
  ...(at !== undefined && { last: defined({ at, httpStatus, failure }) }),
})

export async function countDeliveries(databases: Databases, asked: DeliveryQuery): Promise<number> {
  const { cells, query } = await placed(databases, await loginsIn(databases.pool), asked)
  const counts = await inEach(cells, (cell) => countIn(cell, query))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function countIn({ pool }: CellDesk, query: PlacedQuery): Promise<number> {
  const values: unknown[] = []
  const conditions = conditionsOf(query, (value) => `$${values.push(value)}`)
  const count = statement<{ n: bigint }>(
    `select count(*) as n from delivery d ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}`,
  )
  const [row] = await pool.run(count, values)
  return Number(row!.n)
}

export interface Resent {
  resent: number
  /** Being sent at this moment, and therefore skipped. */
  inHand: number
  /** The payer's data was erased from their orders, and what they said with it. */
  erased: number
}

/**
 * The most rows that a transaction changes; a longer list is sent in several, each with its own
 * line in the audit trail.
 */
const atOnce = 500

/**
 * Makes messages due now, as if never tried. The record of earlier tries is kept: their numbers
 * become negative, because later ones start from one again. Messages that a process is sending are
 * skipped.
 */
export async function resendDeliveries(desk: OrderDesk, asked: DeliveryQuery): Promise<Resent> {
  const total: Resent = { resent: 0, inHand: 0, erased: 0 }
  const { cells, query } = await placed(desk, await loginsIn(desk.pool), asked)
  for (const cell of cells)
    // The audit trail has no lines of cells in which nothing fits.
    if (cells.length === 1 || (await inCell(cell, () => countIn(cell, query))) > 0) await resendIn(desk, cell, query, total)
  return total
}

async function resendIn(desk: OrderDesk, cell: CellDesk, query: PlacedQuery, total: Resent): Promise<void> {
  let after: readonly [bigint, bigint, number] = [0n, 0n, 0]
  for (;;) {
    const page = await resendSome(desk, cell, query, after)
    total.resent += page.resent
    total.inHand += page.inHand
    total.erased += page.erased
    if (!page.last) return
    after = page.last
  }
}

interface KeyRow extends DeliveryKey {
  merchantId: bigint
  lease?: bigint
  erased: boolean
}

async function resendSome(desk: OrderDesk, cell: CellDesk, query: PlacedQuery, after: readonly [bigint, bigint, number]) {
  return changeInCell(desk, cell, async (runner) => {
    const values: unknown[] = []
    const put = (value: unknown) => `$${values.push(value)}`
    const conditions = [
      ...conditionsOf(query, put),
      `(d.merchant_id, d.order_id, d.delivery_no) > (${after.map(put).join(', ')})`,
    ]
    const some = entities<KeyRow>(`
      select d.merchant_id, d.order_id, d.delivery_no, d.lease, exists (select from order_facts f
        where f.merchant_id = d.merchant_id and f.order_id = d.order_id and f.request->>'erasedAt' is not null) as erased
      from delivery d where ${conditions.join(' and ')}
      order by d.merchant_id, d.order_id, d.delivery_no limit ${atOnce} for update`)
    const rows = await runner.run(some, values)
    const kept = rows.filter((r) => !r.erased)
    const free = kept.filter((r) => r.lease === undefined)
    await makeDue(runner, free, desk.clock.now())
    const last = rows.length < atOnce ? undefined : rows.at(-1)!
    return {
      note: { subject: subjectOf(query), details: { messages: free.length, ...spanOf(query) } },
      result: {
        resent: free.length,
        inHand: kept.length - free.length,
        erased: rows.length - kept.length,
        ...(last ? { last: [last.merchantId, last.orderId, last.deliveryNo] as const } : {}),
      },
    }
  })
}

/** A first try that was noted in its message gets a row of its own. */
const moveFirstTries = statement<object>(`
  insert into delivery_attempt (merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status)
  select d.merchant_id, d.order_id, d.delivery_no, 1, d.done_at, d.duration_ms, d.http_status
  from unnest($1::bigint[], $2::bigint[], $3::int[]) as n (merchant_id, order_id, delivery_no)
  join delivery d on d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.delivery_no = n.delivery_no
  where d.duration_ms is not null
  on conflict do nothing`)
const setTriesAside = statement<object>(`
  update delivery_attempt a set try_no = a.try_no - 1000000 + (
    select count(*) from delivery_attempt e
    where e.merchant_id = a.merchant_id and e.order_id = a.order_id and e.delivery_no = a.delivery_no and e.try_no < 1)
  from unnest($1::bigint[], $2::bigint[], $3::int[]) as n (merchant_id, order_id, delivery_no)
  where a.merchant_id = n.merchant_id and a.order_id = n.order_id and a.delivery_no = n.delivery_no and a.try_no > 0`)
const due = statement<object>(`
  update delivery d set state = 'due', due_at = $4, tries = 0, lease = null, done_at = null,
    http_status = null, duration_ms = null
  from unnest($1::bigint[], $2::bigint[], $3::int[]) as n (merchant_id, order_id, delivery_no)
  where d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.delivery_no = n.delivery_no`)

async function makeDue(runner: Runner, rows: readonly KeyRow[], now: number): Promise<void> {
  const keys = [rows.map((r) => r.merchantId), rows.map((r) => r.orderId), rows.map((r) => r.deliveryNo)]
  await runner.run(moveFirstTries, keys)
  await runner.run(setTriesAside, keys)
  await runner.run(due, [...keys, timestamp(now)])
}

function subjectOf(query: DeliveryQuery): string {
  if (query.orderId !== undefined)
    return query.deliveryNo === undefined ? `order ${query.orderId}` : `delivery ${query.orderId}/${query.deliveryNo}`
  return query.merchantId === undefined ? 'deliveries' : `deliveries of merchant number ${query.merchantId}`
}

const spanOf = (query: DeliveryQuery): object => ({
  ...(query.state === undefined ? {} : { state: query.state }),
  ...(query.from === undefined ? {} : { from: new Date(query.from).toISOString() }),
  ...(query.to === undefined ? {} : { to: new Date(query.to).toISOString() }),
})
