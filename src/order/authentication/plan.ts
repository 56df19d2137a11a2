/**
 * 3-D Secure of a payment: when it runs, what its results mean for the order, and the
 * request to the directory server.
 */
import { defined } from '../../base/defined.ts'
import type { CellMarks } from '../../base/cell-mark.ts'
import type { Card } from '../../card/vault.ts'
import type { Endpoint } from '../../merchant/merchant.ts'
import type { ChallengeIndicator } from '../../spec/three-d-secure/kinds.ts'
import type { Authentication, CompInd, TransStatus } from '../../three-d-secure/authentication.ts'
import type { Enrolment } from '../../three-d-secure/enrolment.ts'
import { defaultEci, judge, type Ending } from '../../three-d-secure/interpret.ts'
import { safePolicy } from '../../merchant/fields/authentication-policy.ts'
import { methodMs } from '../../three-d-secure/forms.ts'
import { leaseLookMs } from '../../leases/heartbeat.ts'
import { categoryOf } from './areq.ts'
import type { Event } from '../decide/event.ts'
import type { Order, Transaction } from '../decide/order.ts'

/** The facts of the installation that planning needs. */
export interface AuthenticationPlanner {
  enrolment: (pan: string) => Enrolment
  /** The names of its authentications lead to this cell. */
  marks: CellMarks
  /** Only in the sandbox: CVV2 values that steer 3-D Secure; docs/sandbox.md. */
  steering: boolean
}

/**
 * Time limits for a merchant's upload, the shopper and the issuer; docs/three-d-secure.md, "Time".
 */
export const waits = {
  methodMs: 30 * 60_000,
  /** For the method when the gateway's own page runs it. */
  methodOnPageMs: methodMs,
  challengeMs: 60 * 60_000,
  paresMs: 60 * 60_000,
  afterCresMs: 15_000,
}

/** Whether its cardholder is present, and is not authenticated by other means. */
export const mayBeAsked = ({ request: { recurrent, mobile } }: Pick<Order, 'request'>): boolean =>
  recurrent?.initiator !== 'MERCHANT' && mobile?.randomSum === undefined

/** The first event of a screened payment: authentication, or straight to authorisation. */
export function authenticationEvent(
  order: Order,
  transaction: Transaction,
  card: Card | undefined,
  endpoint: Endpoint | undefined,
  planner: AuthenticationPlanner,
  { now, ...holder }: { now: number; processId: bigint },
): Event {
  const transactionNo = transaction.no
  if (!card || !mayBeAsked(order) || isSkipped(card, endpoint, planner)) return { is: 'screened clean', transactionNo }
  const found = planner.enrolment(card.pan.reveal())
  if (found.is === 'to be asked') {
    const { directory } = found
    const authentication: Authentication = { round: 1, directory, version: '1.0.2', ...newNames(planner.marks) }
    return { is: 'enrolment unknown', transactionNo, authentication, lease: holder.processId, leaseDueAt: now + leaseLookMs }
  }
  if (found.is !== 'enrolled')
    return endedEvent(order, transaction, endpoint, found.is === 'not enrolled' ? { is: 'not enrolled' } : { is: 'failed' }, {})
  const indicator = challengeIndicatorOf(order, endpoint, steerOf(card, planner))
  const authentication: Authentication = {
    round: 1,
    directory: found.directory,
    version: found.version,
    ...newNames(planner.marks),
    ...defined({ methodUrl: found.methodUrl, challengeIndicator: indicator }),
  }
  return { is: 'authentication begun', transactionNo, authentication, dueAt: now + waits.methodMs }
}

/** The first payment of a series is challenged, unless the endpoint says otherwise. */
function challengeIndicatorOf(
  order: Order,
  endpoint: Endpoint | undefined,
  steer: string | undefined,
): ChallengeIndicator | undefined {
  if (steer === '321') return '04'
  return endpoint?.settings.challengeIndicator ?? (order.request.series ? '04' : undefined)
}

const steerOf = ({ cvv2 }: Card, { steering }: AuthenticationPlanner) =>
  steering && cvv2 !== 'lost' ? cvv2?.reveal() : undefined

const isSkipped = (card: Card, endpoint: Endpoint | undefined, planner: AuthenticationPlanner): boolean =>
  !endpoint?.settings.threeDSecure || steerOf(card, planner) === '111'

/**
 * Whether a card cannot be authenticated: 3-D Secure does not run here, or the card is in none of
 * its ranges.
 */
export const isUnauthenticated = (card: Card, endpoint: Endpoint, planner: AuthenticationPlanner): boolean =>
  isSkipped(card, endpoint, planner) || planner.enrolment(card.pan.reveal()).is === 'not enrolled'

const newNames = (marks: CellMarks) => ({ threeDSServerTransId: marks.uuid(), pageToken: marks.token() })

/**
 * What the end of an authentication means. `learned` is the issuer's result. Its ECI is passed to
 * merchant and acquirer unchanged; the network's default is used only if it has none.
 */
export function endedEvent(
  order: Order,
  transaction: Transaction,
  endpoint: Endpoint | undefined,
  ending: Ending,
  learned: Partial<Authentication>,
): Event {
  const transactionNo = transaction.no
  const of = transaction.authentication?.threeDSServerTransId
  const verdict = judge(ending, endpoint?.settings.authenticationPolicy ?? safePolicy)
  if (verdict.go === 'error' && of !== undefined) return { is: 'result missing', transactionNo, of, verdict }
  const eci = learned.eci ?? defaultEci(order.card.network, categoryOf(order), ending.is === 'status' ? ending.status : 'U')
  const known = eci === undefined ? {} : { eci }
  if (verdict.go !== 'authorise') return { is: 'not authenticated', transactionNo, of, learned, verdict, ...known }
  if (of === undefined) return { is: 'authentication waived', transactionNo, verified: verdict.verified, ...known }
  return { is: 'authenticated', transactionNo, of, learned, verified: verdict.verified, ...known }
}

/**
 * A time limit has passed: no upload came, the issuer reported no result, or the process that
 * asked is gone. If the hosted page began the method and never reported back, the issuer is asked
 * without it.
 */
export function overdueEvent(
  order: Order,
  transaction: Transaction,
  endpoint: Endpoint | undefined,
  holder: { lease: bigint; leaseDueAt: number },
): Event {
  const { no, step, authentication } = transaction
  if (step === 'await method' && authentication?.methodUntil !== undefined) {
    const learned = { compInd: withoutMethod(authentication) }
    return { is: 'method uploaded', transactionNo: no, of: authentication.threeDSServerTransId, learned, ...holder }
  }
  return endedEvent(order, transaction, endpoint, overdueEnding(transaction), {})
}

export const withoutMethod = ({ methodUrl }: Authentication): CompInd => (methodUrl === undefined ? 'U' : 'N')

function overdueEnding({ step, authentication }: Transaction): Ending {
  if (step === 'authenticate' || step === 'enrol') return { is: 'failed' }
  if (step === 'await method') return { is: 'abandoned' }
  return authentication?.cresAt === undefined ? { is: 'overdue' } : { is: 'lost' }
}

/**
 * Whether an acquirer's demand for authentication can be met: once, by a mandated challenge, if
 * none was passed.
 */
export const mayBeDemanded = (transaction: Transaction): boolean => {
  const { authentication } = transaction
  return authentication?.round === 1 && authentication.acsUrl === undefined && authentication.browser !== undefined
}

/** The second authentication: new names, the same browser, and no second run of the method. */
export function demandedAuthentication(first: Authentication, marks: CellMarks): Authentication {
  const { directory, version, methodUrl, browser, notificationUrl } = first
  return {
    round: 2,
    directory,
    version,
    ...newNames(marks),
    challengeIndicator: '04',
    compInd: withoutMethod(first),
    ...defined({ methodUrl, browser, notificationUrl }),
  }
}

/**
 * The stored part of an ARes or RReq. For an account verification an issuer may omit the status,
 * which means that it could not decide.
 */
export function learnedFrom(message: Readonly<Record<string, unknown>>): Partial<Authentication> & { status: TransStatus } {
  const learned: Record<string, unknown> = { status: 'U' }
  for (const [ours, theirs] of learnedFields) if (typeof message[theirs] === 'string') learned[ours] = message[theirs]
  // Where no challenge follows, an address for one means nothing.
  if (learned['status'] !== 'C') delete learned['acsUrl']
  return learned as Partial<Authentication> & { status: TransStatus }
}

// oxfmt-ignore
const learnedFields = [
  ['status', 'transStatus'],           ['statusReason', 'transStatusReason'], ['eci', 'eci'],
  ['acsTransId', 'acsTransID'],        ['dsTransId', 'dsTransID'],            ['acsUrl', 'acsURL'],
  ['cardholderInfo', 'cardholderInfo'], ['challengeCancel', 'challengeCancel'], ['interactionCounter', 'interactionCounter'],
] as const satisfies (readonly [keyof Authentication, string])[]
