import type { SealedCard } from '../../card/vault.ts'
import type { NewDelivery } from '../../delivery/delivery.ts'
import type { OrderEventRow } from './decide.ts'
import type { Order } from './order.ts'

/** The primary key of an order in every table. */
export interface OrderKey {
  merchantId: bigint
  orderId: bigint
}

export const orderKeyText = (orderKey: OrderKey): string => `${orderKey.merchantId}/${orderKey.orderId}`

/** The key of a row's order. */
export const recordKey = (row: { merchant_id: bigint; order_id: bigint }): string =>
  orderKeyText({ merchantId: row.merchant_id, orderId: row.order_id })

/**
 * An order before and after a decision. The objects in `after` that are new are written. `before`
 * is absent for a new order.
 */
export interface Change {
  before?: Order
  after: Order
  rows: OrderEventRow[]
  deliveries: NewDelivery[]
  /**
   * The sealed card of a new order. It contains the CVV2 only while another authorisation is owed.
   */
  sealed?: SealedCard
  /** The stored CVV2 is no longer needed. */
  eraseCvv2: boolean
}

/** A claim of a client_orderid for a new order. */
export interface KeyClaim extends OrderKey {
  clientOrderid: string
  digest: Buffer
  at: number
  /** How long the same request is answered with this order, whatever its outcome. */
  heldUntil: number
}

/** A request that changed nothing: its serial number finds the transaction that it repeats. */
export interface RepeatRow extends OrderKey {
  serialNumber: string
  operation: string
  transactionNo: number
  at: number
}
