import { attemptNames } from '../../acquirer/choose.ts'
import type { Card, SealedCard } from '../../card/vault.ts'
import type { Registry } from '../../merchant/merchant.ts'
import type { Screening } from '../../risk/screening.ts'
import { leaseLookMs } from '../../leases/heartbeat.ts'
import type { FollowAsk } from './amounts.ts'
import { atOnceEvent, authenticated } from '../authentication/browser.ts'
import { authenticationEvent, mayBeDemanded, overdueEvent, type AuthenticationPlanner } from '../authentication/plan.ts'
import { decide, type RefusedEvent } from './decide.ts'
import { addFollow, undoes, type NotFollowed, type Repeated } from './follow.ts'
import { originalOf } from './obligations.ts'
import type { Event } from './event.ts'
import { gateOf } from './gate.ts'
import type { Order, Transaction } from './order.ts'
import { openAttempt } from '../perform.ts'
import { screen } from './screen.ts'
import type { Change } from './change.ts'

/** An order on its way through one batch: all decisions about it so far, to be saved together. */
export interface Work extends Change {
  card: Card | undefined
  /** Entries of the batch that are answered once it is saved. */
  entries: number[]
}

/** The inputs of a decision besides the order, so that deciding stays pure. */
export interface Deciding {
  now: number
  processId: bigint
  registry: Registry
  planner: AuthenticationPlanner
  /** The next number of the installation's attempt counter. */
  number: () => bigint
  /** The result of the filters for a new order; if absent, no filters run. */
  filter?: (order: Order, card: Card | undefined) => Screening | undefined
  /** Whether this process may begin outside steps; if not, the order waits for a sweep. */
  hold: boolean
}

/**
 * Begins a new order. While it is in memory, its CVV2 stays in memory only. While it rests (without
 * a lease, or until the cardholder is authenticated), another process may have to authorise it, so
 * the CVV2 is stored sealed. An order that is decided immediately needs no stored CVV2.
 */
export function acceptWork(
  order: Order,
  card: Card,
  sealed: SealedCard,
  withCvv2: () => SealedCard,
  at: number,
  deciding: Deciding,
): Work {
  const work: Work = { after: order, rows: [], deliveries: [], sealed, eraseCvv2: false, card, entries: [at] }
  drive(work, { is: 'accepted', transactionNo: 1 }, deciding)
  // The process that asks a directory server has the order in memory, but the next step may rest.
  const rests = work.after.transactions.some(
    (t) => t.step === 'enrol' || t.step === 'authenticate' || (t.step !== undefined && t.lease === undefined),
  )
  if (rests) work.sealed = withCvv2()
  return work
}

/**
 * Applies an event, the events that follow from it, and every next step that needs nothing outside.
 */
export function drive(work: Work, event: Event, deciding: Deciding): RefusedEvent | undefined {
  const events = [event]
  for (const todo of events) {
    const decided = decide(work.after, todo, deciding.now)
    if (decided.is !== 'decided') {
      if (todo === event) return decided
      throw new Error(`order ${work.after.orderId}: ${decided.why}, although it follows from ${event.is}`)
    }
    work.after = decided.order
    work.rows.push(decided.row)
    work.deliveries.push(...decided.deliveries)
    events.push(...decided.consequences)
    const transaction = work.after.transactions.find((t) => t.no === todo.transactionNo)!
    if (work.before && endsNeedOfCvv2(todo, transaction)) work.eraseCvv2 = true
    if (transaction.state === 'filtering') events.push(screened(work, transaction, deciding))
    else if (todo.is === 'authentication begun') events.push(...askedAtOnce(work.after, deciding))
    else if (transaction.step === 'record attempt' && deciding.hold && transaction.dueAt! <= deciding.now)
      events.push(attemptEvent(work.after, transaction, deciding))
  }
  return undefined
}

/**
 * What the gateway decides itself before it contacts anybody outside; then 3-D Secure, if it runs.
 */
function screened(work: Work, transaction: Transaction, deciding: Deciding): Event {
  const { refusal } = work.after.request.mobile ?? {}
  if (refusal) return { is: 'refused', transactionNo: transaction.no, ...refusal }
  const screening = deciding.filter?.(work.after, work.card)
  if (screening) work.after = { ...work.after, screening }
  const event = screen(work.after, transaction, deciding.now)
  if (event.is !== 'screened clean') return event
  const endpoint = deciding.registry.endpoint(work.after.endpointId)
  return authenticationEvent(work.after, transaction, work.card, endpoint, deciding.planner, deciding)
}

function askedAtOnce(order: Order, deciding: Deciding): Event[] {
  const transaction = authenticated(order)
  const event = transaction && atOnceEvent(order, transaction, deciding.registry.endpoint(order.endpointId), deciding)
  return event ? [event] : []
}

/** A stored CVV2 is erased with the attempt that may be the last, or else with the outcome. */
function endsNeedOfCvv2(event: Event, transaction: Transaction): boolean {
  if (event.is === 'attempt recorded') return !mayBeDemanded(transaction)
  if (event.is === 'no gate') return true
  return transaction.step === undefined && transaction.authentication !== undefined
}

/**
 * Resumes a step that no process works on, or whose time is over. A call that a dead process may
 * have made is never repeated: its attempt counts as lost, its authentication as failed. If another
 * process has changed the order meanwhile, that process has the order in memory.
 */
export function resume(work: Work, transactionNo: number, deciding: Deciding): RefusedEvent | undefined {
  const transaction = work.after.transactions.find((t) => t.no === transactionNo)
  const untouched = work.before?.transactions.includes(transaction!)
  if (!transaction?.step || !untouched || transaction.lease !== deciding.processId)
    return { is: 'stale', why: 'there is nothing to resume' }
  switch (transaction.step) {
    case 'record attempt':
      return drive(work, attemptEvent(work.after, transaction, deciding), deciding)
    case 'await method':
    case 'authenticate':
    case 'await challenge':
    case 'enrol':
    case 'await pares':
      return drive(work, overdueOf(work.after, transaction, deciding), deciding)
    case 'authorise': {
      const { no, startedAt, deadlineAt } = openAttempt(work.after, transaction)
      // The message may be in transit for as long as the gateway would wait for its answer.
      const reverseAt = deciding.now + deadlineAt - startedAt
      return drive(work, { is: 'lease lost', transactionNo, attemptNo: no, reverseAt }, deciding)
    }
    case 'reverse':
      return drive(work, { is: 'taken up', transactionNo, ...leaseOf(deciding) }, deciding)
  }
}

const overdueOf = (order: Order, transaction: Transaction, deciding: Deciding): Event =>
  overdueEvent(order, transaction, deciding.registry.endpoint(order.endpointId), leaseOf(deciding))

function attemptEvent(order: Order, transaction: Transaction, deciding: Deciding): Event {
  const { now, registry } = deciding
  const names = attemptNames(deciding.number())
  const about = { is: 'attempt recorded', transactionNo: transaction.no, ...leaseOf(deciding) } as const
  if (undoes(transaction)) {
    // A reversal goes to the gate of its original, with its RRN, a STAN of its own and the same
    // time limit.
    const { gateId, terminalId, rrn, deadlineAt, startedAt } = originalOf(order, transaction)
    return {
      ...about,
      attempt: { gateId, terminalId, stan: names.stan, rrn, startedAt: now, deadlineAt: now + deadlineAt - startedAt },
    }
  }
  const gate = gateOf(order, transaction, registry)
  if (!gate) return { is: 'no gate', transactionNo: transaction.no }
  const { terminalId, answerTimeoutMs } = gate.settings
  const attempt = { gateId: gate.gateId, terminalId, startedAt: now, deadlineAt: now + answerTimeoutMs, ...names }
  return { attempt, ...about }
}

/**
 * Adds a merchant's follow-up of an approved order as a separate transaction, or returns why it
 * cannot.
 */
export function follow(work: Work, ask: FollowAsk, deciding: Deciding): RefusedEvent | NotFollowed | Repeated | undefined {
  const endpoint = deciding.registry.endpoint(work.after.endpointId)
  const added = addFollow(work.after, ask, endpoint, deciding.now)
  if (added.is !== 'added') return added
  work.after = added.order
  const refused = drive(work, added.event, deciding)
  if (refused) throw new Error(`order ${work.after.orderId}: ${refused.why}, although it was allowed`)
  return undefined
}

const leaseOf = ({ processId, now }: Deciding) => ({ lease: processId, leaseDueAt: now + leaseLookMs })
