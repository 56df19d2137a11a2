/**
 * The statements of the order tables. Each works on a whole batch, passed as one JSON list, and
 * looks up by primary key.
 */
import { isFree } from '../storage/leased.ts'
import { statement, type Statement } from '../storage/pool.ts'
import type { AttemptRecord, OrderRecord, SealedCardRecord, SignedAmountsRow, TransactionRecord } from './store-rows.ts'

export type Write = Statement<object>

export interface KeyRecord {
  merchant_id: bigint
  order_id: bigint
  client_orderid: string
  digest: Buffer
}

interface PlaceRecord {
  merchant_id: bigint
  order_id: bigint
}

/**
 * docs/choices.md, "Idempotency": takes a client_orderid that is free, or whose order ended
 * declined, filtered or in error, unless the very same request comes while the name is held.
 * Sorted, so that two batches take shared names in the same order. Names that stay with their order
 * are locked too, so that the next read of them is exact.
 */
export const claimKeys = statement<KeyRecord>(`
  insert into order_key as k (merchant_id, client_orderid, order_id, live, digest, created_at, held_until)
  select merchant_id, client_orderid, order_id, true, digest, created_at, held_until
  from json_to_recordset($1) as n (merchant_id bigint, client_orderid text, order_id bigint, digest bytea, created_at timestamptz,
    held_until timestamptz)
  order by merchant_id, client_orderid
  on conflict (merchant_id, client_orderid) do update
    set order_id = excluded.order_id, live = true, digest = excluded.digest, created_at = excluded.created_at,
      held_until = excluded.held_until
    where not k.live and (k.digest <> excluded.digest or k.held_until < excluded.created_at)
  returning merchant_id, client_orderid, order_id, digest`)

export const selectKeys = statement<KeyRecord>(`
  select k.merchant_id, k.client_orderid, k.order_id, k.digest
  from json_to_recordset($1) as n (merchant_id bigint, client_orderid text)
  join order_key k on k.merchant_id = n.merchant_id and k.client_orderid = n.client_orderid`)

/** Frees the name for another order, but only if it still belongs to this one. */
export const freeKeys: Write = statement(`
  update order_key k set live = false
  from json_to_recordset($1) as n (merchant_id bigint, client_orderid text, order_id bigint)
  where k.merchant_id = n.merchant_id and k.client_orderid = n.client_orderid and k.order_id = n.order_id and k.live`)

export const insertOrders: Write = statement(`
  insert into orders (merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency, amount_minor,
    amount_text, status, authorised_minor, captured_minor, returned_minor, events, deliveries, created_at, final_at)
  select merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency, amount_minor, amount_text, status,
    authorised_minor, captured_minor, returned_minor, events, deliveries, created_at, final_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, version int, kind text, client_orderid text,
    path_id bigint, endpoint_id bigint, currency text, amount_minor bigint, amount_text text, status text,
    authorised_minor bigint, captured_minor bigint, returned_minor bigint, events int, deliveries int, created_at timestamptz,
    final_at timestamptz)`)

export const insertFacts: Write = statement(`
  insert into order_facts (merchant_id, order_id, request, card, screening)
  select merchant_id, order_id, request, card, screening
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, request jsonb, card jsonb, screening jsonb)`)

/**
 * A row whose version changed is not in the result; the caller reloads it and decides again.
 * *Rejected:* select … for update first, a round trip more.
 */
export const updateOrders = statement<PlaceRecord>(`
  update orders o set version = n.version, status = n.status, authorised_minor = n.authorised_minor,
    captured_minor = n.captured_minor, returned_minor = n.returned_minor, events = n.events, deliveries = n.deliveries,
    final_at = n.final_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, was int, version int, status text,
    authorised_minor bigint, captured_minor bigint, returned_minor bigint, events int, deliveries int, final_at timestamptz)
  where o.merchant_id = n.merchant_id and o.order_id = n.order_id and o.version = n.was
  returning o.merchant_id, o.order_id`)

export const selectOrders = statement<OrderRecord>(`
  select o.merchant_id, o.order_id, o.version, o.kind, o.client_orderid, o.path_id, o.endpoint_id, o.currency, o.amount_minor,
    o.amount_text, f.request, f.card, f.screening, o.events, o.deliveries, o.created_at, o.final_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint)
  join orders o on o.merchant_id = n.merchant_id and o.order_id = n.order_id
  join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id`)

export const insertTransactions: Write = statement(`
  insert into transaction (merchant_id, order_id, transaction_no, kind, origin, serial_number, parent_no, state, amount_minor,
    amount_text, result, authentication, asked, step, due_at, lease, tries, alarm, created_at, final_at)
  select merchant_id, order_id, transaction_no, kind, origin, serial_number, parent_no, state, amount_minor, amount_text, result,
    authentication, asked, step, due_at, lease, tries, alarm, created_at, final_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, transaction_no int, kind text, origin text,
    serial_number uuid, parent_no int, state text, amount_minor bigint, amount_text text, result jsonb, authentication jsonb,
    asked jsonb, step text, due_at timestamptz, lease bigint, tries int, alarm text, created_at timestamptz,
    final_at timestamptz)`)

/** Fenced by the order's version, which is written in the same transaction. */
export const updateTransactions: Write = statement(`
  update transaction t set state = n.state, amount_minor = n.amount_minor, amount_text = n.amount_text, result = n.result,
    authentication = n.authentication, step = n.step, due_at = n.due_at, lease = n.lease, tries = n.tries, alarm = n.alarm,
    final_at = n.final_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, transaction_no int, state text, amount_minor bigint,
    amount_text text, result jsonb, authentication jsonb,
    step text, due_at timestamptz, lease bigint, tries int, alarm text, final_at timestamptz)
  where t.merchant_id = n.merchant_id and t.order_id = n.order_id and t.transaction_no = n.transaction_no`)

const transactionColumns = `t.merchant_id, t.order_id, t.transaction_no, t.kind, t.origin, t.serial_number, t.parent_no,
    t.state, t.amount_minor, t.amount_text, t.result, t.authentication, t.asked, t.step, t.due_at, t.lease, t.tries, t.alarm,
    t.created_at, t.final_at`

export const selectTransactions = statement<TransactionRecord>(`
  select ${transactionColumns}
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint)
  join transaction t on t.merchant_id = n.merchant_id and t.order_id = n.order_id`)

/**
 * Reads two transactions of each order: the payment, and as `shown` the one that the named request
 * created or repeated. Without a name, `shown` is the newest that any request created.
 */
export const selectShown = statement<TransactionRecord & { at: number; shown: number | null }>(`
  select n.at, w.shown, ${transactionColumns}
  from json_to_recordset($1) as n (at int, merchant_id bigint, order_id bigint, serial_number uuid)
  cross join lateral (select case
    when n.serial_number is null then
      (select r.transaction_no from transaction r
       where r.merchant_id = n.merchant_id and r.order_id = n.order_id and r.origin = 'request'
       order by r.transaction_no desc limit 1)
    else coalesce(
      (select r.transaction_no from transaction r
       where r.merchant_id = n.merchant_id and r.order_id = n.order_id and r.serial_number = n.serial_number),
      (select q.transaction_no from request q
       where q.merchant_id = n.merchant_id and q.order_id = n.order_id and q.serial_number = n.serial_number))
    end as shown) w
  join transaction t on t.merchant_id = n.merchant_id and t.order_id = n.order_id and t.transaction_no = any (array[1, w.shown])`)

/**
 * How much longer than the dead-after span a silent process keeps a step whose call may still be
 * answered. Anything it sent left before it fell silent, and it may return to save the answer.
 * Measured by the heartbeat, not by the deadline of the attempt: the line may have held the request
 * back, and the wall clocks of two processes may disagree.
 */
const patience = `case
            when t.step = 'authorise' then coalesce((
              select max(a.deadline_at - a.started_at) from attempt a
              where a.merchant_id = t.merchant_id and a.order_id = t.order_id and a.transaction_no = t.transaction_no
                and a.outcome is null), interval '0')
            when t.step in ('authenticate', 'enrol') then $7::int * interval '1 millisecond'
            else interval '0' end`

/** Takes steps that are due and free. For a leased row `due_at` is when to check it again. */
export const claimDue = statement<PlaceRecord & { transaction_no: number; tries: number; was: bigint | null }>(`
  with due as (
    select t.merchant_id, t.order_id, t.transaction_no, t.lease
    from transaction t
    where t.due_at <= $2 and t.alarm is null
      and ${isFree('t', { me: '$1', silent: '$6', deadAfterMs: '$4' }, patience)}
    order by t.due_at limit $3
    for update of t skip locked)
  update transaction t set lease = $1, due_at = $5
  from due d
  where t.merchant_id = d.merchant_id and t.order_id = d.order_id and t.transaction_no = d.transaction_no
  returning t.merchant_id, t.order_id, t.transaction_no, t.tries, d.lease as was`)

export const firstDue = statement<{ due_at: number }>(
  `select due_at from transaction where due_at is not null and alarm is null order by due_at limit 1`,
)

/**
 * Returns a step that could not be run: due later, without a lease, and invisible to sweeps if it
 * has an alarm. Only the holder of the lease may do so.
 */
export const putBack: Write = statement(`
  update transaction set tries = tries + 1, due_at = $5, lease = null, alarm = $6
  where merchant_id = $1 and order_id = $2 and transaction_no = $3 and lease = $4 and step is not null`)

export const insertAttempts: Write = statement(`
  insert into attempt (merchant_id, order_id, attempt_no, transaction_no, gate_id, terminal_id, stan, rrn, started_at,
    deadline_at)
  select merchant_id, order_id, attempt_no, transaction_no, gate_id, terminal_id, stan, rrn, started_at, deadline_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, attempt_no int, transaction_no int, gate_id bigint,
    terminal_id text, stan text, rrn text, started_at timestamptz, deadline_at timestamptz)`)

export const updateAttempts: Write = statement(`
  update attempt a set outcome = n.outcome, action_code = n.action_code, why = n.why, ended_at = n.ended_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, attempt_no int, outcome text, action_code text, why text,
    ended_at timestamptz)
  where a.merchant_id = n.merchant_id and a.order_id = n.order_id and a.attempt_no = n.attempt_no`)

export const selectAttempts = statement<AttemptRecord>(`
  select a.merchant_id, a.order_id, a.attempt_no, a.transaction_no, a.gate_id, a.terminal_id, a.stan, a.rrn, a.started_at,
    a.deadline_at, a.outcome, a.action_code, a.why, a.ended_at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint)
  join attempt a on a.merchant_id = n.merchant_id and a.order_id = n.order_id`)

export const insertEvents: Write = statement(`
  insert into order_event (merchant_id, order_id, event_no, transaction_no, event, from_state, to_state, facts, at)
  select merchant_id, order_id, event_no, transaction_no, event, from_state, to_state, facts, at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, event_no int, transaction_no int, event text,
    from_state text, to_state text, facts jsonb, at timestamptz)`)

export const insertRepeats: Write = statement(`
  insert into request (merchant_id, order_id, serial_number, operation, transaction_no, at)
  select merchant_id, order_id, serial_number, operation, transaction_no, at
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, serial_number uuid, operation text, transaction_no int,
    at timestamptz)
  on conflict do nothing`)

/** Always returns one row; a row of nulls if the order does not exist. */
export const selectSignedAmounts = statement<SignedAmountsRow | { currency: null }>(`
  select o.currency, o.amount_text, o.amount_minor, t.amount_text as payment_text, t.amount_minor as payment_minor
  from (values (1)) as one
    left join orders o on o.merchant_id = $1 and o.order_id = $2
    left join transaction t on t.merchant_id = $1 and t.order_id = $2 and t.transaction_no = 1`)

export const insertCards: Write = statement(`
  insert into sealed_card (merchant_id, order_id, pan_sealed, pan_key, fingerprint, cvv2_sealed, cvv2_key, destination_sealed)
  select merchant_id, order_id, pan_sealed, pan_key, fingerprint, cvv2_sealed, cvv2_key, destination_sealed
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint, pan_sealed bytea, pan_key bigint, fingerprint bytea,
    cvv2_sealed bytea, cvv2_key bigint, destination_sealed bytea)`)

export const eraseCvv2: Write = statement(`
  update sealed_card c set cvv2_sealed = null, cvv2_key = null
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint)
  where c.merchant_id = n.merchant_id and c.order_id = n.order_id and c.cvv2_sealed is not null`)

export const selectCards = statement<SealedCardRecord>(`
  select c.merchant_id, c.order_id, c.pan_sealed, c.pan_key, c.fingerprint, c.cvv2_sealed, c.cvv2_key, c.destination_sealed
  from json_to_recordset($1) as n (merchant_id bigint, order_id bigint)
  join sealed_card c on c.merchant_id = n.merchant_id and c.order_id = n.order_id`)

export const insertLocators: Write = statement(`
  insert into locator (key, merchant_id, order_id)
  select key, merchant_id, order_id from json_to_recordset($1) as n (key text, merchant_id bigint, order_id bigint)
  on conflict (key) do nothing`)

export const locate = statement<PlaceRecord>(`select merchant_id, order_id from locator where key = $1`)
