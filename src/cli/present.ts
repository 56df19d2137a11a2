/** How results look in a terminal. */
import { type Block, type Column, type Fact, type Finding, printable, type Tone, toneOf, withCommands } from '../entity/show.ts'

type Colour = 'bold' | 'dim' | 'green' | 'yellow' | 'red'
const codes: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, green: 32, yellow: 33, red: 31 }

const paint = (text: string, colour: Colour | undefined): string =>
  colour === undefined ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`

/** Rows under headings; the last column is not limited in width. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const painted = columns.map((column) => paintedColumn(column, rows))
  const line = (at: number) => painted.map((cells) => cells[at]!).join('  ')
  return ['headings', ...rows].map((_, at) => line(at).trimEnd()).join('\n')
}

/** The heading and the cells of a column, all of one width. */
function paintedColumn<Row>(column: Column<Row>, rows: readonly Row[]): string[] {
  const cells = [column.title, ...cellsOf(column, rows)]
  const width = Math.max(...cells.map(length))
  return cells.map((cell, at) => {
    const pad = ' '.repeat(width - length(cell))
    const shown = paint(cell, at === 0 ? 'bold' : colourOf(column, rows[at - 1]!))
    return column.align === undefined ? shown + pad : pad + shown
  })
}

function cellsOf<Row>({ of, align }: Column<Row>, rows: readonly Row[]): string[] {
  const cells = rows.map((row) => printable(of(row)))
  if (align !== 'point') return cells
  const behind = Math.max(0, ...cells.map(decimals))
  return cells.map((cell) => cell + ' '.repeat(behind - decimals(cell)))
}

/** The number of characters from the decimal point on; zero without one. */
const decimals = (cell: string) => (cell.includes('.') ? cell.length - cell.indexOf('.') : 0)

/** In code points, to each of which most terminals give one column. */
const length = (text: string) => Array.from(text).length

/** Names and values, one pair per line. */
function factsText(facts: readonly Fact[]): string {
  const shown = facts.filter(([, value]) => value !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => length(name)))
  const line = ([name, value = '', is]: Fact) =>
    `  ${paint(name.padEnd(width), 'dim')}  ${paint(printable(value), is && statusColour(value))}`
  return shown.map(line).join('\n')
}

const colours: Readonly<Record<Tone, Colour>> = { good: 'green', wait: 'yellow', bad: 'red' }

const statusColour = (status: string): Colour | undefined => {
  const tone = toneOf(status)
  return tone && colours[tone]
}

function findingText({ is, what, says, advice }: Finding): string {
  const first = `${paint(is.padEnd(7), statusColour(is))}  ${printable(what).padEnd(12)}  ${printable(says)}`
  return advice === undefined ? first : `${first}\n${' '.repeat(23)}→ ${printable(withCommands(advice))}`
}

/** A part of a result in a terminal. */
export function blockText(block: Block): string {
  if (typeof block === 'string') return block.split('\n').map(printable).join('\n')
  if ('says' in block) return findingText(block)
  if ('facts' in block) return factsText(block.facts)
  if ('after' in block) return `There are more: add --after ${block.after}`
  if ('code' in block) return block.code.split('\n').map(printable).join('\n')
  if ('command' in block) return `${block.text}: npx tollgate ${block.command}`
  return table(block.columns, block.rows)
}

function colourOf<Row>({ is, of, went }: Column<Row>, row: Row): Colour | undefined {
  if (is === 'status') return statusColour(of(row))
  const how = went?.(row)
  return how && (how === 'well' ? 'green' : 'red')
}
