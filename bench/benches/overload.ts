import type { Figures, Row } from '../bench.ts'
import type { LoadReport } from '../load/exchange.ts'
import { rounded } from '../figures/figures.ts'
import { measured, warm } from '../figures/levels.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import { figure, percent, sum, tableOf, type Column } from '../figures/table.ts'
import type { ByName } from '../wishes.ts'

/**
 * Rates and latencies are of the flood, unless they are the peak's. The names are those of the JSON
 * line.
 */
interface OverloadRow extends Figures {
  bench: 'overload'
  /** Sales due by the clock, and those that the load process began, by how much late. */
  arrivals_per_s: number
  begun_per_s: number
  begun_late_p99_ms: number | null
  /** The rate of a closed loop right before, and how much of it was approved under the flood. */
  peak_sales_per_s: number
  goodput_percent: number | null
  refused_per_s: number
  refusal_p50_ms: number | null
  refusal_p99_ms: number | null
  /** Sales of the whole flood that were neither approved nor refused because of load. */
  failed: number
  /** Those of them whose end was not seen, and that were approved when asked for afterwards. */
  approved_unseen: number
  most_in_flight: number
  /** Sales that were due while as many as allowed were in flight, and did not begin. */
  left_out_per_s: number
  /** Processor time by the clock, of one processor; at the peak and under the flood. */
  peak_gateway_cpu_percent: number | null
  peak_load_cpu_percent: number | null
  gateway_cpu_percent: number | null
  load_cpu_percent: number | null
}

const peakInFlight = 256
const times = 3
/** More than a gateway holds. It accepts 5,000 connections, and each request has one. */
const mostInFlight = 4_500

export const overload: ByName = {
  name: 'overload',
  means: `sale by a clock at ${times} times what ${peakInFlight} in flight carry: what is approved, what is refused and how soon`,
  async run(wishes, output, started) {
    const { people, lines } = output
    const { run, carried } = await openRun(sale, wishes, output, started)
    people(`${overload.name}: ${overload.means}; ${wishes.measureMs / 1_000} s each\n`)
    await warm(run, carried, wishes.warmUp ?? sale.warmUp)
    const peak = (await measured(run, carried, { inFlight: peakInFlight })).figures
    lines({ bench: `${overload.name}-peak`, in_flight: peakInFlight, ...peak } satisfies Row)
    const arrivalsPerS = Math.max(1, Math.round(times * peak.sales_per_s))
    const { figures, report } = await measured(run, carried, { inFlight: mostInFlight, arrivalsPerS, flood: true })
    const row = rowOf(arrivalsPerS, peak, figures, report)
    lines(row)
    people(tableOf(`Sales at ${times} times the peak of ${figure(peak.sales_per_s)} a second`, columns, [row]))
    if (row.left_out_per_s > 0) people(`${figure(row.left_out_per_s)} sales/s did not begin: ${mostInFlight} were in flight.`)
    people('')
    return endedWell(overload.name, [carried], output)
  },
}

export function rowOf(arrivalsPerS: number, peak: Figures, figures: Figures, report: LoadReport): OverloadRow {
  const perSecond = (count: number) => rounded((count / report.windowMs) * 1_000, 1)
  const percentOf = (of: Figures, who: 'gateway' | 'load') => {
    const us = of[`${who}_cpu_us_per_sale`]
    return us === null ? null : rounded((us * of.sales_per_s) / 10_000, 1)
  }
  return {
    bench: 'overload',
    arrivals_per_s: arrivalsPerS,
    begun_per_s: perSecond(report.begun),
    begun_late_p99_ms: rounded(report.late.p99, 2),
    peak_sales_per_s: peak.sales_per_s,
    goodput_percent: rounded((figures.sales_per_s / peak.sales_per_s) * 100, 1),
    refused_per_s: perSecond(report.refused),
    refusal_p50_ms: rounded(report.refusal.p50, 2),
    refusal_p99_ms: rounded(report.refusal.p99, 2),
    failed: sum(report.failures),
    approved_unseen: report.approvedUnseen,
    most_in_flight: report.mostInFlight,
    left_out_per_s: perSecond(report.leftOut),
    peak_gateway_cpu_percent: percentOf(peak, 'gateway'),
    peak_load_cpu_percent: percentOf(peak, 'load'),
    gateway_cpu_percent: percentOf(figures, 'gateway'),
    load_cpu_percent: percentOf(figures, 'load'),
    ...figures,
  }
}

// oxfmt-ignore
const columns: readonly Column<OverloadRow>[] = [
  { head: ['due',      'a second'],  cell: (row) => figure(row.arrivals_per_s) },
  { head: ['',         'begun'],     cell: (row) => figure(row.begun_per_s) },
  { head: ['late',     'p99 ms'],    cell: (row) => figure(row.begun_late_p99_ms, 1) },
  { head: ['approved', 'sales/s'],   cell: (row) => figure(row.sales_per_s) },
  { head: ['of the',   'peak'],      cell: (row) => percent(row.goodput_percent) },
  { head: ['accept',   'p50 ms'],    cell: (row) => figure(row.accept_p50_ms, 1) },
  { head: ['',         'p99 ms'],    cell: (row) => figure(row.accept_p99_ms, 1) },
  { head: ['refused',  'a second'],  cell: (row) => figure(row.refused_per_s) },
  { head: ['refusal',  'p50 ms'],    cell: (row) => figure(row.refusal_p50_ms, 1) },
  { head: ['',         'p99 ms'],    cell: (row) => figure(row.refusal_p99_ms, 1) },
  { head: ['',         'failed'],    cell: (row) => String(row.failed) },
  { head: ['most in',  'flight'],    cell: (row) => String(row.most_in_flight) },
  { head: ['gateway',  'at peak'],   cell: (row) => percent(row.peak_gateway_cpu_percent) },
  { head: ['',         'now'],       cell: (row) => percent(row.gateway_cpu_percent) },
  { head: ['load',     'at peak'],   cell: (row) => percent(row.peak_load_cpu_percent) },
  { head: ['',         'now'],       cell: (row) => percent(row.load_cpu_percent) },
  { head: ['machine',  'busy'],      cell: (row) => percent(row.machine_busy_percent) },
]
