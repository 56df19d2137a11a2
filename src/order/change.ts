import type { SealedCard } from '../card/vault.ts'
import type { NewDelivery } from '../delivery/delivery.ts'
import type { OrderEventRow } from './decide.ts'
import type { Order } from './order.ts'

/** The primary key of an order in every table. */
export interface Place {
  merchantId: bigint
  orderId: bigint
}

export const placeKey = (place: Place): string => `${place.merchantId}/${place.orderId}`

/** The key of a row's order. */
export const recordKey = (row: { merchant_id: bigint; order_id: bigint }): string =>
  placeKey({ merchantId: row.merchant_id, orderId: row.order_id })

/** The same as columns. */
export const placeRow = (place: Place) => ({ merchant_id: String(place.merchantId), order_id: String(place.orderId) })

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
