import type { Card } from '../card/vault.ts'
import type { Registry } from '../merchant/merchant.ts'
import { placeKey, type Place } from './change.ts'
import { gateOf } from './gate.ts'
import { head, statusOf, type Order, type Transaction } from './order.ts'
import type { Load } from './room.ts'

/** An order in memory, as last committed, with its card. */
export interface Held {
  order: Order
  card: Card
}

interface Kept extends Held {
  /** Monotonic time before it was decided. */
  since: number
}

/**
 * The orders in the memory of this process, counted by merchant and by gate, so that neither can
 * take it all.
 *
 *   state      means                              entered by                left by
 *   resting    not in memory                      `keep` without a step,    `keep` with a step
 *                                                 `release` of the last
 *   current    in memory as it is stored,         `keep` with a step        `keep`, `outdate`,
 *              while a step of it runs here                                 `release` of the last
 *   outdated   in memory, but another process     `outdate`                 `keep` once it was read
 *              saved it since                                               again, `release`
 *
 * A lease alone keeps no order in memory, or a lost reply would keep it for ever.
 */
export interface Hand {
  get(place: Place): Held | undefined
  isCurrent(place: Place): boolean
  /**
   * The order as it was committed last, if this process leased its payment and is not saving it at
   * this moment. If the lease was held since then, nobody else can have changed what it shows.
   */
  lastCommitted(place: Place, processId: bigint): Kept | undefined
  /**
   * Runs a save of these orders and what follows from it. If it fails, they must be reloaded.
   */
  saving<T>(orders: readonly Place[], save: () => Promise<T>): Promise<T>
  /** Whether this process is running a step of that transaction now. */
  does(place: Place, transactionNo: number): boolean
  /**
   * An order was committed, and these steps of it begin here. The order stays in memory while any
   * of its steps is running.
   */
  keep(order: Order, card: Card | undefined, steps: readonly Transaction[], since: number): Held | undefined
  /** Another process changed the order: reload it before deciding anything about it. */
  outdate(place: Place): void
  /** A step is over. Ignored if its transaction is at a later step by now. */
  release(place: Place, transaction: Transaction): void
  /**
   * Counts a submitted order, so that a burst cannot pass before its first order is in memory.
   * Returns a function that undoes the count.
   */
  expect(order: Order, registry: Registry): () => void
  size(): number
  load(merchantId: bigint, gateId: bigint): Load
}

export function openHand(): Hand {
  const orders = new Map<string, Kept>()
  /**
   * Steps running here, by order and transaction. Other steps of the same order may run in other
   * processes.
   */
  const steps = new Map<string, Map<number, Transaction>>()
  const outdated = new Set<string>()
  /** Orders that may be committed at any moment. */
  const unsure = openTally()
  const loads = openLoads()

  function drop(key: string): void {
    const held = orders.get(key)
    outdated.delete(key)
    if (!held) return
    orders.delete(key)
    loads.add(held.order, -1)
  }

  return {
    get: (place) => orders.get(placeKey(place)),
    isCurrent: (place) => orders.has(placeKey(place)) && !outdated.has(placeKey(place)),
    lastCommitted(place, processId) {
      const key = placeKey(place)
      const held = orders.get(key)
      return held && !outdated.has(key) && unsure.of(key) === 0 && head(held.order).lease === processId ? held : undefined
    },
    async saving(places, save) {
      const keys = places.map(placeKey)
      unsure.add(keys, 1)
      try {
        return await save()
      } catch (error) {
        for (const key of keys) if (orders.has(key)) outdated.add(key)
        throw error
      } finally {
        unsure.add(keys, -1)
      }
    },
    does: (place, transactionNo) => steps.get(placeKey(place))?.has(transactionNo) ?? false,
    keep(order, card, begun, since) {
      const key = placeKey(order)
      const running = steps.get(key) ?? new Map<number, Transaction>()
      drop(key)
      if (!card || running.size + begun.length === 0) return undefined
      const held = { order, card, since }
      orders.set(key, held)
      loads.add(order, 1)
      for (const transaction of begun) running.set(transaction.no, transaction)
      steps.set(key, running)
      return held
    },
    outdate: (place) => void (orders.has(placeKey(place)) && outdated.add(placeKey(place))),
    release(place, transaction) {
      const key = placeKey(place)
      const running = steps.get(key)
      if (running?.get(transaction.no) !== transaction) return
      running.delete(transaction.no)
      if (running.size > 0) return
      steps.delete(key)
      drop(key)
    },
    expect: loads.expect,
    size: () => orders.size,
    load: loads.of,
  }
}

/** How many orders there are, by merchant and gate. */
function openLoads(): Pick<Hand, 'expect'> & { add: (order: Order, by: 1 | -1) => void; of: Hand['load'] } {
  const counts = openTally()
  return {
    add: (order, by) => counts.add(keysOf(order), by),
    expect(order, registry) {
      const keys = keysAt(order.merchantId, gateOf(order, head(order), registry)?.gateId, true)
      counts.add(keys, 1)
      return () => counts.add(keys, -1)
    },
    of(merchantId, gateId) {
      const [ofMerchant, ofGate, ofBoth, paying] = keysAt(merchantId, gateId, true).map(counts.of)
      return { ofMerchant: ofMerchant!, ofGate: ofGate!, ofBoth: ofBoth!, paying: paying! }
    },
  }
}

/** How often each key was added. */
function openTally() {
  const counts = new Map<string, number>()
  return {
    of: (key: string): number => counts.get(key) ?? 0,
    add(keys: readonly string[], by: 1 | -1): void {
      for (const key of keys) {
        const n = (counts.get(key) ?? 0) + by
        if (n === 0) counts.delete(key)
        else counts.set(key, n)
      }
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
