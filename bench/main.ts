// npm run bench: measures payments, and what strangers send, against sandboxes of its own.
// tools/bench.mjs builds and starts it.
import { reasonOf } from '../src/base/log.ts'
import { readArguments, type Wishes } from './arguments.ts'
import type { Bench, Row } from './bench.ts'
import { bodies, isAnswered, measureBodies, type BodyRow } from './bodies.ts'
import { booksAgree, readBooks } from './books.ts'
import { startLoad } from './drive.ts'
import { rounded } from './figures.ts'
import { measure, type Measured } from './measure.ts'
import { openProgress } from './progress.ts'
import {
  bodyHead,
  bodyRow,
  booksText,
  comparisonText,
  failuresText,
  machine,
  tableHead,
  tableRow,
  targetTable,
} from './report.ts'
import { startSandbox, type Sandbox } from './sandbox.ts'
import { compare, oneByOneSettings, type Comparison } from './yardstick.ts'

const wishes = readArguments(process.argv.slice(2))
const progress = openProgress()
const interrupted = new AbortController()
const noted: string[] = []
/** What runs, in the order it was started. */
const started: { stop(): Promise<void> | void }[] = []

watchSignals()
let good = false
try {
  people(`${machine()}\n`)
  good = true
  for (const bench of wishes.benches) {
    good = (await runBench(bench, wishes)) && good
    await stopAll()
  }
  if (wishes.bodies) good = (await runBodies()) && good
} catch (thrown) {
  good = false
  if (!interrupted.signal.aborted) console.error(`\nThe bench failed: ${reasonOf(thrown)}`)
} finally {
  await stopAll()
  printLines()
  process.exitCode = interrupted.signal.aborted ? 130 : good ? 0 : 1
}

/** Answers whether every sale ended approved and the books agree. */
async function runBench(bench: Bench, { inFlight = bench.inFlight, measureMs, roundMs }: Wishes): Promise<boolean> {
  progress.say('Starting a sandbox with an empty database')
  const sandbox = await keep(startSandbox({}, interrupted.signal))
  if (bench.prepare) started.push(await bench.prepare(sandbox, interrupted.signal))
  const load = startLoad(interrupted.signal)
  started.push(load)

  people(`${bench.name}: ${bench.means}; ${measureMs / 1_000} s each\n\n${tableHead()}`)
  const all: Measured[] = []
  for (const n of inFlight) {
    progress.say(`${n} in flight`)
    const measured = await measure(load, sandbox, bench, n, measureMs, (ended) => progress.add(`${ended} ended`))
    all.push(measured)
    people(tableRow(measured))
  }
  const rows = all.map(({ row }) => row)
  people('')
  lines(...rows)
  if (bench.targets.length > 0) people(`\n${targetTable(bench, rows)}\n`)

  const books = [{ which: 'as it is', sandbox, measured: all }]
  if (roundMs !== undefined && bench.yardstick) {
    const most = Math.max(...inFlight)
    progress.say('Starting a second sandbox, which commits one change at a time')
    const oneByOne = await keep(startSandbox(oneByOneSettings, interrupted.signal))
    const { comparison, ...sides } = await compare(load, { batched: sandbox, oneByOne }, bench, most, roundMs, (text) =>
      progress.say(text),
    )
    people(`${comparisonText(comparison)}\n`)
    lines(lineOf(comparison))
    all.push(...sides.batched)
    books.push({ which: 'one by one', sandbox: oneByOne, measured: sides.oneByOne })
  }
  progress.say('Comparing the books')
  const agreed = await compareBooks(bench, books)
  return tellFailures(books.flatMap(({ measured }) => measured)) && agreed
}

/** Answers whether no body made the gateway fail. */
async function runBodies(): Promise<boolean> {
  progress.say('Starting a sandbox with an empty database')
  const sandbox = await keep(startSandbox({}, interrupted.signal))
  people(`${bodies.name}: ${bodies.means}\n\n${bodyHead()}`)
  progress.say('Sending the worst bodies')
  const rows = await measureBodies(sandbox, interrupted.signal, (row) => people(bodyRow(row)))
  lines(...rows)
  return rows.every(isAnswered)
}

function lineOf({ bench, inFlight, batched, oneByOne, ratio }: Comparison) {
  return {
    bench: `${bench}-yardstick`,
    in_flight: inFlight,
    batched_sales_per_s: batched,
    one_by_one_sales_per_s: oneByOne,
    ratio: rounded(ratio, 2),
  }
}

async function compareBooks(
  bench: Bench,
  all: readonly { which: string; sandbox: Sandbox; measured: Measured[] }[],
): Promise<boolean> {
  let agreed = true
  for (const { which, sandbox, measured } of all) {
    const books = await readBooks(
      sandbox,
      measured.reduce((sum, { report }) => sum + report.approved, 0),
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

function tellFailures(measured: readonly Measured[]): boolean {
  const failures: Record<string, number> = {}
  for (const { report } of measured)
    for (const [why, count] of Object.entries(report.failures)) failures[why] = (failures[why] ?? 0) + count
  if (Object.keys(failures).length === 0) return true
  progress.clear()
  console.error(`\n${failuresText(failures)}`)
  return false
}

/** Prints for people. */
function people(text: string) {
  progress.clear()
  if (!wishes.json) console.log(text)
}

/** Notes lines for programs, which come after all that is for people. */
function lines(...objects: readonly (Row | BodyRow | Record<string, unknown>)[]) {
  noted.push(...objects.map((object) => JSON.stringify(object)))
  if (wishes.json) printLines()
}

function printLines() {
  progress.clear()
  for (const one of noted.splice(0)) console.log(one)
}

async function keep(starting: Promise<Sandbox>): Promise<Sandbox> {
  const sandbox = await starting
  started.push(sandbox)
  interrupted.signal.throwIfAborted()
  return sandbox
}

async function stopAll(): Promise<void> {
  if (started.length > 0) progress.say('Stopping')
  for (let one = started.pop(); one; one = started.pop())
    await Promise.resolve(one.stop()).catch((thrown: unknown) => console.error(reasonOf(thrown)))
  progress.clear()
}

function interrupt() {
  interrupted.abort(new Error('interrupted'))
}

/**
 * The first signal ends what is under way, and everything is stopped in order; further ones change
 * nothing.
 */
function watchSignals() {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt)
  // npm passes a signal on to its shell, which dies of it and leaves this process to itself.
  const parent = process.ppid
  if (process.env['npm_lifecycle_event'] !== undefined)
    setInterval(() => {
      if (process.ppid !== parent) interrupt()
    }, 500).unref()
}
