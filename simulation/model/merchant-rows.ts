import type { SealedCard } from '../../src/card/vault.ts'
import { orderKeyText, type RepeatRow } from '../../src/order/decide/change.ts'
import type { Order } from '../../src/order/decide/order.ts'
import type { IdempotencyRow } from '../../src/order/store/idempotency.ts'
import type { CountRow } from '../../src/risk/limits.ts'
import type { DeliveryRow } from './deliveries.ts'
import type { InvoiceRow } from './invoices.ts'
import type { KeyRecord } from './names.ts'
import type { ReferenceRow } from './references.ts'
import type { StoreModel } from './store-model.ts'

/**
 * The rows of one merchant in a cell, as a move reads and writes them: the meaning of
 * src/operator/cells/merchant-rows.ts. Nothing here asks the fence or notifies a watch.
 */

/** An order with everything that is found by it. */
interface OrderRows {
  order: Order
  card: SealedCard | undefined
  deliveries: DeliveryRow[]
  repeats: RepeatRow[]
}

/** Rows with a key of their own, which a copy writes in place of an older one. */
export interface KeyedRows {
  names: KeyRecord[]
  keys: IdempotencyRow[]
  numbers: [string, number][]
  references: ReferenceRow[]
  invoices: InvoiceRow[]
}

/** In the order in which they are copied: what others refer to comes first. */
export const keyedTables = ['names', 'keys', 'numbers', 'references', 'invoices'] as const

export const readKeyed = (cell: StoreModel, merchantId: bigint): KeyedRows => {
  const { rows: references, numbers } = cell.references.ofMerchant(merchantId)
  return {
    names: [...cell.names.rows.values()].filter((row) => row.merchantId === merchantId),
    keys: cell.idempotency.ofMerchant(merchantId),
    numbers,
    references,
    invoices: cell.invoices.ofMerchant(merchantId),
  }
}

export function writeKeyed(cell: StoreModel, { names, keys, numbers, references, invoices }: Partial<KeyedRows>): void {
  for (const row of names ?? []) cell.names.put(row)
  for (const row of keys ?? []) cell.idempotency.put(row)
  cell.references.putNumbers(numbers ?? [])
  for (const row of references ?? []) cell.references.put(row)
  for (const row of invoices ?? []) cell.invoices.put(row)
}

/** Those of these orders: their names, keys and references. */
export function keyedOf(cell: StoreModel, merchantId: bigint, orders: readonly OrderRows[]): Partial<KeyedRows> {
  const { names, keys, numbers, references } = readKeyed(cell, merchantId)
  const ids = new Set(orders.map(({ order }) => order.orderId))
  const named = new Set(orders.map(({ order }) => order.clientOrderid))
  return {
    names: names.filter(({ clientOrderid }) => named.has(clientOrderid)),
    keys: keys.filter(({ orderId }) => ids.has(orderId)),
    numbers,
    references: references.filter(({ orderKey }) => ids.has(orderKey.orderId)),
  }
}

export const orderIdsOf = (cell: StoreModel, merchantId: bigint): bigint[] =>
  [...cell.orders.values()].filter((order) => order.merchantId === merchantId).map(({ orderId }) => orderId)

export const readOrders = (cell: StoreModel, merchantId: bigint, orderIds: readonly bigint[]): OrderRows[] =>
  orderIds.flatMap((orderId) => {
    const orderKey = { merchantId, orderId }
    const order = cell.orders.get(orderKeyText(orderKey))
    const card = cell.cards.get(orderKeyText(orderKey))
    return order ? [{ order, card, deliveries: cell.deliveries.copyOf(orderKey), repeats: cell.repeatsOf(orderKey) }] : []
  })

/** In place of what the cell has of these orders. */
export function writeOrders(cell: StoreModel, rows: readonly OrderRows[]): void {
  for (const { order, card, deliveries, repeats } of rows) {
    cell.put(order, card, repeats)
    cell.deliveries.replace(order, deliveries)
  }
}

export interface WholeRows {
  nonces: ReadonlySet<string>
  counts: CountRow[]
}

export const readWhole = (cell: StoreModel, merchantId: bigint): WholeRows => ({
  nonces: cell.nonces.ofMerchant(merchantId),
  counts: cell.counts.ofMerchant(merchantId),
})

export function writeWhole(cell: StoreModel, merchantId: bigint, { nonces, counts }: WholeRows): void {
  cell.nonces.put(merchantId, nonces)
  for (const row of counts) cell.counts.put(row)
}

export function removeMerchant(cell: StoreModel, merchantId: bigint): void {
  for (const orderId of orderIdsOf(cell, merchantId)) {
    cell.deliveries.replace({ merchantId, orderId }, [])
    cell.remove({ merchantId, orderId })
  }
  const { names, keys, invoices } = readKeyed(cell, merchantId)
  for (const row of names) cell.names.remove(row)
  for (const row of keys) cell.idempotency.remove(row)
  for (const row of invoices) cell.invoices.remove(row)
  cell.references.removeMerchant(merchantId)
  cell.nonces.removeMerchant(merchantId)
  for (const row of cell.counts.ofMerchant(merchantId)) cell.counts.remove(row)
}

/** Every lease of work that is due, and what each of them becomes. */
export function changeLeases(cell: StoreModel, merchantId: bigint, change: (lease: bigint) => bigint | undefined): Set<bigint> {
  const found = new Set<bigint>()
  const changed = <Row extends { lease?: bigint | undefined; dueAt?: number | undefined }>(row: Row): Row => {
    if (row.dueAt === undefined || row.lease === undefined) return row
    found.add(row.lease)
    const lease = change(row.lease)
    return lease === row.lease ? row : { ...row, lease }
  }
  for (const orderId of orderIdsOf(cell, merchantId)) {
    const orderKey = { merchantId, orderId }
    const order = cell.orders.get(orderKeyText(orderKey))!
    const transactions = order.transactions.map(changed)
    if (transactions.some((t, i) => t !== order.transactions[i])) cell.put({ ...order, transactions })
    cell.deliveries.replace(orderKey, cell.deliveries.copyOf(orderKey).map(changed))
  }
  for (const row of cell.invoices.ofMerchant(merchantId)) cell.invoices.put(changed(row))
  return found
}

/** A process that was late asks the old rows whether a step is still its own. */
export function endLeases(cell: StoreModel, merchantId: bigint): void {
  changeLeases(cell, merchantId, () => undefined)
  for (const orderId of orderIdsOf(cell, merchantId)) {
    const order = cell.orders.get(orderKeyText({ merchantId, orderId }))!
    if (order.transactions[0]!.dueAt !== undefined) cell.put({ ...order, version: order.version + 1 })
  }
}
