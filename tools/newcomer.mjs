// npm run newcomer: the README and the tutorials, typed word by word where nothing is installed.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readArguments } from './arguments.mjs'
import { build } from './build.mjs'
import { freshClone, newcomer, refuseChanges, temporary } from './fresh.mjs'

const help = `npm run newcomer   npm start in a fresh clone with an empty home, the two commands that it prints, and every
                   command of docs/tutorials: a sale, a challenge, a recurring payment, a return, a mobile transfer

Needs bash and curl, as the tutorials do, and the packages of the lock file. The sandbox takes free ports. About two
minutes. Ends with 0 when every command did what its page says, 1 when not, 2 on wrong usage.
`
const startWithinMs = 300_000

readArguments(help)
build()
const { commandsIn, tutorials, typeCommands } = await import('../dist/test/harness/documents/commands.js')
let sandbox
try {
  refuseChanges()
  await walk()
} catch (thrown) {
  console.error(`✖ ${thrown.message}`)
  process.exitCode = 1
} finally {
  // Ctrl-C in a terminal reaches everything that npm started.
  if (sandbox?.exitCode === null) process.kill(-sandbox.pid, 'SIGINT')
}

async function walk() {
  const place = temporary('newcomer')
  const tree = freshClone(place)
  const env = { ...newcomer(place), PORT: '0' }
  const said = await start(tree, env)
  const [, sale, status] = /1\. Paste a sale:\n([^]*)2\. Ask[^\n]*\n([^]*?)3\. /.exec(said) ?? []
  const pasted = await typeCommands(`${sale}\n echo\n sleep 1\n${status}`, tree, env)
  check('the two commands of npm start', pasted, /^type=async-response[^]*type=status-response.*status=approved/)
  for (const [name, outcome] of Object.entries(tutorials))
    check(
      `docs/tutorials/${name}.md`,
      await typeCommands(commandsIn(join(tree, 'docs', 'tutorials', `${name}.md`)), tree, env),
      outcome,
    )
}

/** Resolves with what `npm start` printed, once the sandbox is ready. */
async function start(cwd, env) {
  const began = performance.now()
  sandbox = spawn('npm', ['start'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [sandbox.stdout, sandbox.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  while (!said.includes('Ctrl-C stops everything')) {
    if (sandbox.exitCode !== null || performance.now() - began > startWithinMs) throw new Error(`npm start:\n${said}`)
    await pause(100)
  }
  console.log(`✔ npm start, with an empty home: ready after ${Math.round((performance.now() - began) / 1_000)} s`)
  return said
}

function check(what, { code, out, errors }, outcome) {
  if (code !== 0 || !outcome.test(out)) throw new Error(`${what} ended with ${code}:\n${out}\n${errors}`)
  console.log(`✔ ${what}`)
}
