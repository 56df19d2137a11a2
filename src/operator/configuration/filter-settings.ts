/** A filter as an operator writes it, and its description. */
import { defined } from '../../base/defined.ts'
import { currencyOf, decimalToMinor, minorToDecimal, type Currency } from '../../base/money.ts'
import {
  comparable,
  type Counted,
  type CountedOrders,
  type FilterRule,
  type Listed,
  type RuleFacts,
} from '../../merchant/filter.ts'
import { clockText } from '../../risk/screening.ts'
import { spanText } from '../../base/moments.ts'
import { isMisfit, unfit, type Misfit } from '../refused.ts'

export const ruleKinds = ['black', 'white', 'loyalty', 'velocity', 'volume', 'amount', 'country-mismatch', 'time-of-day'] as const
export type RuleKind = (typeof ruleKinds)[number]

export const listedKinds: readonly Listed[] = ['card', 'bin', 'email', 'ip', 'phone', 'country', 'card-country', 'purpose']
export const countedKinds: readonly Counted[] = ['card', 'email', 'ip']
export const countings: readonly CountedOrders[] = ['all', 'unrefused', 'refused']

export interface FilterWish {
  of?: Listed
  per?: Counted
  limit?: string
  withinMs?: number
  counts?: CountedOrders
  currency?: string
  least?: string
  most?: string
  from?: string
  to?: string
  zone?: string
}

/** The default code and score of a rule of this kind; docs/errors.md has the codes. */
// oxfmt-ignore
export const usualOf: Readonly<Record<RuleKind, { code: string; score: number }>> = {
  black:              { code: '3001', score: 100 },
  white:              { code: '3000', score: 0 },
  loyalty:            { code: '3000', score: -50 },
  velocity:           { code: '3002', score: 100 },
  volume:             { code: '3003', score: 100 },
  amount:             { code: '3004', score: 100 },
  'country-mismatch': { code: '3005', score: 100 },
  'time-of-day':      { code: '3006', score: 100 },
}

const leastWindowMs = 60_000
const mostWindowMs = 366 * 86_400_000

/** The fields of each kind of rule. Others are refused, so that none is misunderstood. */
const knows: Readonly<Record<RuleKind, readonly (keyof FilterWish)[]>> = {
  black: ['of'],
  white: ['of'],
  loyalty: ['of'],
  velocity: ['per', 'limit', 'withinMs', 'counts'],
  volume: ['per', 'limit', 'withinMs', 'counts', 'currency'],
  amount: ['least', 'most', 'currency'],
  'country-mismatch': [],
  'time-of-day': ['from', 'to', 'zone'],
}

export function readRule(kind: RuleKind, wish: FilterWish): RuleFacts | Misfit {
  const foreign = (Object.keys(wish) as (keyof FilterWish)[]).find(
    (name) => wish[name] !== undefined && !knows[kind].includes(name),
  )
  if (foreign !== undefined) return { what: 'foreign', field: foreign, kind }
  switch (kind) {
    case 'black':
    case 'white':
    case 'loyalty':
      return wish.of === undefined ? { what: 'missing', field: 'of', means: 'what is listed' } : { is: kind, of: wish.of }
    case 'velocity':
      return velocity(wish)
    case 'volume':
      return volume(wish)
    case 'amount':
      return amount(wish)
    case 'country-mismatch':
      return { is: 'country mismatch' }
    case 'time-of-day':
      return timeOfDay(wish)
  }
}

function velocity({ per, limit = '', withinMs, counts = 'all' }: FilterWish): RuleFacts | Misfit {
  const windowMs = windowOf(withinMs)
  if (isMisfit(windowMs)) return windowMs
  if (per === undefined) return { what: 'missing', field: 'per', means: 'what payments are counted by' }
  if (!/^[0-9]{1,6}$/.test(limit)) return unfit('limit', 'a whole number of payments')
  return { is: 'velocity', per, limit: Number(limit), windowMs, counts }
}

function volume({ per, limit = '', withinMs, counts = 'all', currency }: FilterWish): RuleFacts | Misfit {
  const windowMs = windowOf(withinMs)
  if (isMisfit(windowMs)) return windowMs
  if (per === undefined) return { what: 'missing', field: 'per', means: 'what amounts are added up by' }
  if (counts === 'refused') return unfit('counts', 'all or unrefused: what was refused adds up to nothing')
  const known = currencyNeeded(currency)
  if (isMisfit(known)) return known
  const limitMinor = minorOf(limit, known)
  return limitMinor === undefined
    ? anAmount('limit', known)
    : { is: 'volume', per, limitMinor, currency: known.code, windowMs, counts }
}

function amount({ least, most, currency }: FilterWish): RuleFacts | Misfit {
  const known = currencyNeeded(currency)
  if (isMisfit(known)) return known
  if (least === undefined && most === undefined) return { what: 'missing', field: 'least', or: 'most' }
  const leastMinor = least === undefined ? undefined : minorOf(least, known)
  const mostMinor = most === undefined ? undefined : minorOf(most, known)
  if (least !== undefined && leastMinor === undefined) return anAmount('least', known)
  if (most !== undefined && mostMinor === undefined) return anAmount('most', known)
  if (leastMinor !== undefined && mostMinor !== undefined && BigInt(leastMinor) > BigInt(mostMinor))
    return unfit('least', 'no more than the most')
  return {
    is: 'amount',
    currency: known.code,
    ...defined({ leastMinor, mostMinor }),
  }
}

function timeOfDay({ from = '', to = '', zone = 'UTC' }: FilterWish): RuleFacts | Misfit {
  const [begin, end] = [minuteOf(from), minuteOf(to)]
  if (begin === undefined) return unfit('from', 'a time of day such as 22:00')
  if (end === undefined) return unfit('to', 'a time of day such as 06:00')
  if (begin === end) return unfit('to', 'another time than the one it begins at')
  try {
    Intl.DateTimeFormat('en', { timeZone: zone })
  } catch {
    return unfit('zone', 'a time zone of IANA, such as Europe/Berlin')
  }
  return { is: 'time of day', from: begin, to: end, zone }
}

const minuteOf = (text: string): number | undefined => {
  const match = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(text)
  return match ? Number(match[1]) * 60 + Number(match[2]) : undefined
}

const windowOf = (ms: number | undefined): number | Misfit => {
  if (ms === undefined) return { what: 'missing', field: 'withinMs', means: 'how far back it counts, such as 10min, 24h or 30d' }
  return ms >= leastWindowMs && ms <= mostWindowMs ? ms : unfit('withinMs', 'from 1min to 366d')
}

const anAmount = (field: keyof FilterWish, { code }: Currency): Misfit => unfit(field, `an amount of ${code}`)

const currencyNeeded = (code: string | undefined): Currency | Misfit =>
  code === undefined
    ? { what: 'missing', field: 'currency', means: 'amounts of others are not looked at' }
    : (currencyOf(code) ?? unfit('currency', 'a currency of ISO 4217'))

const minorOf = (text: string, { exponent }: Currency): string | undefined => {
  const minor = decimalToMinor(text, exponent)
  return minor === undefined ? undefined : String(minor)
}

/** The values of a list in comparable form. A misfit is the first invalid value. */
export function readEntries(of: Listed, texts: readonly string[]): Set<string> | Misfit {
  const read = new Set<string>()
  for (const text of texts) {
    const value = comparable(of, text)
    if (value === undefined) return { what: 'no entry', value: text, of, must: mustBe[of] }
    read.add(value)
  }
  return read
}

const mustBe: Readonly<Record<Listed, string>> = {
  card: 'a card-hash-id of 32 hexadecimal digits',
  bin: 'the first 4 to 11 digits of card numbers',
  email: 'an e-mail address, @ and a domain, or *. and a domain for all below it too',
  ip: 'an IP address in full, such as 198.51.100.7, or a network such as 10.0.0.0/8',
  phone: 'a telephone number',
  country: 'a country by two letters of ISO 3166-1',
  'card-country': 'a country by two letters of ISO 3166-1',
  purpose: 'a purpose of 1 to 128 characters on one line',
}

/** A one-line description of a rule. */
export function ruleText({ facts }: Pick<FilterRule, 'facts'>, entries: number): string {
  switch (facts.is) {
    case 'black':
    case 'white':
    case 'loyalty':
      return `${facts.is} list of ${facts.of}, ${entries.toLocaleString('en')} on it`
    case 'velocity':
      return `at most ${facts.limit} ${countingWords[facts.counts]} by ${facts.per} in ${spanText(facts.windowMs)}`
    case 'volume': {
      const limit = `${decimal(facts.limitMinor, facts.currency)} ${facts.currency}`
      const uncounted = facts.counts === 'unrefused' ? ', refused ones not counted' : ''
      return `at most ${limit} by ${facts.per} in ${spanText(facts.windowMs)}${uncounted}`
    }
    case 'amount': {
      const { leastMinor, mostMinor, currency } = facts
      const least = leastMinor === undefined ? [] : [`at least ${decimal(leastMinor, currency)}`]
      const most = mostMinor === undefined ? [] : [`at most ${decimal(mostMinor, currency)}`]
      return `${[...least, ...most].join(', ')} ${currency}`
    }
    case 'country mismatch':
      return 'address and card in different countries'
    case 'time of day':
      return `from ${clockText(facts.from)} to ${clockText(facts.to)} in ${facts.zone}`
  }
}

const countingWords = { all: 'payments', unrefused: 'payments that were not refused', refused: 'refused payments' } as const
const decimal = (minor: string, code: string) => minorToDecimal(BigInt(minor), currencyOf(code)?.exponent ?? 0)
