import type { Reply } from '../../src/gateway-api/reply.ts'
import { isRandomSum, type Order, type Transaction } from '../../src/order/decide/order.ts'
import type { RepeatRow } from '../../src/order/decide/change.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import type { Intent } from '../world/asking.ts'
import { configuration } from '../model/configuration.ts'
import type { Breaks } from './invariant.ts'
import type { KeyWatch } from './key-watch.ts'
import type { Installation } from '../world/installation.ts'

/** Watches that each request to capture, return or void is carried out once, as requested. */
export interface Requests {
  /** A request reaches a gateway, under this serial number. */
  following(intent: Intent, serialNumber: string): void
  /** The gateway answered. `again`: it had acknowledged the same request before this one. */
  followed(intent: Intent, serialNumber: string, reply: Reply | Refusal, again: boolean): void
  committed(order: Order, before: Order | undefined): void
}

export interface RequestParts {
  installation: Installation
  orderOf: (id: bigint) => Order | undefined
  keys: KeyWatch
  breaks: Breaks
}

/** The kinds of transactions that may carry out a request. */
const kindsOf: Readonly<Record<Intent['operation'], readonly Transaction['kind'][]>> = {
  capture: ['capture'],
  return: ['return', 'cancel'],
  void: ['void'],
}
const failed: ReadonlySet<string> = new Set(['declined', 'error'])
const ended: ReadonlySet<string> = new Set(['approved', 'declined', 'error'])

/** Identifies a request by all its fields. */
const requestOf = ({ orderId, operation, amount, comment }: Intent): string =>
  `the ${operation} of ${amount?.text ?? 'all'} of order ${orderId} (${comment ?? 'no comment'})`

const isNamedOtherwise = (one: Intent, other: Intent): boolean =>
  one.idempotencyKey !== undefined && other.idempotencyKey !== undefined && one.idempotencyKey !== other.idempotencyKey
const isSame = (one: Intent, other: Intent): boolean => requestOf(one) === requestOf(other) && !isNamedOtherwise(one, other)

const windowOf = ({ endpointId }: Order): number => configuration.endpoint(endpointId)!.settings.repeatWindowMs ?? 600_000

export function watchRequests({ installation, orderOf, keys, breaks }: RequestParts): Requests {
  /** By serial number. */
  const intents = new Map<string, Intent>()
  /** The transactions of an order as they were when a request reached the gateway. */
  const statesBefore = new Map<string, Order['transactions']>()
  const intentOf = ({ serialNumber = '' }: Transaction) => intents.get(serialNumber)

  /** The fault of a request that was answered with another request's transaction. */
  function repeatFault(order: Order, intent: Intent, { serialNumber, transactionNo, at }: RepeatRow): string | undefined {
    const first = intentOf(order.transactions.find(({ no }) => no === transactionNo)!)
    const what = `${requestOf(intent)} as ${serialNumber} was answered with`
    if (!first || !isSame(first, intent)) return `${what} ${first && requestOf(first)}, transaction ${transactionNo}`
    const before = statesBefore.get(serialNumber)?.find(({ no }) => no === transactionNo)
    // With a key, any transaction of the same request is a right answer.
    if (intent.idempotencyKey !== undefined || !before) return undefined
    const isOver = before.state === 'approved' && at - before.finalAt! >= windowOf(order)
    return isOver || failed.has(before.state) ? `${what} transaction ${transactionNo}, which was over` : undefined
  }

  function acknowledged(intent: Intent, order: Order, serialNumber: string, what: string, again: boolean): void {
    const made = order.transactions.find((t) => t.serialNumber === serialNumber)
    const repeat = installation.repeat(order, serialNumber)
    const fault = repeat && repeatFault(order, intent, repeat)
    if (fault !== undefined) breaks('a repeat is of the same request', fault)
    const key = keyedOf(intent, order)
    if (key) keys.answered(key, `${order.orderId}/${made?.no ?? repeat?.transactionNo}`)
    if (made && again && key) breaks('a request is done once', `${what} was acknowledged before, and is a transaction of its own`)
    if (!made && !repeat) breaks('an acknowledged order exists', `${what} was acknowledged, and is not there`)
  }

  function done(order: Order, intent: Intent, t: Transaction, what: string): void {
    const difference = differenceFrom(intent, t)
    if (difference !== undefined) breaks('a request is done as it was asked', `${what} ${difference}`)
    const twin = order.transactions.find((other) => isTwin(order, intent, t, other, intentOf(other)))
    if (twin) breaks('a request is done once', `${what} is asked for by the same request as transaction ${twin.no}`)
  }

  return {
    following(intent, serialNumber) {
      const order = orderOf(intent.orderId)!
      intents.set(serialNumber, intent)
      statesBefore.set(serialNumber, order.transactions)
      const key = keyedOf(intent, order)
      if (key) keys.asked(key)
    },
    followed(intent, serialNumber, reply, again) {
      const order = orderOf(intent.orderId)!
      const what = `the ${intent.operation} of order ${intent.orderId} as ${serialNumber}`
      if (!('refused' in reply)) return acknowledged(intent, order, serialNumber, what, again)
      const key = keyedOf(intent, order)
      if (key && reply.refused === 'key in use') keys.refused(key)
      if (key && again)
        breaks('the same request has the same answer', `${what} was acknowledged, and is refused: ${reply.refused}`)
    },
    committed(order, before) {
      for (const t of order.transactions) {
        const isNew = t.no > (before?.transactions.length ?? 1) && t.origin === 'request'
        // The gateway itself releases the hold of a random sum.
        if (!isNew || (isRandomSum(order) && t.kind === 'void')) continue
        const intent = intentOf(t)
        const what = `transaction ${t.no} of order ${order.orderId}`
        if (intent) done(order, intent, t, what)
        else breaks('a request is done as it was asked', `no request asked for ${what}`)
      }
    },
  }
}

const keyedOf = (intent: Intent, { merchantId }: Order) =>
  intent.idempotencyKey === undefined ? undefined : { merchantId, key: intent.idempotencyKey, request: requestOf(intent) }

function differenceFrom({ operation, amount }: Intent, { kind, amountMinor }: Transaction): string | undefined {
  const isRightAmount = amountMinor > 0n && (amount === undefined || amount.minor === amountMinor)
  if (kindsOf[operation].includes(kind) && isRightAmount) return undefined
  return `is a ${kind} of ${amountMinor}; a ${operation} of ${amount?.minor ?? 'all'} was asked`
}

/** Whether a transaction repeats what an earlier one of this order did or is still doing. */
function isTwin(order: Order, intent: Intent, t: Transaction, other: Transaction, earlier: Intent | undefined): boolean {
  // A later one, perhaps in the same commit, is checked on its own.
  if (!earlier || other.no >= t.no || earlier.operation !== intent.operation) return false
  if (intent.idempotencyKey !== undefined && earlier.idempotencyKey === intent.idempotencyKey) return true
  const wasJustApproved = other.state === 'approved' && t.createdAt - other.finalAt! < windowOf(order)
  return isSame(earlier, intent) && (!ended.has(other.state) || wasJustApproved)
}
