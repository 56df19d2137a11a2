import { defined } from '../base/defined.ts'
import type { Authorisation, Connector, FollowUp, Outcome, Reversal, ReversalOutcome } from '../acquirer/connector.ts'
import { knownCurrency } from '../base/money.ts'
import type { CellMarks } from '../base/cell-mark.ts'
import type { Clock } from '../base/clock.ts'
import type { Endpoint, Gate } from '../merchant/merchant.ts'
import { Hopeless } from '../leases/leased.ts'
import { leaseLookMs } from '../leases/heartbeat.ts'
import type { Secret } from '../base/secret.ts'
import { openProof, type Card } from '../card/vault.ts'
import type { KeyRing } from '../keys/ring.ts'
import { demandedAuthentication, mayBeDemanded } from './authentication/plan.ts'
import { commissionsOf, gateFactsOf } from './decide/gate.ts'
import { originalOf } from './decide/obligations.ts'
import type { Event, GateFacts } from './decide/event.ts'
import type { Held } from './door/hand.ts'
import type { ReceiptIds } from './decide/receipt.ts'
import { head, type Attempt, type Order, type Step, type Transaction } from './decide/order.ts'

/**
 * Runs one outside step and returns the resulting event. Nothing that happens outside makes it
 * reject; a message that can never be sent does. `later` takes what comes after that event.
 */
export type Performer = (held: Held, transaction: Transaction, later?: (event: Event) => void) => Promise<Event>

/** The steps that call another system. The others run inside the commit, or are time limits. */
export type OutsideStep = Exclude<Step, 'record attempt' | 'await method' | 'await challenge' | 'await pares'>

export const isOutside = (step: Step | undefined): step is OutsideStep =>
  step === 'authenticate' || step === 'enrol' || step === 'authorise' || step === 'reverse'

export interface PerformerParts {
  clock: Clock
  /** The names of a second authentication lead to this cell. */
  marks: CellMarks
  keys: KeyRing
  receipts: ReceiptIds
  authenticate: Performer
  enrol: Performer
  gate: (gateId: bigint) => Gate | undefined
  endpoint: (endpointId: bigint) => Endpoint | undefined
  connector: (gateId: bigint) => Connector | undefined
  /**
   * Whether the lease of this process was valid from that (monotonic) time until now. Checked right
   * before bytes are sent.
   */
  holding: (since: number) => boolean
  processId: bigint
  /** How long a message may wait for a line that is down. */
  sendWithinMs: number
  /** Pauses between tries of a reversal; the last one repeats. */
  reversalPausesMs: readonly number[]
}

/** The function for each outside step. */
export const performersOf = (parts: PerformerParts): Record<OutsideStep, Performer> => ({
  authenticate: parts.authenticate,
  enrol: parts.enrol,
  authorise: (held, transaction) => authorise(parts, held, transaction),
  reverse: (held, transaction, later) => reverse(parts, held, transaction, later),
})

/**
 * How often at most a message is sent again under the same names, if the gate recognises repeats.
 */
const maxRepeats = 2

async function authorise(parts: PerformerParts, held: Held, transaction: Transaction): Promise<Event> {
  const attempt = openAttempt(held.order, transaction)
  const gate = parts.gate(attempt.gateId)
  const about = { transactionNo: transaction.no, attemptNo: attempt.no }
  const outcome = await ask(parts, attempt.gateId, (connector, deadline, mayStillSend) => {
    if (transaction.kind === 'capture' || transaction.kind === 'return')
      return connector.follow(followOf(held.order, transaction, transaction.kind, attempt), deadline, mayStillSend)
    const request = authorisationOf(parts.keys, held, transaction, attempt)
    return 'is' in request ? Promise.resolve(request) : connector.authorise(request, deadline, mayStillSend)
  })
  if (outcome.is === 'declined' && outcome.actionCode === authenticationRequired && mayBeDemanded(transaction))
    return {
      is: 'authentication demanded',
      ...about,
      actionCode: outcome.actionCode,
      authentication: demandedAuthentication(transaction.authentication!, parts.marks),
      lease: parts.processId,
      leaseDueAt: parts.clock.now() + leaseLookMs,
    }
  const next = nextAmount(held.order, transaction)
  if (outcome.is === 'declined' && next && !endsTheList.has(outcome.actionCode))
    return { is: 'amount declined', ...about, actionCode: outcome.actionCode, next }
  const sentBefore = transaction.tries > 0
  if (gate && (outcome.is === 'approved' || outcome.is === 'declined'))
    return eventOf(transaction, outcome, about, parts.receipts.idOf(held.order, transaction.no), {
      ...gateFactsOf(gate),
      ...(outcome.is === 'approved' && commissionsOf(held.order, transaction, gate, parts.endpoint(held.order.endpointId))),
    })
  const why = 'why' in outcome ? outcome.why : `gate ${attempt.gateId} is gone`
  if (outcome.is === 'not sent' && !sentBefore) return { is: 'not sent', ...about, why }
  const now = parts.clock.now()
  if (gate?.settings.recognisesRepeats && transaction.tries < maxRepeats)
    return { is: 'answer awaited', ...about, why, lease: parts.processId, leaseDueAt: now + leaseLookMs }
  // An unusable answer shows that the original has arrived. Without an answer the original may be
  // in transit until its time is over.
  const patienceMs = attempt.deadlineAt - attempt.startedAt
  const waitedMs = outcome.is === 'unknown' ? (outcome.waitedMs ?? patienceMs) : 0
  return { is: 'answer lost', ...about, why, reverseAt: now + Math.max(0, patienceMs - waitedMs) }
}

/**
 * Sends a message to the line of a gate, which may hold it back for a while, and waits for the
 * answer. Once the lease has expired, a message that was held back is not sent: another process may
 * have taken the order over and reversed it.
 */
function ask<T>(
  parts: PerformerParts,
  gateId: bigint,
  send: (connector: Connector, deadline: number, mayStillSend: () => boolean) => Promise<T>,
): Promise<T | { is: 'not sent'; why: string }> {
  const gate = parts.gate(gateId)
  const connector = parts.connector(gateId)
  if (!gate || !connector) return Promise.resolve({ is: 'not sent', why: `gate ${gateId} is gone` })
  const begunAt = parts.clock.monotonic()
  return send(connector, begunAt + parts.sendWithinMs + gate.settings.answerTimeoutMs, () => parts.holding(begunAt))
}

export function openAttempt(order: Order, transaction: Transaction): Attempt {
  const attempt = order.attempts.find((a) => a.transactionNo === transaction.no && a.outcome === undefined)
  if (!attempt) throw new Error(`order ${order.orderId} has no open attempt to send`)
  return attempt
}

/** The action code by which an acquirer demands authentication; docs/errors.md. */
const authenticationRequired = '165'

/** A lost or stolen card is declined at any amount, so the list ends. */
const endsTheList: ReadonlySet<string> = new Set(['208', '209'])

/** The amount to try after this one, if the request had a list. */
function nextAmount({ request }: Order, { amountMinor, kind }: Transaction): { minor: bigint; text: string } | undefined {
  const list = kind === 'sale' || kind === 'preauth' ? request.recurrent?.amounts : undefined
  const at = list?.findIndex(([minor]) => BigInt(minor) === amountMinor) ?? -1
  const next = at < 0 ? undefined : list?.[at + 1]
  return next && { minor: BigInt(next[0]), text: next[1] }
}

/** A payment that must not be sent, because a secret that belongs to it cannot be opened. */
interface Unsendable {
  is: 'not sent'
  why: string
}
const keyIsGone = (what: string): Unsendable => ({ is: 'not sent', why: `the ${what} cannot be opened: its hourly key is gone` })

/**
 * The 3-D Secure data for the acquirer: the issuer's proof and its origin, or the ECI of a payment
 * without a proof.
 */
function proofOf(
  keys: KeyRing,
  order: Order,
  { authentication, result }: Transaction,
): Authorisation['authentication'] | Unsendable {
  if (!authentication || result.eci === undefined) return undefined
  const { authenticationValue, dsTransId, version, status, acsUrl } = authentication
  if (authenticationValue === undefined || dsTransId === undefined) return { eci: result.eci }
  const proof = openProof(authenticationValue, order, keys)
  if (!proof) return keyIsGone('proof of the authentication')
  const method = status === 'A' ? 'attempt' : acsUrl === undefined ? 'frictionless' : 'challenge'
  return { eci: result.eci, authenticationValue: proof.reveal(), dsTransId, version, method }
}

/**
 * The request to the acquirer, derived from the order and its attempt alone. A payment that came
 * with a CVV2 or a proof is never sent without it.
 */
function authorisationOf(
  keys: KeyRing,
  { order, card }: Held,
  transaction: Transaction,
  attempt: Attempt,
): Authorisation | Unsendable {
  const common = {
    orderId: order.orderId,
    amountMinor: transaction.amountMinor,
    currencyNumeric: knownCurrency(order.currency).numeric,
    stan: attempt.stan,
    rrn: attempt.rrn,
    startedAt: attempt.startedAt,
    repeat: transaction.tries > 0,
  }
  if (transaction.kind === 'credit') return { kind: 'credit', pan: destinationOf(order, card), ...common }
  if (card.cvv2 === 'lost') return keyIsGone('CVV2')
  const { expiryMonth, expiryYear } = order.card
  const authentication = proofOf(keys, order, transaction)
  if (authentication && 'is' in authentication) return authentication
  return {
    kind: order.kind,
    pan: card.pan,
    expiry: `${String(expiryYear % 100).padStart(2, '0')}${String(expiryMonth).padStart(2, '0')}`,
    ...defined({ cvv2: card.cvv2, authentication, recurrent: order.request.recurrent }),
    ...common,
  }
}

function destinationOf(order: Order, { destination }: Card): Secret<string> {
  if (!destination) throw new Error(`transfer ${order.orderId} has no card to credit`)
  return destination
}

/** The request to capture or return all or part of a payment. */
function followOf(order: Order, transaction: Transaction, kind: 'capture' | 'return', attempt: Attempt): FollowUp {
  const original = originalOf(order, transaction)
  return {
    kind,
    orderId: order.orderId,
    amountMinor: transaction.amountMinor,
    originalMinor: head(order).amountMinor,
    currencyNumeric: knownCurrency(order.currency).numeric,
    stan: attempt.stan,
    rrn: attempt.rrn,
    startedAt: attempt.startedAt,
    original: { kind: order.kind, stan: original.stan, rrn: original.rrn, startedAt: original.startedAt },
    repeat: transaction.tries > 0,
  }
}

/** The effect of a definite answer on the order. */
const eventOf = (
  { kind }: Transaction,
  outcome: Extract<Outcome, { is: 'approved' | 'declined' }>,
  about: { transactionNo: number; attemptNo: number },
  receiptId: string,
  gate: GateFacts,
): Event =>
  outcome.is === 'approved'
    ? {
        is: kind === 'transfer' ? 'debited' : 'approved',
        ...about,
        actionCode: outcome.actionCode,
        data: outcome.data,
        receiptId,
        gate,
      }
    : { is: 'declined', ...about, actionCode: outcome.actionCode, text: outcome.text ?? '', data: outcome.data, gate }

async function reverse(
  parts: PerformerParts,
  { order }: Held,
  transaction: Transaction,
  later?: (event: Event) => void,
): Promise<Event> {
  const attempt = openAttempt(order, transaction)
  const about = { transactionNo: transaction.no, attemptNo: attempt.no }
  const acknowledged = (actionCode: string): Event => ({ is: 'reversal acknowledged', ...about, actionCode })
  const request = reversalRequestOf(order, transaction, attempt)
  const outcome: ReversalOutcome = await ask(parts, attempt.gateId, (connector, deadline, mayStillSend) =>
    connector.reverse(request, deadline, mayStillSend, (actionCode) => later?.(acknowledged(actionCode))),
  )
  if (outcome.is === 'acknowledged') return acknowledged(outcome.actionCode)
  if (outcome.is === 'not sent' && outcome.isUnpackable) throw new Hopeless(outcome.why)
  const pauses = parts.reversalPausesMs
  const pause = pauses[Math.min(transaction.tries, pauses.length - 1)]!
  return { is: 'reversal unanswered', ...about, why: outcome.why, dueAt: parts.clock.now() + pause }
}

/** The kind of the message to reverse: the payment, or a capture, return or credit. */
function messageKind(order: Order, { parentNo }: Transaction): Reversal['original']['kind'] {
  const { kind } = order.transactions[(parentNo ?? 1) - 1]!
  return kind === 'capture' || kind === 'return' || kind === 'credit' ? kind : order.kind
}

function reversalRequestOf(order: Order, transaction: Transaction, attempt: Attempt): Reversal {
  const original = originalOf(order, transaction)
  return {
    orderId: order.orderId,
    reason: transaction.kind === 'reversal' ? 'no answer' : 'cancelled',
    amountMinor: transaction.amountMinor,
    currencyNumeric: knownCurrency(order.currency).numeric,
    stan: attempt.stan,
    rrn: attempt.rrn,
    startedAt: attempt.startedAt,
    original: { kind: messageKind(order, transaction), stan: original.stan, rrn: original.rrn, startedAt: original.startedAt },
    repeat: transaction.tries > 0,
  }
}
