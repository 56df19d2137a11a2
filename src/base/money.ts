import currencyCodes from 'currency-codes'

/** A currency of ISO 4217. `exponent` is the number of its decimals: USD 2, JPY 0, KWD 3. */
export interface Currency {
  code: string
  numeric: string
  exponent: number
}

/** Newer than the library's list of 2024-06-25. XCG took the number of ANG. */
const added = Object.entries({ XAD: '396', XCG: '532' }).map(([code, numeric]) => ({ code, numeric, exponent: 2 }))
/** Withdrawn currencies: stored orders in them are shown and returned, new ones refused. */
const ended: ReadonlySet<string> = new Set(['ANG', 'BGN', 'CUC'])
const known = currencyCodes.data.map((c): Currency => ({ code: c.code, numeric: c.number, exponent: c.digits }))
const byCode = new Map([...known, ...added].map((c) => [c.code, c] as const))
const byNumeric = new Map<string, Currency>([...byCode.values()].map((c) => [c.numeric, c]))

/** The currency with this upper-case three-letter code, if ISO 4217 has it or had it lately. */
export const currencyOf = (code: string): Currency | undefined => byCode.get(code)

/** The same for new payments, without withdrawn currencies. */
export const currentCurrencyOf = (code: string): Currency | undefined => (ended.has(code) ? undefined : byCode.get(code))

/** The currency of an accepted payment, which must be in ISO 4217; throws otherwise. */
export function knownCurrency(code: string): Currency {
  const currency = byCode.get(code)
  if (!currency) throw new Error(`${code} is no currency of ISO 4217`)
  return currency
}

/** Field 4 of ISO 8583 has twelve digits, whatever the currency. */
export const mostMinor = 999_999_999_999n

export const currencyOfNumeric = (numeric: string): Currency | undefined => byNumeric.get(numeric)

/**
 * (docs/choices.md, "Amounts".) Reads a decimal text such as "10.5" as a whole number of units of
 * 10^-exponent, by shifting digits, never through a float. Zeros beyond the exponent are allowed
 * (JPY "100.00"), other digits are not; undefined is a refusal.
 */
export function decimalToMinor(text: string, exponent: number): bigint | undefined {
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text)
  if (!match) return undefined
  const fraction = match[2] ?? ''
  if (/[^0]/.test(fraction.slice(exponent))) return undefined
  return BigInt(match[1]! + fraction.slice(0, exponent).padEnd(exponent, '0'))
}

/** Writes minor units with exactly the currency's decimals: 1050n of USD is "10.50". */
export function minorToDecimal(minor: bigint, exponent: number): string {
  const digits = minor.toString().padStart(exponent + 1, '0')
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}

/** The same for the code of a currency that ISO 4217 has. */
export const spellMinor = (minor: bigint, code: string): string => minorToDecimal(minor, knownCurrency(code).exponent)
