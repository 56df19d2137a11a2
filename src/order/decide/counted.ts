/**
 * What ended in a change, as minute counts have it: orders by their status, attempts by their
 * outcome. Counts are saved with the change, so they say what the stored orders say.
 */
import { declineReason } from '../../spec/action-codes.ts'
import type { Change } from './change.ts'
import { head, statusOf, type Attempt, type Order, type Transaction } from './order.ts'

/**
 * The parts of a key, which `|` separates; empty, and the gate 0, where there is none. `3ds` is the
 * result of 3-D Secure when it ended, `reason` why it was not approved. `orders` and `attempts` are
 * the least power of two of milliseconds within which the order and the attempt ended. A count is
 * of orders, of attempts, or of orders that ended with an attempt that is the same by all else.
 */
export const countParts = [
  'endpoint',
  'gate',
  'kind',
  'network',
  'country',
  'outcome',
  'reason',
  '3ds',
  'orders',
  'attempts',
] as const

export interface MinuteCount {
  merchantId: bigint
  /** When it began, in milliseconds since 1970. */
  minute: number
  key: string
  ended: number
}

/** One order or attempt, before what it shares with the other. */
interface Ended {
  same: string
  at: number
  withinMs: number
}

const minuteMs = 60_000
/** Twelve days: whatever took longer is counted with it. */
const longestMs = 2 ** 30

/** Whole milliseconds, rounded up to a power of two. */
const powerWithin = (ms: number): number => 2 ** (32 - Math.clz32(Math.min(Math.max(1, ms), longestMs) - 1))

/** The counts of these changes. */
export function countedIn(changes: readonly Change[]): MinuteCount[] {
  const counts = new Map<string, MinuteCount>()
  const add = (merchantId: bigint, at: number, key: string) => {
    const minute = at - (at % minuteMs)
    const place = `${merchantId} ${minute} ${key}`
    const count = counts.get(place)
    if (count) count.ended++
    else counts.set(place, { merchantId, minute, key, ended: 1 })
  }
  for (const { before, after } of changes) {
    let order = after.finalAt !== undefined && before?.finalAt === undefined ? ofOrder(after, after.finalAt) : undefined
    after.attempts.forEach((one, i) => {
      if (one.outcome === undefined || before?.attempts[i]?.outcome !== undefined) return
      const attempt = ofAttempt(after, one)
      const isShared = order?.same === attempt.same && order.at === attempt.at
      add(after.merchantId, attempt.at, `${attempt.same}|${isShared ? order!.withinMs : ''}|${attempt.withinMs}`)
      if (isShared) order = undefined
    })
    if (order) add(after.merchantId, order.at, `${order.same}|${order.withinMs}|`)
  }
  return [...counts.values()]
}

function ofOrder(order: Order, finalAt: number): Ended {
  const { gateId = '0', errorCode } = head(order).result
  const status = statusOf(order)
  const reason = status === 'approved' ? '' : declineReason(status, errorCode)
  return ended(order, head(order), [gateId, status, reason], order.createdAt, finalAt)
}

function ofAttempt(order: Order, { outcome, gateId, transactionNo, actionCode, startedAt, endedAt }: Attempt): Ended {
  const reason = outcome === 'approved' ? '' : outcome === 'declined' ? declineReason(outcome, actionCode) : 'technical'
  return ended(order, order.transactions[transactionNo - 1]!, [String(gateId), outcome!, reason], startedAt, endedAt!)
}

function ended(
  { endpointId, card }: Order,
  { kind, result }: Transaction,
  [gateId, outcome, reason]: readonly [gateId: string, outcome: string, reason: string],
  from: number,
  at: number,
): Ended {
  const same = [endpointId, gateId, kind, card.network, card.country, outcome, reason, result.verified].join('|')
  return { same, at, withinMs: powerWithin(at - from) }
}
