import { insertDeliveries, type DeliveryLease } from '../delivery/store.ts'
import { asJson, timestamp, type Runner } from '../storage/pool.ts'
import { capturedMinor, returnedMinor } from './amounts.ts'
import { newKeys } from './locator-keys.ts'
import { head, statusOf, type Attempt, type Transaction } from './order.ts'
import * as sql from './store-statements.ts'
import { attemptRow, cardRow, eventRow, factsRow, orderRow, transactionRow } from './store-rows.ts'
import { placeKey, placeRow, type Change, type Place } from './change.ts'

/**
 * Inserts new orders and updates changed ones, with one statement for each table. Rows go in the
 * order of their keys, so that two batches never wait for each other in a circle.
 */
export async function saveOrders(
  runner: Runner,
  changes: readonly Change[],
  deliveryLease: DeliveryLease | undefined,
): Promise<Set<string>> {
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

/** Calls `use` for each item that is new or was replaced. */
function sort<T>(before: readonly T[] | undefined, after: readonly T[], use: (item: T, fresh: boolean) => void): void {
  for (const [i, item] of after.entries()) if (before?.[i] !== item) use(item, before?.[i] === undefined)
}

const compare = (a: Place, b: Place): number =>
  a.merchantId === b.merchantId ? Number(a.orderId - b.orderId) : Number(a.merchantId - b.merchantId)
