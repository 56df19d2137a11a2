import type { Card } from '../card/vault.ts'
import type { Registry } from '../merchant/merchant.ts'
import { gateOf } from './gate.ts'
import { head, statusOf, type Order } from './order.ts'
import type { Load } from './room.ts'

/** An order this process has in hand, as last committed, with its card. */
export interface Held {
  order: Order
  card: Card
}

/**
 * What one process holds in memory, counted by merchant and by gate, so that neither can take it
 * all. An order that is to be held is counted before.
 */
export interface Hand {
  get(key: string): Held | undefined
  take(key: string, held: Held): void
  release(key: string): void
  /**
   * Counts a submitted order, so that a burst cannot pass before its first order is held; calling
   * the answer ends that.
   */
  expect(order: Order, registry: Registry): () => void
  size(): number
  load(merchantId: bigint, gateId: bigint): Load
}

export function openHand(): Hand {
  const orders = new Map<string, Held>()
  const counts = new Map<string, number>()
  const count = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) {
      const n = (counts.get(key) ?? 0) + by
      if (n === 0) counts.delete(key)
      else counts.set(key, n)
    }
  }
  return {
    get: (key) => orders.get(key),
    take(key, held) {
      orders.set(key, held)
      count(keysOf(held.order), 1)
    },
    release(key) {
      const held = orders.get(key)
      if (!held) return
      orders.delete(key)
      count(keysOf(held.order), -1)
    },
    expect(order, registry) {
      const keys = keysAt(order.merchantId, gateOf(order, head(order), registry)?.gateId, true)
      count(keys, 1)
      return () => count(keys, -1)
    },
    size: () => orders.size,
    load(merchantId, gateId) {
      const [ofMerchant, ofGate, ofBoth, paying] = keysAt(merchantId, gateId, true).map((key) => counts.get(key) ?? 0)
      return { ofMerchant: ofMerchant!, ofGate: ofGate!, ofBoth: ofBoth!, paying: paying! }
    },
  }
}

const keysAt = (merchantId: bigint, gateId: bigint | string | undefined, isPaying: boolean): string[] => [
  `merchant ${merchantId}`,
  `gate ${gateId}`,
  `merchant ${merchantId} gate ${gateId}`,
  ...(isPaying ? [`paying ${gateId}`] : []),
]

const keysOf = (order: Order): string[] => keysAt(order.merchantId, head(order).result.gateId, statusOf(order) === 'processing')
