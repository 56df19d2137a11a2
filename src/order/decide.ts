import type { ProcessorData } from '../acquirer/connector.ts'
import { originOf, type NewDelivery } from '../delivery/delivery.ts'
import { finalStatuses } from '../spec/words.ts'
import type { Authentication, VerifiedStatus } from '../three-d-secure/authentication.ts'
import type { Event } from './event.ts'
import { moveFor, type Move } from './machine.ts'
import { addedBy, followOf, neverSent } from './obligations.ts'
import { statusOfState, type Attempt, type Order, type State, type Transaction } from './order.ts'

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
  /** What happened, for the order's life story. */
  row: OrderEventRow
  deliveries: NewDelivery[]
  /** What follows from it for other transactions of the order, to be decided next. */
  follow: Event[]
}

/** Why an event changes nothing. `stale`: it answers an attempt that is no longer open. `impossible`: the machine has no such move. */
export interface Refused {
  is: 'stale' | 'impossible'
  why: string
}

/**
 * Applies one event to an order, purely: looks the move up, takes the facts of the event over, and says what the order is then, what tells it, who must
 * hear of it and what follows. The version rises by one.
 */
export function decide(order: Order, event: Event, now: number): Decided | Refused {
  const transaction = order.transactions.find((t) => t.no === event.transactionNo)
  if (!transaction) return { is: 'impossible', why: `order ${order.orderId} has no transaction ${event.transactionNo}` }
  if ('attemptNo' in event) {
    const attempt = order.attempts.find((a) => a.no === event.attemptNo)
    if (!attempt || attempt.outcome !== undefined) return { is: 'stale', why: `attempt ${event.attemptNo} is not open` }
  }
  const move = moveFor(transaction.state, event.is)
  if (!move) return { is: 'impossible', why: `${event.is} in state ${transaction.state}` }
  if ('of' in event && event.of !== transaction.authentication?.threeDSServerTransId)
    return { is: 'stale', why: 'it is of another authentication' }
  if (event.is === 'challenge returned' && transaction.authentication?.cresAt !== undefined)
    return { is: 'stale', why: 'the browser was back before' }
  if (event.is === 'method begun' && transaction.authentication?.methodUntil !== undefined)
    return { is: 'stale', why: 'the method was begun before' }

  const next = transactionAfter(transaction, event, move, now)
  const final = next.finalAt !== undefined
  const added = addedBy(order, event, next, now)
  const facts = factsOf(event)
  const row: OrderEventRow = {
    eventNo: order.events + 1,
    transactionNo: next.no,
    event: event.is,
    from: transaction.state,
    to: move.to,
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
    follow: followOf(changed, event, next, added),
  }
}

function transactionAfter(transaction: Transaction, event: Event, move: Move, now: number): Transaction {
  const next: Transaction = {
    no: transaction.no,
    kind: transaction.kind,
    origin: transaction.origin,
    state: move.to,
    amountMinor: event.is === 'amount declined' ? event.next.minor : transaction.amountMinor,
    amountText: event.is === 'amount declined' ? event.next.text : transaction.amountText,
    result: resultAfter(transaction.result, event, now),
    tries: triesAfter(transaction, event),
    createdAt: transaction.createdAt,
  }
  if (transaction.serialNumber !== undefined) next.serialNumber = transaction.serialNumber
  if (transaction.parentNo !== undefined) next.parentNo = transaction.parentNo
  if (transaction.asked !== undefined) next.asked = transaction.asked
  const authentication = authenticationAfter(transaction.authentication, event, move)
  if (authentication) next.authentication = authentication
  if (move.asks !== undefined) {
    next.step = move.asks
    next.dueAt = now
    if ('lease' in event) {
      next.lease = event.lease
      next.dueAt = event.leaseDueAt
    } else if ('dueAt' in event) next.dueAt = Math.max(now, event.dueAt)
  }
  if (finalStatuses.has(statusOfState(move.to))) next.finalAt = now
  return next
}

/** The proof for the acquirer is kept no longer than it may be needed: until its authorisation has an outcome. */
function authenticationAfter(before: Authentication | undefined, event: Event, move: Move): Authentication | undefined {
  if (event.is === 'authentication begun' || event.is === 'enrolment unknown' || event.is === 'authentication demanded')
    return event.authentication
  if (!before) return undefined
  const after = 'learned' in event && 'of' in event ? { ...before, ...event.learned } : before
  if (after.authenticationValue === undefined || move.asks !== undefined) return after
  const { authenticationValue: _used, ...rest } = after
  return rest
}

function triesAfter(transaction: Transaction, event: Event): number {
  if (event.is === 'taken up') return transaction.tries
  return event.is === 'answer awaited' || event.is === 'reversal unanswered' ? transaction.tries + 1 : 0
}

function attemptsAfter(order: Order, event: Event, now: number): readonly Attempt[] {
  if (event.is === 'attempt recorded')
    return [...order.attempts, { ...event.attempt, no: order.attempts.length + 1, transactionNo: event.transactionNo }]
  const end = endOf(event)
  if (!end || !('attemptNo' in event)) return order.attempts
  return order.attempts.map((a) => (a.no === event.attemptNo ? { ...a, ...end, endedAt: now } : a))
}

/** How an event ends its attempt; undefined while the attempt stays open. */
function endOf(event: Event): Pick<Attempt, 'outcome' | 'actionCode' | 'why'> | undefined {
  switch (event.is) {
    case 'approved':
    case 'declined':
      return { outcome: event.is, actionCode: event.actionCode }
    case 'debited':
      return { outcome: 'approved', actionCode: event.actionCode }
    case 'authentication demanded':
    case 'amount declined':
      return { outcome: 'declined', actionCode: event.actionCode }
    case 'reversal acknowledged':
      return { outcome: 'approved', actionCode: event.actionCode }
    case 'not sent':
      return { outcome: 'not sent', why: event.why }
    case 'answer lost':
      return { outcome: 'unknown', why: event.why }
    case 'lease lost':
      return { outcome: 'unknown', why: 'the process that sent it is gone' }
    default:
      return undefined
  }
}

/** ISO 8583 action codes that the gateway gives on its own; docs/errors.md. */
const expiredCard = { errorCode: '101', errorMessage: 'Expired card' }
const answerLost = { errorCode: '911', errorMessage: 'Card issuer timed out' }

function resultAfter(result: Transaction['result'], event: Event, now: number): Transaction['result'] {
  // A transfer whose debit was taken back says why its credit failed.
  if (event.is === 'reversed' && result.errorCode !== undefined) return result
  const more = resultOf(event, now)
  return more ? { ...result, ...more } : result
}

/** The acquirer's own date counts, where its message has one. */
const processed = ({ processedAt, ...processor }: ProcessorData, now: number) => ({ processor, processedAt: processedAt ?? now })

function resultOf(event: Event, now: number): Transaction['result'] | undefined {
  switch (event.is) {
    case 'approved':
    case 'debited':
      return { ...processed(event.data, now), ...event.gate, receiptId: event.receiptId }
    case 'declined':
      return { ...processed(event.data, now), ...event.gate, errorCode: event.actionCode, errorMessage: event.text }
    case 'attempt recorded':
      return { gateId: String(event.attempt.gateId) }
    case 'card expired':
      return expiredCard
    case 'filtered':
    case 'refused':
    case 'credit refused':
      return { errorCode: event.code, errorMessage: event.message }
    case 'not sent':
    case 'no gate':
      return neverSent
    case 'reversed':
      return answerLost
    case 'reversal acknowledged':
      return { processedAt: now }
    case 'authentication waived':
    case 'authenticated':
      return foundOut(event.verified, event.eci)
    case 'not authenticated': {
      const { verified, errorCode, errorMessage } = event.verdict
      return { ...foundOut(verified, event.eci), errorCode, errorMessage }
    }
    case 'result missing': {
      const { verified, errorCode, errorMessage } = event.verdict
      return { verified, errorCode, errorMessage }
    }
    default:
      return undefined
  }
}

const foundOut = (verified: VerifiedStatus, eci: string | undefined) => (eci === undefined ? { verified } : { verified, eci })

function factsOf(event: Event): object | undefined {
  switch (event.is) {
    case 'filtered':
      return { score: event.score, rules: event.rules }
    case 'attempt recorded':
      return { gate: String(event.attempt.gateId), stan: event.attempt.stan, rrn: event.attempt.rrn }
    case 'approved':
    case 'debited':
    case 'declined':
    case 'reversal acknowledged':
      return { action_code: event.actionCode }
    case 'refused':
    case 'credit refused':
      return { error_code: event.code }
    case 'not sent':
    case 'answer lost':
    case 'answer awaited':
    case 'reversal unanswered':
      return { why: event.why }
    case 'authentication begun':
    case 'enrolment unknown':
      return { version: event.authentication.version, three_ds_server_trans_id: event.authentication.threeDSServerTransId }
    case 'authentication demanded':
      return { action_code: event.actionCode, three_ds_server_trans_id: event.authentication.threeDSServerTransId }
    case 'amount declined':
      return { action_code: event.actionCode, next_amount: event.next.text }
    case 'method uploaded':
      return { comp_ind: event.learned.compInd }
    case 'challenge required':
    case 'payer authentication required':
    case 'authenticated':
      return learnedFacts(event.learned)
    case 'not authenticated':
      return { ...learnedFacts(event.learned), error_code: event.verdict.errorCode }
    case 'result missing':
      return { error_code: event.verdict.errorCode }
    default:
      return undefined
  }
}

/** What an operator asks about an authentication; never its proof. */
const learnedFacts = (l: Partial<Authentication>) => ({
  status: l.status,
  reason: l.statusReason,
  cancel: l.challengeCancel,
  eci: l.eci,
  acs_trans_id: l.acsTransId,
  ds_trans_id: l.dsTransId,
})

/** One callback a URL, however often the request and the endpoint name it; and the card, where a merchant's server keeps it. */
function callbacksOf(order: Order, transaction: Transaction): NewDelivery[] {
  const { serverCallbackUrl, notifyUrl, endpointCallbackUrl } = order.request
  // The first is told of the order's own outcome, the others of whatever happens to it later as well.
  const told = transaction.no === 1 ? [serverCallbackUrl, notifyUrl, endpointCallbackUrl] : [notifyUrl, endpointCallbackUrl]
  const urls = new Set(told.filter((url) => url !== undefined))
  const messages = [...urls].map((url) => ['callback', url] as const)
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
