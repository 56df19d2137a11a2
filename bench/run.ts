import type { Wishes } from './arguments.ts'
import type { Bench } from './bench.ts'
import { booksAgree, readBooks } from './books.ts'
import { startLoad, type Load } from './drive.ts'
import type { LoadReport } from './exchange.ts'
import { rounded } from './figures.ts'
import { measure, warmUp } from './measure.ts'
import { compare, oneByOneSettings, type Comparison } from './one-by-one.ts'
import type { Output } from './output.ts'
import {
  booksText,
  comparisonText,
  costTable,
  failuresText,
  ratiosTable,
  tableHead,
  tableRow,
  targetTable,
  yardsticksText,
} from './report.ts'
import { sale } from './sale.ts'
import { startSandbox, type Sandbox } from './sandbox.ts'
import type { Started } from './started.ts'
import { measureYardsticks, ratiosOf } from './yardsticks.ts'

/** A sandbox and all loads that it has carried. */
interface Carried {
  which: string
  sandbox: Sandbox
  reports: LoadReport[]
}

/** Runs one bench; answers whether every sale ended approved and the books agree. */
export async function runBench(bench: Bench, wishes: Wishes, output: Output, started: Started): Promise<boolean> {
  const { people, progress } = output
  progress.say('Starting a sandbox with an empty database')
  const sandbox = await started.keep(startSandbox({}, started.interrupted))
  if (bench.prepare) await started.keep(bench.prepare(sandbox, started.interrupted))
  const load = await started.keep(startLoad(started.interrupted))
  const carried: Carried = { which: 'as it is', sandbox, reports: [] }
  const all = [carried]

  people(`${bench.name}: ${bench.means}; ${wishes.measureMs / 1_000} s each\n`)
  await runLevels(bench, wishes, output, started, load, carried)
  if (wishes.roundMs !== undefined && bench === sale) all.push(await runOneByOne(bench, wishes, output, started, load, carried))
  progress.say('Comparing the books')
  const agreed = await compareBooks(bench, all, output)
  return nothingFailed(all, output) && agreed
}

async function runLevels(
  bench: Bench,
  { inFlight = bench.inFlight, measureMs, warmUp: sales = bench.warmUp, yardstickMs }: Wishes,
  { people, lines, progress }: Output,
  { interrupted }: Started,
  load: Load,
  { sandbox, reports }: Carried,
): Promise<void> {
  const yardsticks = async (when: string) => {
    if (yardstickMs === undefined) return undefined
    progress.say(`Yardsticks ${when} the sales`)
    const measured = await measureYardsticks(load, sandbox, yardstickMs, interrupted)
    lines({ bench: 'yardstick', of: bench.name, when, ...measured })
    return measured
  }
  const before = await yardsticks('before')
  if (sales > 0) await warm(bench, sales, { people, progress }, load, { sandbox, reports })
  people(tableHead())
  const rows = []
  for (const n of inFlight) {
    progress.say(`${n} in flight`)
    const level = { bench, inFlight: n, measureMs, salesBefore: carriedBy(reports) }
    const { row, report } = await measure(load, sandbox, level, (ended) => progress.add(`${ended} ended`))
    reports.push(report)
    rows.push(row)
    lines(row)
    people(tableRow(row, report))
  }
  people(`\n${costTable(rows)}`)
  const after = await yardsticks('after')
  if (before && after) {
    const ratios = rows.map((row) => ratiosOf(row, before, after))
    lines(...ratios)
    people(`\n${yardsticksText(before, after)}\n\n${ratiosTable(ratios)}`)
  }
  people(bench.targets.length === 0 ? '' : `\n${targetTable(bench, rows)}\n`)
}

async function warm(
  bench: Bench,
  sales: number,
  { people, progress }: Pick<Output, 'people' | 'progress'>,
  load: Load,
  { sandbox, reports }: Pick<Carried, 'sandbox' | 'reports'>,
): Promise<void> {
  progress.say(`Warming up by ${sales} sales`)
  const report = await warmUp(load, sandbox, bench, sales, (ended) => progress.add(`${ended} ended`))
  reports.push(report)
  if (report.ramped < sales) people(`The warm-up was cut after ${report.ramped} of ${sales} sales: it took too long.\n`)
  else if (sales < bench.warmUp) people(`Warmed up by ${sales} sales only; ${bench.warmUp} would be needed for V8 to be warm.\n`)
}

const carriedBy = (reports: readonly LoadReport[]): number => reports.reduce((sum, { sales }) => sum + sales, 0)

/** What batches are worth is seen by one bench, at a load that the other side can still carry. */
const mostInFlightOneByOne = 256
const mostWarmUpOneByOne = 1_000

async function runOneByOne(
  bench: Bench,
  { inFlight = bench.inFlight, warmUp: sales = bench.warmUp, roundMs }: Wishes,
  output: Output,
  started: Started,
  load: Load,
  { sandbox: batched, reports }: Carried,
): Promise<Carried> {
  const { people, lines, progress } = output
  progress.say('Starting a second sandbox, which commits one change at a time')
  const oneByOne = await started.keep(startSandbox(oneByOneSettings, started.interrupted))
  const slow: Carried = { which: 'one by one', sandbox: oneByOne, reports: [] }
  if (sales > 0) await warm(bench, Math.min(sales, mostWarmUpOneByOne), output, load, slow)
  const most = Math.min(mostInFlightOneByOne, Math.max(...inFlight))
  const sides = await compare(load, { batched, oneByOne }, bench, most, roundMs!, (text) => progress.say(text))
  people(`${comparisonText(sides.comparison)}\n`)
  lines(lineOf(sides.comparison))
  reports.push(...sides.batched.map(({ report }) => report))
  slow.reports.push(...sides.oneByOne.map(({ report }) => report))
  return slow
}

function lineOf({ bench, inFlight, batched, oneByOne, ratio }: Comparison) {
  return {
    bench: `${bench}-one-by-one`,
    in_flight: inFlight,
    batched_sales_per_s: batched,
    one_by_one_sales_per_s: oneByOne,
    ratio: rounded(ratio, 2),
  }
}

async function compareBooks(bench: Bench, all: readonly Carried[], { people, lines }: Output): Promise<boolean> {
  let agreed = true
  for (const { which, sandbox, reports } of all) {
    const books = await readBooks(
      sandbox,
      reports.reduce((sum, { approved }) => sum + approved, 0),
    )
    const agree = booksAgree(books)
    agreed &&= agree
    const { merchant, acquirer, database, unknown, callbacks } = books
    people(booksText(which, books))
    lines({
      bench: `${bench.name}-books`,
      which,
      merchant,
      acquirer,
      database,
      unknown,
      agree,
      callbacks_delivered: callbacks.delivered,
      callbacks_owed: callbacks.owed,
    })
  }
  return agreed
}

function nothingFailed(all: readonly Carried[], { progress }: Output): boolean {
  const failures: Record<string, number> = {}
  for (const report of all.flatMap(({ reports }) => reports))
    for (const [why, count] of Object.entries(report.failures)) failures[why] = (failures[why] ?? 0) + count
  if (Object.keys(failures).length === 0) return true
  progress.clear()
  console.error(`\n${failuresText(failures)}`)
  return false
}
