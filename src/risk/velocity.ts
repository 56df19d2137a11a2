import ipaddr from 'ipaddr.js'
import { emailForm, type Counted, type FilterRule, type PaymentFacts } from '../merchant/filter.ts'

/**
 * How much of a limit is used, purely. A window is divided into sixty spans. An order counts until
 * the window has passed its whole span, so that no window of that length, wherever it begins, ever
 * exceeds the limit.
 */

/** [number of the span, orders, sum in minor units] */
export type Bucket = readonly [span: number, orders: number, sumMinor: string]

interface Limit {
  facts: Extract<FilterRule['facts'], { is: 'velocity' | 'volume' }>
}
export type LimitRule = FilterRule & Limit

export const isLimit = <Rule extends Pick<FilterRule, 'facts'>>(rule: Rule): rule is Rule & Limit =>
  rule.facts.is === 'velocity' || rule.facts.is === 'volume'

const spansOfWindow = 60
const spanMs = ({ facts }: Limit): number => Math.ceil(facts.windowMs / spansOfWindow)
const spanOf = (rule: Limit, at: number): number => Math.floor(at / spanMs(rule))

/** The buckets that count at a given time; spans of clocks that are ahead count too. */
function counting(rule: Limit, buckets: readonly Bucket[], at: number): Bucket[] {
  const oldest = spanOf(rule, at - rule.facts.windowMs)
  return buckets.filter(([span]) => span >= oldest)
}

export interface Used {
  orders: number
  sumMinor: bigint
}

export function usedOf(rule: Limit, buckets: readonly Bucket[], at: number): Used {
  let orders = 0
  let sumMinor = 0n
  for (const [, count, sum] of counting(rule, buckets, at)) {
    orders += count
    sumMinor += BigInt(sum)
  }
  return { orders, sumMinor }
}

/** Adds or removes an order in the span in which it was counted, never below zero. */
export function counted(
  rule: LimitRule,
  buckets: readonly Bucket[],
  at: number,
  by: 1 | -1,
  minor: bigint,
  now: number,
): Bucket[] {
  const left = counting(rule, buckets, now)
  const span = spanOf(rule, at)
  const [, orders = 0, sum = '0'] = left.find(([one]) => one === span) ?? []
  const next = { orders: orders + by, sumMinor: BigInt(sum) + BigInt(by) * minor }
  const others = left.filter(([one]) => one !== span)
  if (next.orders <= 0) return others
  return [...others, [span, next.orders, String(next.sumMinor < 0n ? 0n : next.sumMinor)] as const].sort(([a], [b]) => a - b)
}

/** After this time no bucket counts. */
export const overAt = (rule: LimitRule, now: number): number => now + rule.facts.windowMs + 2 * spanMs(rule)

/** The values by which payments are counted. */
export type CountedBy = Pick<PaymentFacts, 'cardHash' | 'email' | 'ip'>

/**
 * The counted value; undefined if a payment has none, such as one of the mobile API without an
 * e-mail address. An IPv6 customer controls a network of 64 bits, so the network counts as the
 * address.
 */
export function countedValue(per: Counted, { cardHash, email, ip }: CountedBy): string | undefined {
  if (per === 'card') return cardHash
  if (per === 'email') return email === '' ? undefined : emailForm(email)
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.')
}
