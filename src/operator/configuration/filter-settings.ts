/** A filter as an operator writes it, and its description. */
import { defined } from '../../base/defined.ts'
import { currencyOf, decimalToMinor, minorToDecimal } from '../../base/money.ts'
import { comparable, type FilterRule, type Listed, type RuleFacts } from '../../merchant/filter.ts'
import { clockText } from '../../risk/screening.ts'
import type { Used } from '../../risk/velocity.ts'
import { counted, exactSpan } from '../../base/moments.ts'
import type { Given } from '../action.ts'
import { Refused, unfit, type Misfit } from '../refused.ts'
import { anyText, choice, currency as isoCurrency, parsed, span } from '../../entity/kinds.ts'
import { wordsOf } from '../../entity/words.ts'

const minuteOfDay = parsed('hh:mm', 'a time of day such as 22:00', (written) => {
  const [, hours, minutes] = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(written) ?? []
  return minutes === undefined ? undefined : Number(hours) * 60 + Number(minutes)
})

const timeZone = parsed('name', 'a time zone of IANA, such as Europe/Berlin', (name) => {
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
    return name
  } catch {
    return undefined
  }
})

/** The kinds of values in lists. */
const mustBe: Readonly<Record<Listed, string>> = {
  card: 'a card-hash-id of 32 hexadecimal digits',
  bin: 'the first 4 to 11 digits of card numbers',
  email: 'an e-mail address, @ and a domain, or *. and a domain for all its subdomains too',
  ip: 'an IP address in full, such as 198.51.100.7, or a network such as 10.0.0.0/8',
  phone: 'a telephone number',
  country: 'a country by two letters of ISO 3166-1',
  'card-country': 'a country by two letters of ISO 3166-1',
  purpose: 'a purpose of 1 to 128 characters on one line',
}

const countingWords = { all: 'payments', unrefused: 'payments that were not refused', refused: 'refused payments' } as const
const listedKinds = Object.keys(mustBe) as Listed[]
const countedKinds = ['card', 'email', 'ip'] as const
const countings = Object.keys(countingWords) as (keyof typeof countingWords)[]

/** The inputs of a filter other than its list. */
// oxfmt-ignore
export const ruleInputs = {
  of:       { is: choice(listedKinds, 'what'),   means: `what a list contains: ${listedKinds.join(', ')}` },
  per:      { is: choice(countedKinds, 'what'),  means: `counts payments, or adds up their amounts, for each: ${countedKinds.join(', ')}` },
  limit:    { is: anyText('number'),             means: 'the number of payments (velocity), or the sum of money (volume)' },
  withinMs: { is: span('1min', '366d'),          means: 'how far back a limit counts, from 1min to 366d' },
  counts:   { is: choice(countings, 'which'),    means: `which payments a limit counts: ${countings.join(', ')} (all)` },
  currency: { is: isoCurrency,                      means: 'the currency of the payments that volume or amount looks at' },
  least:    { is: anyText('amount'),             means: 'filters payments below this amount' },
  most:     { is: anyText('amount'),             means: 'filters payments above this amount' },
  from:     { is: minuteOfDay,                   means: 'the time of day from which the filter applies' },
  to:       { is: minuteOfDay,                   means: 'the time of day until which the filter applies' },
  zone:     { is: timeZone,                      means: 'the IANA time zone of these times, such as Europe/Berlin (UTC)' },
} as const

export type FilterWish = Given<typeof ruleInputs>
type Name = keyof FilterWish
/** The mandatory inputs of a kind are there when its rule is made. */
type Sure = Required<Omit<FilterWish, 'least' | 'most'>> & FilterWish

interface KindRow {
  /** Error-code and score, unless others are given; docs/errors.md has the codes. */
  code: string
  score: number
  needs: readonly Name[]
  /** Its optional inputs. Inputs of other kinds are refused, so that none is misunderstood. */
  has?: readonly Name[]
  rule: (wish: Sure) => RuleFacts
}

const listRule =
  (is: 'black' | 'white' | 'loyalty') =>
  ({ of }: Sure): RuleFacts => ({ is, of })

// oxfmt-ignore
const kinds = {
  black:              { code: '3001', score: 100, rule: listRule('black'),   needs: ['of'] },
  white:              { code: '3000', score: 0,   rule: listRule('white'),   needs: ['of'] },
  loyalty:            { code: '3000', score: -50, rule: listRule('loyalty'), needs: ['of'] },
  velocity:           { code: '3002', score: 100, rule: velocityRule,        needs: ['per', 'limit', 'withinMs'],             has: ['counts'] },
  volume:             { code: '3003', score: 100, rule: volumeRule,          needs: ['per', 'limit', 'withinMs', 'currency'], has: ['counts'] },
  amount:             { code: '3004', score: 100, rule: amountRule,          needs: ['currency'],                             has: ['least', 'most'] },
  'country-mismatch': { code: '3005', score: 100, rule: () => ({ is: 'country mismatch' }), needs: [] },
  'time-of-day':      { code: '3006', score: 100, rule: timeRule,            needs: ['from', 'to'],                           has: ['zone'] },
} as const satisfies Record<string, KindRow>

export type RuleKind = keyof typeof kinds
export const ruleKinds: Readonly<Record<RuleKind, KindRow>> = kinds

/** The rule of a filter; refuses inputs that do not fit its kind. */
export function readRule(kindOf: RuleKind, wish: FilterWish): RuleFacts {
  const { needs, has = [], rule } = ruleKinds[kindOf]
  const given = Object.keys(wish) as Name[]
  const foreign = given.find((name) => ![...needs, ...has].includes(name))
  if (foreign !== undefined) throw new Refused({ what: 'foreign', field: foreign, kind: kindOf })
  const missing = needs.find((name) => !given.includes(name))
  if (missing !== undefined) throw new Refused({ what: 'missing', field: missing, means: ruleInputs[missing].means })
  return rule({ counts: 'all', zone: 'UTC', ...wish } as Sure)
}

function velocityRule({ per, limit, withinMs: windowMs, counts }: Sure): RuleFacts {
  if (!/^[0-9]{1,6}$/.test(limit)) throw new Refused(unfit('limit', 'a whole number of payments'))
  return { is: 'velocity', per, limit: Number(limit), windowMs, counts }
}

function volumeRule({ per, limit, currency, withinMs: windowMs, counts }: Sure): RuleFacts {
  if (counts === 'refused') throw new Refused(unfit('counts', 'all or unrefused: refused payments have no sum'))
  return { is: 'volume', per, limitMinor: minorOf('limit', limit, currency), currency, windowMs, counts }
}

function amountRule({ least, most, currency }: Sure): RuleFacts {
  const leastMinor = least && minorOf('least', least, currency)
  const mostMinor = most && minorOf('most', most, currency)
  if (leastMinor === undefined && mostMinor === undefined) throw new Refused({ what: 'missing', field: 'least', or: 'most' })
  if (leastMinor !== undefined && mostMinor !== undefined && BigInt(leastMinor) > BigInt(mostMinor))
    throw new Refused(unfit('least', 'no more than the most'))
  return { is: 'amount', currency, ...defined({ leastMinor, mostMinor }) }
}

function timeRule({ from, to, zone }: Sure): RuleFacts {
  if (from === to) throw new Refused(unfit('to', 'different from the start'))
  return { is: 'time of day', from, to, zone }
}

function minorOf(field: Name, amount: string, currency: string): string {
  const { code, exponent } = currencyOf(currency)!
  const minor = decimalToMinor(amount, exponent)
  if (minor === undefined) throw new Refused(unfit(field, `an amount of ${code}`))
  return String(minor)
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

type Facts<Is extends RuleFacts['is']> = Extract<RuleFacts, { is: Is }>
const moneyText = (minor: string, code: string) => minorToDecimal(BigInt(minor), currencyOf(code)?.exponent ?? 0)

const textOf = wordsOf({
  velocity: ({ limit, counts, per, windowMs }: Facts<'velocity'>) =>
    `at most ${limit} ${countingWords[counts]} by ${per} in ${exactSpan(windowMs)}`,
  volume: ({ limitMinor, currency, counts, per, windowMs }: Facts<'volume'>) =>
    `at most ${moneyText(limitMinor, currency)} ${currency} by ${per} in ${exactSpan(windowMs)}` +
    (counts === 'unrefused' ? ', refused ones not counted' : ''),
  amount({ leastMinor, mostMinor, currency }: Facts<'amount'>) {
    const least = leastMinor === undefined ? [] : [`at least ${moneyText(leastMinor, currency)}`]
    const most = mostMinor === undefined ? [] : [`at most ${moneyText(mostMinor, currency)}`]
    return `${[...least, ...most].join(', ')} ${currency}`
  },
  'country mismatch': () => 'address and card in different countries',
  'time of day': ({ from, to, zone }: Facts<'time of day'>) => `from ${clockText(from)} to ${clockText(to)} in ${zone}`,
})

/** A one-line description of a rule. */
export const ruleText = ({ facts }: Pick<FilterRule, 'facts'>): string =>
  'of' in facts ? `${facts.is} list of ${facts.of}` : textOf(facts)

/** The same, with how many values its list has. */
export const filterText = (filter: { facts: RuleFacts; entries: number }): string =>
  ruleText(filter) + ('of' in filter.facts ? `, ${filter.entries.toLocaleString('en')} on it` : '')

/** How much of a limit was used; amounts of several currencies are not added up. */
export const usedJson = ({ facts }: { facts: RuleFacts }, { orders, sumMinor }: Used) => ({
  orders,
  ...(facts.is === 'volume' && { amount: moneyText(String(sumMinor), facts.currency), currency: facts.currency }),
})

export function usedText(filter: { facts: RuleFacts }, used: Used): string {
  const { orders, amount, currency } = usedJson(filter, used)
  return counted(orders, 'payment') + (amount === undefined ? '' : ` of ${amount} ${currency} in all`)
}
