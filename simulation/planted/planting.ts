import { openCard, type Card } from '../../src/card/vault.ts'
import { orderKeyText, type OrderKey } from '../../src/order/decide/change.ts'
import type { OrderStore, OrderTables } from '../../src/order/store/store.ts'
import type { GatewayParts, Wraps } from '../world/gateway-parts.ts'
import type { Invariant } from '../watch/invariant.ts'
import type { Stores } from '../model/store-line.ts'

/** A bug that somebody might write. It exists only between the parts of the simulation. */
export interface Planted {
  name: string
  /** Whose bug it is, when it is not the gateway's. */
  by?: 'an acquirer'
  /** Any of these may break first, depending on what else happens. */
  breaks: readonly Invariant[]
  wrap: Wraps
  /** How many cells its worlds have, if more than one. */
  cells?: number
}

/** The card of an order, for a bug that sends a message of its own. */
export async function cardOf({ stores, keys }: GatewayParts, orderKey: OrderKey): Promise<Card> {
  const sealed = (await stores.orders.sealedCards([orderKey])).get(orderKeyText(orderKey))
  if (!sealed) throw new Error(`the card of order ${orderKey.orderId} is gone`)
  return openCard(sealed, orderKey, keys)
}

export const inOrders = (change: (orders: OrderStore) => Partial<OrderStore>): Wraps => ({
  stores: (stores) => ({ ...stores, orders: { ...stores.orders, ...change(stores.orders) } }),
})

/** No batch is saved in one step, so that each takes the way on which a bug is planted. */
export const stepByStep: Pick<OrderStore, 'saveAtOnce'> = { saveAtOnce: () => Promise.resolve(false) }

export const inTables = (change: (tables: OrderTables) => Partial<OrderTables>): Wraps =>
  inOrders((orders) => ({
    ...stepByStep,
    transaction: (body) => orders.transaction((tables) => body({ ...tables, ...change(tables) })),
  }))
export const inDeliveries = (change: (deliveries: Stores['deliveries']) => Partial<Stores['deliveries']>): Wraps => ({
  stores: (stores) => ({ ...stores, deliveries: { ...stores.deliveries, ...change(stores.deliveries) } }),
})
