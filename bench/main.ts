// npm run bench: measures payments, and what strangers send, against sandboxes of its own.
// tools/bench.mjs builds and starts it.
import { writeFileSync } from 'node:fs'
import { reasonOf } from '../src/base/log.ts'
import { readArguments } from './arguments.ts'
import { bodies, isAnswered, measureBodies } from './benches/bodies.ts'
import { comparedText, compareRuns, lineOfCompared, type Line } from './figures/compare.ts'
import { openOutput } from './figures/output.ts'
import { pictureOf } from './figures/picture.ts'
import { bodyHead, bodyRow, machine } from './figures/report.ts'
import { runBench } from './run.ts'
import { startSandbox } from './sandbox.ts'
import { openStarted } from './started.ts'

const wishes = readArguments(process.argv.slice(2))
const output = openOutput(wishes.json)
const started = openStarted()

let good = false
try {
  good = wishes.picture?.of ? true : await measure()
  if (wishes.picture) writeFileSync(wishes.picture.path, pictureOf(wishes.picture.of ?? (output.all() as Line[])))
} catch (thrown) {
  good = false
  if (!started.interrupted.aborted) console.error(`\nThe bench failed: ${reasonOf(thrown)}`)
} finally {
  await stopAll()
  output.flush()
  process.exitCode = started.interrupted.aborted ? 130 : good ? 0 : 1
}

/** Answers whether everything ended as it should. */
async function measure(): Promise<boolean> {
  output.people(`${machine()}\n`)
  let isGood = true
  for (const bench of wishes.benches) {
    isGood = (await runBench(bench, wishes, output, started)) && isGood
    await stopAll()
  }
  for (const bench of wishes.byName) {
    isGood = (await bench.run(wishes, output, started)) && isGood
    await stopAll()
  }
  if (wishes.bodies) isGood = (await runBodies()) && isGood
  if (wishes.older) showComparison(wishes.older)
  return isGood
}

/** Answers whether no body made the gateway fail. */
async function runBodies(): Promise<boolean> {
  const { progress, people, lines } = output
  progress.say('Starting a sandbox with an empty database')
  const sandbox = await started.keep(startSandbox({}, started.interrupted))
  people(`${bodies.name}: ${bodies.means}\n\n${bodyHead()}`)
  progress.say('Sending the worst bodies')
  const rows = await measureBodies(sandbox, started.interrupted, (row) => people(bodyRow(row)))
  lines(...rows)
  return rows.every(isAnswered)
}

function showComparison(older: readonly Line[]): void {
  const compared = compareRuns(older, output.all() as Line[])
  output.people(comparedText(compared))
  output.lines(...compared.map(lineOfCompared))
}

async function stopAll(): Promise<void> {
  await started.stopAll(() => output.progress.say('Stopping'))
  output.progress.clear()
}
