// Runs test files, each job in a process of its own, prints what they say, and reports each test to
// tools/test.mjs, whose child it is. Every process of the tests inherits the environment, the
// options of Node and the process group of this one.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { root } from '../build.mjs'
import { isKnown, runningChildren, secondsOfEnded } from './processor.mjs'
import { inSources, sourceOf } from './sources.mjs'

/** How much of an error the end of the run repeats. */
const errorLines = 16
const looksEveryMs = 5_000
/**
 * A job that computes for longer hangs. By processor time, because a busy machine makes every job
 * slow; the longest takes a minute of it. By the clock where the system does not report it.
 */
const most = isKnown ? { seconds: 600, what: 'of processor time' } : { seconds: 3_600, what: 'on the clock' }
/** A job that reports nothing for so long hangs asleep. Each test within it has shorter limits. */
const silentMs = 900_000

// Each run() listens to the process for its own uncaught errors.
process.setMaxListeners(0)
let stopped = false
const waiting = []
// The files that are running get the same signal and end by it; no further one starts.
process.on('SIGTERM', () => {
  stopped = true
  waiting.length = 0
})
// Without its parent the processes here would never be ended.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
const [{ jobs, places, workplace }] = await once(process, 'message')
waiting.push(...jobs)
const running = new Set()
let spent = secondsOfEnded()
const looking = setInterval(endHanging, looksEveryMs)
await new Promise(fill)
clearInterval(looking)
process.removeAllListeners('disconnect')
process.disconnect()

/** Starts jobs in their order, as many as there are places for; calls `done` after the last. */
function fill(done) {
  const taken = () => Array.from(running).reduce((sum, { weight }) => sum + weight, 0)
  for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
    if (running.size > 0 && taken() + next.weight > places) return
    waiting.shift()
    const job = {
      ...next,
      entry: entryOf(next),
      began: performance.now(),
      heard: performance.now(),
      ending: new AbortController(),
    }
    running.add(job)
    void runJob(job).finally(() => {
      running.delete(job)
      fill(done)
    })
  }
  if (running.size === 0) done()
}

/**
 * One file is run as it is. Several are loaded one after the other by a file that is made here. Its
 * first test ends when all are loaded: Node runs what files leave for `after` when no test is left,
 * and must not take the time between two files for the end.
 */
function entryOf({ group, files }) {
  const compiled = files.map((file) => join(root, 'dist', `${file}.js`))
  if (files.length === 1) return compiled[0]
  const entry = join(workplace, `${group}-${jobs.findIndex((job) => job.files[0] === files[0])}.test.mjs`)
  const urls = JSON.stringify(compiled.map((file) => pathToFileURL(file).href))
  writeFileSync(
    entry,
    `import { test } from 'node:test'
let loaded
const loading = new Promise((resolve) => (loaded = resolve))
test('every file is loaded', () => loading)
for (const url of ${urls}) await import(url).catch((error) => test(url + ' is loaded', () => Promise.reject(error)))
loaded()\n`,
  )
  return entry
}

function endHanging() {
  const children = isKnown ? runningChildren() : []
  for (const job of running) {
    const seconds = isKnown
      ? (children.find(({ command }) => command.includes(job.entry))?.seconds ?? 0)
      : (performance.now() - job.began) / 1_000
    if (seconds > most.seconds) job.hung = `it took more than ${most.seconds} s ${most.what}`
    else if (performance.now() - job.heard > silentMs) job.hung = `nothing came from it for ${silentMs / 60_000} minutes`
    if (job.hung) job.ending.abort()
  }
}

async function runJob(job) {
  const lines = []
  const parents = []
  const ran = { ...job, complaint: '' }
  let source = job.files[0]
  const { signal } = job.ending
  for await (const { type, data } of run({ files: [job.entry], concurrency: 1, signal })) {
    job.heard = performance.now()
    if (type === 'test:stderr') ran.complaint += data.message
    if (type === 'test:stdout' || type === 'test:stderr') lines.push(inSources(data.message.trimEnd()))
    else if (type === 'test:start') parents.splice(data.nesting, Infinity, data.name)
    else if (type === 'test:pass' || type === 'test:fail') {
      source = job.files.find((file) => plain(data.file) === join(root, 'dist', `${file}.js`)) ?? source
      const test = { file: source, group: job.group, ...testOf(type, data, parents, Object.assign(ran, job)) }
      lines.push(lineOf(test, data))
      if (!stopped) process.send(test)
    }
  }
  if (stopped) return
  const seconds = (performance.now() - job.began) / 1_000
  const processor = secondsOfEnded() - spent
  spent += processor
  const name = nameOf(job)
  process.send({ is: 'job', group: job.group, name, files: job.files, seconds, processor })
  console.log([`${name}  ${seconds.toFixed(1)} s`, ...lines, ''].join('\n'))
}

/** A test that was skipped or put off has not passed. */
function testOf(type, { name, nesting, file, line, column, skip, todo, details }, parents, job) {
  const passed = type === 'test:pass' && skip === undefined && todo === undefined
  const { error } = details
  const crashed = name === job.entry
  const titles = [...parents.slice(0, nesting), name]
  return {
    is: 'test',
    titles: crashed ? [`${nameOf(job)} as a whole`] : titles,
    milliseconds: details.duration_ms,
    place: relative(root, crashed ? job.entry : sourceOf(plain(file), line, column)),
    isSuite: details.type === 'suite',
    passed,
    // A test that failed because one within it did says nothing new.
    explains: !passed && error?.failureType !== 'subtestsFailed',
    error: passed ? [] : [...(crashed && job.hung ? [job.hung] : []), ...shortly(error, skip ?? todo, job.complaint)],
  }
}

function lineOf({ passed, explains }, { name, nesting, details }) {
  const title = `${passed ? '✔' : '✖'} ${name} (${Math.round(details.duration_ms)} ms)`
  const text = explains && details.error ? `${title}\n${inSources(inspect(causeOf(details.error)))}` : title
  return text.replaceAll(/^/gm, ' '.repeat(2 * (nesting + 1)))
}

function shortly(error, leftOut, complaint) {
  if (!error) return [`left out (${leftOut})`]
  const { exitCode, signal } = error
  if (exitCode !== undefined) {
    // Node prints an uncaught error under a line that begins with its class.
    const thrown = complaint.slice(Math.max(0, complaint.search(/^\w*Error\b/m)))
    return [`its process ended with ${signal ?? `exit code ${exitCode}`}`, ...beginOf(thrown)]
  }
  const cause = causeOf(error)
  const message = typeof cause === 'string' ? cause : (cause?.message ?? inspect(cause))
  return beginOf(message)
}

function beginOf(text) {
  return inSources(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, errorLines)
}

/** Node wraps what a test threw, or says in words what happened to it. */
function causeOf(error) {
  return error.cause ?? error
}

function nameOf({ group, files }) {
  const names = files.map((file) => relative('test', file).replace(/\.test$/, ''))
  return names.length === 1 ? names[0] : `${group}: ${names.join(', ')}`
}

function plain(file = '') {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}
