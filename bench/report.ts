import { cpus, loadavg, totalmem } from 'node:os'
import type { Bench, Row, Target } from './bench.ts'
import type { BodyRow } from './bodies.ts'
import type { Books } from './books.ts'
import { booksAgree } from './books.ts'
import type { Measured } from './measure.ts'
import type { Comparison } from './yardstick.ts'

/** Everything below gives text for people; what programs read is the JSON lines. */

interface Column {
  head: readonly [string, string]
  cell: (measured: Measured) => string
}

const figure = (value: number | null | undefined, digits = 0): string =>
  value === null || value === undefined ? '–' : value.toFixed(digits)
const percent = (share: number | undefined): string => (share === undefined ? '–' : `${(share * 100).toFixed(0)} %`)
const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((all, count) => all + count, 0)

// oxfmt-ignore
const columns: readonly Column[] = [
  { head: ['in',      'flight'],     cell: ({ row }) => String(row.in_flight) },
  { head: ['',        'sales/s'],    cell: ({ row }) => figure(row.sales_per_s) },
  { head: ['accept',  'p50 ms'],     cell: ({ row }) => figure(row.accept_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: ({ row }) => figure(row.accept_p99_ms, 1) },
  { head: ['final',   'p50 ms'],     cell: ({ row }) => figure(row.final_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: ({ row }) => figure(row.final_p99_ms, 1) },
  { head: ['mean',    'batch'],      cell: ({ row }) => figure(row.mean_batch, 1) },
  { head: ['gateway', 'us/sale'],    cell: ({ row }) => figure(row.gateway_cpu_us_per_sale) },
  { head: ['gateway', 'MB'],         cell: ({ row }) => figure(row.gateway_rss_mb) },
  { head: ['polls',   'per sale'],   cell: ({ report }) => figure(report.measured === 0 ? null : report.polls / report.measured, 1) },
  { head: ['',        'failed'],     cell: ({ report }) => String(sum(report.failures)) },
  { head: ['machine', 'busy'],       cell: ({ busy }) => percent(busy.machine) },
  { head: ['of it',   'gateway'],    cell: ({ busy }) => percent(busy.gateway) },
  { head: ['',        'load'],       cell: ({ busy }) => percent(busy.load) },
]

const width = 9
const line = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(width)).join('')

export const tableHead = (): string => `${line(columns.map(({ head }) => head[0]))}\n${line(columns.map(({ head }) => head[1]))}`

export const tableRow = (measured: Measured): string => line(columns.map(({ cell }) => cell(measured)))

const bodyLine = (route: string, what: string, ...figures: readonly string[]): string =>
  `${route.padEnd(21)}${what.padEnd(41)}${line(figures)}`

export const bodyHead = (): string =>
  `${bodyLine('', '', '', '', 'answer', 'longest')}\n${bodyLine('route', 'body', 'bytes', 'answer', 'p50 ms', 'turn ms')}`

export const bodyRow = ({ route, what, bytes, answer, answer_p50_ms, longest_turn_ms }: BodyRow): string =>
  bodyLine(route, what, String(bytes), String(answer), figure(answer_p50_ms, 1), figure(longest_turn_ms, 1))

export const machine = (): string =>
  `${cpus().length} processors (${cpus()[0]?.model.trim() ?? 'unknown'}), ${(totalmem() / 1e9).toFixed(0)} GB, ` +
  `Node ${process.version}, load ${loadavg()[0]!.toFixed(1)} before the start`

export function targetTable(bench: Bench, rows: readonly Row[]): string {
  const lines = bench.targets.map((target) => {
    const { means, inFlight, wanted, bound, unit } = target
    const value = rows.find((row) => row.in_flight === inFlight)?.[target.figure]
    const seen = value === undefined || value === null ? '–' : String(value)
    const [load, goal] = [`${means}, ${inFlight} in flight`, `${wanted} ${bound} ${unit}`]
    return `  ${load.padEnd(30)}${goal.padEnd(32)}${seen.padStart(8)}   ${verdict(target, value)}`
  })
  return ['Targets on a 2-core machine that carries everything (shown, never insisted on)', ...lines].join('\n')
}

function verdict({ wanted, bound }: Target, value: number | null | undefined): string {
  if (value === undefined || value === null) return 'not measured'
  return (wanted === 'at least' ? value >= bound : value < bound) ? 'met' : 'not met'
}

export function comparisonText({ inFlight, batched, oneByOne, ratio }: Comparison): string {
  const rates = (all: readonly number[]) => all.map((rate) => figure(rate).padStart(7)).join('')
  return [
    `What batches and the hand-over in memory are worth: ${inFlight} in flight, rounds by turns, sales/s`,
    `  as it is                                             ${rates(batched)}`,
    `  one change a commit, each step a row that is swept   ${rates(oneByOne)}`,
    `  ratio of the medians                                 ${figure(ratio, 1).padStart(7)}`,
  ].join('\n')
}

export function booksText(which: string, books: Books): string {
  const { merchant, acquirer, database, unknown, callbacks } = books
  const agree = booksAgree(books) ? 'the books agree' : 'THE BOOKS DO NOT AGREE'
  const leftOut = unknown === 0 ? '' : ` (${unknown} unknown left out)`
  return (
    `Approved, ${which}: merchant ${merchant}, acquirer ${acquirer}, database ${database}${leftOut}: ${agree}. ` +
    `Callbacks: ${callbacks.delivered} delivered, ${callbacks.owed} owed.`
  )
}

export function failuresText(failures: Readonly<Record<string, number>>): string {
  const lines = Object.entries(failures)
    .sort(([, a], [, b]) => b - a)
    .map(([why, count]) => `  ${String(count).padStart(7)}  ${why}`)
  return [`${sum(failures)} sales did not end approved:`, ...lines].join('\n')
}
