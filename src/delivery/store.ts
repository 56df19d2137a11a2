import { columnsOf, insertion, onRows, rowsOf, writes } from '../storage/columns.ts'
import { claimValues, isTakable, type Claimer } from '../leases/leased.ts'
import { asJson, entities, statement, timestamp, type Pool } from '../storage/pool.ts'
import type { Write } from '../storage/transaction.ts'
import { deadAfterMs, leaseLookMs } from '../leases/heartbeat.ts'
import type { PausedOrigin } from './lanes.ts'
import { goesAtOnce, type Delivery, type NewDelivery } from './delivery.ts'

/** A message that was taken; or how far a merchant's were looked at, if none could be taken. */
interface ClaimedRow extends Delivery {
  hadLease?: bigint
  lookedUntil?: number
}

interface NewRow extends NewDelivery {
  merchantId: bigint
  orderId: bigint
  at: number
  lease: bigint | undefined
}

const fresh = columnsOf<NewRow>()
const insert = insertion(
  'delivery',
  rowsOf({
    merchant_id: fresh.int8((d) => d.merchantId),
    order_id: fresh.int8((d) => d.orderId),
    delivery_no: fresh.int4((d) => d.deliveryNo),
    transaction_no: fresh.int4((d) => d.transactionNo),
    kind: fresh.text((d) => d.kind),
    url: fresh.text((d) => d.url),
    origin: fresh.text((d) => d.origin),
    due_at: fresh.time((d) => (d.lease === undefined ? d.at : d.at + leaseLookMs)),
    lease: fresh.int8((d) => d.lease),
    created_at: fresh.time((d) => d.at),
  }),
)

/** Merchants with waiting messages: one step in the index for each, however many messages wait. */
const waiting = entities<{ merchantId: bigint; dueAt: number }>(`
  with recursive m as (
    select f.merchant_id, f.due_at, 1 as no from (
      select d.merchant_id, d.due_at from delivery d where d.due_at is not null and d.merchant_id > $1
      order by d.merchant_id, d.due_at limit 1) f
    union all
    select n.merchant_id, n.due_at, m.no + 1 from m cross join lateral (
      select d.merchant_id, d.due_at from delivery d where d.due_at is not null and d.merchant_id > m.merchant_id
      order by d.merchant_id, d.due_at limit 1) n
    where m.no < $2)
  select m.merchant_id, m.due_at from m order by m.merchant_id`)

/**
 * How many due messages of a merchant a claim looks at. It exceeds what a batch of the door
 * creates, because those all have the same due time.
 */
export const lookedAt = 1_024

/**
 * Takes due messages that have no lease, or the lease of a dead process or of the caller. The
 * merchant with the fewest messages in memory comes first, message by message. A claim looks at a
 * bounded number of messages of each merchant, because a million may wait for blocked origins. If
 * it can take none of them, it reports how far it looked, and the next claim continues from there.
 * A message that has a lease is taken also if its origin is blocked: no process has to keep it.
 * A message waits for the first try of the older ones of its order.
 */
const claim = entities<ClaimedRow>(`
  with looked as (
    select d.merchant_id, d.order_id, d.delivery_no, d.due_at, t.held,
      ${isTakable('d', { me: '$1', deadAfterMs: '$4', from: 9 })}
      and (d.lease is not null or d.origin <> all (t.blocked))
      and not exists (
        select from delivery o where o.merchant_id = d.merchant_id and o.order_id = d.order_id and o.delivery_no < d.delivery_no
          and o.url = d.url and o.state = 'due' and o.tries = 0) as free
    from json_to_recordset($6) as t (merchant_id bigint, held int, blocked text[], from_at timestamptz)
    cross join lateral (
      select * from delivery l where l.merchant_id = t.merchant_id and l.due_at >= t.from_at and l.due_at <= $2
      order by l.due_at limit ${lookedAt}) d),
  turns as (
    select merchant_id, order_id, delivery_no, due_at,
      held + row_number() over (partition by merchant_id order by due_at, order_id, delivery_no) as turn
    from looked where free),
  placed as (
    select *, row_number() over (order by turn, due_at, order_id, delivery_no) as place from turns
    order by turn, due_at, order_id, delivery_no limit $3),
  due as (select * from (
    select d.merchant_id, d.order_id, d.delivery_no, d.lease
    from placed p join delivery d on d.merchant_id = p.merchant_id and d.order_id = p.order_id and d.delivery_no = p.delivery_no
    where (p.turn <= $8 or p.place <= $7) and d.due_at <= $2
    for update of d skip locked) locked),
  taken as (
    update delivery d set lease = $1, due_at = $5
    from due
    where d.merchant_id = due.merchant_id and d.order_id = due.order_id and d.delivery_no = due.delivery_no
    returning d.merchant_id, d.order_id, d.delivery_no, d.transaction_no, d.kind, d.url, d.origin, d.tries,
      due.lease as had_lease)
  select *, null::timestamptz as looked_until from taken
  union all
  select merchant_id, 0, 0, 0, '', '', '', 0, null, max(due_at) from looked
  group by merchant_id having count(*) >= ${lookedAt} and not bool_or(free)`)

const tried = columnsOf<Try>()
const triedRows = rowsOf({
  merchant_id: tried.int8(({ delivery }) => delivery.merchantId),
  order_id: tried.int8(({ delivery }) => delivery.orderId),
  delivery_no: tried.int4(({ delivery }) => delivery.deliveryNo),
  try_no: tried.int4(({ delivery }) => delivery.tries + 1),
  at: tried.time((t) => t.at),
  duration_ms: tried.int4((t) => Math.round(t.durationMs)),
  http_status: tried.int4((t) => t.httpStatus),
  failure: tried.text((t) => t.failure),
  answer: tried.text((t) => t.answer),
  state: tried.text((t) => t.state),
  due_at: tried.time((t) => t.dueAt),
  done_at: tried.time((t) => (t.state === 'due' ? undefined : t.at)),
})

/**
 * Records tries and updates their messages, in one statement. Only the holder of the lease writes,
 * so a process that was taken over changes nothing. A first try that was received is noted in its
 * message, every other one in a row of its own. The insert joins `delivery` for Citus alone, where
 * all nodes together insert rows of a `with`, and fail when one of them is away.
 */
const saveTries = onRows<Try>(
  triedRows,
  `with moved as (
    update delivery d set state = n.state, due_at = n.due_at, lease = null, tries = n.try_no, done_at = n.done_at,
      http_status = case when n.try_no = 1 and n.state = 'delivered' then n.http_status end,
      duration_ms = case when n.try_no = 1 and n.state = 'delivered' then n.duration_ms end
    from ${triedRows.list}
    where d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.delivery_no = n.delivery_no
      and d.lease = $${triedRows.count + 1}
    returning n.*, d.duration_ms is null as is_apart),
  added as (
  insert into delivery_attempt (merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure, answer)
  select m.merchant_id, m.order_id, m.delivery_no, m.try_no, m.at, m.duration_ms, m.http_status, m.failure, m.answer
  from moved m join delivery d on d.merchant_id = m.merchant_id and d.order_id = m.order_id and d.delivery_no = m.delivery_no
  where m.is_apart)
  select from moved`,
)

const named = columnsOf<Delivery>()
const namedRows = rowsOf({
  merchant_id: named.int8((d) => d.merchantId),
  order_id: named.int8((d) => d.orderId),
  delivery_no: named.int4((d) => d.deliveryNo),
})
const letGo = onRows<Delivery>(
  namedRows,
  `update delivery d set lease = null, due_at = $${namedRows.count + 2} from ${namedRows.list}
  where d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.delivery_no = n.delivery_no
    and d.lease = $${namedRows.count + 1} and d.state = 'due'`,
)

/** Operators read this; no process does. */
const notePaused = statement<object>(`update heartbeat set paused_origins = $2 where process_id = $1`)

export interface Try {
  delivery: Delivery
  at: number
  durationMs: number
  httpStatus?: number
  failure?: string
  /** The beginning of an answer that was no success. */
  answer?: string
  /** `due` again at `dueAt`, or finished. */
  state: 'due' | 'delivered' | 'given up'
  dueAt?: number
}

/** How a claim looks at one merchant. */
export interface Turn {
  merchantId: bigint
  /** Messages of the merchant that this process has in memory. */
  held: number
  /** Origins to skip: their lane is full or their breaker open. */
  blocked: readonly string[]
  /** Messages that were due earlier are skipped. */
  from: number
}

/** How many messages a claim may take. */
export interface ClaimRoom {
  all: number
  /** Open to every merchant; the rest only to those who hold fewer than `few`. */
  common: number
  few: number
}

export interface Claimed {
  taken: (Delivery & { hadLease?: bigint })[]
  /** Merchants of whom every message looked at had to be skipped, and the latest due time seen. */
  passedOver: { merchantId: bigint; until: number }[]
}

/** The simulation replaces this and `OrderStore` with its model. */
export interface DeliveryStore {
  /**
   * Merchants with waiting messages, by number, starting after `after`, and when the first message
   * of each is due.
   */
  waiting(after: bigint, limit: number): Promise<{ merchantId: bigint; dueAt: number }[]>
  claimDue(by: Claimer, now: number, turns: readonly Turn[], room: ClaimRoom): Promise<Claimed>
  saveTries(tries: readonly Try[], processId: bigint): Promise<void>
  /** Ends the caller's lease of messages that it does not send. */
  letGo(deliveries: readonly Delivery[], processId: bigint, now: number): Promise<void>
  /** Records to whom a process sends nothing for now, for operators. */
  notePaused(processId: bigint, paused: readonly PausedOrigin[]): Promise<void>
}

/** The process that takes the new messages of an order into memory, if any. */
export type DeliveryLease = (order: { merchantId: bigint; orderId: bigint }) => bigint | undefined

/**
 * Statements that write new messages in the transaction of the outcome that they report. Messages
 * that are sent immediately may already have the lease of a process.
 */
export const deliveryWrites = (
  deliveries: readonly (NewDelivery & { merchantId: bigint; orderId: bigint; at: number })[],
  leaseOf: DeliveryLease | undefined,
): Write[] =>
  writes(
    insert,
    deliveries.map((d) => ({ lease: goesAtOnce(d) ? leaseOf?.(d) : undefined, ...d })),
  )

export function openDeliveryStore(pool: Pool): DeliveryStore {
  return {
    waiting: (after, limit) => pool.run(waiting, [after, limit]),
    async claimDue(by, now, turns, room) {
      const rows = await pool.run(claim, [
        by.processId,
        timestamp(now),
        room.all,
        deadAfterMs,
        timestamp(now + leaseLookMs),
        asJson(turns.map(turnRow)),
        room.common,
        room.few,
        ...claimValues(by),
      ])
      return {
        taken: rows.filter(({ lookedUntil }) => lookedUntil === undefined),
        passedOver: rows.flatMap(({ merchantId, lookedUntil: until }) => (until === undefined ? [] : [{ merchantId, until }])),
      }
    },
    async saveTries(tries, processId) {
      await pool.run(saveTries.sql, [...saveTries.values(tries), processId])
    },
    async letGo(deliveries, processId, now) {
      if (deliveries.length > 0) await pool.run(letGo.sql, [...letGo.values(deliveries), processId, timestamp(now)])
    },
    async notePaused(processId, paused) {
      await pool.run(notePaused, [processId, asJson(paused.map((one) => ({ ...one, merchantId: String(one.merchantId) })))])
    },
  }
}

const turnRow = ({ merchantId, held, blocked, from }: Turn) => ({
  merchant_id: String(merchantId),
  held,
  blocked,
  from_at: timestamp(from),
})
