// Runs test files, each in a process of its own, prints what they say, and reports each test to
// tools/test.mjs, whose child it is. Every process of the tests inherits the environment, the
// options of Node and the process group of this one.
import { once } from 'node:events'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { root } from '../build.mjs'

/** How much of an error the end of the run repeats. */
const errorLines = 16

// Each run() listens to the process for its own uncaught errors.
process.setMaxListeners(0)
let stopped = false
const waiting = []
// The files that are running get the same signal and end by it; no further one starts.
process.on('SIGTERM', () => {
  stopped = true
  waiting.length = 0
})
// Without its parent nobody would end what runs here.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
const [{ files, places, timeout }] = await once(process, 'message')
waiting.push(...files)
let taken = 0
await new Promise(fill)
process.removeAllListeners('disconnect')
process.disconnect()

/** Starts files in their order, as many as there are places for; calls `done` after the last. */
function fill(done) {
  for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
    if (taken > 0 && taken + next.weight > places) return
    waiting.shift()
    taken += next.weight
    void runFile(next.file).finally(() => {
      taken -= next.weight
      fill(done)
    })
  }
  if (taken === 0) done()
}

async function runFile(source) {
  const file = join(root, 'dist', `${source}.js`)
  const began = performance.now()
  const lines = []
  const parents = []
  let complaint = ''
  for await (const { type, data } of run({ files: [file], concurrency: 1, timeout })) {
    if (type === 'test:stderr') complaint += data.message
    if (type === 'test:stdout' || type === 'test:stderr') lines.push(data.message.trimEnd())
    else if (type === 'test:start') parents.splice(data.nesting, Infinity, data.name)
    else if (type === 'test:pass' || type === 'test:fail') {
      const test = { file: source, ...testOf(type, data, parents, { file, complaint }) }
      lines.push(lineOf(test, data))
      if (!stopped) process.send(test)
    }
  }
  if (stopped) return
  const seconds = (performance.now() - began) / 1_000
  process.send({ is: 'file', file: source, name: nameOf(file), seconds })
  console.log([`${nameOf(file)}  ${seconds.toFixed(1)} s`, ...lines, ''].join('\n'))
}

/** What was left out or put off did not keep its promise, so it has not passed. */
function testOf(type, { name, nesting, file, line, skip, todo, details }, parents, ran) {
  const passed = type === 'test:pass' && skip === undefined && todo === undefined
  const { error } = details
  const crashed = name === ran.file
  return {
    is: 'test',
    name: crashed ? `${nameOf(ran.file)} as a whole` : [...parents.slice(0, nesting), name].join(' › '),
    place: relative(root, crashed ? ran.file : `${plain(file)}:${line}`),
    group: details.type === 'suite',
    passed,
    // A test that failed because one within it did says nothing new.
    explains: !passed && error?.failureType !== 'subtestsFailed',
    error: passed ? [] : shortly(error, skip ?? todo, ran.complaint),
  }
}

function lineOf({ passed, explains }, { name, nesting, details }) {
  const title = `${passed ? '✔' : '✖'} ${name} (${Math.round(details.duration_ms)} ms)`
  const text = explains && details.error ? `${title}\n${inspect(causeOf(details.error))}` : title
  return text.replaceAll(/^/gm, ' '.repeat(2 * (nesting + 1)))
}

function shortly(error, leftOut, complaint) {
  if (!error) return [`left out (${leftOut})`]
  const { exitCode, signal } = error
  if (exitCode !== undefined) {
    // Node prints what nobody caught under a line that begins with its class.
    const thrown = complaint.slice(Math.max(0, complaint.search(/^\w*Error\b/m)))
    return [`its process ended with ${signal ?? `exit code ${exitCode}`}`, ...beginOf(thrown)]
  }
  const cause = causeOf(error)
  const message = typeof cause === 'string' ? cause : (cause?.message ?? inspect(cause))
  return beginOf(message)
}

function beginOf(text) {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, errorLines)
}

/** Node wraps what a test threw, or says in words what happened to it. */
function causeOf(error) {
  return error.cause ?? error
}

function nameOf(file) {
  return relative(root, file)
    .replace(/^dist\/test\//, '')
    .replace(/\.test\.js$/, '')
}

function plain(file = '') {
  return file.startsWith('file:') ? fileURLToPath(file) : file
}
