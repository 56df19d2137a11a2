import { asJson, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../storage/store-heartbeat.ts'
import { goesAtOnce, type Delivery, type DeliveryKind, type NewDelivery } from './delivery.ts'

interface DeliveryRecord {
  merchant_id: bigint
  order_id: bigint
  delivery_no: number
  transaction_no: number
  kind: DeliveryKind
  url: string
  origin: string
  tries: number
}

const insert = statement<object>(`
  insert into delivery (merchant_id, order_id, delivery_no, transaction_no, kind, url, origin, state, due_at, lease, tries, created_at)
  select merchant_id, order_id, delivery_no, transaction_no, kind, url, origin, 'due', due_at, lease, 0, created_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, delivery_no int, transaction_no int, kind text, url text, origin text,
    due_at timestamptz, lease bigint, created_at timestamptz)`)

/**
 * Takes what is due and in nobody's hand, a dead process's or the caller's own. Origins in `$6` are left alone: their lane is full or their breaker open, and rows
 * of theirs must not use up the limit. A message waits for the first try of an older one of its order.
 */
const claim = statement<DeliveryRecord & { was: bigint | null }>(`
  with due as (
    select d.merchant_id, d.order_id, d.delivery_no, d.lease
    from delivery d
    where d.due_at <= $2
      and (d.lease is null or d.lease = $1 or not exists (
        select from heartbeat h where h.process_id = d.lease and h.beat_at > now() - $4::int * interval '1 millisecond'))
      and d.origin <> all ($6::text[])
      and not exists (
        select from delivery o where o.merchant_id = d.merchant_id and o.order_id = d.order_id and o.delivery_no < d.delivery_no
          and o.url = d.url and o.state = 'due' and o.tries = 0)
    order by d.due_at limit $3
    for update of d skip locked)
  update delivery d set lease = $1, due_at = $5
  from due
  where d.merchant_id = due.merchant_id and d.order_id = due.order_id and d.delivery_no = due.delivery_no
  returning d.merchant_id, d.order_id, d.delivery_no, d.transaction_no, d.kind, d.url, d.origin, d.tries, due.lease as was`)

/** Notes tries and moves their messages on, in one statement. Only the holder of the lease writes, so a process that was taken over changes nothing. */
const saveTries = statement<object>(`
  with n as (
    select * from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, delivery_no int, try_no int, at timestamptz, duration_ms int,
      http_status int, failure text, state text, due_at timestamptz, done_at timestamptz)),
  noted as (
    insert into delivery_attempt (merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure)
    select merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure from n
    on conflict do nothing)
  update delivery d set state = n.state, due_at = n.due_at, lease = null, tries = n.try_no, done_at = n.done_at
  from n
  where d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.delivery_no = n.delivery_no and d.lease = $2`)

export interface Try {
  delivery: Delivery
  at: number
  durationMs: number
  httpStatus?: number
  failure?: string
  /** `due` again at `dueAt`, or over. */
  state: 'due' | 'delivered' | 'given up'
  dueAt?: number
}

/** With `OrderStore` the seam where the simulation puts its model. */
export interface DeliveryStore {
  claimDue(
    processId: bigint,
    now: number,
    limit: number,
    blockedOrigins: readonly string[],
  ): Promise<(Delivery & { hadLease?: bigint })[]>
  saveTries(tries: readonly Try[], processId: bigint): Promise<void>
}

/** Writes new messages in the transaction of the outcome they tell. Under a lease those that go at once are in the hand of their process. */
export async function insertDeliveries(
  runner: Runner,
  deliveries: readonly (NewDelivery & { merchantId: bigint; orderId: bigint; at: number })[],
  lease: bigint | undefined,
): Promise<void> {
  const rows = deliveries.map((d) => {
    const isTaken = lease !== undefined && goesAtOnce(d)
    return {
      ...placeRow(d),
      transaction_no: d.transactionNo,
      kind: d.kind,
      url: d.url,
      origin: d.origin,
      due_at: timestamp(isTaken ? d.at + leaseLookMs : d.at),
      lease: isTaken ? String(lease) : null,
      created_at: timestamp(d.at),
    }
  })
  await runner.run(insert, [asJson(rows)])
}

export function openDeliveryStore(pool: Pool): DeliveryStore {
  return {
    async claimDue(processId, now, limit, blockedOrigins) {
      const rows = await pool.run(claim, [
        processId,
        timestamp(now),
        limit,
        deadAfterMs,
        timestamp(now + leaseLookMs),
        [...blockedOrigins],
      ])
      return rows.map((r) => ({ ...deliveryOf(r), ...(r.was === null ? {} : { hadLease: r.was }) }))
    },
    async saveTries(tries, processId) {
      const rows = tries.map((t) => ({
        ...placeRow(t.delivery),
        try_no: t.delivery.tries + 1,
        at: timestamp(t.at),
        duration_ms: Math.round(t.durationMs),
        http_status: t.httpStatus ?? null,
        failure: t.failure ?? null,
        state: t.state,
        due_at: timestamp(t.dueAt),
        done_at: t.state === 'due' ? null : timestamp(t.at),
      }))
      await pool.run(saveTries, [asJson(rows), processId])
    },
  }
}

const placeRow = (d: { merchantId: bigint; orderId: bigint; deliveryNo: number }) => ({
  merchant_id: String(d.merchantId),
  order_id: String(d.orderId),
  delivery_no: d.deliveryNo,
})

const deliveryOf = (r: DeliveryRecord): Delivery => ({
  merchantId: r.merchant_id,
  orderId: r.order_id,
  deliveryNo: r.delivery_no,
  transactionNo: r.transaction_no,
  kind: r.kind,
  url: r.url,
  origin: r.origin,
  tries: r.tries,
})
