import { orderKeyText, type OrderKey } from './decide/change.ts'
import type { Order } from './decide/order.ts'

/**
 * The orders that this process committed last, for showing. A copy is true as long as its version
 * is the stored one; it is never decided upon, since a sweep changes rows without a new version.
 */
export type Copies = ReturnType<typeof openCopies>

export function openCopies(most: number) {
  const copies = new Map<string, Order>()
  return {
    keep(order: Order): void {
      const key = orderKeyText(order)
      copies.delete(key)
      copies.set(key, order)
      if (copies.size > most) copies.delete(copies.keys().next().value!)
    },
    get: (orderKey: OrderKey): Order | undefined => copies.get(orderKeyText(orderKey)),
  }
}
