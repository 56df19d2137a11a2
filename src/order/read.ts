import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openBatch, singles, type Batch } from '../storage/batch.ts'
import type { Order } from './decide/order.ts'
import type { Heartbeat } from '../leases/heartbeat.ts'
import { orderKeyText, type OrderKey } from './decide/change.ts'
import type { Copies } from './copies.ts'
import type { Hand } from './door/hand.ts'
import type { OrderStore } from './store/store.ts'
import type { Shown, ShownWish } from './store/shown.ts'

type Wanted = OrderKey | { merchantId: bigint; clientOrderid: string }

/**
 * Reads of orders. Many reads share a round trip, because merchants who poll make more of them than
 * of any other request.
 */
export interface Reader {
  byId(orderKey: OrderKey): Promise<Order | undefined>
  /** The order of a key that does not include the merchant. */
  locate(key: string): Promise<OrderKey | undefined>
  signedAmounts: OrderStore['signedAmounts']
  /**
   * The part of an order that a status shows, by its id or as the newest of a client_orderid. While
   * this process saves the order, it waits for the end of that save, since what it would read
   * meanwhile is about to be outdated. The result is a promise only if it waits or reads.
   */
  shown(wanted: Wanted, serialNumber?: string): Shown | Promise<Shown | undefined>
  close(): Promise<void>
}

export interface ReaderParts {
  store: OrderStore
  /** Orders in the memory of this process, and copies of those that it committed last. */
  hand: Pick<Hand, 'lastCommitted' | 'saved'>
  copies: Pick<Copies, 'get'>
  heartbeat: Pick<Heartbeat, 'processId' | 'holding'>
  clock: Clock
  log: Log
}

interface Asked {
  wanted: Wanted
  serialNumber: string | undefined
}

export function openReader({ store, hand, copies, heartbeat, clock, log }: ReaderParts): Reader {
  const shared = { ...singles, clock, log }
  async function orderKeysOf(items: readonly Wanted[]): Promise<(OrderKey | undefined)[]> {
    const named = items.filter((item) => 'clientOrderid' in item)
    const newest = named.length === 0 ? [] : await store.newestOrders(named)
    const byName = new Map(newest.map((row) => [nameKey(row), row]))
    return items.map((item) => ('orderId' in item ? item : byName.get(nameKey(item))))
  }

  /** Shows an order from memory while no other process can have changed it. */
  function shownFromMemory({ wanted, serialNumber }: Asked): Shown | undefined {
    const held = 'orderId' in wanted ? hand.lastCommitted(wanted, heartbeat.processId) : undefined
    return held && heartbeat.holding(held.since) ? shownOf(held.order, serialNumber) : undefined
  }

  /** Shows copies that are still true, and reads the others. */
  async function shownAs(asked: readonly (ShownWish | undefined)[]): Promise<(Shown | undefined)[]> {
    const wishes = asked.filter((wish) => wish !== undefined)
    const copied = new Map(wishes.flatMap((wish) => copies.get(wish) ?? []).map((order) => [orderKeyText(order), order]))
    const versions = await store.versions([...copied.values()])
    const shown = new Map<ShownWish, Shown>()
    for (const wish of wishes) {
      const order = copied.get(orderKeyText(wish))
      const isTrue = order && versions.get(orderKeyText(wish)) === order.version
      const found = isTrue ? shownOf(order, wish.serialNumber) : undefined
      if (found) shown.set(wish, found)
    }
    const others = wishes.filter((wish) => !shown.has(wish))
    const read = (await store.shown(others)).values()
    return asked.map((wish) => wish && (shown.get(wish) ?? read.next().value))
  }

  const batch: Batch<Wanted, Order | undefined> = openBatch({
    name: 'reads',
    run: async (items: Wanted[]) => {
      const orderKeys = await orderKeysOf(items)
      const distinct = new Map(
        orderKeys.filter((orderKey) => orderKey !== undefined).map((orderKey) => [orderKeyText(orderKey), orderKey]),
      )
      const orders = new Map((await store.load([...distinct.values()])).map((order) => [orderKeyText(order), order]))
      return orderKeys.map((orderKey) => orderKey && orders.get(orderKeyText(orderKey)))
    },
    ...shared,
  })
  const located = openBatch<string, OrderKey | undefined>({ name: 'keys of orders', run: store.locate, ...shared })
  const statuses = openBatch<Asked, Shown | undefined>({
    name: 'statuses',
    run: async (items) => {
      const orderKeys = await orderKeysOf(items.map(({ wanted }) => wanted))
      return shownAs(orderKeys.map((orderKey, i) => orderKey && { serialNumber: items[i]!.serialNumber, ...orderKey }))
    },
    ...shared,
  })
  return {
    byId: (orderKey) => batch.submit({ merchantId: orderKey.merchantId, orderId: orderKey.orderId }),
    locate: (key) => located.submit(key),
    signedAmounts: (orderKey) => store.signedAmounts(orderKey),
    shown(wanted, serialNumber) {
      const asked = { wanted, serialNumber }
      const saved = 'orderId' in wanted ? hand.saved(wanted) : undefined
      const show = () => shownFromMemory(asked) ?? statuses.submit(asked)
      return saved ? saved.then(show) : show()
    },
    close: async () => void (await Promise.all([batch.close(), located.close(), statuses.close()])),
  }
}

/**
 * What the request with this serial number is shown, or by default the newest that created a
 * transaction. Undefined if only the database knows, because the request repeated another one.
 */
function shownOf(order: Order, serialNumber: string | undefined): Shown | undefined {
  const asked = order.transactions.filter(({ origin }) => origin === 'request')
  const transaction = serialNumber === undefined ? asked.at(-1) : asked.find((t) => t.serialNumber === serialNumber)
  return transaction && { order, transaction }
}

const nameKey = (named: { merchantId: bigint; clientOrderid: string }) => `${named.merchantId}/${named.clientOrderid}`
