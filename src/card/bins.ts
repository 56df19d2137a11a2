import countries from 'i18n-iso-countries/index.js'
import { defined } from '../base/defined.ts'
import { readCsv } from '../base/csv.ts'

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
export const issuerFacts = (issuer: Issuer | undefined): Issuer => defined({ country: issuer?.country, bank: issuer?.bank })

const mostBankCharacters = 100

/** A range as the file has it, and in which line. */
interface Line extends BinRange {
  line: number
}

/**
 * Reads a table from CSV with a heading: `first` and `last` (4 to 11 digits; `last` is optional),
 * `country` (two or three letters of ISO 3166-1) and `bank`. Other columns are ignored. A text is
 * the error message, with its line. Within nested ranges the narrowest counts, so the result may
 * have more ranges than the file; it has no overlaps. Ranges that cross each other are refused, and
 * so are equal ones that differ, because it would be unclear which one applies.
 */
export function readBins(csv: string): BinRange[] | string {
  const rows = readCsv(csv, ['first'])
  if (typeof rows === 'string') return rows
  if (rows.length === 0) return 'it has no ranges'
  const lines: Line[] = []
  for (const { record, line } of rows) {
    const range = rangeOf(record)
    if (typeof range === 'string') return `line ${line}: ${range}`
    lines.push({ ...range, line })
  }
  return flattened(lines.toSorted((a, b) => a.first - b.first || b.last - a.last || a.line - b.line))
}

/** `lines` by their beginning, the wider one first. */
function flattened(lines: readonly Line[]): BinRange[] | string {
  const ranges: BinRange[] = []
  /** The ranges around the present place, the narrowest last. */
  const around: Line[] = []
  let from = 0
  const cover = ({ country, bank }: BinRange, last: number) => {
    if (from <= last) ranges.push({ first: from, last, ...issuerFacts({ ...(country && { country }), ...(bank && { bank }) }) })
    from = last + 1
  }
  const leaveUpTo = (next: number) => {
    while (around.length > 0 && around.at(-1)!.last < next) {
      const left = around.pop()!
      cover(left, left.last)
    }
  }
  for (const one of lines) {
    leaveUpTo(one.first)
    const outer = around.at(-1)
    if (outer && one.last > outer.last) return crossing(outer, one, 'overlap, and neither contains the other')
    if (outer?.first === one.first && outer.last === one.last) {
      if (outer.country !== one.country || outer.bank !== one.bank)
        return crossing(outer, one, 'are equal, with different contents')
      continue
    }
    if (outer) cover(outer, one.first - 1)
    from = one.first
    around.push(one)
  }
  leaveUpTo(Infinity)
  return ranges
}

const crossing = (one: Line, other: Line, how: string): string =>
  `line ${Math.max(one.line, other.line)}: its range and that of line ${Math.min(one.line, other.line)} ${how}`

function rangeOf({ first = '', last = first, country = '', bank = '' }: Partial<Record<string, string>>): BinRange | string {
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
