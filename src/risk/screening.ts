import { lookedUp, refusingScore, type FilterRule, type PaymentFacts } from '../merchant/filter.ts'
import { countedValue, isLimit, usedOf, type Bucket, type LimitRule } from './velocity.ts'

/** A rule that fired, as it was at that time. */
export interface Fired {
  filterNo: number
  name: string
  code: string
  score: number
  /** The finding, for an operator; it contains only card data that may be shown. */
  found: string
}

/** The result of the filters for an order. It is stored with the order and never changes. */
export interface Screening {
  score: number
  fired: readonly Fired[]
  /** Present if the order is refused: the answer to the merchant. */
  refusal?: { code: string; message: string }
  /** Limits that it may use up: the key of each, and the amount by the time of the database. */
  counted?: { at: number; minor: string; keys: readonly (readonly [filterNo: number, key: string])[] }
}

/** The answer to a merchant, by the kind of the rule. Only operators see what the rule examined. */
const refusalTexts: Readonly<Record<FilterRule['facts']['is'], string>> = {
  black: 'Filtered: on a black list',
  white: 'Filtered',
  loyalty: 'Filtered',
  velocity: 'Filtered: too many payments',
  volume: 'Filtered: too much in total',
  amount: 'Filtered: amount out of bounds',
  'country mismatch': 'Filtered: countries differ',
  'time of day': 'Filtered: not at this time of day',
}

/** How much of a limit is used, by rule. */
export type UsedOf = (rule: LimitRule) => readonly Bucket[]

/**
 * Judges a payment by the rules of its endpoint, purely. A listed white value wins over any score.
 * `limitsAt`: the time of the database, by which limits count.
 */
export function screenPayment(
  rules: readonly FilterRule[],
  facts: PaymentFacts,
  buckets: UsedOf,
  limitsAt: number,
): Omit<Screening, 'counted'> {
  const fired: (Fired & { rule: FilterRule })[] = []
  for (const rule of rules) {
    const found = findingOf(rule, facts, buckets, limitsAt)
    if (found === undefined) continue
    const { filterNo, name, code, score } = rule
    fired.push({ filterNo, name, code, score, found, rule })
  }
  const score = fired.reduce((sum, { score: one }) => sum + one, 0)
  const isWelcome = fired.some(({ rule }) => rule.facts.is === 'white')
  const shown = fired.map(({ rule: _rule, ...one }) => one)
  if (score < refusingScore || isWelcome) return { score, fired: shown }
  const worst = fired.reduce((a, b) => (b.score > a.score ? b : a))
  return { score, fired: shown, refusal: { code: worst.code, message: refusalTexts[worst.rule.facts.is] } }
}

/** The finding of a rule, in words; undefined if it does not fire. */
function findingOf(rule: FilterRule, facts: PaymentFacts, buckets: UsedOf, limitsAt: number): string | undefined {
  if (isLimit(rule)) return limitFinding(rule, facts, buckets(rule), limitsAt)
  const { facts: looks } = rule
  switch (looks.is) {
    case 'black':
    case 'white':
    case 'loyalty': {
      const hit = lookedUp(looks.of, facts).find((value) => rule.entries.has(value))
      return hit === undefined ? undefined : `${looks.of} ${hit} is listed`
    }
    case 'amount': {
      if (looks.currency !== facts.currency) return undefined
      if (looks.leastMinor !== undefined && facts.amountMinor < BigInt(looks.leastMinor)) return 'less than the least'
      return looks.mostMinor !== undefined && facts.amountMinor > BigInt(looks.mostMinor) ? 'more than the most' : undefined
    }
    case 'country mismatch': {
      const { country, cardCountry } = facts
      return country === undefined || cardCountry === undefined || country === cardCountry
        ? undefined
        : `the address is in ${country}, the card of ${cardCountry}`
    }
    case 'time of day': {
      const minute = minuteOfDay(facts.at, looks.zone)
      const { from, to } = looks
      const within = from < to ? minute >= from && minute < to : minute >= from || minute < to
      return within ? `it is ${clockText(minute)} in ${looks.zone}` : undefined
    }
    default:
      return undefined
  }
}

function limitFinding(rule: LimitRule, facts: PaymentFacts, buckets: readonly Bucket[], at: number): string | undefined {
  const { facts: looks } = rule
  if (countedValue(looks.per, facts) === undefined) return undefined
  const used = usedOf(rule, buckets, at)
  if (looks.is === 'velocity') {
    // A refused payment is counted when it is refused, so this one is not among them yet.
    const over = looks.counts === 'refused' ? used.orders >= looks.limit : used.orders + 1 > looks.limit
    return over ? `${used.orders} by this ${looks.per} before, of ${looks.limit}` : undefined
  }
  if (looks.currency !== facts.currency) return undefined
  return used.sumMinor + facts.amountMinor > BigInt(looks.limitMinor)
    ? `${used.sumMinor} by this ${looks.per} before, of ${looks.limitMinor} in minor units`
    : undefined
}

const zones = new Map<string, Intl.DateTimeFormat>()

/** Rules with an undefined zone are refused when they are created. */
function minuteOfDay(at: number, zone: string): number {
  let format = zones.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    zones.set(zone, format)
  }
  const [hours = '0', minutes = '0'] = format.format(at).split(':')
  return Number(hours) * 60 + Number(minutes)
}

export const clockText = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
