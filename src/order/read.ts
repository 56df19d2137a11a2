import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openBatch, type Batch } from '../storage/batch.ts'
import type { Order } from './order.ts'
import { placeKey, type Place } from './change.ts'
import type { OrderStore } from './store.ts'
import type { Shown } from './store-shown.ts'

type Wanted = Place | { merchantId: bigint; clientOrderid: string }

/**
 * Reads of orders. Many reads share a round trip, because merchants who poll make more of them than
 * of any other request.
 */
export interface Reader {
  byId(place: Place): Promise<Order | undefined>
  signedAmounts: OrderStore['signedAmounts']
  /** The part of an order that a status shows, by its id or as the newest of a client_orderid. */
  shown(wanted: Wanted, serialNumber?: string): Promise<Shown | undefined>
  close(): Promise<void>
}

export function openReader(store: OrderStore, clock: Clock, log: Log): Reader {
  const shared = { maxItems: 128, lanes: 2, patienceMs: 5_000, clock, log }
  async function placesOf(items: readonly Wanted[]): Promise<(Place | undefined)[]> {
    const named = items.filter((item) => 'clientOrderid' in item)
    const newest = named.length === 0 ? [] : await store.newestOrders(named)
    const byName = new Map(newest.map((row) => [nameKey(row), row]))
    return items.map((item) => ('orderId' in item ? item : byName.get(nameKey(item))))
  }

  const batch: Batch<Wanted, Order | undefined> = openBatch({
    name: 'reads',
    run: async (items: Wanted[]) => {
      const places = await placesOf(items)
      const distinct = new Map(places.filter((place) => place !== undefined).map((place) => [placeKey(place), place]))
      const orders = new Map((await store.load([...distinct.values()])).map((order) => [placeKey(order), order]))
      return places.map((place) => place && orders.get(placeKey(place)))
    },
    ...shared,
  })
  const statuses = openBatch<{ wanted: Wanted; serialNumber: string | undefined }, Shown | undefined>({
    name: 'statuses',
    run: async (items) => {
      const places = await placesOf(items.map(({ wanted }) => wanted))
      const wishes = places.map((place, i) => place && { ...place, serialNumber: items[i]!.serialNumber })
      const shown = (await store.shown(wishes.filter((wish) => wish !== undefined))).values()
      return wishes.map((wish) => (wish ? shown.next().value : undefined))
    },
    ...shared,
  })
  return {
    byId: (place) => batch.submit({ merchantId: place.merchantId, orderId: place.orderId }),
    signedAmounts: (place) => store.signedAmounts(place),
    shown: (wanted, serialNumber) => statuses.submit({ wanted, serialNumber }),
    close: async () => void (await Promise.all([batch.close(), statuses.close()])),
  }
}

const nameKey = (named: { merchantId: bigint; clientOrderid: string }) => `${named.merchantId}/${named.clientOrderid}`
