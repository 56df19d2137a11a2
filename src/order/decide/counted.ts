/**
 * What ended in a change, as minute counts have it: orders by their status, attempts by their
 * outcome. Counts are saved with the change, so they say what the stored orders say.
 */
import { declineReason, type DeclineReason } from '../../spec/action-codes.ts'
import type { Status, TransactionKind } from '../../spec/words.ts'
import type { VerifiedStatus } from '../../three-d-secure/authentication.ts'
import type { Change } from './change.ts'
import { head, statusOf, type Attempt, type Order, type Transaction } from './order.ts'

/** What is counted together. Texts are empty, and the gate is 0, where there is none. */
export interface CountedAs {
  merchantId: bigint
  /** When it began, in milliseconds since 1970. */
  minute: number
  endpointId: bigint
  gateId: bigint
  kind: TransactionKind
  network: string
  /** Of the issuer, ISO 3166-1 alpha-2. */
  country: string
  outcome: Status | NonNullable<Attempt['outcome']>
  /** Why it was not approved. */
  reason: DeclineReason | ''
  /** The result of 3-D Secure when it ended. */
  verified: VerifiedStatus | ''
  /** The least power of two, in milliseconds, within which it ended. */
  withinMs: number
}

export interface MinuteCount extends CountedAs {
  orders: number
  attempts: number
}

const minuteMs = 60_000
/** Twelve days: whatever took longer is counted with it. */
const longestMs = 2 ** 30

/** Whole milliseconds, rounded up to a power of two. */
const powerWithin = (ms: number): number => 2 ** (32 - Math.clz32(Math.min(Math.max(1, ms), longestMs) - 1))

/** The counts of these changes; an order and its attempt that say the same share a count. */
export function countedIn(changes: readonly Change[]): MinuteCount[] {
  const counts = new Map<string, MinuteCount>()
  const add = (by: CountedAs, of: 'orders' | 'attempts') => {
    const key = Object.values(by).join(' ')
    const count = counts.get(key) ?? { ...by, orders: 0, attempts: 0 }
    count[of]++
    counts.set(key, count)
  }
  for (const { before, after } of changes) {
    after.attempts.forEach((attempt, i) => {
      if (attempt.outcome !== undefined && before?.attempts[i]?.outcome === undefined) add(ofAttempt(after, attempt), 'attempts')
    })
    if (after.finalAt !== undefined && before?.finalAt === undefined) add(ofOrder(after, after.finalAt), 'orders')
  }
  return [...counts.values()]
}

function ofOrder(order: Order, finalAt: number): CountedAs {
  const { gateId = 0, errorCode } = head(order).result
  const status = statusOf(order)
  const reason = status === 'approved' ? '' : declineReason(status, errorCode)
  return counted(order, head(order), { gateId: BigInt(gateId), outcome: status, reason }, order.createdAt, finalAt)
}

function ofAttempt(order: Order, { outcome, gateId, transactionNo, actionCode, startedAt, endedAt }: Attempt): CountedAs {
  const transaction = order.transactions[transactionNo - 1]!
  const reason = outcome === 'approved' ? '' : outcome === 'declined' ? declineReason(outcome, actionCode) : 'technical'
  return counted(order, transaction, { gateId, outcome: outcome!, reason }, startedAt, endedAt!)
}

const counted = (
  { merchantId, endpointId, card }: Order,
  { kind, result }: Transaction,
  ended: Pick<CountedAs, 'gateId' | 'outcome' | 'reason'>,
  from: number,
  to: number,
): CountedAs => ({
  merchantId,
  minute: to - (to % minuteMs),
  endpointId,
  gateId: ended.gateId,
  kind,
  network: card.network ?? '',
  country: card.country ?? '',
  outcome: ended.outcome,
  reason: ended.reason,
  verified: result.verified ?? '',
  withinMs: powerWithin(to - from),
})
