/** A filter as an operator writes it. A text is the complaint. */
import { currencyOf, decimalToMinor, minorToDecimal, type Currency } from '../base/money.ts'
import { comparable, type Counted, type Counting, type FilterRule, type Listed, type RuleFacts } from '../merchant/filter.ts'
import { clockText } from '../risk/screening.ts'
import { spanText } from './moments.ts'

export const ruleKinds = ['black', 'white', 'loyalty', 'velocity', 'volume', 'amount', 'country-mismatch', 'time-of-day'] as const
export type RuleKind = (typeof ruleKinds)[number]

export const listedKinds: readonly Listed[] = ['card', 'bin', 'email', 'ip', 'phone', 'country', 'card-country', 'purpose']
export const countedKinds: readonly Counted[] = ['card', 'email', 'ip']
export const countings: readonly Counting[] = ['all', 'unrefused', 'refused']

export interface FilterWish {
  of?: Listed
  per?: Counted
  limit?: string
  withinMs?: number
  counts?: Counting
  currency?: string
  least?: string
  most?: string
  from?: string
  to?: string
  zone?: string
}

/** Code and score that a rule of this kind has unless it is said; docs/errors.md has the codes. */
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

/** Options that a kind of rule knows; the others are refused, so that none is taken for something it is not. */
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

const optionOf = (name: keyof FilterWish) => (name === 'withinMs' ? '--within' : `--${name}`)

export function readRule(kind: RuleKind, wish: FilterWish): RuleFacts | string {
  const foreign = (Object.keys(wish) as (keyof FilterWish)[]).find(
    (name) => wish[name] !== undefined && !knows[kind].includes(name),
  )
  if (foreign !== undefined) return `${optionOf(foreign)} says nothing of a ${kind} filter`
  switch (kind) {
    case 'black':
    case 'white':
    case 'loyalty':
      return wish.of === undefined ? '--of is needed: what is listed' : { is: kind, of: wish.of }
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

function velocity({ per, limit = '', withinMs, counts = 'all' }: FilterWish): RuleFacts | string {
  const windowMs = windowOf(withinMs)
  if (typeof windowMs === 'string') return windowMs
  if (per === undefined) return '--per is needed: what payments are counted by'
  if (!/^[0-9]{1,6}$/.test(limit)) return '--limit is a whole number of payments'
  return { is: 'velocity', per, limit: Number(limit), windowMs, counts }
}

function volume({ per, limit = '', withinMs, counts = 'all', currency }: FilterWish): RuleFacts | string {
  const windowMs = windowOf(withinMs)
  if (typeof windowMs === 'string') return windowMs
  if (per === undefined) return '--per is needed: what amounts are added up by'
  if (counts === 'refused') return '--counts refused is for velocity: what was refused adds up to nothing'
  const known = currencyNeeded(currency)
  if (typeof known === 'string') return known
  const limitMinor = minorOf(limit, known)
  return limitMinor === undefined
    ? `--limit is no amount of ${known.code}`
    : { is: 'volume', per, limitMinor, currency: known.code, windowMs, counts }
}

function amount({ least, most, currency }: FilterWish): RuleFacts | string {
  const known = currencyNeeded(currency)
  if (typeof known === 'string') return known
  if (least === undefined && most === undefined) return '--least or --most is needed'
  const leastMinor = least === undefined ? undefined : minorOf(least, known)
  const mostMinor = most === undefined ? undefined : minorOf(most, known)
  if (least !== undefined && leastMinor === undefined) return `--least is no amount of ${known.code}`
  if (most !== undefined && mostMinor === undefined) return `--most is no amount of ${known.code}`
  if (leastMinor !== undefined && mostMinor !== undefined && BigInt(leastMinor) > BigInt(mostMinor))
    return '--least is more than --most'
  return {
    is: 'amount',
    currency: known.code,
    ...(leastMinor === undefined ? {} : { leastMinor }),
    ...(mostMinor === undefined ? {} : { mostMinor }),
  }
}

function timeOfDay({ from = '', to = '', zone = 'UTC' }: FilterWish): RuleFacts | string {
  const [begin, end] = [minuteOf(from), minuteOf(to)]
  if (begin === undefined || end === undefined) return '--from and --to are needed, such as 22:00 and 06:00'
  if (begin === end) return '--from and --to are the same, which says nothing'
  try {
    Intl.DateTimeFormat('en', { timeZone: zone })
  } catch {
    return `--zone ${JSON.stringify(zone)} is no time zone of IANA, such as Europe/Berlin`
  }
  return { is: 'time of day', from: begin, to: end, zone }
}

const minuteOf = (text: string): number | undefined => {
  const match = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(text)
  return match ? Number(match[1]) * 60 + Number(match[2]) : undefined
}

const windowOf = (ms: number | undefined): number | string => {
  if (ms === undefined) return '--within is needed: how far back it counts, such as 10min, 24h or 30d'
  return ms >= leastWindowMs && ms <= mostWindowMs ? ms : '--within is from 1min to 366d'
}

const currencyNeeded = (code: string | undefined): Currency | string =>
  code === undefined
    ? '--currency is needed: amounts of others are not looked at'
    : (currencyOf(code) ?? `${code} is not a currency`)

const minorOf = (text: string, { exponent }: Currency): string | undefined => {
  const minor = decimalToMinor(text, exponent)
  return minor === undefined ? undefined : String(minor)
}

/** Values for a list, each as it will be compared. A text is the complaint, by the first that cannot be one. */
export function readEntries(of: Listed, texts: readonly string[]): Set<string> | string {
  const read = new Set<string>()
  for (const text of texts) {
    const value = comparable(of, text)
    if (value === undefined) return `${JSON.stringify(text)} is not ${wordsOf[of]}`
    read.add(value)
  }
  return read
}

const wordsOf: Readonly<Record<Listed, string>> = {
  card: 'a card-hash-id of 32 hexadecimal digits (numbers of cards come by --file, or by --card-of an order)',
  bin: 'the first 4 to 11 digits of card numbers',
  email: 'an e-mail address, or @ with a domain',
  ip: 'an IP address or a network such as 10.0.0.0/8',
  phone: 'a telephone number',
  country: 'a country by two letters of ISO 3166-1',
  'card-country': 'a country by two letters of ISO 3166-1',
  purpose: 'a purpose of 1 to 128 characters on one line',
}

/** One line that says what a rule does. */
export function ruleText({ facts }: Pick<FilterRule, 'facts'>, entries: number): string {
  switch (facts.is) {
    case 'black':
    case 'white':
    case 'loyalty':
      return `${facts.is} list of ${facts.of}, ${entries.toLocaleString('en')} on it`
    case 'velocity':
      return `at most ${facts.limit} ${countingWords[facts.counts]} by ${facts.per} in ${spanText(facts.windowMs)}`
    case 'volume':
      return `at most ${decimal(facts.limitMinor, facts.currency)} ${facts.currency} by ${facts.per} in ${spanText(facts.windowMs)}${facts.counts === 'unrefused' ? ', refused ones not counted' : ''}`
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
