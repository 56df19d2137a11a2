import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openBatch, type Batch } from '../storage/batch.ts'
import type { Order } from './order.ts'
import { placeKey, type OrderStore, type Place } from './store.ts'

type Wanted = Place | { merchantId: bigint; clientOrderid: string }

/** Reads of orders; many share a round trip, as polling merchants make more of them than of anything else. */
export interface Reader {
  byId(place: Place): Promise<Order | undefined>
  /** The newest order of a client_orderid. */
  newest(merchantId: bigint, clientOrderid: string): Promise<Order | undefined>
  transactionOfRepeat(place: Place, serialNumber: string): Promise<number | undefined>
  namedRepeatOf: OrderStore['namedRepeatOf']
  close(): Promise<void>
}

export function openReader(store: OrderStore, clock: Clock, log: Log): Reader {
  const batch: Batch<Wanted, Order | undefined> = openBatch({
    name: 'reads',
    run: async (items: Wanted[]) => {
      const named = items.filter((item) => 'clientOrderid' in item)
      const newest = named.length === 0 ? [] : await store.newestOrders(named)
      const byName = new Map(newest.map((row) => [nameKey(row), row]))
      const places = items.map((item) => ('orderId' in item ? item : byName.get(nameKey(item))))
      const distinct = new Map(places.filter((place) => place !== undefined).map((place) => [placeKey(place), place]))
      const orders = new Map((await store.load([...distinct.values()])).map((order) => [placeKey(order), order]))
      return places.map((place) => place && orders.get(placeKey(place)))
    },
    maxItems: 128,
    lanes: 2,
    patienceMs: 5_000,
    clock,
    log,
  })
  return {
    byId: (place) => batch.submit({ merchantId: place.merchantId, orderId: place.orderId }),
    newest: (merchantId, clientOrderid) => batch.submit({ merchantId, clientOrderid }),
    transactionOfRepeat: (place, serialNumber) => store.repeatOf(place, serialNumber),
    namedRepeatOf: (place, operation, idempotencyKey, since) => store.namedRepeatOf(place, operation, idempotencyKey, since),
    close: () => batch.close(),
  }
}

const nameKey = (named: { merchantId: bigint; clientOrderid: string }) => `${named.merchantId}/${named.clientOrderid}`
