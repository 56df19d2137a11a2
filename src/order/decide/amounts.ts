/**
 * How much of an order is left to capture, to return or to release: sums over its transactions.
 * Every transaction counts that may still have moved money.
 */
import type { FollowKind } from '../../spec/words.ts'
import { head, statusOfState, type Order, type Transaction } from './order.ts'

/** A merchant's follow-up request for an approved order. */
export interface FollowAsk {
  operation: 'capture' | 'return' | 'void'
  serialNumber: string
  /** Absent: all that is left. */
  amount?: { minor: bigint; text: string }
  comment?: string
  /** The client's own name for this request. */
  idempotencyKey?: string
}

/**
 * Which follow-ups an order allows: set by the gate that took the payment and by the endpoint that
 * took the order.
 */
export interface FollowRules {
  /** Whether partial captures and partial returns are allowed. */
  capture: boolean
  return: boolean
  /**
   * How long after approval an equal request is a repeat. While the first one is open it always is.
   */
  repeatWindowMs: number
}

export type Judged =
  | { is: 'allowed'; kind: FollowKind; amountMinor: bigint }
  /** Equal to an earlier request. */
  | { is: 'repeat'; transaction: Transaction }
  | { is: 'wrong state' }
  | { is: 'exceeds'; left: bigint }
  /** A partial amount, which the gate does not accept. */
  | { is: 'part not allowed' }

const counts = ({ state }: Transaction): boolean => !['declined', 'error', 'filtered'].includes(statusOfState(state))
const isOpen = ({ state }: Transaction): boolean => ['processing', 'unknown'].includes(statusOfState(state))

const sum = (order: Order, kind: FollowKind): bigint =>
  order.transactions.reduce((total, t) => (t.kind === kind && counts(t) ? total + t.amountMinor : total), 0n)

/** Captured, or being captured. An approved sale counts as captured in full. */
export function capturedMinor(order: Order): bigint {
  const { kind, state, amountMinor } = head(order)
  return kind === 'sale' ? (state === 'approved' ? amountMinor : 0n) : sum(order, 'capture')
}

export const returnedMinor = (order: Order): bigint => sum(order, 'return')

const isReleased = (order: Order): boolean =>
  order.transactions.some((t) => (t.kind === 'void' || t.kind === 'cancel') && counts(t))

/** Whether money of the order was given back or let go, or may have been. */
export const givesBack = (order: Order): boolean => returnedMinor(order) > 0n || isReleased(order)

/** The default for endpoints that set none. */

/**
 * docs/choices.md, "Captures, returns and voids". Every change reads the whole order, so after this
 * many follow-ups only one more is allowed: one that takes or releases all that is left.
 */
export const mostFollowUps = 100

/** Whether an approved order allows the request, and as which kind of transaction. */
export function judgeFollow(order: Order, ask: FollowAsk, rules: FollowRules, now: number): Judged {
  const same = earlierSame(order, ask, rules, now)
  if (same) return { is: 'repeat', transaction: same }
  const payment = head(order)
  if (payment.state !== 'approved' || payment.kind === 'transfer' || isReleased(order)) return { is: 'wrong state' }
  switch (ask.operation) {
    case 'capture':
      if (payment.kind !== 'preauth') return { is: 'wrong state' }
      return part(order, ask, 'capture', payment.amountMinor - capturedMinor(order), payment.amountMinor, rules.capture)
    case 'return': {
      if (payment.kind === 'account-verification') return { is: 'wrong state' }
      const captured = capturedMinor(order)
      if (captured > 0n) return part(order, ask, 'return', settledMinor(order) - returnedMinor(order), captured, rules.return)
      return wholeOnly(ask, 'cancel', payment)
    }
    case 'void':
      if (payment.kind === 'account-verification' || returnedMinor(order) > 0n) return { is: 'wrong state' }
      return payment.kind === 'preauth' && capturedMinor(order) > 0n ? { is: 'wrong state' } : wholeOnly(ask, 'void', payment)
  }
}

/** Only money that was certainly captured can be returned. */
const settledMinor = (order: Order): bigint =>
  head(order).kind === 'sale'
    ? capturedMinor(order)
    : order.transactions.reduce(
        (total, t) => (t.kind === 'capture' && t.state === 'approved' ? total + t.amountMinor : total),
        0n,
      )

function part(order: Order, ask: FollowAsk, kind: FollowKind, left: bigint, whole: bigint, mayPart: boolean): Judged {
  const amountMinor = ask.amount?.minor ?? left
  if (left <= 0n || (amountMinor !== left && followUps(order) >= mostFollowUps)) return { is: 'wrong state' }
  if (amountMinor > left) return { is: 'exceeds', left }
  return amountMinor !== whole && !mayPart ? { is: 'part not allowed' } : { is: 'allowed', kind, amountMinor }
}

const followUps = ({ transactions }: Order): number => transactions.filter(({ asked }) => asked !== undefined).length

function wholeOnly(ask: FollowAsk, kind: FollowKind, { amountMinor }: Transaction): Judged {
  if (ask.amount === undefined || ask.amount.minor === amountMinor) return { is: 'allowed', kind, amountMinor }
  return ask.amount.minor > amountMinor ? { is: 'exceeds', left: amountMinor } : { is: 'part not allowed' }
}

/**
 * The transaction with the same serial number; or else the newest equal one that may still move
 * money, or moved it a moment ago.
 */
function earlierSame(
  { transactions }: Order,
  ask: FollowAsk,
  { repeatWindowMs }: FollowRules,
  now: number,
): Transaction | undefined {
  const wasJustApproved = ({ state, finalAt }: Transaction): boolean => state === 'approved' && now - finalAt! < repeatWindowMs
  return (
    transactions.find((t) => t.serialNumber === ask.serialNumber) ??
    transactions.findLast((t) => (isOpen(t) || wasJustApproved(t)) && asksTheSame(t, ask))
  )
}

/**
 * A request for all that is left never equals one with an amount, even if the sums are the same.
 * Two different keys make two requests.
 */
function asksTheSame({ asked, amountMinor }: Transaction, { operation, amount, comment, idempotencyKey }: FollowAsk): boolean {
  if (asked?.operation !== operation || asked.comment !== comment) return false
  const haveKeys = asked.idempotencyKey !== undefined && idempotencyKey !== undefined
  if (haveKeys && asked.idempotencyKey !== idempotencyKey) return false
  return amount === undefined ? asked.whole === true : asked.whole !== true && amountMinor === amount.minor
}
