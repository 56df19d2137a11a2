import { sleep, type Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { sha1Hex } from '../../base/digest.ts'
import { spellMinor } from '../../base/money.ts'
import type { Door } from '../../order/door/advance.ts'
import type { Reader } from '../../order/read.ts'
import { statusOf, type Order } from '../../order/decide/order.ts'
import { finalStatuses } from '../../spec/words.ts'
import { totalMinor } from '../fees.ts'
import type { Funds } from '../funds.ts'
import type { Confirmed, Hold, Invoice } from '../invoice/invoice.ts'
import type { MerchantEndpoint } from '../merchant/endpoint.ts'
import { makeOrder, payerRequest, type PayParts } from '../pay.ts'

/**
 * Holds the random sum on the card: a separate order, without notifications. False if another order
 * has its name.
 */
export function holdSum(
  parts: PayParts,
  at: MerchantEndpoint,
  invoice: Invoice,
  { orderId, sumMinor }: Hold,
  confirmed: Confirmed,
  funds: Funds,
): Promise<boolean> {
  const { currency } = invoice.request
  const { card, shown } = funds
  return makeOrder(parts, at, invoice, {
    kind: 'preauth',
    orderId,
    // Not the invoice's own id, which may fill the whole name.
    clientOrderid: `random-sum-${invoice.orderId}`,
    currency,
    amountMinor: sumMinor,
    amountText: spellMinor(sumMinor, currency),
    card,
    shown,
    request: {
      ...payerRequest(invoice, confirmed, funds),
      orderDesc: 'Random sum',
      mobile: { invoiceId: invoice.invoiceId, randomSum: 'hold', holdsForMinor: String(totalMinor(invoice)) },
    },
  })
}

/** How often to check whether another process committed the end. */
const lookEveryMs = 2_000
/** After that the row waits, so that a slow acquirer does not fill the memory of this process. */
const inHandMs = 10_000

export interface HoldParts {
  door: Pick<Door, 'submit' | 'ended'>
  orders: Pick<Reader, 'byId'>
  clock: Clock
  log: Log
  /** Whether this process may send. */
  holding: () => boolean
}

/** Waits for the outcome of a hold; undefined if that takes too long, or `stopping` aborts it. */
export async function outcomeOfHold(
  { door, orders, clock, holding }: Omit<HoldParts, 'log'>,
  { merchantId }: Invoice,
  { orderId }: Hold,
  stopping: AbortSignal,
): Promise<Order | undefined> {
  const orderKey = { merchantId, orderId }
  const until = clock.monotonic() + inHandMs
  const waiting = new AbortController()
  try {
    const ended = door.ended(orderKey, waiting.signal)
    for (;;) {
      const order = await orders.byId(orderKey)
      if (order && finalStatuses.has(statusOf(order))) return order
      if (stopping.aborted || !holding() || clock.monotonic() >= until) return undefined
      await Promise.race([ended, sleep(clock, lookEveryMs, stopping)])
    }
  } finally {
    waiting.abort()
  }
}

/** Releases a hold. A second release finds the first one: both have the same serial number. */
export async function releaseHold(
  { door, log }: Pick<HoldParts, 'door' | 'log'>,
  { merchantId, invoiceId }: Invoice,
  { orderId }: Hold,
): Promise<void> {
  const orderKey = { merchantId, orderId }
  const ask = { operation: 'void', serialNumber: serialOf(merchantId, orderId) } as const
  const advanced = await door.submit({ is: 'follow', ...orderKey, ask })
  if (advanced.is === 'applied' || advanced.is === 'repeated') return
  if (advanced.is !== 'not followed') throw new Error(`the door answered a void with ${advanced.is}`)
  log.warn(
    { invoice: invoiceId, order: String(orderId), why: advanced.judged.is },
    'the hold of a random sum is not there to release',
  )
}

function serialOf(merchantId: bigint, orderId: bigint): string {
  const hex = sha1Hex(`release of a random sum: ${merchantId} ${orderId}`)
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-')
}
