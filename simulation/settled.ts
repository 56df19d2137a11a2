import type { Ledger } from '../simulators/acquirer/ledger.ts'
import { maxTries } from '../src/delivery/schedule.ts'
import { statusOf, type Order } from '../src/order/order.ts'
import { placeKey } from '../src/order/store.ts'
import { finalStatuses } from '../src/spec/words.ts'
import type { Invariants } from './invariants.ts'
import type { Told } from './merchants.ts'
import type { StoreModel } from './store-model.ts'

/** A message that is due waits this long at the most for a sweep, the breaker of its origin, and a wall clock that was wrong. */
const deliverySlackMs = 150_000

/** What must hold when the troubles are over and everything had its time. `wall` is true time. */
export function checkSettled(
  model: StoreModel,
  ledger: Ledger,
  told: readonly Told[],
  invariants: Invariants,
  wall: number,
): void {
  for (const orderId of invariants.acknowledged().keys())
    if (![...model.orders.values()].some((o) => o.orderId === orderId))
      invariants.breaks('an acknowledged order exists', `order ${orderId} is not there`)
  for (const order of model.orders.values()) {
    checkEnded(order, model, invariants)
    invariants.authentications.settled(order)
  }
  checkBooks(model, ledger, invariants)
  const accepted = new Set(told.filter((t) => t.accepted).map((t) => `${t.orderId} ${t.url}`))
  for (const order of model.orders.values()) checkTold(order, model, accepted, invariants, wall)
}

function checkEnded(order: Order, model: StoreModel, { breaks }: Invariants): void {
  const { orderId } = order
  if (!finalStatuses.has(statusOf(order))) breaks('every order ends', `order ${orderId} is ${statusOf(order)}`)
  for (const t of order.transactions) {
    if (t.alarm !== undefined) breaks('every order ends', `order ${orderId} is parked: ${t.alarm}`)
    if (t.step !== undefined) breaks('every order ends', `transaction ${t.no} of order ${orderId} still has to ${t.step}`)
    if (t.lease !== undefined && model.isDead(t.lease))
      breaks('nothing is leased forever', `transaction ${t.no} of order ${orderId} is in the hand of ${t.lease}`)
  }
  if (model.cards.get(placeKey(order))?.cvv2Sealed)
    breaks('a CVV2 is gone when it is not needed', `order ${orderId} still has its CVV2`)
}

/** An approved order stands in the acquirer's books, once and with its amount; no other stands there. */
function checkBooks(model: StoreModel, ledger: Ledger, { breaks }: Invariants): void {
  const standing = new Map<string, bigint[]>()
  for (const entry of ledger.search({ state: 'approved', limit: Infinity }).entries)
    standing.set(entry.orderId, [...(standing.get(entry.orderId) ?? []), BigInt(entry.amountMinor)])
  for (const order of model.orders.values()) {
    const charged = standing.get(String(order.orderId)) ?? []
    standing.delete(String(order.orderId))
    const owed = statusOf(order) === 'approved' ? [order.amountMinor] : []
    if (charged.join() !== owed.join())
      breaks(
        'the books are equal',
        `order ${order.orderId} is ${statusOf(order)}; the acquirer charged ${charged.join(' and ') || 'nothing'}`,
      )
  }
  for (const orderId of standing.keys())
    breaks('the books are equal', `the acquirer charged an order ${orderId} that is not there`)
}

function checkTold(order: Order, model: StoreModel, accepted: Set<string>, { breaks }: Invariants, wall: number): void {
  const { serverCallbackUrl, notifyUrl, endpointCallbackUrl } = order.request
  const wanted = new Set([serverCallbackUrl, notifyUrl, endpointCallbackUrl].filter((url) => url !== undefined))
  const rows = [...Array(order.deliveries + 1).keys()].flatMap((no) => model.deliveries.get(`${placeKey(order)}/${no}`) ?? [])
  for (const url of wanted) {
    const row = rows.find((r) => r.url === url)
    const whose = `order ${order.orderId} for ${url}`
    if (!row) {
      breaks('every outcome is told', `there is no message of ${whose}`)
      continue
    }
    if (row.state === 'given up' && row.tries < maxTries)
      breaks('every outcome is told', `${whose} was given up after ${row.tries} tries`)
    if (row.state === 'delivered' && !accepted.has(`${order.orderId} ${url}`))
      breaks('delivered means accepted', `${whose} is delivered, and nobody accepted it`)
    if (row.state !== 'due') continue
    if (row.dueAt! < wall - deliverySlackMs) breaks('every outcome is told', `${whose} is due since ${wall - row.dueAt!} ms`)
    if (row.lease !== undefined && model.isDead(row.lease))
      breaks('nothing is leased forever', `${whose} is in the hand of ${row.lease}`)
  }
}
