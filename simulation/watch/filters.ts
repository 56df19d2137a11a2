import type { FilterRule } from '../../src/merchant/filter.ts'
import { statusOf, type Order } from '../../src/order/decide/order.ts'
import type { Breaks } from './invariant.ts'
import type { Installation } from '../world/installation.ts'

/**
 * Filters of the merchants, and what must hold for them. Usage is summed over the orders
 * themselves, independently of the counts that the gateway keeps.
 */

export const mallory = '203.0.113.66'

const minuteMs = 60_000
const usual = { code: '3002', score: 100, entries: new Set<string>() }
const limits = {
  1: { is: 'velocity', per: 'ip', limit: 10, windowMs: 3 * minuteMs, counts: 'unrefused' },
  2: { is: 'volume', per: 'email', limitMinor: '4000000', currency: 'USD', windowMs: 5 * minuteMs, counts: 'all' },
  3: { is: 'velocity', per: 'card', limit: 5, windowMs: 3 * minuteMs, counts: 'refused' },
} as const

// oxfmt-ignore
export const filters: readonly (FilterRule & { merchantId: bigint })[] = [
  { ...usual, merchantId: 1n, filterNo: 1, name: 'limit by address',               facts: limits[1] },
  { ...usual, merchantId: 1n, filterNo: 2, name: 'mallory',          code: '3001', facts: { is: 'black', of: 'ip' }, entries: new Set([`${mallory}/32`]) },
  { ...usual, merchantId: 2n, filterNo: 1, name: 'sum by payer',     code: '3003', facts: limits[2] },
  { ...usual, merchantId: 3n, filterNo: 1, name: 'refused cards',                  facts: limits[3] },
]

type Limit = (typeof limits)[keyof typeof limits]
const limitsOf: Readonly<Record<string, Limit | undefined>> = limits

/** How much longer than its window a limit may remember: one span on either side. */
const slackMs = (windowMs: number) => 2 * Math.ceil(windowMs / 60)

const isRefused = (order: Order) => ['declined', 'error', 'filtered'].includes(statusOf(order))
/** An order that the merchant's server or the cardholder refused never reached the filters. */
const isJudged = ({ request }: Order) => request.mobile?.refusal === undefined
const countedAt = (order: Order) => order.screening?.counted?.at ?? NaN
const mostOf = ({ amountMinor, request }: Order) =>
  [
    amountMinor + BigInt(request.transfer?.commissionMinor ?? 0),
    ...(request.recurrent?.amounts ?? []).map(([minor]) => BigInt(minor)),
  ].reduce((a, b) => (a > b ? a : b))

const keyOf = { ip: (o: Order) => o.request.ipAddress, email: (o: Order) => o.request.email, card: (o: Order) => o.card.hashId }

/**
 * Watches committed orders, and checks each once its whole commit is known. The gateway judges the
 * orders of a commit one after the other, in a sequence that the simulation cannot see. So an order
 * refused in the same commit may or may not have made room for this one.
 */
export function watchFilters(
  installation: Installation,
  breaks: Breaks,
  now: () => number,
): (order: Order, before: Order | undefined) => void {
  const madeAt = new Map<bigint, number>()
  const refusedAt = new Map<bigint, number>()
  let fresh: Order[] = []

  /**
   * How much of a limit other orders have used after `since`: `least` is what certainly counted
   * when the order was judged, `most` is what may have counted.
   */
  function usedBy(order: Order, limit: Limit, since: number, bound: 'least' | 'most'): bigint {
    const at = madeAt.get(order.orderId)!
    let used = 0n
    for (const other of installation.orders.values()) {
      const made = madeAt.get(other.orderId)!
      if (other.merchantId !== order.merchantId || other.orderId === order.orderId || !isJudged(other)) continue
      if (made > at || countedAt(other) <= since || keyOf[limit.per](other) !== keyOf[limit.per](order)) continue
      const refused = refusedAt.get(other.orderId) ?? Infinity
      const wasRefused = refused < at || (refused === at && (bound === 'most') === (limit.counts === 'refused'))
      const isLater = made === at && bound === 'least' && statusOf(other) === 'filtered'
      if (!isLater && (limit.counts === 'all' || wasRefused === (limit.counts === 'refused')))
        used += limit.is === 'volume' ? mostOf(other) : 1n
    }
    return used
  }

  function judge(order: Order): void {
    const { merchantId, screening, request } = order
    const what = `order ${order.orderId} of merchant ${merchantId}`
    const limit = limitsOf[String(merchantId)]
    if (!limit) return
    if (!screening?.counted) return breaks('limits are never exceeded', `${what} was not counted`)
    const isFiltered = statusOf(order) === 'filtered'
    if (isFiltered !== (screening.refusal !== undefined) || (isFiltered && order.attempts.length > 0))
      breaks('what is filtered is never charged', `${what} is ${statusOf(order)}, and its filters scored ${screening.score}`)
    if (merchantId === 1n && request.ipAddress === mallory && !isFiltered)
      breaks('what is filtered is never charged', `${what} is of somebody on the black list`)
    const most = limit.is === 'volume' ? BigInt(limit.limitMinor) : BigInt(limit.limit)
    const own = limit.is === 'volume' ? mostOf(order) : 1n
    const exceeds = (used: bigint) => (limit.counts === 'refused' ? used >= most : used + own > most)
    const since = countedAt(order) - limit.windowMs
    const least = usedBy(order, limit, since, 'least')
    // An order that was declined when it was made used nothing of the limit.
    const usesNothing = limit.counts === 'unrefused' && refusedAt.get(order.orderId) === madeAt.get(order.orderId)
    if (!isFiltered && !usesNothing && exceeds(least))
      breaks('limits are never exceeded', `${what} is let through although ${least} of ${most} are used`)
    const perhaps = usedBy(order, limit, since - slackMs(limit.windowMs), 'most')
    const byLimit = screening.fired.some(({ filterNo }) => filterNo === 1)
    if (byLimit && !exceeds(perhaps))
      breaks('a limit refuses only what it must', `${what} is refused although ${perhaps} of ${most} are used`)
  }

  return (order, before) => {
    if (isRefused(order) && !(before && isRefused(before))) refusedAt.set(order.orderId, now())
    if (!before) madeAt.set(order.orderId, now())
    if (fresh[0] && madeAt.get(fresh[0].orderId)! < now()) {
      const due = fresh
      fresh = []
      due.forEach(judge)
    }
    if (!before && isJudged(order)) fresh.push(order)
  }
}
