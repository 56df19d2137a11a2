/**
 * How much of an order is left to capture, to return or to release: sums over its transactions.
 * Every transaction counts that may still have moved money.
 */
import type { FollowKind } from '../../spec/words.ts'
import { head, statusOfState, type FollowAsked, type Order, type Transaction } from './order.ts'

/** A follow-up request for an approved order, by its merchant or by an operator. */
export interface FollowAsk {
  operation: 'capture' | 'return' | 'void'
  serialNumber: string
  /** Absent: all that is left. */
  amount?: { minor: bigint; text: string }
  comment?: string
  /** The client's own name for this request. */
  idempotencyKey?: string
  operator?: FollowAsked['operator']
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
  | { is: 'wrong state'; why: NothingLeft }
  | { is: 'exceeds'; left: bigint }
  /** A partial amount, which the gate does not accept; `whole` would be. */
  | { is: 'part not allowed'; whole: bigint }

/** Why an order allows no follow-up of a kind. */
export type NothingLeft =
  | 'not approved'
  | 'a transfer'
  | 'released'
  | 'nothing charged'
  | 'not a preauthorisation'
  | 'all captured'
  | 'capture not settled'
  | 'all returned'
  | 'captured'
  | 'partly returned'
  | 'too many'

/** The rest of an order for an operation, in minor units of its currency. */
export interface Left {
  kind: FollowKind
  /** Above zero. */
  minor: bigint
  /** The amount that needs no leave for parts. */
  whole: bigint
}

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

/** Whether money of the order was returned or released, or may have been. */
export const givesBack = (order: Order): boolean => returnedMinor(order) > 0n || isReleased(order)

/**
 * docs/choices.md, "Captures, returns and voids". Every change reads the whole order, so after this
 * many follow-ups only one more is allowed: one that takes or releases all that is left.
 */
export const mostFollowUps = 100

/** Whether an approved order allows the request, and as which kind of transaction. */
export function judgeFollow(order: Order, ask: FollowAsk, rules: FollowRules, now: number): Judged {
  const same = earlierSame(order, ask, rules, now)
  if (same) return { is: 'repeat', transaction: same }
  const left = leftFor(order, ask.operation)
  if (typeof left === 'string') return { is: 'wrong state', why: left }
  const { kind, minor, whole } = left
  const amountMinor = ask.amount?.minor ?? minor
  const hasParts = kind === 'capture' || kind === 'return'
  if (hasParts && amountMinor !== minor && followUps(order) >= mostFollowUps) return { is: 'wrong state', why: 'too many' }
  if (amountMinor > minor) return { is: 'exceeds', left: minor }
  if (amountMinor !== whole && !(hasParts && rules[kind])) return { is: 'part not allowed', whole }
  return { is: 'allowed', kind, amountMinor }
}

/** The rest for an operation, or why there is none. */
export function leftFor(order: Order, operation: FollowAsk['operation']): Left | NothingLeft {
  const { kind, state, amountMinor: whole } = head(order)
  if (state !== 'approved') return 'not approved'
  if (kind === 'transfer') return 'a transfer'
  if (isReleased(order)) return 'released'
  if (kind === 'account-verification') return 'nothing charged'
  const captured = capturedMinor(order)
  const returned = returnedMinor(order)
  switch (operation) {
    case 'capture':
      if (kind !== 'preauth') return 'not a preauthorisation'
      return captured < whole ? { kind: 'capture', minor: whole - captured, whole } : 'all captured'
    case 'return': {
      if (captured === 0n) return { kind: 'cancel', minor: whole, whole }
      const minor = settledMinor(order) - returned
      if (minor > 0n) return { kind: 'return', minor, whole: captured }
      return captured > returned ? 'capture not settled' : 'all returned'
    }
    case 'void':
      if (returned > 0n) return 'partly returned'
      return kind === 'preauth' && captured > 0n ? 'captured' : { kind: 'void', minor: whole, whole }
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

const followUps = ({ transactions }: Order): number => transactions.filter(({ asked }) => asked !== undefined).length

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
