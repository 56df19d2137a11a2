import { checkDigitHolds } from '../../src/base/luhn.ts'

/**
 * The test cards. The last four digits of a card with a special prefix encode its behaviour:
 * version, method, outcome, check digit. Every other number of the networks is in a general range:
 * both versions, a method that works, authenticated without a challenge.
 */

export type Network = 'visa' | 'mastercard' | 'amex' | 'jcb' | 'unionpay' | 'discover' | 'diners'
/** The behaviour of the issuer's method page. */
export type Method = 'none' | 'works' | 'slow' | 'silent' | 'error'
export type Outcome =
  | 'frictionless'
  | 'attempt'
  | 'denied'
  | 'rejected'
  | 'unavailable'
  | 'informational'
  | 'challenge'
  | 'challenge-failed'
  | 'no-result'
  | 'error'

export interface CardRange {
  startRange: string
  endRange: string
  acsStartProtocolVersion: string
  acsEndProtocolVersion: string
  threeDSMethodURL?: string
}

const specialPrefixes = { visa: '400000000000', mastercard: '520000000000' } as const
const methods: readonly Method[] = ['none', 'works', 'slow', 'silent', 'error']
const outcomes: readonly Outcome[] = [
  'frictionless',
  'attempt',
  'denied',
  'rejected',
  'unavailable',
  'informational',
  'challenge',
  'challenge-failed',
  'no-result',
  'error',
]
const newestOf: Record<string, string> = { '1': '2.1.0', '2': '2.2.0' }
/** Version digit of the cards whose issuers still have 1.0.2; they are in no range. */
const legacyDigit = '9'

/** `not known` and `error` answer the question of enrolment; the others come from the issuer. */
export type LegacyOutcome = 'password' | 'attempt' | 'denied' | 'unavailable' | 'not known' | 'password-failed' | 'error'
const legacyOutcomes: readonly LegacyOutcome[] = [
  'password',
  'attempt',
  'denied',
  'denied',
  'unavailable',
  'not known',
  'password',
  'password-failed',
  'password',
  'error',
]

/** First and last number of each general range; two of them stop before the special cards. */
// oxfmt-ignore
const general: readonly (readonly [start: string, end: string])[] = [
  ['4000000000010000', '4999999999999999'],
  ['2221000000000000', '2720999999999999'],
  ['5100000000000000', '5199999999999999'],
  ['5200000000010000', '5599999999999999'],
  ['340000000000000',  '349999999999999'],
  ['370000000000000',  '379999999999999'],
  ['3500000000000000', '3599999999999999'],
  ['6200000000000000', '6299999999999999'],
  ['6011000000000000', '6011999999999999'],
  ['6440000000000000', '6599999999999999'],
  ['30000000000000',   '30999999999999'],
  ['36000000000000',   '36999999999999'],
  ['38000000000000',   '39999999999999'],
]

// oxfmt-ignore
const networks: readonly (readonly [network: Network, pattern: RegExp])[] = [
  ['visa',       /^4/],
  ['mastercard', /^(5[1-5]|2[2-7])/],
  ['amex',       /^3[47]/],
  ['jcb',        /^35/],
  ['unionpay',   /^62/],
  ['discover',   /^6/],
  ['diners',     /^3/],
]

export const networkOf = (number: string): Network => networks.find(([, pattern]) => pattern.test(number))?.[0] ?? 'visa'

/**
 * How the issuer treats this card. Only the directory server knows whether the card is in a range.
 */
export function outcomeOf(number: string): Outcome {
  const special = Object.values(specialPrefixes).some((prefix) => number.startsWith(prefix)) && number.length === 16
  return special ? outcomes[Number(number[14])]! : 'frictionless'
}

/** The result of a card with 1.0.2; undefined if its issuer does not take part. */
export function legacyOutcomeOf(number: string): LegacyOutcome | undefined {
  const takesPart =
    Object.values(specialPrefixes).some((prefix) => number.startsWith(prefix + legacyDigit)) && number.length === 16
  return takesPart ? legacyOutcomes[Number(number[14])] : undefined
}

const issuerPaysEci: Record<'Y' | 'A' | 'none', readonly [mastercard: string, others: string]> = {
  Y: ['02', '05'],
  A: ['01', '06'],
  none: ['00', '07'],
}

/** The electronic commerce indicator of a status: Mastercard has its own list. */
export function eciOf(number: string, status: string): string {
  const [mastercard, others] = issuerPaysEci[status === 'Y' || status === 'A' ? status : 'none']
  if (networkOf(number) !== 'mastercard') return others
  // Data sharing or an exemption, without an authentication.
  return status === 'I' ? '06' : mastercard
}

/**
 * All ranges at the start. `acsBase` is where browsers find the ACS, without a slash at the end.
 */
export function rangesAtStart(acsBase: string): CardRange[] {
  const range = (startRange: string, endRange: string, newest: string, method: Method): CardRange => ({
    startRange,
    endRange,
    acsStartProtocolVersion: '2.1.0',
    acsEndProtocolVersion: newest,
    ...(method === 'none' ? {} : { threeDSMethodURL: `${acsBase}/method/${method}` }),
  })
  const special = Object.values(specialPrefixes).flatMap((prefix) =>
    Object.entries(newestOf).flatMap(([version, newest]) =>
      methods.map((method, digit) => range(`${prefix}${version}${digit}00`, `${prefix}${version}${digit}99`, newest, method)),
    ),
  )
  return [...special, ...general.map(([start, end]) => range(start, end, '2.2.0', 'works'))]
}

/**
 * Whether a range has this number: digits, the shorter filled up to 19, never as numbers, which are
 * not exact that far.
 */
export const isWithin = (number: string, { startRange, endRange }: Pick<CardRange, 'startRange' | 'endRange'>): boolean =>
  number.padEnd(19, '0') >= startRange.padEnd(19, '0') && number.padEnd(19, '0') <= endRange.padEnd(19, '9')

export interface TestCard {
  number: string
  scenario: string
  version: string
  network: Network
  method: Method
  password?: string
  note: string
}

/** The one-time password of every cardholder. */
export const password = 'hint'

// oxfmt-ignore
const scenarios: readonly { scenario: string; method: Method; outcome: Outcome; since?: string; note: string }[] = [
  { scenario: 'frictionless',           method: 'works',  outcome: 'frictionless',     note: 'authenticated without a challenge' },
  { scenario: 'frictionless-attempt',   method: 'works',  outcome: 'attempt',          note: 'only attempted, with proof of it' },
  { scenario: 'frictionless-denied',    method: 'works',  outcome: 'denied',           note: 'not authenticated' },
  { scenario: 'frictionless-rejected',  method: 'works',  outcome: 'rejected',         note: 'rejected by the issuer, with a text for the cardholder' },
  { scenario: 'unavailable',            method: 'works',  outcome: 'unavailable',      note: 'the issuer cannot say' },
  { scenario: 'informational',          method: 'works',  outcome: 'informational',    note: 'I where challenge indicator 05, 06 or 07 asks for it, otherwise authenticated', since: '2.2.0' },
  { scenario: 'challenge',              method: 'works',  outcome: 'challenge',        note: 'passed with the password; three wrong ones fail' },
  { scenario: 'challenge-failed',       method: 'works',  outcome: 'challenge-failed', note: 'fails even with the right password' },
  { scenario: 'no-method-frictionless', method: 'none',   outcome: 'frictionless',     note: 'the range has no method URL' },
  { scenario: 'no-method-challenge',    method: 'none',   outcome: 'challenge',        note: 'the range has no method URL' },
  { scenario: 'slow-method',            method: 'slow',   outcome: 'frictionless',     note: 'the method page takes 12 s' },
  { scenario: 'silent-method',          method: 'silent', outcome: 'frictionless',     note: 'the method page never answers' },
  { scenario: 'broken-method',          method: 'error',  outcome: 'frictionless',     note: 'the method page answers HTTP 500' },
  { scenario: 'challenge-no-result',    method: 'works',  outcome: 'no-result',        note: 'the browser comes back with Y, but the result (RReq) never comes' },
  { scenario: 'error',                  method: 'works',  outcome: 'error',            note: 'the issuer answers with an Erro message' },
]

// oxfmt-ignore
const legacyScenarios: readonly { scenario: string; outcome: LegacyOutcome; asks?: true; note: string }[] = [
  { scenario: '1.0.2',             outcome: 'password',    asks: true, note: 'authenticated with the password; three wrong ones fail' },
  { scenario: '1.0.2-attempt',     outcome: 'attempt',                 note: 'only attempted, with proof of it' },
  { scenario: '1.0.2-failed',      outcome: 'denied',                  note: 'not authenticated' },
  { scenario: '1.0.2-unavailable', outcome: 'unavailable', asks: true, note: 'the issuer cannot say, after the right password' },
]

/** The cards by name, for people and for tests. */
export function testCards(): TestCard[] {
  return (['visa', 'mastercard'] as const).flatMap((network) => {
    const card = (versionDigit: string, method: Method, outcome: Outcome): string =>
      withCheckDigit(`${specialPrefixes[network]}${versionDigit}${methods.indexOf(method)}${outcomes.indexOf(outcome)}`)
    const enrolled = Object.entries(newestOf).flatMap(([digit, version]) =>
      scenarios
        .filter(({ since }) => since === undefined || since <= version)
        .map(({ scenario, method, outcome, note }) => ({
          number: card(digit, method, outcome),
          scenario,
          version,
          network,
          method,
          ...(outcome === 'challenge' || outcome === 'challenge-failed' || outcome === 'no-result' ? { password } : {}),
          note,
        })),
    )
    const legacy = legacyScenarios.map(({ scenario, outcome, asks, note }): TestCard => {
      const number = withCheckDigit(`${specialPrefixes[network]}${legacyDigit}0${legacyOutcomes.indexOf(outcome)}`)
      return { number, scenario, version: '1.0.2', network, method: 'none', ...(asks ? { password } : {}), note }
    })
    const note = 'in no range: 3-D Secure is not possible'
    const stranger: TestCard = {
      number: card('0', 'none', 'frictionless'),
      scenario: 'not-enrolled',
      version: '2.2.0',
      network,
      method: 'none',
      note,
    }
    return [...enrolled, ...legacy, stranger]
  })
}

const withCheckDigit = (digits: string): string => {
  const whole = Array.from('0123456789', (last) => digits + last).find(checkDigitHolds)
  if (whole === undefined) throw new Error(`${digits} has no check digit`)
  return whole
}
