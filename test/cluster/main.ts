// npm run cluster: kills and freezes the parts of a cluster under load, then looks whether every
// promise was kept and how long there was no service. tools/cluster.mjs builds and starts it.
import { setMaxListeners } from 'node:events'
import { openStarted } from '../../bench/started.ts'
import { reasonOf } from '../../src/base/log.ts'
import { readArguments } from './arguments.ts'
import { Citus } from './citus.ts'
import { Cluster } from './cluster.ts'
import { findCitus, findPrograms } from './programs.ts'
import { linesOf, textOf } from './report.ts'
import { runCluster } from './run.ts'

const citus = process.env['CITUS']
const wishes = readArguments(process.argv.slice(2), citus ? 'citus' : 'patroni')
if ('code' in wishes) {
  ;(wishes.code === 0 ? console.log : console.error)(wishes.says)
  process.exit(wishes.code)
}
const programs = citus ? findCitus(citus) : findPrograms(process.env['PATH'] ?? '')
if ('missing' in programs) {
  const missing = programs.missing.map((one) => `  - ${one}`).join('\n')
  const where = citus ? '' : ' (packages of Debian)'
  console.error(`A cluster needs programs that are not here${where}:\n${missing}`)
  process.exit(3)
}
const openEngine = (alsoRemoved: readonly string[]) =>
  'bin' in programs ? Citus.open(programs.bin, alsoRemoved) : Cluster.open(programs, alsoRemoved)
// Every pause of every worker listens to the end of the run.
setMaxListeners(0)
const beganAt = performance.now()
const started = openStarted()
const people = wishes.json ? console.error : console.log
const say = (text: string) => people(`[${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6)} s] ${text}`)
const kept = { isGood: false, left: '' }
try {
  const outcome = await runCluster({ wishes, openEngine, started, say, kept })
  people(textOf(outcome, wishes))
  if (wishes.json) for (const line of linesOf(outcome, wishes)) console.log(JSON.stringify(line))
} catch (thrown) {
  if (!started.interrupted.aborted)
    console.error(`\nThe cluster failed: ${thrown instanceof Error ? thrown.stack : reasonOf(thrown)}`)
} finally {
  await started.stopAll(() => say('stopping'))
  say(kept.left ? `stopped; ${kept.left} is left for you` : 'everything is stopped and removed')
  process.exitCode = started.interrupted.aborted ? 130 : kept.isGood ? 0 : 1
}
