import type { SealedCard } from '../card/vault.ts'
import type { NewDelivery } from '../delivery/delivery.ts'
import { insertDeliveries } from '../delivery/store.ts'
import type { CountTables } from '../risk/limits.ts'
import { countTables } from '../risk/store-counts.ts'
import { asJson, bytea, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../storage/store-heartbeat.ts'
import { transaction } from '../storage/transaction.ts'
import { capturedMinor, returnedMinor } from './amounts.ts'
import type { OrderEventRow } from './decide.ts'
import { newKeys } from './locator-keys.ts'
import { head, statusOf, type Attempt, type Order, type Transaction } from './order.ts'
import * as sql from './store-statements.ts'
import {
  attemptOf,
  attemptRow,
  cardOf,
  cardRow,
  eventRow,
  factsRow,
  orderOf,
  orderRow,
  transactionOf,
  transactionRow,
} from './store-rows.ts'

export interface Place {
  merchantId: bigint
  orderId: bigint
}

export const placeKey = (place: Place): string => `${place.merchantId}/${place.orderId}`

/** A claim of a client_orderid for a new order. */
export interface KeyClaim extends Place {
  clientOrderid: string
  digest: Buffer
  at: number
  /** Until then the same request is answered with this order, whatever became of it. */
  heldUntil: number
}

export interface KeyRow extends Place {
  clientOrderid: string
  digest: Buffer
}

/** An order before and after a decision; what is a new object in `after` is written. `before` is absent for a new order. */
export interface Change {
  before?: Order
  after: Order
  rows: OrderEventRow[]
  deliveries: NewDelivery[]
  /** Kept for a new order; the CVV2 in it only while a further authorisation is owed. */
  sealed?: SealedCard
  /** The need for the stored CVV2 ended. */
  eraseCvv2: boolean
}

export interface RepeatRow extends Place {
  serialNumber: string
  operation: string
  transactionNo: number
  /** The client's name for it. */
  idempotencyKey?: string
  at: number
}

/** The tables of orders inside one transaction. With `OrderStore` the seam where the simulation puts its model. */
export interface OrderTables extends CountTables {
  /** Takes each client_orderid that is free and answers who holds it: the claim's own order id when it was taken (now or by an earlier try). */
  claimKeys(claims: readonly KeyClaim[]): Promise<KeyRow[]>
  load(places: readonly Place[]): Promise<Order[]>
  /**
   * Writes decided orders. Those whose stored version is not the one they were decided on are left out of the answer, and nothing of them is written.
   * Deliveries that go at once are leased to `deliveryLease`, all others to nobody.
   */
  save(changes: readonly Change[], deliveryLease: bigint | undefined): Promise<Set<string>>
  insertRepeats(rows: readonly RepeatRow[]): Promise<void>
}

export interface Due extends Place {
  transactionNo: number
  /** How often it was put back, or done without an answer. */
  tries: number
  /** The process that had it before: a dead one, or the caller itself; absent when nobody had. */
  hadLease?: bigint
}

export interface OrderStore {
  transaction<T>(body: (tables: OrderTables) => Promise<T>): Promise<T>
  load(places: readonly Place[]): Promise<Order[]>
  /** Takes the lease of up to `limit` transactions that are due and in nobody's hand, in a dead one's, or in the caller's own. */
  claimDue(processId: bigint, now: number, limit: number): Promise<Due[]>
  /** Puts a step back that could not be done; with an alarm it is left to an operator. */
  putBack(due: Due, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void>
  sealedCards(places: readonly Place[]): Promise<Map<string, SealedCard>>
  /** Newest order of each client_orderid; unknown ones are left out. */
  newestOrders(names: readonly { merchantId: bigint; clientOrderid: string }[]): Promise<KeyRow[]>
  /** The transaction that a repeated request belongs to. */
  repeatOf(place: Place, serialNumber: string): Promise<number | undefined>
  /** The transaction that a request of this name was answered with since then, though another had made it. */
  namedRepeatOf(place: Place, operation: string, idempotencyKey: string, since: number): Promise<number | undefined>
  /** Order behind a key that knows no merchant. */
  locate(key: string): Promise<Place | undefined>
}

export function openOrderStore(pool: Pool): OrderStore {
  return {
    transaction: (body) => transaction(pool, (runner) => body(tablesOn(runner))),
    load: (places) => load(pool, places),
    async claimDue(processId, now, limit) {
      const rows = await pool.run(sql.claimDue, [processId, timestamp(now), limit, deadAfterMs, timestamp(now + leaseLookMs)])
      return rows.map((r) => ({
        merchantId: r.merchant_id,
        orderId: r.order_id,
        transactionNo: r.transaction_no,
        tries: r.tries,
        ...(r.was === null ? {} : { hadLease: r.was }),
      }))
    },
    async putBack(due, processId, dueAt, alarm) {
      await pool.run(sql.putBack, [due.merchantId, due.orderId, due.transactionNo, processId, timestamp(dueAt), alarm ?? null])
    },
    async sealedCards(places) {
      const rows = await pool.run(sql.selectCards, [asJson(places.map(placeRow))])
      return new Map(rows.map((r) => [placeKey({ merchantId: r.merchant_id, orderId: r.order_id }), cardOf(r)]))
    },
    async newestOrders(names) {
      const rows = await pool.run(sql.selectKeys, [
        asJson(names.map((n) => ({ merchant_id: String(n.merchantId), client_orderid: n.clientOrderid }))),
      ])
      return rows.map(keyRow)
    },
    async repeatOf(place, serialNumber) {
      const [row] = await pool.run(sql.selectRepeat, [place.merchantId, place.orderId, serialNumber])
      return row?.transaction_no
    },
    async namedRepeatOf({ merchantId, orderId }, operation, idempotencyKey, since) {
      const values = [merchantId, orderId, operation, idempotencyKey, timestamp(since)]
      const [row] = await pool.run(sql.selectNamedRepeat, values)
      return row?.transaction_no
    },
    async locate(key) {
      const [row] = await pool.run(sql.locate, [key])
      return row && { merchantId: row.merchant_id, orderId: row.order_id }
    },
  }
}

function tablesOn(runner: Runner): OrderTables {
  return {
    async claimKeys(claims) {
      const rows = claims.map((c) => ({
        ...placeRow(c),
        client_orderid: c.clientOrderid,
        digest: bytea(c.digest),
        created_at: timestamp(c.at),
        held_until: timestamp(c.heldUntil),
      }))
      const won = (await runner.run(sql.claimKeys, [asJson(rows)])).map(keyRow)
      if (won.length === claims.length) return won
      const taken = new Set(won.map((k) => `${k.merchantId}/${k.clientOrderid}`))
      const lost = rows.filter((r) => !taken.has(`${r.merchant_id}/${r.client_orderid}`))
      return [...won, ...(await runner.run(sql.selectKeys, [asJson(lost)])).map(keyRow)]
    },
    ...countTables(runner),
    load: (places) => load(runner, places),
    save: (changes, deliveryLease) => save(runner, changes, deliveryLease),
    async insertRepeats(rows) {
      if (rows.length === 0) return
      await runner.run(sql.insertRepeats, [
        asJson(
          rows.map((r) => ({
            ...placeRow(r),
            serial_number: r.serialNumber,
            operation: r.operation,
            transaction_no: r.transactionNo,
            idempotency_key: r.idempotencyKey ?? null,
            at: timestamp(r.at),
          })),
        ),
      ])
    },
  }
}

async function load(runner: Runner, places: readonly Place[]): Promise<Order[]> {
  if (places.length === 0) return []
  const wanted = [asJson(places.map(placeRow))]
  // The version first: read after the rest it could be newer than that, and a save by it would pass although the order had moved.
  const orders = await runner.run(sql.selectOrders, wanted)
  const [transactions, attempts] = await Promise.all([
    runner.run(sql.selectTransactions, wanted),
    runner.run(sql.selectAttempts, wanted),
  ])
  const keyOf = (r: { merchant_id: bigint; order_id: bigint }) => placeKey({ merchantId: r.merchant_id, orderId: r.order_id })
  const transactionsOf = groupBy(transactions, keyOf)
  const attemptsOf = groupBy(attempts, keyOf)
  return orders.map((row) =>
    orderOf(
      row,
      (transactionsOf.get(keyOf(row)) ?? []).map(transactionOf).sort((a, b) => a.no - b.no),
      (attemptsOf.get(keyOf(row)) ?? []).map(attemptOf).sort((a, b) => a.no - b.no),
    ),
  )
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

/** New orders are inserted and changed ones updated, a statement a table; rows in the order of their keys, so that two batches never wait for each other in a circle. */
async function save(runner: Runner, changes: readonly Change[], deliveryLease: bigint | undefined): Promise<Set<string>> {
  const sorted = [...changes].sort((a, b) => compare(a.after, b.after))
  const fresh = sorted.filter((c) => !c.before)
  const old = sorted.filter((c) => c.before)
  const saved = new Set(fresh.map((c) => placeKey(c.after)))
  if (old.length > 0) {
    const rows = old.map(({ before, after }) => ({
      ...placeRow(after),
      was: before!.version,
      version: after.version,
      status: statusOf(after),
      authorised_minor: String(head(after).amountMinor),
      captured_minor: String(capturedMinor(after)),
      returned_minor: String(returnedMinor(after)),
      events: after.events,
      deliveries: after.deliveries,
      final_at: timestamp(after.finalAt),
    }))
    for (const r of await runner.run(sql.updateOrders, [asJson(rows)]))
      saved.add(placeKey({ merchantId: r.merchant_id, orderId: r.order_id }))
  }
  const kept = sorted.filter((c) => saved.has(placeKey(c.after)))
  const lists = listsOf(kept)
  const pending: Promise<unknown>[] = []
  const put = (statement: sql.Write, rows: readonly object[]) =>
    rows.length > 0 && pending.push(runner.run(statement, [asJson(rows)]))
  put(sql.insertOrders, lists.orders)
  put(sql.insertFacts, lists.facts)
  put(sql.insertCards, lists.cards)
  put(sql.insertTransactions, lists.newTransactions)
  put(sql.updateTransactions, lists.transactions)
  put(sql.insertAttempts, lists.newAttempts)
  put(sql.updateAttempts, lists.attempts)
  put(sql.insertEvents, lists.events)
  put(sql.insertLocators, lists.locators)
  put(sql.freeKeys, lists.freed)
  put(sql.eraseCvv2, lists.erased)
  const deliveries = kept.flatMap(({ after, rows, deliveries: created }) =>
    created.map((d) => ({ ...d, merchantId: after.merchantId, orderId: after.orderId, at: rows.at(-1)!.at })),
  )
  if (deliveries.length > 0) pending.push(insertDeliveries(runner, deliveries, deliveryLease))
  await Promise.all(pending)
  return saved
}

function listsOf(changes: readonly Change[]) {
  const lists = {
    orders: [] as object[],
    facts: [] as object[],
    cards: [] as object[],
    newTransactions: [] as object[],
    transactions: [] as object[],
    newAttempts: [] as object[],
    attempts: [] as object[],
    events: [] as object[],
    locators: [] as object[],
    freed: [] as object[],
    erased: [] as object[],
  }
  for (const { before, after, rows, sealed, eraseCvv2 } of changes) {
    const place = placeRow(after)
    if (!before) {
      lists.orders.push(orderRow(place, after))
      lists.facts.push(factsRow(place, after))
    }
    if (sealed) lists.cards.push(cardRow(place, sealed))
    sort(before?.transactions, after.transactions, (t: Transaction, fresh) =>
      (fresh ? lists.newTransactions : lists.transactions).push(transactionRow(place, t)),
    )
    sort(before?.attempts, after.attempts, (a: Attempt, fresh) =>
      (fresh ? lists.newAttempts : lists.attempts).push(attemptRow(place, a)),
    )
    for (const r of rows) lists.events.push(eventRow(place, r))
    for (const key of newKeys(before, after))
      lists.locators.push({ key, merchant_id: place.merchant_id, order_id: place.order_id })
    const ended = !['processing', 'unknown', 'approved'].includes(statusOf(after))
    if (ended) lists.freed.push({ merchant_id: place.merchant_id, client_orderid: after.clientOrderid, order_id: place.order_id })
    if (eraseCvv2) lists.erased.push(place)
  }
  return lists
}

/** Calls `use` for what is new or was replaced. */
function sort<T>(before: readonly T[] | undefined, after: readonly T[], use: (item: T, fresh: boolean) => void): void {
  for (const [i, item] of after.entries()) if (before?.[i] !== item) use(item, before?.[i] === undefined)
}

const placeRow = (place: Place) => ({ merchant_id: String(place.merchantId), order_id: String(place.orderId) })

const keyRow = (r: sql.KeyRecord): KeyRow => ({
  merchantId: r.merchant_id,
  orderId: r.order_id,
  clientOrderid: r.client_orderid,
  digest: r.digest,
})

const compare = (a: Place, b: Place): number =>
  a.merchantId === b.merchantId ? Number(a.orderId - b.orderId) : Number(a.merchantId - b.merchantId)
