/** A filter as an operator writes it, and its description. */
import { defined } from '../../base/defined.ts'
import { currencyOf, decimalToMinor, minorToDecimal } from '../../base/money.ts'
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
import type { Given } from '../action.ts'
import { isMisfit, unfit, type Misfit } from '../refused.ts'
import { anyText, choice, currency as isoCurrency, kind, span, Unreadable } from '../../entity/kinds.ts'

export const ruleKinds = ['black', 'white', 'loyalty', 'velocity', 'volume', 'amount', 'country-mismatch', 'time-of-day'] as const
export type RuleKind = (typeof ruleKinds)[number]

const listedKinds: readonly Listed[] = ['card', 'bin', 'email', 'ip', 'phone', 'country', 'card-country', 'purpose']
const countedKinds: readonly Counted[] = ['card', 'email', 'ip']
const countings: readonly CountedOrders[] = ['all', 'unrefused', 'refused']

const minuteOfDay = kind<number>({
  hint: 'hh:mm',
  read(written) {
    const [, hours, minutes] = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(written) ?? []
    return minutes === undefined ? new Unreadable('a time of day such as 22:00') : Number(hours) * 60 + Number(minutes)
  },
})

const timeZone = kind<string>({
  hint: 'name',
  read(name) {
    try {
      Intl.DateTimeFormat('en', { timeZone: name })
      return name
    } catch {
      return new Unreadable('a time zone of IANA, such as Europe/Berlin')
    }
  },
})

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

/** What can be asked of a filter besides its list. */
// oxfmt-ignore
export const ruleInputs = {
  of:       { is: choice(listedKinds, 'what'),   means: `what a list has: ${listedKinds.join(', ')}` },
  per:      { is: choice(countedKinds, 'what'),  means: `what payments of a limit are counted, or added up, by: ${countedKinds.join(', ')}` },
  limit:    { is: anyText('number'),             means: 'so many payments (velocity), or so much money (volume)' },
  withinMs: { is: span('1min', '366d'),          means: 'how far back a limit counts, from 1min to 366d' },
  counts:   { is: choice(countings, 'which'),    means: `which payments a limit counts: ${countings.join(', ')} (all)` },
  currency: { is: isoCurrency,                      means: 'the currency of the payments that volume and amount look at' },
  least:    { is: anyText('amount'),             means: 'the least amount' },
  most:     { is: anyText('amount'),             means: 'the most' },
  from:     { is: minuteOfDay,                   means: 'the time of day from which it fires' },
  to:       { is: minuteOfDay,                   means: 'and until which' },
  zone:     { is: timeZone,                      means: 'the zone of these times, of IANA, such as Europe/Berlin (UTC)' },
} as const

export type FilterWish = Given<typeof ruleInputs>
type Name = keyof FilterWish
type Needed = Required<Pick<FilterWish, 'of' | 'per' | 'withinMs' | 'from' | 'to'>>

/**
 * The fields of each kind: what it needs, and what it also takes. Others are refused, so that none
 * is misunderstood.
 */
// oxfmt-ignore
const takes: Readonly<Record<RuleKind, readonly [needs: readonly Name[], also: readonly Name[]]>> = {
  black:              [['of'],                             []],
  white:              [['of'],                             []],
  loyalty:            [['of'],                             []],
  velocity:           [['per', 'limit', 'withinMs'],       ['counts']],
  volume:             [['per', 'limit', 'withinMs', 'currency'], ['counts']],
  amount:             [['currency'],                       ['least', 'most']],
  'country-mismatch': [[],                                 []],
  'time-of-day':      [['from', 'to'],                     ['zone']],
}

export function readRule(ruleKind: RuleKind, wish: FilterWish): RuleFacts | Misfit {
  const [needs, also] = takes[ruleKind]
  const given = (Object.keys(wish) as Name[]).filter((name) => wish[name] !== undefined)
  const foreign = given.find((name) => ![...needs, ...also].includes(name))
  if (foreign !== undefined) return { what: 'foreign', field: foreign, kind: ruleKind }
  const missing = needs.find((name) => !given.includes(name))
  if (missing !== undefined) return { what: 'missing', field: missing, means: ruleInputs[missing].means }
  const { of, per, limit = '', withinMs: windowMs, counts = 'all', from, to, zone = 'UTC' } = wish as FilterWish & Needed
  switch (ruleKind) {
    case 'black':
    case 'white':
    case 'loyalty':
      return { is: ruleKind, of }
    case 'velocity':
      if (!/^[0-9]{1,6}$/.test(limit)) return unfit('limit', 'a whole number of payments')
      return { is: 'velocity', per, limit: Number(limit), windowMs, counts }
    case 'volume': {
      if (counts === 'refused') return unfit('counts', 'all or unrefused: what was refused adds up to nothing')
      const read = amountsOf(wish, ['limit'])
      return isMisfit(read)
        ? read
        : { is: 'volume', per, limitMinor: read.minor.limit!, currency: read.currency, windowMs, counts }
    }
    case 'amount':
      return amountRule(wish)
    case 'country-mismatch':
      return { is: 'country mismatch' }
    case 'time-of-day':
      return from === to ? unfit('to', 'another time than the one it begins at') : { is: 'time of day', from, to, zone }
  }
}

function amountRule(wish: FilterWish): RuleFacts | Misfit {
  const read = amountsOf(wish, ['least', 'most'])
  if (isMisfit(read)) return read
  const { least: leastMinor, most: mostMinor } = read.minor
  if (leastMinor === undefined && mostMinor === undefined) return { what: 'missing', field: 'least', or: 'most' }
  if (leastMinor !== undefined && mostMinor !== undefined && BigInt(leastMinor) > BigInt(mostMinor))
    return unfit('least', 'no more than the most')
  return { is: 'amount', currency: read.currency, ...defined({ leastMinor, mostMinor }) }
}

/** Amounts in minor units of the currency of the wish. */
function amountsOf<N extends 'limit' | 'least' | 'most'>(
  wish: FilterWish,
  names: readonly N[],
): { currency: string; minor: { [K in N]?: string } } | Misfit {
  const { code, exponent } = currencyOf(wish.currency!)!
  const minor: { [K in N]?: string } = {}
  for (const name of names) {
    if (wish[name] === undefined) continue
    const read = decimalToMinor(wish[name], exponent)
    if (read === undefined) return unfit(name, `an amount of ${code}`)
    minor[name] = String(read)
  }
  return { currency: code, minor }
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
