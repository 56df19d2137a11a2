import { cpus, loadavg, totalmem } from 'node:os'
import type { ArrivalRow, Bench, Row, Target } from '../bench.ts'
import type { BodyRow } from '../benches/bodies.ts'
import type { Books } from './books.ts'
import { booksAgree } from './books.ts'
import type { ConnectsRow } from '../benches/connects.ts'
import type { LoadReport } from '../load/exchange.ts'
import type { Comparison } from '../benches/one-by-one.ts'
import { figure, headOf, line, percent, sum, tableOf, type Column } from './table.ts'
import type { Ratios, Yardsticks } from '../benches/yardsticks.ts'

/** Everything below gives text for people; what programs read is the JSON lines. */

// oxfmt-ignore
const columns: readonly Column<{ row: Row; report: LoadReport }>[] = [
  { head: ['in',      'flight'],     cell: ({ row }) => String(row.in_flight) },
  { head: ['',        'sales/s'],    cell: ({ row }) => figure(row.sales_per_s) },
  { head: ['accept',  'p50 ms'],     cell: ({ row }) => figure(row.accept_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: ({ row }) => figure(row.accept_p99_ms, 1) },
  { head: ['final',   'p50 ms'],     cell: ({ row }) => figure(row.final_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: ({ row }) => figure(row.final_p99_ms, 1) },
  { head: ['mean',    'batch'],      cell: ({ row }) => figure(row.mean_batch, 1) },
  { head: ['polls',   'per sale'],   cell: ({ row }) => figure(row.polls_per_sale, 1) },
  { head: ['called',  'per sale'],   cell: ({ row }) => figure(row.callbacks_per_sale, 2) },
  { head: ['turn',    'p99 ms'],     cell: ({ row }) => figure(row.loop_turn_p99_ms, 1) },
  { head: ['timer',   'late p99'],   cell: ({ row }) => figure(row.timers_late_p99_ms, 1) },
  { head: ['memory',  'most MB'],    cell: ({ row }) => figure(row.gateway_rss_mb) },
  { head: ['',        'end MB'],     cell: ({ row }) => figure(row.gateway_rss_end_mb) },
  { head: ['',        'failed'],     cell: ({ report }) => String(sum(report.failures)) },
]

// oxfmt-ignore
const costColumns: readonly Column<Row>[] = [
  { head: ['in',      'flight'],     cell: (row) => String(row.in_flight) },
  { head: ['gate-',   'way'],        cell: (row) => figure(row.gateway_cpu_us_per_sale) },
  { head: ['of it',   'GC'],         cell: (row) => figure(row.gateway_gc_us_per_sale) },
  { head: ['Postgres', 'backends'],  cell: (row) => figure(row.postgres_backends_cpu_us_per_sale) },
  { head: ['auto-',   'vacuum'],     cell: (row) => figure(row.postgres_autovacuum_cpu_us_per_sale) },
  { head: ['its',     'others'],     cell: (row) => figure(row.postgres_background_cpu_us_per_sale) },
  { head: ['',        'acquirer'],   cell: (row) => figure(row.acquirer_cpu_us_per_sale) },
  { head: ['merchant', 'server'],    cell: (row) => figure(row.merchant_server_cpu_us_per_sale) },
  { head: ['direct.', 'server'],     cell: (row) => figure(row.directory_server_cpu_us_per_sale) },
  { head: ['',        'issuer'],     cell: (row) => figure(row.issuer_cpu_us_per_sale) },
  { head: ['',        'load'],       cell: (row) => figure(row.load_cpu_us_per_sale) },
  { head: ['',        'bench'],      cell: (row) => figure(row.bench_cpu_us_per_sale) },
  { head: ['the',     'rest'],       cell: (row) => figure(row.other_cpu_us_per_sale) },
  { head: ['machine', 'busy'],       cell: (row) => percent(row.machine_busy_percent) },
  { head: ['',        'stolen'],     cell: (row) => percent(row.machine_stolen_percent) },
  { head: ['WAL',     'bytes'],      cell: (row) => figure(row.wal_bytes_per_sale) },
  { head: ['full',    'pages'],   cell: (row) => figure(row.wal_full_page_bytes_per_sale) },
]

// oxfmt-ignore
const ratioColumns: readonly Column<Ratios>[] = [
  { head: ['in',      'flight'],     cell: (one) => String(one.in_flight) },
  { head: ['sales by', 'payments'],  cell: (one) => figure(one.sales_by_payments, 2) },
  { head: ['gateway', 'posts'],      cell: (one) => figure(one.gateway_cpu_in_posts, 1) },
  { head: ['',        'alone'],      cell: (one) => figure(one.gateway_cpu_in_posts_alone, 1) },
  { head: ['Postgres', 'posts'],     cell: (one) => figure(one.postgres_cpu_in_posts, 1) },
  { head: ['',        'alone'],      cell: (one) => figure(one.postgres_cpu_in_posts_alone, 1) },
  { head: ['accept',  'fsyncs'],     cell: (one) => figure(one.accept_p50_in_fsyncs, 1) },
]

// oxfmt-ignore
const arrivalColumns: readonly Column<ArrivalRow>[] = [
  { head: ['arrive',  'a second'],   cell: (row) => String(row.arrivals_per_s) },
  { head: ['',        'sales/s'],    cell: (row) => figure(row.sales_per_s) },
  { head: ['accept',  'p50 ms'],     cell: (row) => figure(row.accept_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: (row) => figure(row.accept_p99_ms, 1) },
  { head: ['',        'p99.9 ms'],   cell: (row) => figure(row.accept_p999_ms, 1) },
  { head: ['final',   'p50 ms'],     cell: (row) => figure(row.final_p50_ms, 1) },
  { head: ['',        'p99 ms'],     cell: (row) => figure(row.final_p99_ms, 1) },
  { head: ['',        'p99.9 ms'],   cell: (row) => figure(row.final_p999_ms, 1) },
  { head: ['most in', 'flight'],     cell: (row) => String(row.most_in_flight) },
  { head: ['machine', 'busy'],       cell: (row) => percent(row.machine_busy_percent) },
]

export function arrivalsTable(row: ArrivalRow): string {
  const table = tableOf('Sales by a clock, latency from the moment at which each was to begin', arrivalColumns, [row])
  if (row.carried) return table
  return `${table}\nThe gateway cannot carry ${row.arrivals_per_s} sales/s: ended with ${row.most_in_flight} in flight.`
}

export const connectsText = ({ in_flight, connections, p50_ms, p99_ms, max_ms }: ConnectsRow): string =>
  `${connections} simultaneous new connections beside ${in_flight} in flight, to the reply to a status: ` +
  `p50 ${figure(p50_ms)} ms, p99 ${figure(p99_ms)} ms, the last ${figure(max_ms)} ms`

export const tableHead = (): string => headOf(columns)

export const tableRow = (row: Row, report: LoadReport): string => line(columns.map(({ cell }) => cell({ row, report })))

export const costTable = (rows: readonly Row[]): string => tableOf('Processor time a sale, us; bytes a sale', costColumns, rows)

export const ratiosTable = (rows: readonly Ratios[]): string =>
  tableOf(
    'In yardsticks: sales/s by payments/s, processor time of a sale in bare posts (32 connections; alone), accept p50 in commits',
    ratioColumns,
    rows,
  )

export function yardsticksText(before: Yardsticks, after: Yardsticks): string {
  const by = before.payments_by === 'pgbench' ? 'pgbench' : 'pg, since there is no pgbench on the PATH'
  const values = (one: (yardsticks: Yardsticks) => string) => one(before).padStart(10) + one(after).padStart(10)
  return [
    `Yardsticks                                      ${'before'.padStart(10)}${'after'.padStart(10)}`,
    `  bare posts a second, 32 connections           ${values((one) => figure(one.bare_post_per_s))}`,
    `  a bare post, server, us                       ${values((one) => figure(one.bare_post_us, 1))}`,
    `  a bare post, load process, us                 ${values((one) => figure(one.bare_post_load_us, 1))}`,
    `  a bare post alone, server, us                 ${values((one) => figure(one.bare_post_alone_us, 1))}`,
    `  payments a second, 32 clients                 ${values((one) => figure(one.payments_per_s))}   (${by})`,
    `  commit of one row, p50 ms                     ${values((one) => figure(one.fsync_p50_ms, 2))}`,
  ].join('\n')
}

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
