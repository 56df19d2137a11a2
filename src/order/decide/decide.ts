import { originOf, type NewDelivery } from '../../delivery/delivery.ts'
import { finalStatuses } from '../../spec/words.ts'
import type { Authentication } from '../../three-d-secure/authentication.ts'
import { effectOf } from './effects.ts'
import type { Event } from './event.ts'
import { transitionFor, type Transition } from './machine.ts'
import { addedBy, consequencesOf } from './obligations.ts'
import { statusOfState, type Attempt, type Order, type OrderRequest, type State, type Transaction } from './order.ts'

export interface OrderEventRow {
  eventNo: number
  transactionNo: number
  event: Event['is']
  from: State
  to: State
  facts?: object
  at: number
}

export interface Decided {
  is: 'decided'
  order: Order
  /** The event, for the order's history. */
  row: OrderEventRow
  deliveries: NewDelivery[]
  /** Events that follow for other transactions of the order, to be decided next. */
  consequences: Event[]
}

/**
 * Why an event changes nothing. `stale`: it answers an attempt that is no longer open.
 * `impossible`: the machine has no such transition.
 */
export interface RefusedEvent {
  is: 'stale' | 'impossible'
  why: string
}

/**
 * Applies one event to an order, purely. It looks the transition up, applies the facts of the
 * event, and returns the order after it, its event row, the deliveries, and the events of other
 * transactions that it leads to. The version rises by one.
 */
export function decide(order: Order, event: Event, now: number): Decided | RefusedEvent {
  const transaction = order.transactions.find((t) => t.no === event.transactionNo)
  if (!transaction) return { is: 'impossible', why: `order ${order.orderId} has no transaction ${event.transactionNo}` }
  if ('attemptNo' in event) {
    const attempt = order.attempts.find((a) => a.no === event.attemptNo)
    if (!attempt || attempt.outcome !== undefined) return { is: 'stale', why: `attempt ${event.attemptNo} is not open` }
  }
  const transition = transitionFor(transaction.state, event.is)
  if (!transition) return { is: 'impossible', why: `${event.is} in state ${transaction.state}` }
  if ('of' in event && event.of !== transaction.authentication?.threeDSServerTransId)
    return { is: 'stale', why: 'it is of another authentication' }
  if (event.is === 'challenge returned' && transaction.authentication?.cresAt !== undefined)
    return { is: 'stale', why: 'the browser was back before' }
  if (event.is === 'method begun' && transaction.authentication?.methodUntil !== undefined)
    return { is: 'stale', why: 'the method was begun before' }

  const next = transactionAfter(transaction, event, transition, now)
  const final = next.finalAt !== undefined
  const added = addedBy(order, event, next, now)
  const facts = effectOf(event).facts?.(event)
  const row: OrderEventRow = {
    eventNo: order.events + 1,
    transactionNo: next.no,
    event: event.is,
    from: transaction.state,
    to: transition.to,
    at: now,
  }
  if (facts !== undefined) row.facts = facts
  const changed: Order = {
    ...order,
    version: order.version + 1,
    events: order.events + 1,
    transactions: [...order.transactions.map((t) => (t === transaction ? next : t)), ...(added ? [added] : [])],
    attempts: attemptsAfter(order, event, now),
  }
  if (final && next.no === 1) changed.finalAt = now
  const deliveries = final && next.origin === 'request' ? callbacksOf(changed, next) : []
  if (deliveries.length > 0) changed.deliveries += deliveries.length
  return {
    is: 'decided',
    order: changed,
    row,
    deliveries,
    consequences: consequencesOf(changed, event, next, added),
  }
}

function transactionAfter(transaction: Transaction, event: Event, transition: Transition, now: number): Transaction {
  const next: Transaction = {
    no: transaction.no,
    kind: transaction.kind,
    origin: transaction.origin,
    state: transition.to,
    amountMinor: event.is === 'amount declined' ? event.next.minor : transaction.amountMinor,
    amountText: event.is === 'amount declined' ? event.next.text : transaction.amountText,
    result: resultAfter(transaction.result, event, now),
    tries: effectOf(event).tries?.(transaction.tries) ?? 0,
    createdAt: transaction.createdAt,
  }
  if (transaction.serialNumber !== undefined) next.serialNumber = transaction.serialNumber
  if (transaction.parentNo !== undefined) next.parentNo = transaction.parentNo
  if (transaction.asked !== undefined) next.asked = transaction.asked
  const authentication = authenticationAfter(transaction.authentication, event, transition)
  if (authentication) next.authentication = authentication
  if (transition.asks !== undefined) {
    next.step = transition.asks
    next.dueAt = now
    if ('lease' in event) {
      next.lease = event.lease
      next.dueAt = event.leaseDueAt
    } else if ('dueAt' in event) next.dueAt = Math.max(now, event.dueAt)
  }
  if (finalStatuses.has(statusOfState(transition.to))) next.finalAt = now
  return next
}

/**
 * Keeps the issuer's proof only until the authorisation has an outcome; the acquirer does not need
 * it afterwards.
 */
function authenticationAfter(
  before: Authentication | undefined,
  event: Event,
  transition: Transition,
): Authentication | undefined {
  const after = effectOf(event).authentication?.(event, before) ?? before
  if (after?.authenticationValue === undefined || transition.asks !== undefined) return after
  const { authenticationValue: _used, ...rest } = after
  return rest
}

function attemptsAfter(order: Order, event: Event, now: number): readonly Attempt[] {
  if (event.is === 'attempt recorded')
    return [...order.attempts, { no: order.attempts.length + 1, transactionNo: event.transactionNo, ...event.attempt }]
  const end = effectOf(event).ends?.(event)
  if (!end || !('attemptNo' in event)) return order.attempts
  return order.attempts.map((a) => (a.no === event.attemptNo ? Object.assign({ endedAt: now }, a, end) : a))
}

function resultAfter(result: Transaction['result'], event: Event, now: number): Transaction['result'] {
  // If the debit of a transfer was reversed, the result keeps the reason why its credit failed.
  if (event.is === 'reversed' && result.errorCode !== undefined) return result
  const more = effectOf(event).result?.(event, now)
  return more ? Object.assign({}, result, more) : result
}

/**
 * Where a transaction of an order is reported: the first URL hears only of the outcome of the
 * payment, the others also of later events of the order.
 */
export function callbackUrls({ serverCallbackUrl, notifyUrl, endpointCallbackUrl }: OrderRequest, no: number): Set<string> {
  const urls = no === 1 ? [serverCallbackUrl, notifyUrl, endpointCallbackUrl] : [notifyUrl, endpointCallbackUrl]
  return new Set(urls.filter((url) => url !== undefined))
}

/**
 * One callback to each URL, even if both the request and the endpoint name it, plus the card
 * mapping if the merchant's server stores cards.
 */
function callbacksOf(order: Order, transaction: Transaction): NewDelivery[] {
  const messages = [...callbackUrls(order.request, transaction.no)].map((url) => ['callback', url] as const)
  const { mappingUrl } = order.request.mobile ?? {}
  const mapped = transaction.no === 1 && transaction.state === 'approved' && mappingUrl !== undefined
  return [...messages, ...(mapped ? [['card mapping', mappingUrl] as const] : [])].map(([kind, url], i) => ({
    deliveryNo: order.deliveries + i + 1,
    transactionNo: transaction.no,
    kind,
    url,
    origin: originOf(url),
  }))
}
