/**
 * The statements of the order tables. Each works on a whole batch, passed as one array for each
 * column, and looks up by primary key.
 */
import { columnsOf, insertion, onRows, rowsOf } from '../../storage/columns.ts'
import { statement } from '../../storage/pool.ts'
import type { Change, KeyClaim, OrderKey, RepeatRow } from '../decide/change.ts'
import {
  attemptNames,
  endedAttemptRows,
  endNames,
  eventRows,
  factsRows,
  growingNames,
  grownOrderRows,
  movedOrderRows,
  movedTransactionRows,
  movingNames,
  movingTransactionNames,
  newAttemptRows,
  newOrderRows,
  newTransactionRows,
  orderNames,
  placeColumns,
  placeRows,
  stepNames,
  transactionNames,
  type AttemptRecord,
  type OrderRecord,
  type OrderKeyRecord,
  type SealedCardRecord,
  type SignedAmountsRow,
  type TransactionRecord,
} from './rows.ts'

export interface KeyRecord {
  merchant_id: bigint
  order_id: bigint
  client_orderid: string
  digest: Buffer
}

const sameAs = (table: string, names: readonly string[]): string => names.map((name) => `${name} = ${table}.${name}`).join(', ')
const of = (table: string, names: readonly string[]): string => names.map((name) => `${table}.${name}`).join(', ')

export interface Name {
  merchantId: bigint
  clientOrderid: string
}

/** The version of the key that made a digest: what stands before its 32 bytes. */
const keyOf = (table: string): string => `substr(${table}.digest, 1, length(${table}.digest) - 32)`

const claim = columnsOf<KeyClaim>()
const claimRows = rowsOf({
  merchant_id: claim.int8((c) => c.merchantId),
  client_orderid: claim.text((c) => c.clientOrderid),
  order_id: claim.int8((c) => c.orderId),
  digest: claim.bytes((c) => c.digest),
  created_at: claim.time((c) => c.at),
  held_until: claim.time((c) => c.heldUntil),
})

/**
 * docs/choices.md, "Idempotency": takes a client_orderid that is free, or whose order ended
 * declined, filtered or in error, unless the very same request comes while the name is held.
 * Sorted, so that two batches take shared names in the same order. Names that stay with their order
 * are locked too, so that the next read of them is exact. Digests under different keys cannot be
 * compared here: as long as the name is held, it stays, and the caller compares.
 */
export const claimKeys = onRows<KeyClaim, KeyRecord>(
  claimRows,
  `insert into order_key as k (${claimRows.names}, live)
  select ${claimRows.names}, true from ${claimRows.list}
  order by merchant_id, client_orderid
  on conflict (merchant_id, client_orderid) do update
    set order_id = excluded.order_id, live = true, digest = excluded.digest, created_at = excluded.created_at,
      held_until = excluded.held_until
    where not k.live and (k.held_until < excluded.created_at
      or (k.digest <> excluded.digest and ${keyOf('k')} = ${keyOf('excluded')}))
  returning merchant_id, client_orderid, order_id, digest`,
)

/** Takes names that were never used; fails if one was. */
export const claimNewKeys = onRows(
  claimRows,
  `insert into order_key (${claimRows.names}, live)
  select ${claimRows.names}, true from ${claimRows.list} order by merchant_id, client_orderid`,
)

const named = columnsOf<Name>()
const nameRows = rowsOf({ merchant_id: named.int8((n) => n.merchantId), client_orderid: named.text((n) => n.clientOrderid) })
export const selectKeys = onRows<Name, KeyRecord>(
  nameRows,
  `select k.merchant_id, k.client_orderid, k.order_id, k.digest
  from ${nameRows.list} join order_key k on k.merchant_id = n.merchant_id and k.client_orderid = n.client_orderid`,
)

const order = columnsOf<Change>()
const freedRows = rowsOf({
  merchant_id: order.int8(({ after }) => after.merchantId),
  client_orderid: order.text(({ after }) => after.clientOrderid),
  order_id: order.int8(({ after }) => after.orderId),
})
/** Frees the name for another order, but only if it still belongs to this one. */
export const freeKeys = onRows(
  freedRows,
  `update order_key k set live = false from ${freedRows.list}
  where k.merchant_id = n.merchant_id and k.client_orderid = n.client_orderid and k.order_id = n.order_id and k.live`,
)

export const insertOrders = insertion('orders', newOrderRows)
export const insertFacts = insertion('order_facts', factsRows)

/** An update keeps what a sweep may have changed of the step, unless the decision changed it. */
const move = `update orders o set ${sameAs('n', movingNames)},
    ${stepNames.map((name) => `${name} = case when n.is_head_new then n.${name} else o.${name} end`).join(', ')}
  from ${movedOrderRows.list}
  where o.merchant_id = n.merchant_id and o.order_id = n.order_id and o.version = n.was`

/**
 * A row whose version changed is not in the result; the caller reloads it and decides again.
 * *Rejected:* select … for update first, a round trip more.
 */
export const updateOrders = onRows<Change, OrderKeyRecord>(movedOrderRows, `${move} returning o.merchant_id, o.order_id`)

/** The same, but a row whose version changed makes it fail with `versionMoved`. */
export const updateAllOrders = onRows(
  movedOrderRows,
  `with moved as (${move} returning 1) select 1 / (count(*) = cardinality($1))::int from moved`,
)

/** For an order with one more transaction; its row is locked. */
export const growOrders = onRows(
  grownOrderRows,
  `update orders o set ${sameAs('n', growingNames)} from ${grownOrderRows.list}
  where o.merchant_id = n.merchant_id and o.order_id = n.order_id`,
)

/** Division by zero: nothing else divides. */
export const versionMoved = '22012'

export const selectOrders = onRows<OrderKey, OrderRecord>(
  placeRows,
  `select ${of('o', orderNames)}, f.request, f.card, f.screening
  from ${placeRows.list}
  join orders o on o.merchant_id = n.merchant_id and o.order_id = n.order_id
  join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id`,
)

export const selectVersions = onRows<OrderKey, OrderKeyRecord & { version: number }>(
  placeRows,
  `select o.merchant_id, o.order_id, o.version
  from ${placeRows.list} join orders o on o.merchant_id = n.merchant_id and o.order_id = n.order_id`,
)

export const insertTransactions = insertion('transaction', newTransactionRows)

/** Fenced by the order's version, which is written in the same transaction. */
export const updateTransactions = onRows(
  movedTransactionRows,
  `update transaction t set ${sameAs('n', movingTransactionNames)} from ${movedTransactionRows.list}
  where t.merchant_id = n.merchant_id and t.order_id = n.order_id and t.transaction_no = n.transaction_no`,
)

/** The transactions of an order after its first. */
export const selectTransactions = onRows<OrderKey, TransactionRecord>(
  placeRows,
  `select ${of('t', transactionNames)}
  from ${placeRows.list} join transaction t on t.merchant_id = n.merchant_id and t.order_id = n.order_id`,
)

const shown = columnsOf<ShownKey>()
const shownRows = rowsOf({
  ...placeColumns,
  at: shown.int4((w) => w.at),
  serial_number: shown.uuid((w) => w.serialNumber),
})
interface ShownKey extends OrderKey {
  at: number
  serialNumber?: string | undefined
}

/**
 * Which transaction each request created or repeated, and its row if it is not the first. Without a
 * name, it is the newest that any request created.
 */
export const selectShown = onRows<
  ShownKey,
  { at: number; shown: number | null } & ({ transaction_no: null } | TransactionRecord)
>(
  shownRows,
  `select n.at, w.shown, ${of('t', transactionNames)}
  from ${shownRows.list}
  cross join lateral (select case
    when n.serial_number is null then coalesce(
      (select r.transaction_no from transaction r
       where r.merchant_id = n.merchant_id and r.order_id = n.order_id and r.origin = 'request'
       order by r.transaction_no desc limit 1), 1)
    else coalesce(
      (select 1 from orders o
       where o.merchant_id = n.merchant_id and o.order_id = n.order_id and o.serial_number = n.serial_number),
      (select r.transaction_no from transaction r
       where r.merchant_id = n.merchant_id and r.order_id = n.order_id and r.serial_number = n.serial_number),
      (select q.transaction_no from request q
       where q.merchant_id = n.merchant_id and q.order_id = n.order_id and q.serial_number = n.serial_number))
    end as shown) w
  left join transaction t on t.merchant_id = n.merchant_id and t.order_id = n.order_id and t.transaction_no = w.shown`,
)

export const insertAttempts = insertion('attempt', newAttemptRows)

export const updateAttempts = onRows(
  endedAttemptRows,
  `update attempt a set ${sameAs('n', endNames)} from ${endedAttemptRows.list}
  where a.merchant_id = n.merchant_id and a.order_id = n.order_id and a.attempt_no = n.attempt_no`,
)

/** The attempts of an order that do not stand in its row. */
export const selectAttempts = onRows<OrderKey, AttemptRecord>(
  placeRows,
  `select ${of('a', attemptNames)}
  from ${placeRows.list} join attempt a on a.merchant_id = n.merchant_id and a.order_id = n.order_id`,
)

export const insertEvents = onRows(
  eventRows,
  `insert into order_event (${eventRows.names})
  select merchant_id, order_id, event_no, string_to_array(moves, ','), string_to_array(transaction_nos, ',')::int[], facts, at
  from ${eventRows.list}`,
)

const repeat = columnsOf<RepeatRow>()
const repeatRows = rowsOf({
  ...placeColumns,
  serial_number: repeat.uuid((r) => r.serialNumber),
  operation: repeat.text((r) => r.operation),
  transaction_no: repeat.int4((r) => r.transactionNo),
  at: repeat.time((r) => r.at),
})
/** The partition of an order may be detached while its name still answers repeats. */
export const insertRepeats = onRows(
  repeatRows,
  `insert into request (${repeatRows.names}) select ${repeatRows.names} from ${repeatRows.list}
  where exists (select from orders o where o.merchant_id = n.merchant_id and o.order_id = n.order_id) on conflict do nothing`,
)

/** Always returns one row; a row of nulls if the order does not exist. */
export const selectSignedAmounts = statement<SignedAmountsRow | { currency: null }>(`
  select o.currency, o.amount_text, o.amount_minor, o.authorised_text as payment_text, o.authorised_minor as payment_minor
  from (values (1)) as one left join orders o on o.merchant_id = $1 and o.order_id = $2`)

export const eraseCvv2 = onRows(
  placeRows,
  `update order_facts f set cvv2_sealed = null, cvv2_key = null from ${placeRows.list}
  where f.merchant_id = n.merchant_id and f.order_id = n.order_id and f.cvv2_sealed is not null`,
)

export const selectCards = onRows<OrderKey, SealedCardRecord>(
  placeRows,
  `select f.merchant_id, f.order_id, f.pan_sealed, f.pan_key, f.cvv2_sealed, f.cvv2_key, f.destination_sealed
  from ${placeRows.list}
  join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id and f.pan_sealed is not null`,
)

const locator = columnsOf<{ orderKey: OrderKey; key: string }>()
export const insertLocators = insertion(
  'locator',
  rowsOf({
    key: locator.text((l) => l.key),
    merchant_id: locator.int8((l) => l.orderKey.merchantId),
    order_id: locator.int8((l) => l.orderKey.orderId),
  }),
  'on conflict (key) do nothing',
)

const key = columnsOf<string>()
const keyRows = rowsOf({ key: key.text((k) => k) })
export const locate = onRows<string, OrderKeyRecord & { key: string }>(
  keyRows,
  `select l.key, l.merchant_id, l.order_id from ${keyRows.list} join locator l on l.key = n.key`,
)
