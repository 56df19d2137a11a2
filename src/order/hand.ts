import type { Card } from '../card/vault.ts'
import { head, type Order } from './order.ts'

/** An order this process has in hand, as last committed, with its card. */
export interface Held {
  order: Order
  card: Card
}

/** What one process holds in memory, counted by merchant and by gate, so that neither can take it all. */
export interface Hand {
  get(key: string): Held | undefined
  take(key: string, held: Held): void
  release(key: string): void
  size(): number
  load(merchantId: bigint, gateId: bigint): { ofMerchant: number; ofGate: number }
}

export function openHand(): Hand {
  const orders = new Map<string, Held>()
  const counts = new Map<string, number>()
  const count = ({ order }: Held, by: 1 | -1) => {
    for (const key of [`merchant ${order.merchantId}`, `gate ${head(order).result.gateId}`]) {
      const n = (counts.get(key) ?? 0) + by
      if (n === 0) counts.delete(key)
      else counts.set(key, n)
    }
  }
  return {
    get: (key) => orders.get(key),
    take(key, held) {
      orders.set(key, held)
      count(held, 1)
    },
    release(key) {
      const held = orders.get(key)
      if (!held) return
      orders.delete(key)
      count(held, -1)
    },
    size: () => orders.size,
    load: (merchantId, gateId) => ({
      ofMerchant: counts.get(`merchant ${merchantId}`) ?? 0,
      ofGate: counts.get(`gate ${gateId}`) ?? 0,
    }),
  }
}
