/** How results look: tables for people, JSON for machines. */
import { printable, withCommands, type Block, type Column, type Finding } from '../entity/show.ts'

type Colour = 'bold' | 'dim' | 'green' | 'yellow' | 'red'
const codes: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, green: 32, yellow: 33, red: 31 }

const paint = (text: string, colour: Colour | undefined): string =>
  colour === undefined ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`

/** Rows under headings; the last column is not limited in width. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = columns.map((column) =>
    alignPoints(
      column,
      rows.map((row) => printable(column.of(row))),
    ),
  )
  const widths = columns.map((column, i) => Math.max(length(column.title), ...cells[i]!.map(length)))
  const line = (texts: string[], colours: (Colour | undefined)[]) =>
    texts
      .map((text, i) => {
        const pad = ' '.repeat(widths[i]! - length(text))
        const right = columns[i]!.align !== undefined
        const last = i === texts.length - 1
        return right ? pad + paint(text, colours[i]) : paint(text, colours[i]) + (last ? '' : pad)
      })
      .join('  ')
      .trimEnd()
  const head = line(
    columns.map((c) => c.title),
    columns.map(() => 'bold'),
  )
  const body = rows.map((row, r) =>
    line(
      cells.map((column) => column[r]!),
      columns.map((column) => colourOf(column, row)),
    ),
  )
  return [head, ...body].join('\n')
}

function alignPoints<Row>(column: Column<Row>, cells: string[]): string[] {
  if (column.align !== 'point') return cells
  const behind = Math.max(0, ...cells.map((cell) => decimals(cell)))
  return cells.map((cell) => cell + ' '.repeat(behind - decimals(cell)))
}

/** The number of characters from the decimal point on; zero without one. */
const decimals = (cell: string) => (cell.includes('.') ? cell.length - cell.indexOf('.') : 0)

/** In code points, to each of which most terminals give one column. */
const length = (text: string) => Array.from(text).length

/** Names and values, one pair per line. */
export function facts(
  pairs: readonly (readonly [name: string, value: string | undefined, colour?: Colour | 'status' | undefined])[],
): string {
  const rows = pairs.filter(([, value]) => value !== undefined)
  const width = Math.max(0, ...rows.map(([name]) => length(name)))
  return rows
    .map(([name, value, colour]) => {
      const shown = paint(printable(value!), colour === 'status' ? statusColour(value!) : colour)
      return `  ${paint(name.padEnd(width), 'dim')}  ${shown}`
    })
    .join('\n')
}

const statusColour = (status: string): Colour | undefined => {
  if (/^(approved|delivered|ok|on)$/.test(status)) return 'green'
  if (/^(declined|filtered|processing|due|warning)$/.test(status)) return 'yellow'
  return /^(error|unknown|given-up|problem|off)|parked\)?$/.test(status) ? 'red' : undefined
}

/**
 * For a machine: field names unchanged, times as ISO 8601, 64-bit numbers as text if JSON cannot
 * hold them exactly.
 */
export const jsonText = (value: object): string =>
  JSON.stringify(
    value,
    (_, v: unknown) => (typeof v !== 'bigint' ? v : v <= Number.MAX_SAFE_INTEGER ? Number(v) : v.toString()),
    2,
  )

function findingText({ is, what, says, advice }: Finding): string {
  const first = `${paint(is.padEnd(7), statusColour(is))}  ${what.padEnd(12)}  ${printable(says)}`
  return advice === undefined ? first : `${first}\n${' '.repeat(23)}→ ${printable(withCommands(advice))}`
}

/** A part of a result in a terminal. */
export function blockText(block: Block): string {
  if (typeof block === 'string') return block
  if ('says' in block) return findingText(block)
  if ('facts' in block) return facts(block.facts)
  if ('command' in block) return `${block.text}: npx tollgate ${block.command}`
  return table(block.columns, block.rows)
}

function colourOf<Row>({ is, of, went }: Column<Row>, row: Row): Colour | undefined {
  if (is === 'status') return statusColour(of(row))
  const how = went?.(row)
  return how && (how === 'well' ? 'green' : 'red')
}
