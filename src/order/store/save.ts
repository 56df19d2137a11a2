import { deliveryWrites, type DeliveryLease } from '../../delivery/store.ts'
import { writes } from '../../storage/columns.ts'
import type { Runner } from '../../storage/pool.ts'
import type { Write } from '../../storage/transaction.ts'
import { newKeys } from '../decide/locator-keys.ts'
import { statusOf, type Order } from '../decide/order.ts'
import * as sql from './statements.ts'
import { isFirst } from './rows.ts'
import { orderKeyText, recordKey, type Change, type OrderKey } from '../decide/change.ts'

/**
 * Inserts new orders and updates changed ones, with one statement for each table. An order that
 * changed meanwhile is left out of the result, and nothing of it is written.
 */
export async function saveOrders(
  runner: Runner,
  changes: readonly Change[],
  deliveryLease: DeliveryLease | undefined,
): Promise<Set<string>> {
  const sorted = inOrder(changes)
  const old = sorted.filter((c) => c.before)
  const saved = new Set(sorted.filter((c) => !c.before).map((c) => orderKeyText(c.after)))
  if (old.length > 0)
    for (const row of await runner.run(sql.updateOrders.sql, sql.updateOrders.values(old))) saved.add(recordKey(row))
  const kept = sorted.filter((c) => saved.has(orderKeyText(c.after)))
  await Promise.all(writesOf(kept, deliveryLease).map((write) => runner.run(write.sql, write.values)))
  return saved
}

/** The same as statements of which the first fails if an order changed meanwhile. */
export function savesAtOnce(changes: readonly Change[], deliveryLease: DeliveryLease | undefined): Write[] {
  const sorted = inOrder(changes)
  const old = sorted.filter((c) => c.before)
  return [...writes(sql.updateAllOrders, old), ...writesOf(sorted, deliveryLease)]
}

/**
 * Saves a transaction that an operator added, by the columns that the operator's role may change.
 * The caller holds the row of the order.
 */
export async function saveAdded(runner: Runner, added: Change): Promise<void> {
  const all = [...writes(sql.growOrders, [added]), ...writesOf([added], undefined)]
  await Promise.all(all.map((write) => runner.run(write.sql, write.values)))
}

/** All rows besides those of changed orders. */
function writesOf(changes: readonly Change[], deliveryLease: DeliveryLease | undefined): Write[] {
  const fresh = changes.filter((c) => !c.before)
  const transactions = partsOf(
    changes,
    (order) => order.transactions,
    ({ no }) => no > 1,
  )
  const attempts = partsOf(
    changes,
    (order) => order.attempts,
    (attempt) => !isFirst(attempt),
  )
  const locators = changes.flatMap(({ before, after }) => newKeys(before, after).map((key) => ({ orderKey: after, key })))
  return [
    ...writes(sql.insertOrders, fresh),
    ...writes(sql.insertFacts, fresh),
    ...writes(sql.insertTransactions, transactions.fresh),
    ...writes(sql.updateTransactions, transactions.changed),
    ...writes(sql.insertAttempts, attempts.fresh),
    ...writes(sql.updateAttempts, attempts.changed),
    ...writes(
      sql.insertEvents,
      changes.filter(({ rows }) => rows.length > 0),
    ),
    ...writes(sql.insertLocators, locators),
    ...writes(
      sql.freeKeys,
      changes.filter(({ after }) => hasFailed(after)),
    ),
    ...writes(
      sql.eraseCvv2,
      changes.filter(({ eraseCvv2 }) => eraseCvv2).map(({ after }) => after),
    ),
    ...deliveryWrites(
      changes.flatMap(({ after, rows, deliveries }) =>
        deliveries.map((d) => ({ merchantId: after.merchantId, orderId: after.orderId, at: rows.at(-1)!.at, ...d })),
      ),
      deliveryLease,
    ),
  ]
}

/**
 * The transactions or attempts with rows of their own that are new, and those that were replaced.
 */
function partsOf<Part>(
  changes: readonly Change[],
  of: (order: Order) => readonly Part[],
  hasRow: (part: Part) => boolean,
): Record<'fresh' | 'changed', { orderKey: OrderKey; part: Part }[]> {
  const fresh: { orderKey: OrderKey; part: Part }[] = []
  const changed: { orderKey: OrderKey; part: Part }[] = []
  for (const { before, after } of changes) {
    const old = before && of(before)
    of(after).forEach((part, i) => {
      if (old?.[i] === part || !hasRow(part)) return
      const parts = old?.[i] === undefined ? fresh : changed
      parts.push({ orderKey: after, part })
    })
  }
  return { fresh, changed }
}

/** Its name may be used again. */
const hasFailed = (order: Order): boolean => !['processing', 'unknown', 'approved'].includes(statusOf(order))

/** In the order of their keys, so that two batches never wait for each other in a circle. */
const inOrder = (changes: readonly Change[]): Change[] => [...changes].sort((a, b) => compare(a.after, b.after))

const compare = (a: OrderKey, b: OrderKey): number =>
  a.merchantId === b.merchantId ? Number(a.orderId - b.orderId) : Number(a.merchantId - b.merchantId)
