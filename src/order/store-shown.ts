import { asJson, type Runner } from '../storage/pool.ts'
import { placeKey, placeRow, recordKey, type Place } from './change.ts'
import type { Order, Transaction } from './order.ts'
import { groupBy, orderOf, transactionOf } from './store-rows.ts'
import { selectOrders, selectShown } from './store-statements.ts'

export interface ShownWish extends Place {
  /** The request whose transaction is wanted; by default the newest request that created one. */
  serialNumber?: string | undefined
}

/**
 * An order with its payment and the requested transaction only. It is complete enough to show, not
 * to decide on.
 */
export interface Shown {
  order: Order
  /** Absent if no request has that serial number. */
  transaction?: Transaction
}

/** Reads only what is shown, however many transactions the order has. */
export async function loadShown(runner: Runner, wanted: readonly ShownWish[]): Promise<(Shown | undefined)[]> {
  if (wanted.length === 0) return []
  const rows = wanted.map((wish, at) => ({ at, ...placeRow(wish), serial_number: wish.serialNumber ?? null }))
  const places = new Map(wanted.map((wish) => [placeKey(wish), placeRow(wish)]))
  const [orders, transactions] = await Promise.all([
    runner.run(selectOrders, [asJson([...places.values()])]),
    runner.run(selectShown, [asJson(rows)]),
  ])
  const byPlace = new Map(orders.map((row) => [recordKey(row), row]))
  const byWish = groupBy(transactions, ({ at }) => at)
  return wanted.map((wish, at) => {
    const row = byPlace.get(placeKey(wish))
    const own = byWish.get(at)?.sort((a, b) => a.transaction_no - b.transaction_no)
    if (!row || !own) return undefined
    const order = orderOf(row, own.map(transactionOf), [])
    const transaction = order.transactions.find(({ no }) => no === own[0]!.shown)
    return { order, ...(transaction ? { transaction } : {}) }
  })
}
