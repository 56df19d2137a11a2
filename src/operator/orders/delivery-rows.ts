import { notNull } from '../../base/defined.ts'
import type { PausedOrigin } from '../../delivery/lanes.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'
import { entities, statement, timestamp, type Pool, type Runner } from '../../storage/pool.ts'
import { changeInCell } from '../change.ts'
import { Conditions } from './conditions.ts'
import type { CellDesk, Databases, OrderDesk } from '../desk.ts'
import { firstOfAll, inEach, whereItIs } from '../in-cells.ts'
import { cellsFor, loginsIn, orderById, type Logins } from '../where.ts'
import { Refused } from '../refused.ts'

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
  state: 'due' | 'delivered' | 'given up'
  tries: number
  createdAt: number
  dueAt?: number
  /** The result of the last try; absent before the first. */
  lastAt?: number
  httpStatus?: number
  failure?: string
}

export interface DeliveryQuery {
  merchantId?: bigint
  orderId?: bigint
  deliveryNo?: number
  origin?: string
  state?: DeliveryLine['state']
  from?: number
  to?: number
}

/**
 * Conditions on `delivery d`. Due messages are found by their due time, given-up ones by their
 * partial index, those of an order by the primary key, and the rest by the blocks of their time.
 */
function conditionsOf(query: DeliveryQuery): Conditions {
  const asked = new Conditions()
  asked.add('d.merchant_id = ?', query.merchantId)
  asked.add('d.order_id = ?', query.orderId)
  asked.add('d.delivery_no = ?', query.deliveryNo)
  asked.add('d.origin = ?', query.origin)
  if (query.state) asked.add(`d.state = '${query.state}'`)
  if (query.state === 'due') asked.add('d.due_at is not null')
  asked.add('d.created_at >= ?', timestamp(query.from))
  asked.add('d.created_at < ?', timestamp(query.to))
  return asked
}

/**
 * The cells where the messages are, none if there is no such order; and the query with the merchant
 * of the order, by whom the primary key begins.
 */
async function placed(databases: Databases, logins: Logins, query: DeliveryQuery) {
  const cells = await cellsFor(databases, logins, query.merchantId)
  if (query.orderId === undefined) return { cells, query }
  const order = await orderById(cells, logins, query.orderId)
  const { merchantId = order?.merchantId } = query
  return order && order.merchantId === merchantId
    ? { cells: [order.cell], query: { ...query, merchantId } }
    : { cells: [], query }
}

/** How far back the newest are looked for first: blocks have a time, and no index has all. */
const spansMs = [1, 24, 7 * 24, 90 * 24].map((hours) => hours * 3_600_000)

/** Newest first. Continues after the message `after`. */
export async function listDeliveries(
  databases: Databases & Pick<OrderDesk, 'clock'>,
  { after, limit, ...asked }: DeliveryQuery & { after?: DeliveryKey; limit: number },
): Promise<DeliveryLine[]> {
  const logins = await loginsIn(databases.pool)
  const { cells, query } = await placed(databases, logins, asked)
  const place = after && (await placeOf(await cellsFor(databases, logins, asked.merchantId), logins, after))
  const last = place?.createdAt ?? query.to ?? databases.clock.now()
  for (const spanMs of query.orderId === undefined && !query.state ? spansMs : []) {
    const found = await pageOfDeliveries(cells, { ...query, from: Math.max(query.from ?? 0, last - spanMs) }, place, limit)
    if (found.length === limit) return found.map(logins.named)
  }
  return (await pageOfDeliveries(cells, query, place, limit)).map(logins.named)
}

function pageOfDeliveries(cells: readonly CellDesk[], query: DeliveryQuery, place: Place | undefined, limit: number) {
  const fit = conditionsOf(query)
  const time = timestamp(place?.createdAt)
  fit.add('d.created_at <= ?', time)
  fit.add('(d.created_at, d.order_id, d.delivery_no) < (?, ?, ?)', time, place?.orderId, place?.deliveryNo)
  const page = entities<Omit<DeliveryLine, 'login'>>(`
    select d.*, t.at as last_at, t.http_status, t.failure
    from (
      select d.merchant_id, d.order_id, d.delivery_no, d.kind, d.url, d.state, d.tries, d.created_at, d.due_at
      from delivery d ${fit.where}
      order by d.created_at desc, d.order_id desc, d.delivery_no desc limit ${fit.put(limit)}) d
    left join lateral (
      select at, http_status, failure from all_tries a
      where a.merchant_id = d.merchant_id and a.order_id = d.order_id and a.delivery_no = d.delivery_no
      order by a.try_no desc limit 1) t on true
    order by d.created_at desc, d.order_id desc, d.delivery_no desc`)
  return firstOfAll(cells, limit, newestFirst, ({ pool }) => pool.run(page, fit.values))
}

type Place = DeliveryKey & { createdAt: number }
const newestFirst = (a: Place, b: Place): number =>
  b.createdAt - a.createdAt || (a.orderId === b.orderId ? b.deliveryNo - a.deliveryNo : a.orderId < b.orderId ? 1 : -1)

async function placeOf(cells: readonly CellDesk[], logins: Logins, { orderId, deliveryNo }: DeliveryKey): Promise<Place> {
  const place = await whereItIs(cells, async ({ cellNo, pool }) => {
    const [row] = await pool.run(placeById, [orderId, deliveryNo, logins.merchantIds(cellNo)])
    return row
  })
  if (!place) throw new Refused({ what: 'unknown', thing: 'message of page', name: `${orderId}/${deliveryNo}` })
  return place
}

const placeById = entities<Place>(`
  select d.order_id, d.delivery_no, d.created_at from unnest($3::bigint[]) m (merchant_id)
  join delivery d on d.merchant_id = m.merchant_id and d.order_id = $1 and d.delivery_no = $2`)

/** A merchant's server, as rows show it. `heldBack`: past due, and in the hands of no process. */
export interface DeliveryOrigin extends Record<'due' | 'heldBack' | 'delivered' | 'givenUp' | 'failedTries', number> {
  merchantId: bigint
  login: string
  origin: string
  oldestAt?: number
  failedAt?: number
  failure?: string
  /** Live processes that send nothing there for now, and when the last of their pauses ends. */
  pausedIn?: number
  pausedUntil?: number
}

const pauses = statement<{ paused_origins: readonly (Omit<PausedOrigin, 'merchantId'> & { merchantId: string })[] }>(`
  select paused_origins from heartbeat
  where paused_origins is not null and beat_at > now() - $1::int * interval '1 millisecond'`)

/** The pauses that the processes of a cell report for an origin of a merchant. */
async function pausesIn(pool: Pool) {
  const all = (await pool.run(pauses, [deadAfterMs])).flatMap((row) => row.paused_origins)
  return ({ merchantId, origin }: Pick<DeliveryOrigin, 'merchantId' | 'origin'>) => {
    const of = all.filter((one) => one.merchantId === String(merchantId) && one.origin === origin)
    return of.length === 0 ? {} : { pausedIn: of.length, pausedUntil: Math.max(...of.map(({ until }) => until)) }
  }
}

const hourMs = 3_600_000
/** Processes look for what is due every second or two. */
const pastMs = 10_000

/** Due ones by their index; those of the span and tries of the hour by the blocks of their time. */
const origins = entities<Omit<DeliveryOrigin, 'login'>>(`
  select merchant_id, origin, count(due_at)::int as due, min(created_at) filter (where due_at is not null) as oldest_at,
    (count(*) filter (where due_at < $3 and lease is null))::int as held_back,
    (count(*) filter (where state = 'delivered'))::int as delivered,
    (count(*) filter (where state = 'given up'))::int as given_up, count(at)::int as failed_tries, max(at) as failed_at,
    (array_agg(says order by at desc) filter (where at is not null))[1] as failure
  from (
    select merchant_id, origin, state, created_at, due_at, lease, null::timestamptz as at, null as says
    from unnest($1::bigint[]) as m (id) cross join lateral (
      select * from delivery where merchant_id = m.id and due_at is not null order by due_at limit 100000) d
    where $5::timestamptz is null or created_at >= $5
    union all
    select merchant_id, origin, state, created_at, due_at, lease, null, null from delivery
    where merchant_id = any ($1) and state <> 'due' and created_at >= coalesce($5, $2)
    union all
    select d.merchant_id, d.origin, null, null, null, null, a.at, coalesce(a.failure, 'answered ' || a.http_status)
    from delivery_attempt a
    join delivery d on d.merchant_id = a.merchant_id and d.order_id = a.order_id and d.delivery_no = a.delivery_no
    where a.merchant_id = any ($1) and a.at >= $2 and (a.failure is not null or a.answer is not null or a.http_status <> 200)) n
  where ($4::text is null or origin = $4) and (created_at is null or $6::timestamptz is null or created_at < $6)
  group by merchant_id, origin having $5 is not null or bool_or(state is distinct from 'delivered')`)

/** The worst first. */
export async function listOrigins(desk: OrderDesk, { merchantId, origin, from, to }: DeliveryQuery): Promise<DeliveryOrigin[]> {
  const logins = await loginsIn(desk.pool)
  const now = desk.clock.now()
  const times = [now - hourMs, now - pastMs].map(timestamp)
  const found = await inEach(await cellsFor(desk, logins, merchantId), async ({ cellNo, pool }) => {
    const whose = merchantId === undefined ? logins.merchantIds(cellNo) : [merchantId]
    const pauseOf = await pausesIn(pool)
    const rows = await pool.run(origins, [whose, ...times, origin, timestamp(from), timestamp(to)])
    return rows.map((row) => ({ ...row, ...pauseOf(row) }))
  })
  return found
    .flat()
    .map(logins.named)
    .sort((a, b) => b.failedTries - a.failedTries || b.due - a.due)
}

export interface Resent {
  resent: number
  /** When the first and the last of these were owed. */
  from: number
  to: number
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
 * Makes messages due now, as if never tried; several of them only if `many` is wanted. The record
 * of earlier tries is kept: their numbers become negative, because later ones start from one again.
 * Messages that a process is sending are skipped.
 */
export async function resendDeliveries(desk: OrderDesk, asked: DeliveryQuery, many: boolean): Promise<Resent> {
  const { cells, query } = await placed(desk, await loginsIn(desk.pool), asked)
  const fit = conditionsOf(query)
  const countOf = statement<{ count: bigint }>(`select count(*) from delivery d ${fit.where}`)
  const counted = await inEach(cells, async (cell) => {
    const [row] = await cell.pool.run(countOf, fit.values)
    return { cell, count: Number(row!.count) }
  })
  const all = counted.reduce((sum, { count }) => sum + count, 0)
  if (all === 0) throw new Refused({ what: 'no delivery fits' })
  if (all > 1 && !many) throw new Refused({ what: 'many deliveries', count: all })
  const total: Resent = { resent: 0, from: desk.clock.now(), to: 0, inHand: 0, erased: 0 }
  for (const { cell, count } of counted) {
    // The audit trail has no lines of cells in which nothing fits.
    if (count === 0) continue
    let after: Key | undefined = { merchantId: 0n, orderId: 0n, deliveryNo: 0 }
    while (after) {
      const { rows, free, erased } = await resendSome(desk, cell, query, after)
      total.resent += free.length
      total.erased += erased
      total.inHand += rows.length - free.length - erased
      const times = free.map(({ createdAt }) => createdAt)
      total.from = Math.min(total.from, ...times)
      total.to = Math.max(total.to, ...times)
      after = rows.length < atOnce ? undefined : rows.at(-1)
    }
  }
  return total
}

type Key = Pick<DeliveryLine, 'merchantId' | 'orderId' | 'deliveryNo'>

function resendSome(desk: OrderDesk, cell: CellDesk, query: DeliveryQuery, { merchantId, orderId, deliveryNo }: Key) {
  return changeInCell(desk, cell, async (runner) => {
    const asked = conditionsOf(query)
    asked.add('(d.merchant_id, d.order_id, d.delivery_no) > (?, ?, ?)', merchantId, orderId, deliveryNo)
    const some = entities<Key & { createdAt: number; lease?: bigint; erased: boolean }>(`
      select d.merchant_id, d.order_id, d.delivery_no, d.created_at, d.lease, exists (select from order_facts f
        where f.merchant_id = d.merchant_id and f.order_id = d.order_id and f.request->>'erasedAt' is not null) as erased
      from delivery d ${asked.where}
      order by d.merchant_id, d.order_id, d.delivery_no limit ${atOnce} for update`)
    const rows = await runner.run(some, asked.values)
    const free = rows.filter(({ erased, lease }) => !erased && lease === undefined)
    await makeDue(runner, free, desk.clock.now())
    const { state, origin = null, from, to } = query
    const span = notNull({ origin, from: timestamp(from), to: timestamp(to) })
    return {
      note: { subject: subjectOf(query), details: { messages: free.length, ...(state && { state }), ...span } },
      result: { rows, free, erased: rows.filter(({ erased }) => erased).length },
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

async function makeDue(runner: Runner, rows: readonly Key[], now: number): Promise<void> {
  const keys = [rows.map((row) => row.merchantId), rows.map((row) => row.orderId), rows.map((row) => row.deliveryNo)]
  await runner.run(moveFirstTries, keys)
  await runner.run(setTriesAside, keys)
  await runner.run(due, [...keys, timestamp(now)])
}

function subjectOf(query: DeliveryQuery): string {
  if (query.orderId !== undefined)
    return query.deliveryNo === undefined ? `order ${query.orderId}` : `delivery ${query.orderId}/${query.deliveryNo}`
  return query.merchantId === undefined ? 'deliveries' : `deliveries of merchant number ${query.merchantId}`
}
