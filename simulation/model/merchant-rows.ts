import type { SealedCard } from '../../src/card/vault.ts'
import { orderKeyText, type OrderKey, type RepeatRow } from '../../src/order/decide/change.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import type { MinuteCount } from '../../src/order/decide/counted.ts'
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
  locators: [string, OrderKey][]
}

/** In the order in which they are copied: what others refer to comes first. */
export const keyedTables = ['names', 'keys', 'numbers', 'references', 'invoices', 'locators'] as const

export const readKeyed = (cell: StoreModel, merchantId: bigint): KeyedRows => {
  const { rows: references, numbers } = cell.references.ofMerchant(merchantId)
  return {
    names: [...cell.names.rows.values()].filter((row) => row.merchantId === merchantId),
    keys: cell.idempotency.ofMerchant(merchantId),
    numbers,
    references,
    invoices: cell.invoices.ofMerchant(merchantId),
    locators: [...cell.locators].filter(([, orderKey]) => orderKey.merchantId === merchantId),
  }
}

export function writeKeyed(cell: StoreModel, { names, keys, numbers, references, invoices, locators }: Partial<KeyedRows>): void {
  for (const row of names ?? []) cell.names.put(row)
  for (const row of keys ?? []) cell.idempotency.put(row)
  cell.references.putNumbers(numbers ?? [])
  for (const row of references ?? []) cell.references.put(row)
  for (const row of invoices ?? []) cell.invoices.put(row)
  for (const [key, orderKey] of locators ?? []) cell.locators.set(key, orderKey)
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
  minutes: MinuteCount[]
}

export const readWhole = (cell: StoreModel, merchantId: bigint): WholeRows => ({
  nonces: cell.nonces.ofMerchant(merchantId),
  counts: cell.counts.ofMerchant(merchantId),
  minutes: cell.minutes.ofMerchant(merchantId),
})

export function writeWhole(cell: StoreModel, merchantId: bigint, { nonces, counts, minutes }: WholeRows): void {
  cell.nonces.put(merchantId, nonces)
  for (const row of counts) cell.counts.put(row)
  cell.minutes.put(merchantId, minutes)
}

export function removeMerchant(cell: StoreModel, merchantId: bigint): void {
  for (const orderId of orderIdsOf(cell, merchantId)) removeOrder(cell, { merchantId, orderId })
  const { names, keys, invoices } = readKeyed(cell, merchantId)
  for (const row of names) cell.names.remove(row)
  for (const row of keys) cell.idempotency.remove(row)
  for (const row of invoices) cell.invoices.remove(row)
  cell.references.removeMerchant(merchantId)
  cell.nonces.removeMerchant(merchantId)
  for (const row of cell.counts.ofMerchant(merchantId)) cell.counts.remove(row)
  cell.minutes.put(merchantId, [])
}

/** How much of it runs: leases of work that is due, of processes that are known. */
export function leasesOf(cell: StoreModel, merchantId: bigint): number {
  const isRunning = (row: { lease?: bigint | undefined; dueAt?: number | undefined }) =>
    row.dueAt !== undefined && row.lease !== undefined && cell.heartbeats.has(row.lease)
  const places = orderIdsOf(cell, merchantId).map((orderId) => ({ merchantId, orderId }))
  const steps = places.flatMap((orderKey) => cell.orders.get(orderKeyText(orderKey))!.transactions)
  return [...steps, ...cell.deliveries.leasedOf(merchantId), ...cell.invoices.ofMerchant(merchantId)].filter(isRunning).length
}

/** Whether the process that began this step owns it still, or did when its merchant left. */
export function ownsStep(cell: StoreModel, orderKey: OrderKey, { no, lease }: Pick<Transaction, 'no' | 'lease'>): boolean {
  const order = cell.orders.get(orderKeyText(orderKey)) ?? cell.left.get(orderKeyText(orderKey))
  return lease !== undefined && order?.transactions[no - 1]?.lease === lease && cell.heartbeats.has(lease)
}

/** Rows that an earlier copy left, and that are not among these. */
export function removeUnknown(
  cell: StoreModel,
  merchantId: bigint,
  known: Pick<KeyedRows, 'names' | 'keys' | 'references' | 'invoices'> & { orderIds: readonly bigint[] },
): void {
  const here = readKeyed(cell, merchantId)
  const orderIds = new Set(known.orderIds)
  for (const orderId of orderIdsOf(cell, merchantId)) if (!orderIds.has(orderId)) removeOrder(cell, { merchantId, orderId })
  const names = new Set(known.names.map(({ clientOrderid }) => clientOrderid))
  for (const row of here.names) if (!names.has(row.clientOrderid)) cell.names.remove(row)
  const keys = new Set(known.keys.map(({ key }) => key))
  for (const row of here.keys) if (!keys.has(row.key)) cell.idempotency.remove(row)
  const invoices = new Set(known.invoices.map(({ invoice }) => invoice.invoiceId))
  for (const row of here.invoices) if (!invoices.has(row.invoice.invoiceId)) cell.invoices.remove(row)
}

function removeOrder(cell: StoreModel, orderKey: OrderKey): void {
  const order = cell.orders.get(orderKeyText(orderKey))
  if (order) cell.left.set(orderKeyText(orderKey), order)
  cell.deliveries.replace(orderKey, [])
  cell.remove(orderKey)
}
