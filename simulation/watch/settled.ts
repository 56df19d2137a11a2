import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import { maxTries } from '../../src/delivery/schedule.ts'
import { statusOf, statusOfState, type Order, type Transaction } from '../../src/order/decide/order.ts'
import { countedIn, type MinuteCount } from '../../src/order/decide/counted.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import { finalStatuses, kindWords } from '../../src/spec/words.ts'
import type { Invariants } from './invariants.ts'
import type { Callback } from '../parties/merchants.ts'
import type { Installation } from '../world/installation.ts'

/**
 * How long a due message may wait: for a sweep, for the breaker of its origin, and because of a
 * wrong wall clock.
 */
const deliverySlackMs = 150_000

/** Checks what must hold at the end of a world. `wall` is true time. */
export function checkSettled(
  installation: Installation,
  ledger: Ledger,
  callbacks: readonly Callback[],
  invariants: Invariants,
  wall: number,
): void {
  for (const orderId of invariants.answers.acknowledged().keys())
    if (!installation.orders.values().some((o) => o.orderId === orderId))
      invariants.breaks('an acknowledged order exists', `order ${orderId} is not there`)
  for (const order of installation.orders.values()) {
    checkEnded(order, installation, invariants)
    invariants.authentications.settled(order)
    invariants.followUps.settled(order)
    if (order.kind === 'transfer') invariants.transfers.settled(order)
  }
  invariants.mobile.settled(wall)
  checkBooks(installation, ledger, invariants)
  checkMinuteCounts(installation, invariants)
  const accepted = new Map<string, number>()
  for (const t of callbacks)
    if (t.accepted)
      accepted.set(messageKey(t.orderId, t.type, t.url), (accepted.get(messageKey(t.orderId, t.type, t.url)) ?? 0) + 1)
  for (const order of installation.orders.values())
    for (const t of order.transactions)
      if (t.origin === 'request') checkReported(order, t, installation, accepted, invariants, wall)
}

function checkEnded(order: Order, installation: Installation, { breaks }: Invariants): void {
  const { orderId } = order
  if (!finalStatuses.has(statusOf(order))) breaks('every order ends', `order ${orderId} is ${statusOf(order)}`)
  for (const t of order.transactions) {
    if (!finalStatuses.has(statusOfState(t.state)))
      breaks('every order ends', `transaction ${t.no} of order ${orderId} is ${t.state}`)
    if (t.alarm !== undefined) breaks('every order ends', `order ${orderId} is parked: ${t.alarm}`)
    if (t.step !== undefined) breaks('every order ends', `transaction ${t.no} of order ${orderId} still has to ${t.step}`)
    if (t.lease !== undefined && installation.isDead(t.lease, order.merchantId))
      breaks('nothing is leased forever', `transaction ${t.no} of order ${orderId} is in the hand of ${t.lease}`)
  }
  if (installation.cards.get(orderKeyText(order))?.cvv2Sealed)
    breaks('a CVV2 is gone when it is not needed', `order ${orderId} still has its CVV2`)
}

/** Each order is compared on its own; this checks that the acquirer has no further order. */
function checkBooks(installation: Installation, ledger: Ledger, { breaks }: Invariants): void {
  const known = new Set(installation.orders.values().map(({ orderId }) => String(orderId)))
  for (const { orderId, kind } of ledger.search({ state: 'approved', limit: Infinity }).entries)
    if (!known.has(orderId)) breaks('the books are equal', `the acquirer has a ${kind} of an order ${orderId} that is not there`)
}

/** Minute counts are the counts of the orders and attempts that are stored. */
function checkMinuteCounts(installation: Installation, { breaks }: Invariants): void {
  const orders = installation.orders.values()
  for (const merchantId of new Set(orders.map((order) => order.merchantId))) {
    const stored = sums(countedIn(orders.filter((order) => order.merchantId === merchantId).map(asIfNow)))
    const counted = sums(installation.home(merchantId).minutes.ofMerchant(merchantId))
    for (const key of new Set([...stored.keys(), ...counted.keys()])) {
      const [there, says] = [stored.get(key) ?? 0, counted.get(key) ?? 0]
      if (there !== says) breaks('counts are what is stored', `${key}: ${says} are counted, ${there} are stored`)
    }
  }
}

const asIfNow = (after: Order) => ({ after, rows: [], deliveries: [], eraseCvv2: false })

/** 3-D Secure may follow an attempt, so only the result of orders stays. */
function sums(rows: readonly MinuteCount[]): Map<string, number> {
  const all = new Map<string, number>()
  for (const { minute, key, ended } of rows) {
    const [verified, orders, attempts] = key.split('|').slice(-3)
    const same = `minute ${minute}, ${key.split('|').slice(0, -3).join(', ')}`
    const each = [orders && `orders of ${same}, ${verified}, ${orders} ms`, attempts && `attempts of ${same}, ${attempts} ms`]
    for (const one of each) if (one) all.set(one, (all.get(one) ?? 0) + ended)
  }
  return all
}

const messageKey = (orderId: bigint | string, type: string, url: string): string => `${orderId} ${type} ${url}`

/**
 * Only the payment itself is reported to the first callback URL. Callbacks of two captures look the
 * same, so the receiver must have accepted as many as are stored as delivered.
 */
function checkReported(
  order: Order,
  { no, kind }: Transaction,
  installation: Installation,
  accepted: Map<string, number>,
  { breaks }: Invariants,
  wall: number,
): void {
  const { serverCallbackUrl, notifyUrl, endpointCallbackUrl } = order.request
  const wanted = new Set(
    [...(no === 1 ? [serverCallbackUrl] : []), notifyUrl, endpointCallbackUrl].filter((url) => url !== undefined),
  )
  const rows = installation.deliveries.ofOrder(order)
  for (const url of wanted) {
    const row = rows.find((r) => r.url === url && r.transactionNo === no)
    const whose = `transaction ${no} of order ${order.orderId} for ${url}`
    if (!row) {
      breaks('every outcome is reported', `there is no message of ${whose}`)
      continue
    }
    if (row.state === 'given up' && row.tries < maxTries)
      breaks('every outcome is reported', `${whose} was given up after ${row.tries} tries`)
    const message = messageKey(order.orderId, kindWords[kind].callbackType, url)
    const heard = accepted.get(message) ?? 0
    if (row.state === 'delivered') accepted.set(message, heard - 1)
    if (row.state === 'delivered' && heard <= 0)
      breaks('delivered means accepted', `${whose} is delivered, and no server accepted it`)
    if (row.state !== 'due') continue
    if (row.dueAt! < wall - deliverySlackMs) breaks('every outcome is reported', `${whose} is due since ${wall - row.dueAt!} ms`)
    if (row.lease !== undefined && installation.isDead(row.lease, order.merchantId))
      breaks('nothing is leased forever', `${whose} is in the hand of ${row.lease}`)
  }
}
