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
 * What fails fast comes first. A group without folders is the style of the code itself. The groups
 * after the second stage run together: some wait for clocks and others for the processor, and the
 * longest files begin, so that none of them runs alone in the end. A weight is how many of the
 * places at once a file of the group takes.
 */
// oxfmt-ignore
const groups = [
  { name: 'style',      stage: 1, means: 'lint, format and structure',                     folders: [] },
  { name: 'pure',       stage: 2, means: 'functions and tables, without a world around',   folders: ['tables'],              weight: 3 },
  { name: 'faults',     stage: 3, means: 'processes killed, lines cut, disks full',        folders: ['faults'],              weight: 1 },
  { name: 'simulation', stage: 3, means: 'years of traffic on a clock that is moved',      folders: ['simulation'],          weight: 2 },
  { name: 'wire',       stage: 3, means: 'each operation over HTTP, with real PostgreSQL', folders: ['wire', 'conformance'], weight: 1 },
  { name: 'browser',    stage: 3, means: 'pages in a real browser',                        folders: ['browser'],             weight: 2 },
  { name: 'scrub',      stage: 3, means: 'no card data where none may be',                 folders: ['scrub'],               weight: 1 },
]
const places = 7
// oxfmt-ignore
const longest = [
  'faults/captures-and-returns', 'faults/lost-answers', 'simulation/planted', 'simulation/seeds', 'faults/paused', 'faults/busy',
  'faults/torture', 'faults/mobile-random-sum-crashes', 'faults/transfer-crashes', 'faults/crashes', 'wire/filters', 'browser/hosted',
  'browser/time',
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
  for (const number of new Set(chosen.map(({ stage }) => stage))) await runStage(chosen.filter(({ stage }) => stage === number))
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
    .map((group) => Object.assign({ files: group.folders.flatMap(testsIn).filter(fits) }, group))
    .filter(({ files, folders }) => files.length > 0 || (folders.length === 0 && forms.length === 0))
  const gone = longest.find((name) => !existsSync(join(root, 'test', `${name}.test.ts`)))
  if (gone !== undefined) throw new Error(`${gone} is in the list of the longest files, and there is none`)
  if (found.length === 0)
    refuse(wanted.length > 0 ? `No test file has ${wanted.join(' or ')} in its path.` : `No tests in ${names.join(', ')}.`)
  return found
}

function literal(text) {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
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

async function runStage(stage) {
  for (const { name, files } of stage) rows.push({ group: name, files, tests: 0, passed: 0, failed: 0, seconds: 0, failures: [] })
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
  const shared = stage.some(({ name }) => name !== 'pure') ? await postgres() : undefined
  if (shared && shared.env === undefined) {
    rows.at(-1).failed++
    console.log('✖ PostgreSQL for the tests did not start; the lines above say why.')
    return
  }
  const child = start(process.execPath, ['--enable-source-maps', join('tools', 'test', 'files.mjs')], shared?.env ?? {}, [
    'ignore',
    'inherit',
    'inherit',
    'ipc',
  ])
  const failures = () => rows.reduce((sum, row) => sum + row.failed, 0)
  const before = failures()
  child.on('message', (report) => {
    const row = rows.find(({ files }) => files.includes(report.file))
    if (report.is === 'test') note(row, report)
    else row.seconds += ranFiles[ranFiles.push(report) - 1].seconds
  })
  child.send({ files: longestFirst(stage), places, timeout: fileWithinMs })
  const { code } = await ended(child)
  // What a test left behind must not disturb the next ones, nor outlive the run.
  signalGroup(child, 'SIGKILL')
  if ((code !== 0 || interruptedBy) && failures() === before) rows.at(-1).failed++
}

/** Those of the list first, the rest in the order of their groups. */
function longestFirst(stage) {
  const all = stage.flatMap(({ files, weight }) => files.map((file) => ({ file, weight })))
  const first = longest.flatMap((name) => all.filter(({ file }) => file === `test/${name}.test`))
  return [...new Set([...first, ...all])]
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
