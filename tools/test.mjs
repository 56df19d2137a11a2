// npm test: builds, checks the style, and runs every test against one throw-away PostgreSQL. Needs
// nothing but Node and npm.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { printFailures, printSlowest, printTable, printTimes } from './test/summary.mjs'

/**
 * In the order they run: what fails fast comes first. A group without folders is the style of the
 * code itself. Files at once: two, and more where they wait for others most of the time. The
 * longest files begin, so that none of them runs alone in the end.
 */
// oxfmt-ignore
const groups = [
  { name: 'style',      means: 'lint, format and structure',                       folders: [] },
  { name: 'pure',       means: 'functions and tables, without a world around',     folders: ['tables'] },
  { name: 'wire',       means: 'each operation over HTTP, with real PostgreSQL',   folders: ['wire', 'conformance'], postgres: true, atOnce: 6, longest: ['filters', 'cli-orders', 'mobile-attacks-merchant'] },
  { name: 'scrub',      means: 'no card data where none may be',                   folders: ['scrub'],               postgres: true },
  { name: 'browser',    means: 'pages in a real browser',                          folders: ['browser'],             postgres: true, atOnce: 3 },
  { name: 'faults',     means: 'processes killed, lines cut, disks full',          folders: ['faults'],              postgres: true, atOnce: 6, longest: ['captures-and-returns', 'lost-answers', 'paused', 'torture', 'mobile-random-sum-crashes'] },
  { name: 'simulation', means: 'years of traffic on a clock that is moved',        folders: ['simulation'],          postgres: true, longest: ['planted', 'seeds'] },
]

const style = [
  { name: 'lint', command: 'npm', args: ['run', '--silent', 'lint'] },
  { name: 'format', command: 'npm', args: ['run', '--silent', 'format:check'] },
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
/**
 * A file that takes longer hangs. The longest takes some minutes, on a slow machine several times
 * that.
 */
const fileWithinMs = 1_800_000
const stopWithinMs = 5_000

/** Every process group that was started and may still run. */
const running = new Set()
let interruptedBy = ''
let told = false
let workplace = ''
let cluster
const rows = []
const ranFiles = []

// Whatever ends the run, its last line says how it went; a build that fails ends it from within.
process.on('exit', (code) => {
  for (const child of running) signalGroup(child, 'SIGKILL')
  if (workplace !== '') rmSync(workplace, { recursive: true, force: true })
  if (!told) tell(code === 0 ? 0 : 1)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt(signal))
told = true
const { repeat, load, ...choice } = readWishes()
const chosen = choose(choice)
told = false
watchNpm()
build()
workplace = mkdtempSync(join(tmpdir(), 'tollgate-tests-'))
const busy = Array.from({ length: load }, () => start(process.execPath, ['tools/test/busy.mjs', String(process.pid)], {}))
try {
  for (const group of chosen) await runGroup(group)
} finally {
  for (const child of busy) signalGroup(child, 'SIGKILL')
  await stopCluster()
}
const failed = rows.reduce((sum, row) => sum + row.failed, 0)
printTable(rows)
printSlowest(ranFiles)
printTimes()
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

/**
 * The groups to run with their files, as paths from the root without `.ts`. Patterns exclude the
 * style.
 */
function choose({ only: names, patterns: wanted }) {
  const forms = wanted.map((text) => new RegExp(text.split('*').map(literal).join('.*')))
  const fits = (file) => forms.length === 0 || forms.some((form) => form.test(file))
  const found = groups
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((group) => Object.assign({ files: longestFirst(group).filter(fits) }, group))
    .filter(({ files, folders }) => files.length > 0 || (folders.length === 0 && forms.length === 0))
  if (found.length === 0)
    refuse(wanted.length > 0 ? `No test file has ${wanted.join(' or ')} in its path.` : `No tests in ${names.join(', ')}.`)
  return found
}

function literal(text) {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** A name of the list that no file has is a mistake. */
function longestFirst({ name, folders, longest = [] }) {
  const files = folders.flatMap(testsIn)
  const first = longest.map((one) => files.find((file) => file.endsWith(`/${one}.test`)))
  if (first.includes(undefined)) throw new Error(`${longest[first.indexOf(undefined)]} is no file of ${name}`)
  return [...new Set([...first, ...files])]
}

/** By their sources: a compiled test whose source is gone stays in dist. */
function testsIn(folder) {
  const full = join(root, 'test', folder)
  if (!existsSync(full)) return []
  return readdirSync(full, { recursive: true })
    .map((file) => relative(root, join(full, file)))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()
}

function refuse(text) {
  console.error(text)
  process.exit(2)
}

async function runGroup(group) {
  const row = startRow(group)
  for (let round = 1; round <= repeat; round++) {
    if (interruptedBy) break
    heading(group, round)
    if (group.folders.length === 0) await runStyle(row)
    else await runTests(group, row)
  }
  row.seconds = ((performance.now() - row.startedMs) / 1_000).toFixed(1)
}

async function runStyle(row) {
  for (const { name, command, args } of style) {
    if (interruptedBy) break
    const { code } = await ended(start(command, args, {}))
    note(row, { name, place: `${command} ${args.join(' ')}`, passed: code === 0, explains: code !== 0, error: [] })
    console.log(`${code === 0 ? '✔' : '✖'} ${name}`)
  }
}

async function runTests(group, row) {
  const shared = group.postgres ? await postgres() : undefined
  if (shared && shared.env === undefined) {
    row.failed++
    console.log('✖ PostgreSQL for the tests did not start; the lines above say why.')
    return
  }
  const child = start(process.execPath, ['--enable-source-maps', join('tools', 'test', 'files.mjs')], shared?.env ?? {}, [
    'ignore',
    'inherit',
    'inherit',
    'ipc',
  ])
  const before = row.failed
  child.on('message', (report) => (report.is === 'file' ? ranFiles.push(report) : note(row, report)))
  child.send({
    files: group.files.map((file) => join(root, 'dist', `${file}.js`)),
    atOnce: group.atOnce ?? 2,
    timeout: fileWithinMs,
  })
  const { code } = await ended(child)
  // What a test left behind must not disturb the next ones, nor outlive the run.
  signalGroup(child, 'SIGKILL')
  if ((code !== 0 || interruptedBy) && row.failed === before) row.failed++
}

/**
 * A test that neither passed nor failed (cancelled, left out) did not keep its promise either, so
 * it counts as failed.
 */
function note(row, test) {
  if (!test.group) {
    row.tests++
    row[test.passed ? 'passed' : 'failed']++
  }
  if (test.explains) row.failures.push(test)
}

/**
 * What the files of the run share, made when it is first needed. Has no environment if the server
 * does not come up.
 */
async function postgres() {
  if (cluster) return cluster
  console.log('- Starting PostgreSQL for the tests …')
  const stdio = ['pipe', 'pipe', 'inherit']
  const child = start(process.execPath, [join('dist', 'test', 'harness', 'test-cluster.js'), workplace], {}, stdio)
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
  const foreign = /^(?:DATABASE_URL|PORT|PG[A-Z]+|TOLLGATE_.*|MERCHANT_SERVER_CONFIG|NODE_TEST_CONTEXT)$/
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

function startRow(group) {
  const row = { group: group.name, tests: 0, passed: 0, failed: 0, startedMs: performance.now(), seconds: '0.0', failures: [] }
  rows.push(row)
  return row
}

function heading({ name, means }, round) {
  const title = repeat === 1 ? `${name}: ${means}` : `${name}: ${means}, ${round} of ${repeat}`
  console.log(`\n── ${title} ${'─'.repeat(Math.max(2, 72 - title.length))}\n`)
}

function tell(failures) {
  told = true
  const passed = rows.reduce((sum, row) => sum + row.passed, 0)
  console.log(`\n${passed} passed, ${failures} failed`)
}
