import currencyCodes from 'currency-codes'

/** A currency of ISO 4217. `exponent` is the number of its decimals: USD 2, JPY 0, KWD 3. */
export interface Currency {
  code: string
  numeric: string
  exponent: number
}

const byCode = new Map<string, Currency>(
  currencyCodes.data.map((c) => [c.code, { code: c.code, numeric: c.number, exponent: c.digits }] as const),
)
const byNumeric = new Map<string, Currency>([...byCode.values()].map((c) => [c.numeric, c]))

/** The currency with this upper-case three-letter code, if ISO 4217 has it. */
export const currencyOf = (code: string): Currency | undefined => byCode.get(code)

/** The currency of an accepted payment, which must be in ISO 4217; throws otherwise. */
export function knownCurrency(code: string): Currency {
  const currency = byCode.get(code)
  if (!currency) throw new Error(`${code} is no currency of ISO 4217`)
  return currency
}

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
