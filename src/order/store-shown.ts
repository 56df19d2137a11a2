import { asJson, type Runner } from '../storage/pool.ts'
import type { Order, Transaction } from './order.ts'
import { orderOf, transactionOf } from './store-rows.ts'
import { selectOrders, selectShown } from './store-statements.ts'

export interface ShownWish {
  merchantId: bigint
  orderId: bigint
  /** Of the request whose transaction is asked for; without it the newest that a request made. */
  serialNumber?: string | undefined
}

/**
 * An order with its payment and the transaction that is asked for, and nothing else of what was
 * asked of it: to be shown, not to be decided about.
 */
export interface Shown {
  order: Order
  /** Absent where no request of that serial number is known. */
  transaction?: Transaction
}

/** Reads what is shown, however much was asked of an order. */
export async function loadShown(runner: Runner, wanted: readonly ShownWish[]): Promise<(Shown | undefined)[]> {
  if (wanted.length === 0) return []
  const rows = wanted.map(({ merchantId, orderId, serialNumber }, at) => ({
    at,
    merchant_id: String(merchantId),
    order_id: String(orderId),
    serial_number: serialNumber ?? null,
  }))
  const placeOf = (r: { merchant_id: bigint | string; order_id: bigint | string }) => `${r.merchant_id}/${r.order_id}`
  const places = new Map(rows.map((r) => [placeOf(r), { merchant_id: r.merchant_id, order_id: r.order_id }]))
  const [orders, transactions] = await Promise.all([
    runner.run(selectOrders, [asJson([...places.values()])]),
    runner.run(selectShown, [asJson(rows)]),
  ])
  const byPlace = new Map(orders.map((row) => [placeOf(row), row]))
  return rows.map((wish) => {
    const row = byPlace.get(placeOf(wish))
    const own = transactions.filter(({ at }) => at === wish.at).sort((a, b) => a.transaction_no - b.transaction_no)
    if (!row || own.length === 0) return undefined
    const order = orderOf(row, own.map(transactionOf), [])
    const transaction = order.transactions.find(({ no }) => no === own[0]!.shown)
    return { order, ...(transaction ? { transaction } : {}) }
  })
}
