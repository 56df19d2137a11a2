import type { Bench } from './bench.ts'
import { booksAgree, readBooks, since } from './figures/books.ts'
import { startLoad } from './load/drive.ts'
import type { LoadReport } from './load/exchange.ts'
import { rounded } from './figures/figures.ts'
import { runLevels, warm, type Carried, type Run } from './figures/levels.ts'
import { compareOneByOne, oneByOneSettings, type Comparison } from './benches/one-by-one.ts'
import type { Output } from './figures/output.ts'
import { booksText, comparisonText, failuresText } from './figures/report.ts'
import { startSandbox } from './sandbox.ts'
import type { Started } from './started.ts'
import type { Wishes } from './wishes.ts'

/** Runs one bench; answers whether every sale ended approved and the books agree. */
export async function runBench(bench: Bench, wishes: Wishes, output: Output, started: Started): Promise<boolean> {
  const { run, carried } = await openRun(bench, wishes, output, started)
  const all = [carried]
  output.people(`${bench.name}: ${bench.means}; ${wishes.measureMs / 1_000} s each\n`)
  await runLevels(run, carried)
  if (wishes.roundMs !== undefined && bench.inDetail) all.push(await runOneByOne(run, carried, wishes.roundMs, started))
  return endedWell(bench.name, all, output)
}

/** A sandbox with an empty database, and a load process. */
export async function openRun(
  bench: Bench,
  wishes: Wishes,
  output: Output,
  started: Started,
): Promise<{ run: Run; carried: Carried }> {
  const { interrupted } = started
  output.progress.say('Starting a sandbox with an empty database')
  const sandbox = await started.keep(startSandbox({}, interrupted))
  if (bench.prepare) await started.keep(bench.prepare(sandbox, interrupted))
  const load = await started.keep(startLoad(interrupted))
  return { run: { bench, wishes, output, interrupted, load }, carried: { which: 'as it is', sandbox, reports: [] } }
}

/**
 * Whether the books agree and every sale ended approved. `name` is that of the bench; `unbooked`
 * are the loads that were not sales.
 */
export async function endedWell(
  name: string,
  all: readonly Carried[],
  output: Output,
  unbooked: readonly LoadReport[] = [],
): Promise<boolean> {
  output.progress.say('Comparing the books')
  const agreed = await compareBooks(name, all, output)
  return nothingFailed([...all.flatMap(({ reports }) => reports), ...unbooked], output) && agreed
}

/** The bounds of the other side: it keeps up with so many in flight, after so many to warm up. */
const oneByOneBounds = { inFlight: 256, warmUp: 1_000 }

async function runOneByOne(
  run: Run,
  { sandbox: batched, reports }: Carried,
  roundMs: number,
  started: Started,
): Promise<Carried> {
  const { bench, wishes, output, load } = run
  output.progress.say('Starting a second sandbox, which commits one change at a time')
  const oneByOne = await started.keep(startSandbox(oneByOneSettings, started.interrupted))
  const slow: Carried = { which: 'one by one', sandbox: oneByOne, reports: [] }
  await warm(run, slow, Math.min(oneByOneBounds.warmUp, wishes.warmUp ?? bench.warmUp))
  const levels = wishes.inFlight ?? bench.inFlight
  const most = Math.min(oneByOneBounds.inFlight, levels.length === 0 ? Infinity : Math.max(...levels))
  const sides = await compareOneByOne(load, { batched, oneByOne }, bench, most, roundMs, (text) => output.progress.say(text))
  output.people(`${comparisonText(sides.comparison)}\n`)
  output.lines(lineOf(sides.comparison))
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

async function compareBooks(name: string, all: readonly Carried[], { people, lines }: Output): Promise<boolean> {
  let agreed = true
  for (const { which, sandbox, reports, earlier } of all) {
    const approved = reports.reduce((sum, report) => sum + report.approved + report.approvedUnseen, 0)
    const books = since(await readBooks(sandbox, approved), earlier)
    const agree = booksAgree(books)
    agreed &&= agree
    const { merchant, acquirer, database, unknown, callbacks } = books
    people(booksText(which, books))
    lines({
      bench: `${name}-books`,
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

function nothingFailed(all: readonly LoadReport[], { progress }: Output): boolean {
  const failures: Record<string, number> = {}
  for (const report of all)
    for (const [why, count] of Object.entries(report.failures)) failures[why] = (failures[why] ?? 0) + count
  if (Object.keys(failures).length === 0) return true
  progress.clear()
  console.error(`\n${failuresText(failures)}`)
  return false
}
