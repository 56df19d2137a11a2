import type { Books } from './books.ts'
import type { ArrivalRow, Bench, Row } from '../bench.ts'
import { connectsRow, measureConnects, newConnections } from '../benches/connects.ts'
import type { Load } from '../load/drive.ts'
import type { LoadReport } from '../load/exchange.ts'
import { hold, measure, warmUp, type Level, type Measured } from './measure.ts'
import type { Output } from './output.ts'
import {
  arrivalsTable,
  connectsText,
  costTable,
  ratiosTable,
  tableHead,
  tableRow,
  targetTable,
  yardsticksText,
} from './report.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Wishes } from '../wishes.ts'
import { measureYardsticks, ratiosOf, type Yardsticks } from '../benches/yardsticks.ts'

/** A sandbox and all loads that it has carried. */
export interface Carried {
  which: string
  sandbox: Sandbox
  reports: LoadReport[]
  /** The books before all of them, where they were not empty. */
  earlier?: Books
}

/** A bench under way. */
export interface Run {
  bench: Bench
  wishes: Wishes
  output: Output
  interrupted: AbortSignal
  load: Load
}

/** This level shows the highest rate of the machine. */
const fullInFlight = 256
/** By a clock, sales that take two seconds on average are more than the gateway can do. */
const longestMeanSeconds = 2
const mostInFlight = 4_000

/** Everything that is measured on one sandbox. */
export async function runLevels(run: Run, carried: Carried): Promise<void> {
  const { bench, wishes, output } = run
  const { people, lines } = output
  const before = await yardsticks(run, carried, 'before')
  await warm(run, carried, wishes.warmUp ?? bench.warmUp)
  const rows: Row[] = []
  if (wishes.inFlight?.length !== 0) people(tableHead())
  for (const inFlight of wishes.inFlight ?? bench.inFlight) {
    const { figures, report } = await measured(run, carried, { inFlight })
    const row: Row = { bench: bench.name, in_flight: inFlight, ...figures }
    rows.push(row)
    lines(row)
    people(tableRow(row, report))
  }
  if (rows.length > 0) people(`\n${costTable(rows)}\n`)
  const { arrivals, connects } = inDetail(run)
  if (connects) await runConnects(run, carried)
  if (arrivals !== undefined) await runArrivals(run, carried, rows, arrivals)
  const after = await yardsticks(run, carried, 'after')
  if (before && after) {
    const ratios = rows.map((row) => ratiosOf(row, before, after))
    lines(...ratios)
    people(`${yardsticksText(before, after)}\n`)
    if (ratios.length > 0) people(`${ratiosTable(ratios)}\n`)
  }
  if (bench.targets.length > 0 && rows.length > 0) people(`${targetTable(bench, rows)}\n`)
}

/** A run that chooses no level shows one bench in detail. */
function inDetail({ bench, wishes }: Run): Pick<Wishes, 'arrivals' | 'connects'> {
  if (wishes.inFlight !== undefined || !bench.inDetail) return wishes
  return { arrivals: wishes.arrivals ?? 'half', connects: true }
}

async function yardsticks(
  { bench, wishes, output, load, interrupted }: Run,
  { sandbox }: Carried,
  when: string,
): Promise<Yardsticks | undefined> {
  if (wishes.yardstickMs === undefined) return undefined
  output.progress.say(`Yardsticks ${when} the sales`)
  const all = await measureYardsticks(load, sandbox, wishes.yardstickMs, interrupted)
  output.lines({ bench: 'yardstick', of: bench.name, when, ...all })
  return all
}

/** Carries the sales before the first window of a sandbox. */
export async function warm(run: Run, carried: Carried, sales: number): Promise<void> {
  if (sales < run.bench.warmUp)
    run.output.people(`Warmed up by ${sales} sales only; V8 would be warm after ${run.bench.warmUp}.\n`)
  if (sales > 0) await carryUnmeasured(run, carried, sales)
}

export async function carryUnmeasured({ bench, output, load }: Run, { sandbox, reports }: Carried, sales: number): Promise<void> {
  const { people, progress } = output
  progress.say(`${sales} sales that are not measured`)
  const report = await warmUp(load, sandbox, bench, sales, (ended) => progress.add(`${ended} ended`))
  reports.push(report)
  if (report.ramped < sales) people(`Cut after ${report.ramped} of ${sales} sales that are not measured: it took too long.\n`)
}

/** Measures one load, and keeps its report for the books. */
export async function measured(
  { bench, wishes, output, load }: Run,
  { sandbox, reports }: Carried,
  how: Pick<Level, 'inFlight' | 'arrivalsPerS' | 'flood'>,
): Promise<Measured> {
  const { progress } = output
  const { inFlight, arrivalsPerS } = how
  progress.say(arrivalsPerS === undefined ? `${inFlight} in flight` : `${arrivalsPerS} sales a second by a clock`)
  const salesBefore = reports.reduce((sum, { sales }) => sum + sales, 0)
  const level = { bench, ...how, measureMs: wishes.measureMs, salesBefore }
  const one = await measure(load, sandbox, level, (ended) => progress.add(`${ended} ended`))
  reports.push(one.report)
  return one
}

/** Sales by a clock, at a rate of the command line or at half of what a closed loop carries. */
async function runArrivals(run: Run, carried: Carried, rows: readonly Row[], wish: number | 'half'): Promise<void> {
  const { bench, output } = run
  let perSecond = wish
  if (perSecond === 'half') {
    const full = rows.find((row) => row.in_flight === fullInFlight)
    const { sales_per_s: capacity } = full ?? (await measured(run, carried, { inFlight: fullInFlight })).figures
    perSecond = Math.max(1, Math.round(capacity / 2))
  }
  const inFlight = Math.min(mostInFlight, Math.max(100, longestMeanSeconds * perSecond))
  const { figures, report } = await measured(run, carried, { inFlight, arrivalsPerS: perSecond })
  const row: ArrivalRow = {
    bench: `${bench.name}-arrivals`,
    rate: wish === 'half' ? `half of ${fullInFlight} in flight` : 'as wished',
    arrivals_per_s: perSecond,
    carried: !report.overrun,
    most_in_flight: report.mostInFlight,
    ...figures,
  }
  output.lines(row)
  output.people(`${arrivalsTable(row)}\n`)
}

/** New connections while the gateway is at its most. */
async function runConnects({ bench, output, load }: Run, { sandbox, reports }: Carried): Promise<void> {
  output.progress.say(`${newConnections} new connections, ${fullInFlight} in flight`)
  let connecting: Promise<number[]> | undefined
  const report = await hold(load, sandbox, bench, fullInFlight, () => {
    connecting = measureConnects(sandbox.gatewayOrigin)
    // Waited for below.
    connecting.catch(() => {})
  })
  reports.push(report)
  const row = connectsRow(fullInFlight, await connecting!)
  output.lines(row)
  output.people(`${connectsText(row)}\n`)
}
