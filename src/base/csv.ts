/** CSV: of strangers, as spreadsheets and banks save it; and ours, as RFC 4180 writes it. */
import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'

/** The text of a file by its byte order mark; without one UTF-8, or else Windows-1252. */
export function textOf(bytes: Buffer): string {
  const [first = 0, second = 0] = bytes
  const marked = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined
  return new TextDecoder(marked ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes)
}

/** `line`: the last line of the row in its file. */
export interface CsvRow<Name extends string> {
  record: Partial<Record<Name, string>>
  line: number
}

/**
 * Reads CSV with a heading, in any order and case of its names, divided by comma, semicolon or tab;
 * other columns are ignored. A text is the error message, with its line.
 */
export function readCsv<Name extends string>(csv: string, needed: readonly Name[]): CsvRow<Name>[] | string {
  let names: string[] = []
  const columns = (heading: string[]) => (names = heading.map((name) => name.toLowerCase()))
  try {
    const heading = /[^\r\n]*/.exec(csv.trimStart())![0]
    const delimiter = [';', '\t'].find((one) => heading.split(one).length > heading.split(',').length) ?? ','
    const options = { columns, delimiter, bom: true, trim: true, skip_empty_lines: true, info: true } as const
    // The types do not cover the records that `info` returns.
    const rows = parse(csv, options) as unknown as { record: CsvRow<Name>['record']; info: { lines: number } }[]
    const missing = names.length === 0 ? undefined : needed.find((name) => !names.includes(name))
    if (missing !== undefined) return `line 1: the column ${missing} is missing; there are ${names.join(', ')}`
    const twice = names.find((name, i) => name !== '' && names.indexOf(name) !== i)
    if (twice !== undefined) return `line 1: the column ${twice} appears twice`
    return rows.map(({ record, info }) => ({ record, line: info.lines }))
  } catch (error) {
    return `it is not CSV: ${error instanceof Error ? error.message : String(error)}`
  }
}

/**
 * A line of CSV. A spreadsheet would calculate what begins like a formula: an apostrophe in front
 * makes it a text.
 */
export const csvLine = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`

function cellOf(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  // Some spreadsheets divide by semicolons and tabs, whatever the others do.
  return /[",;\t\r\n]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
