import { readOf } from '../../storage/columns.ts'
import type { Runner } from '../../storage/pool.ts'
import { orderKeyText, recordKey, type OrderKey } from '../decide/change.ts'
import type { Order, Transaction } from '../decide/order.ts'
import { orderOf, transactionOf } from './rows.ts'
import { selectOrders, selectShown } from './statements.ts'

export interface ShownWish extends OrderKey {
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
  const places = new Map(wanted.map((wish) => [orderKeyText(wish), wish]))
  const rows = await readOf(runner, selectOrders, [...places.values()])
  const orders = new Map(rows.map((row) => [recordKey(row), row]))
  // The request that is wanted nearly always created the one transaction there is.
  const others = wanted.flatMap((wish, at) => {
    const row = orders.get(orderKeyText(wish))
    const isFirst = row?.transactions === 1 && (wish.serialNumber ?? row.serial_number) === row.serial_number
    return row && !isFirst ? [{ at, ...wish }] : []
  })
  const found = new Map((await readOf(runner, selectShown, others)).map((row) => [row.at, row]))
  return wanted.map((wish, at) => {
    const row = orders.get(orderKeyText(wish))
    if (!row) return undefined
    const other = found.get(at)
    const transactions = other && other.transaction_no !== null ? [transactionOf(other)] : []
    const order = orderOf(row, transactions, [])
    const no = other ? other.shown : 1
    const transaction = order.transactions.find((t) => t.no === no)
    return { order: { ...order, attempts: [] }, ...(transaction ? { transaction } : {}) }
  })
}
