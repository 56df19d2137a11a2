// npm test: builds, checks the style, and runs every test against one throw-away PostgreSQL. Needs
// nothing but Node and npm.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { choose, groups, jobsOf, places } from './test/groups.mjs'
import { noteSeconds, notedSeconds } from './test/noted.mjs'
import { printFailures, printSlowest, printTable, printTimes } from './test/summary.mjs'

const style = [
  { name: 'lint', command: 'npm', args: ['run', '--silent', 'lint'] },
  { name: 'format', command: 'npm', args: ['run', '--silent', 'format:check'] },
  { name: 'spelling', command: 'npm', args: ['run', '--silent', 'spelling'] },
  { name: 'tidy', command: process.execPath, args: [join('dist', 'tools', 'tidy.js')] },
]

const help = `npm test                          everything
npm test -- --only wire           one group; may be given more than once
npm test -- refusals 'sale-*'     the test files whose path has this in it; * stands for anything
npm test -- --repeat 20 refusals  runs them that often, and reports which test failed how often
npm test -- --load 6 refusals     beside so many busy loops, as on a slow machine

Groups, in the order they run:
${groups.map(({ name, means }) => `  ${name.padEnd(12)} ${means}`).join('\n')}

Each run has a PostgreSQL of its own, in a temporary directory; DATABASE_URL is not read.
`

const postgresWithinMs = 120_000
const stopWithinMs = 5_000

/** Every process group that was started and may still run. */
const running = new Set()
let interruptedBy = ''
let told = false
let workplace = ''
let cluster
const rows = []
const ranJobs = []
/** How long each file took in this run. */
const took = {}

// Whatever ends the run, its last line says how it went; a build that fails ends it from within.
process.on('exit', (code) => {
  for (const child of running) signalGroup(child, 'SIGKILL')
  if (workplace !== '') rmSync(workplace, { recursive: true, force: true })
  if (!told) tell(code === 0 ? 0 : 1)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt(signal))
told = true
const { repeat, load, ...choice } = readWishes()
const chosen = chosenOf(choice)
told = false
watchNpm()
build()
workplace = mkdtempSync(join(tmpdir(), 'tollgate-tests-'))
const busy = Array.from({ length: load }, () => start(process.execPath, ['tools/test/busy.mjs', String(process.pid)], {}))
try {
  for (const isStyle of [true, false]) {
    const stage = chosen.filter(({ folders }) => (folders.length === 0) === isStyle)
    if (stage.length > 0) await runStage(stage)
  }
} finally {
  for (const child of busy) signalGroup(child, 'SIGKILL')
  await stopCluster()
}
const failed = rows.reduce((sum, row) => sum + row.failed, 0)
noteSeconds(took)
printTable(rows)
printSlowest(ranJobs)
printTimes(rows)
printFailures(rows, repeat)
if (interruptedBy) console.log(`\nInterrupted by ${interruptedBy}.`)
tell(failed)
process.exitCode = interruptedBy ? 130 : failed > 0 ? 1 : 0

function readWishes() {
  const { values, positionals } = readArguments(
    help,
    {
      only: { type: 'string', multiple: true, default: [] },
      repeat: { type: 'string', default: '1' },
      load: { type: 'string', default: '0' },
    },
    true,
  )
  const names = groups.map(({ name }) => name)
  const unknown = values.only.find((name) => !names.includes(name))
  if (unknown !== undefined) refuse(`There is no group ${unknown}; there are ${names.join(', ')}.`)
  return {
    only: values.only,
    patterns: positionals,
    repeat: numberOf('repeat', values.repeat, 1, 1_000),
    load: numberOf('load', values.load, 0, 64),
  }
}

function numberOf(name, text, least, most) {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : -1
  if (number < least || number > most) refuse(`--${name} takes a number from ${least} to ${most}.`)
  return number
}

function chosenOf({ only, patterns }) {
  const found = choose(only, patterns)
  if (found.length > 0) return found
  return refuse(
    patterns.length > 0 ? `No test file has ${patterns.join(' or ')} in its path.` : `No tests in ${only.join(', ')}.`,
  )
}

function refuse(text) {
  console.error(text)
  process.exit(2)
}

async function runStage(stage) {
  for (const { name } of stage) rows.push({ group: name, tests: 0, passed: 0, failed: 0, seconds: 0, processor: 0, failures: [] })
  for (let round = 1; round <= repeat; round++) {
    if (interruptedBy) break
    heading(stage, round)
    if (stage[0].folders.length === 0) await runStyle()
    else await runTests(stage)
  }
}

async function runStyle() {
  const row = rows.at(-1)
  const began = performance.now()
  for (const { name, command, args } of style) {
    if (interruptedBy) break
    const { code } = await ended(start(command, args, {}))
    note(row, { name, place: `${command} ${args.join(' ')}`, passed: code === 0, explains: code !== 0, error: [] })
    console.log(`${code === 0 ? '✔' : '✖'} ${name}`)
  }
  row.seconds += (performance.now() - began) / 1_000
}

async function runTests(stage) {
  const shared = stage.some(({ bare }) => !bare) ? await postgres() : undefined
  if (shared && shared.env === undefined) {
    rows.at(-1).failed++
    console.log('✖ PostgreSQL for the tests did not start; the lines above say why.')
    return
  }
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc']
  const child = start(process.execPath, [join('tools', 'test', 'files.mjs')], shared?.env ?? {}, stdio)
  const failures = () => rows.reduce((sum, row) => sum + row.failed, 0)
  const before = failures()
  child.on('message', (report) => {
    const row = rows.find(({ group }) => group === report.group)
    if (report.is === 'test') noteTest(row, report)
    else noteJob(row, report)
  })
  child.send({ jobs: jobsOf(stage, notedSeconds()), places, workplace })
  const { code } = await ended(child)
  // Processes that a test left behind must not disturb the next ones, nor outlive the run.
  signalGroup(child, 'SIGKILL')
  if ((code !== 0 || interruptedBy) && failures() === before) rows.at(-1).failed++
}

/** For a file that shared a process only its tests are known. */
function noteTest(row, { titles, file, milliseconds, ...test }) {
  note(row, { ...test, name: titles.join(' › ') })
  if (titles.length === 1) took[file] = (took[file] ?? 0) + milliseconds / 1_000
}

function noteJob(row, job) {
  ranJobs.push(job)
  row.seconds += job.seconds
  row.processor += job.processor
  if (job.files.length === 1) took[job.files[0]] = job.seconds
}

/**
 * A test that neither passed nor failed (cancelled, left out) did not keep its promise either, so
 * it counts as failed. A suite counts where it failed by itself: its file or a hook threw.
 */
function note(row, test) {
  if (!test.isSuite || test.explains) {
    row.tests++
    row[test.passed ? 'passed' : 'failed']++
  }
  if (test.explains) row.failures.push(test)
}

/**
 * The PostgreSQL that the files of the run share, started when it is first needed. It has no
 * environment if the server does not come up.
 */
async function postgres() {
  if (cluster) return cluster
  console.log('- Starting PostgreSQL for the tests …')
  const stdio = ['pipe', 'pipe', 'inherit']
  const child = start(process.execPath, [join('dist', 'test', 'harness', 'postgres', 'test-cluster.js'), workplace], {}, stdio)
  const exit = ended(child)
  cluster = { child, exit, env: undefined }
  const line = once(createInterface(child.stdout), 'line').then(([text]) => JSON.parse(text).env)
  cluster.env = await Promise.race([line, exit.then(() => undefined), after(postgresWithinMs)])
  return cluster
}

/** Its standard input ends, and it takes everything down by itself. */
async function stopCluster() {
  if (!cluster) return
  cluster.child.stdin.end()
  await Promise.race([cluster.exit, after(4 * stopWithinMs)])
  signalGroup(cluster.child, 'SIGKILL')
}

/**
 * A process group of its own: Ctrl-C reaches only this script, which then ends in order what it
 * started.
 */
function start(command, args, env, stdio = ['ignore', 'inherit', 'inherit']) {
  const child = spawn(command, args, { cwd: root, env: { ...cleanEnvironment(), ...env }, stdio, detached: true })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

/** No test may find the database, the sandbox or the ports of whoever runs it. */
function cleanEnvironment() {
  const foreign = /^(?:DATABASE_URL|PORT|(?:OPERATOR_|MAX_|TLS_|PG|TOLLGATE_).*|MERCHANT_SERVER_CONFIG|NODE_TEST_CONTEXT)$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
}

/** Resolves when the process is gone, also when it could not be started. */
function ended(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(error.message)
      resolve({ code: 1 })
    })
    child.once('close', (code) => resolve({ code }))
  })
}

function interrupt(signal) {
  // The second time nothing is waited for.
  if (interruptedBy) process.exit(130)
  interruptedBy = signal
  for (const child of running) {
    if (child === cluster?.child) continue
    signalGroup(child, 'SIGTERM')
    void after(stopWithinMs).then(() => signalGroup(child, 'SIGKILL'))
  }
}

/** npm passes a signal on to its shell, which dies of it and leaves this script to itself. */
function watchNpm() {
  const parent = process.ppid
  if (process.env.npm_lifecycle_event === undefined) return
  setInterval(() => {
    if (process.ppid !== parent && interruptedBy === '') interrupt('the end of npm')
  }, 500).unref()
}

function signalGroup(child, signal) {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function after(ms) {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}

function heading(stage, round) {
  const all = stage.length === 1 ? `${stage[0].name}: ${stage[0].means}` : stage.map(({ name }) => name).join(', ')
  const title = repeat === 1 ? all : `${all}, ${round} of ${repeat}`
  console.log(`\n── ${title} ${'─'.repeat(Math.max(2, 72 - title.length))}\n`)
}

function tell(failures) {
  told = true
  const passed = rows.reduce((sum, row) => sum + row.passed, 0)
  console.log(`\n${passed} passed, ${failures} failed`)
}
