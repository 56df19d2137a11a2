/** What is left of an order to capture, to return or to release: sums over its transactions, in which everything counts that may still have moved money. */
import type { FollowKind } from '../spec/words.ts'
import { head, statusOfState, type Order, type Transaction } from './order.ts'

/** What a merchant asks of an order that was approved. */
export interface FollowAsk {
  operation: 'capture' | 'return' | 'void'
  serialNumber: string
  /** Absent: all that is left. */
  amount?: { minor: bigint; text: string }
  comment?: string
  /** The client's own name of this request; within a day the same name means the same request. */
  idempotencyKey?: string
  /** The transaction with which a request of that name was answered, though another had made it. */
  namedBefore?: number
}

export type Judged =
  | { is: 'allowed'; kind: FollowKind; amountMinor: bigint }
  /** The same as one that was asked before and may still move money. */
  | { is: 'repeat'; transaction: Transaction }
  | { is: 'wrong state' }
  | { is: 'exceeds'; left: bigint }
  /** A part, which the gate does not take. */
  | { is: 'part not allowed' }
  /** The client's name for it is that of another request. */
  | { is: 'key in use' }

const counts = ({ state }: Transaction): boolean => !['declined', 'error', 'filtered'].includes(statusOfState(state))
const isOpen = ({ state }: Transaction): boolean => ['processing', 'unknown'].includes(statusOfState(state))

const sum = (order: Order, kind: FollowKind): bigint =>
  order.transactions.reduce((total, t) => (t.kind === kind && counts(t) ? total + t.amountMinor : total), 0n)

/** Captured, or being captured: of a sale all of it once it is approved. */
export function capturedMinor(order: Order): bigint {
  const { kind, state, amountMinor } = head(order)
  return kind === 'sale' ? (state === 'approved' ? amountMinor : 0n) : sum(order, 'capture')
}

export const returnedMinor = (order: Order): bigint => sum(order, 'return')

const isReleased = (order: Order): boolean =>
  order.transactions.some((t) => (t.kind === 'void' || t.kind === 'cancel') && counts(t))

export const repeatsForMs = 24 * 3_600_000

/** Whether an approved order allows what is asked, and as what. `mayPart`: the gate takes parts. */
export function judgeFollow(order: Order, ask: FollowAsk, mayPart: { capture: boolean; return: boolean }, now: number): Judged {
  const same = earlierSame(order, ask, now)
  if (same)
    return same.serialNumber === ask.serialNumber || asksTheSame(same, ask)
      ? { is: 'repeat', transaction: same }
      : { is: 'key in use' }
  const payment = head(order)
  if (payment.state !== 'approved' || payment.kind === 'transfer' || isReleased(order)) return { is: 'wrong state' }
  switch (ask.operation) {
    case 'capture':
      if (payment.kind !== 'preauth') return { is: 'wrong state' }
      return part(ask, 'capture', payment.amountMinor - capturedMinor(order), payment.amountMinor, mayPart.capture)
    case 'return': {
      if (payment.kind === 'account-verification') return { is: 'wrong state' }
      const captured = capturedMinor(order)
      if (captured > 0n) return part(ask, 'return', settledMinor(order) - returnedMinor(order), captured, mayPart.return)
      return wholeOnly(ask, 'cancel', payment)
    }
    case 'void':
      if (payment.kind === 'account-verification' || returnedMinor(order) > 0n) return { is: 'wrong state' }
      return payment.kind === 'preauth' && capturedMinor(order) > 0n ? { is: 'wrong state' } : wholeOnly(ask, 'void', payment)
  }
}

/** Only what certainly was captured can be given back. */
const settledMinor = (order: Order): bigint =>
  head(order).kind === 'sale'
    ? capturedMinor(order)
    : order.transactions.reduce(
        (total, t) => (t.kind === 'capture' && t.state === 'approved' ? total + t.amountMinor : total),
        0n,
      )

function part(ask: FollowAsk, kind: FollowKind, left: bigint, whole: bigint, mayPart: boolean): Judged {
  const amountMinor = ask.amount?.minor ?? left
  if (left <= 0n) return { is: 'wrong state' }
  if (amountMinor > left) return { is: 'exceeds', left }
  return amountMinor !== whole && !mayPart ? { is: 'part not allowed' } : { is: 'allowed', kind, amountMinor }
}

function wholeOnly(ask: FollowAsk, kind: FollowKind, { amountMinor }: Transaction): Judged {
  if (ask.amount === undefined || ask.amount.minor === amountMinor) return { is: 'allowed', kind, amountMinor }
  return ask.amount.minor > amountMinor ? { is: 'exceeds', left: amountMinor } : { is: 'part not allowed' }
}

/** By its serial number or the client's name for it, whatever became of it; by everything that was asked only while it is open, whatever its name. */
function earlierSame({ transactions }: Order, ask: FollowAsk, now: number): Transaction | undefined {
  const { operation, serialNumber, idempotencyKey } = ask
  const alike = transactions.filter(({ asked }) => asked?.operation === operation)
  const isNamed = ({ no, asked, createdAt }: Transaction): boolean =>
    no === ask.namedBefore || (asked?.idempotencyKey === idempotencyKey && now - createdAt < repeatsForMs)
  return (
    transactions.find((t) => t.serialNumber === serialNumber) ??
    (idempotencyKey === undefined ? undefined : alike.find(isNamed)) ??
    alike.find((t) => isOpen(t) && asksTheSame(t, ask))
  )
}

function asksTheSame({ asked, amountMinor }: Transaction, { amount, comment }: FollowAsk): boolean {
  const sameAmount = amount === undefined ? asked?.whole === true : asked?.whole !== true && amountMinor === amount.minor
  return sameAmount && asked?.comment === comment
}
