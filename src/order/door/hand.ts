import type { Card } from '../../card/vault.ts'
import type { Registry } from '../../merchant/merchant.ts'
import { orderKeyText, type OrderKey } from '../decide/change.ts'
import { gateOf } from '../decide/gate.ts'
import { head, statusOf, type Order, type Transaction } from '../decide/order.ts'
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
 * A lease alone keeps no order in memory, or a lost reply would keep it forever.
 */
export interface Hand {
  get(orderKey: OrderKey): Held | undefined
  isCurrent(orderKey: OrderKey): boolean
  /**
   * The order as it was committed last, if this process leased its payment and is not saving it at
   * this moment. If the lease was held since then, no other process can have changed the order.
   */
  lastCommitted(orderKey: OrderKey, processId: bigint): Kept | undefined
  /**
   * Runs a save of these orders and what follows from it. If it fails, they must be reloaded.
   */
  saving<T>(orders: readonly OrderKey[], save: () => Promise<T>): Promise<T>
  /** Resolves when the save of this order that runs at this moment is over, however it ended. */
  saved(orderKey: OrderKey): Promise<void> | undefined
  /** Whether this process is running a step of that transaction now. */
  does(orderKey: OrderKey, transactionNo: number): boolean
  /**
   * An order was committed, and these steps of it begin here. The order stays in memory while any
   * of its steps is running.
   */
  keep(order: Order, card: Card | undefined, steps: readonly Transaction[], since: number): Held | undefined
  /** Another process changed the order: reload it before deciding anything about it. */
  outdate(orderKey: OrderKey): void
  /** A step is over. Ignored if its transaction is at a later step by now. */
  release(orderKey: OrderKey, transaction: Transaction): void
  /**
   * Counts a submitted order, so that a burst cannot pass before its first order is in memory.
   * `keep` ends this count, and counts it as in memory if it is. Returns a function that ends the
   * count if nothing else did.
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
  const saves = openSaves()
  const loads = openLoads()

  function drop(key: string): void {
    const held = orders.get(key)
    outdated.delete(key)
    if (!held) return
    orders.delete(key)
    loads.add(held.order, -1)
  }

  return {
    get: (orderKey) => orders.get(orderKeyText(orderKey)),
    isCurrent: (orderKey) => orders.has(orderKeyText(orderKey)) && !outdated.has(orderKeyText(orderKey)),
    lastCommitted(orderKey, processId) {
      const key = orderKeyText(orderKey)
      const held = orders.get(key)
      return held && !outdated.has(key) && !saves.over(key) && head(held.order).lease === processId ? held : undefined
    },
    saving(orderKeys, save) {
      const keys = orderKeys.map(orderKeyText)
      return saves.run(keys, async () => {
        try {
          return await save()
        } catch (error) {
          for (const key of keys) if (orders.has(key)) outdated.add(key)
          throw error
        }
      })
    },
    saved: (orderKey) => saves.over(orderKeyText(orderKey)),
    does: (orderKey, transactionNo) => steps.get(orderKeyText(orderKey))?.has(transactionNo) ?? false,
    keep(order, card, begun, since) {
      const key = orderKeyText(order)
      const running = steps.get(key) ?? new Map<number, Transaction>()
      drop(key)
      // Now: its submitter may hear of the commit later, and it would count twice until then.
      loads.arrived(key)
      if (!card || running.size + begun.length === 0) return undefined
      const held = { order, card, since }
      orders.set(key, held)
      loads.add(order, 1)
      for (const transaction of begun) running.set(transaction.no, transaction)
      steps.set(key, running)
      return held
    },
    outdate: (orderKey) => void (orders.has(orderKeyText(orderKey)) && outdated.add(orderKeyText(orderKey))),
    release(orderKey, transaction) {
      const key = orderKeyText(orderKey)
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

/** The saves under way: each of their orders may be committed at any moment. */
function openSaves() {
  const underWay = new Map<string, { saves: number; over: Promise<void> }>()
  return {
    /** Resolves when all saves of this order that run now are over; undefined if there is none. */
    over: (key: string): Promise<void> | undefined => underWay.get(key)?.over,
    async run<T>(keys: readonly string[], save: () => Promise<T>): Promise<T> {
      let end = () => {}
      const over = new Promise<void>((resolve) => (end = resolve))
      for (const key of keys) {
        const others = underWay.get(key)
        underWay.set(key, others ? { saves: others.saves + 1, over: others.over.then(() => over) } : { saves: 1, over })
      }
      try {
        return await save()
      } finally {
        for (const key of keys) if (--underWay.get(key)!.saves === 0) underWay.delete(key)
        end()
      }
    },
  }
}

/** How many orders there are, by merchant and gate. */
function openLoads() {
  /** Orders that were submitted and are not kept so far: what undoes their count. */
  const expected = new Map<string, () => void>()
  const merchants = new Map<bigint, number>()
  const gates = new Map<bigint, GateLoad>()

  function count(merchantId: bigint, gateId: bigint | undefined, paying: boolean, by: 1 | -1): void {
    addTo(merchants, merchantId, by)
    if (gateId === undefined) return
    const gate = gates.get(gateId) ?? { orders: 0, paying: 0, byMerchant: new Map() }
    gate.orders += by
    if (paying) gate.paying += by
    addTo(gate.byMerchant, merchantId, by)
    if (gate.orders === 0) gates.delete(gateId)
    else gates.set(gateId, gate)
  }

  function arrived(key: string): void {
    expected.get(key)?.()
    expected.delete(key)
  }

  return {
    arrived,
    add(order: Order, by: 1 | -1) {
      const { gateId } = head(order).result
      count(order.merchantId, gateId === undefined ? undefined : BigInt(gateId), statusOf(order) === 'processing', by)
    },
    expect(order: Order, registry: Registry) {
      const key = orderKeyText(order)
      const gateId = gateOf(order, head(order), registry)?.gateId
      count(order.merchantId, gateId, true, 1)
      const twin = expected.get(key)
      expected.set(key, () => {
        twin?.()
        count(order.merchantId, gateId, true, -1)
      })
      return () => arrived(key)
    },
    of(merchantId: bigint, gateId: bigint): Load {
      const gate = gates.get(gateId)
      return {
        ofMerchant: merchants.get(merchantId) ?? 0,
        ofGate: gate?.orders ?? 0,
        ofBoth: gate?.byMerchant.get(merchantId) ?? 0,
        paying: gate?.paying ?? 0,
      }
    },
  }
}

interface GateLoad {
  orders: number
  paying: number
  byMerchant: Map<bigint, number>
}

function addTo(counts: Map<bigint, number>, key: bigint, by: 1 | -1): void {
  const n = (counts.get(key) ?? 0) + by
  if (n === 0) counts.delete(key)
  else counts.set(key, n)
}
