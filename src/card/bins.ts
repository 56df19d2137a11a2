import { parse } from 'csv-parse/sync'
import countries from 'i18n-iso-countries/index.js'

/**
 * The issuer of the numbers with these prefixes: prefixes of eleven digits, shorter ones padded.
 */
export interface BinRange {
  first: number
  last: number
  /** ISO 3166-1 alpha-2. */
  country?: string
  bank?: string
}

export type Issuer = Pick<BinRange, 'country' | 'bank'>

const digits = 11

/** Looks up by the first digits of a card number. */
export function binTableOf(ranges: readonly BinRange[]): (pan: string) => Issuer | undefined {
  const sorted = ranges.toSorted((a, b) => a.first - b.first)
  return (pan) => {
    const prefix = Number(pan.slice(0, digits).padEnd(digits, '0'))
    let low = 0
    let high = sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (sorted[middle]!.first <= prefix) low = middle + 1
      else high = middle
    }
    const range = sorted[low - 1]
    return range && prefix <= range.last ? range : undefined
  }
}

/** The facts that the table adds to a card's shown facts. */
export const issuerFacts = (issuer: Issuer | undefined): Issuer => ({
  ...(issuer?.country === undefined ? {} : { country: issuer.country }),
  ...(issuer?.bank === undefined ? {} : { bank: issuer.bank }),
})

const mostBankCharacters = 100

/**
 * Reads a table from CSV with a heading: `first` and `last` (4 to 11 digits; `last` is optional),
 * `country` (two or three letters of ISO 3166-1) and `bank`. Other columns are ignored. A text is
 * the error message, with its line. Overlapping ranges are refused, because it would be unclear
 * which one applies.
 */
export function readBins(csv: string): BinRange[] | string {
  let rows: { record: Record<string, string>; info: { lines: number } }[]
  try {
    // The types do not cover the records that `info` returns.
    rows = parse(csv, { columns: heading, bom: true, trim: true, skip_empty_lines: true, info: true }) as unknown as typeof rows
  } catch (error) {
    return `it is not CSV: ${error instanceof Error ? error.message : String(error)}`
  }
  if (rows.length === 0) return 'it has no ranges'
  const ranges: BinRange[] = []
  for (const { record, info } of rows) {
    const range = rangeOf(record)
    if (typeof range === 'string') return `line ${info.lines}: ${range}`
    ranges.push(range)
  }
  ranges.sort((a, b) => a.first - b.first)
  const overlap = ranges.findIndex((range, i) => i > 0 && range.first <= ranges[i - 1]!.last)
  return overlap < 0 ? ranges : `two ranges have ${ranges[overlap]!.first}: they overlap`
}

const heading = (names: string[]): string[] => names.map((name) => name.toLowerCase())

function rangeOf({ first = '', last = first, country = '', bank = '' }: Record<string, string>): BinRange | string {
  const end = last === '' ? first : last
  for (const prefix of [first, end])
    if (!/^[1-9][0-9]{3,10}$/.test(prefix)) return `${JSON.stringify(prefix)} is not the first 4 to 11 digits of a card number`
  const code = country === '' ? undefined : alphaTwo(country)
  if (country !== '' && code === undefined) return `${JSON.stringify(country)} is not a country of ISO 3166-1`
  if (bank.length > mostBankCharacters) return `the name of a bank is longer than ${mostBankCharacters} characters`
  const range = { first: Number(first.padEnd(digits, '0')), last: Number(end.padEnd(digits, '9')) }
  if (range.last < range.first) return `${end} is before ${first}`
  return { ...range, ...issuerFacts({ ...(code && { country: code }), ...(bank && { bank }) }) }
}

const alphaTwo = (text: string): string | undefined => {
  const code = text.toUpperCase()
  if (code.length === 3) return countries.alpha3ToAlpha2(code)
  return countries.isValid(code) && code.length === 2 ? code : undefined
}
