// A sandbox for a tool: in a temporary directory, on free ports, removed afterwards.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { root } from '../build.mjs'

const startWithinMs = 60_000
const stopWithinMs = 30_000
/** No setting of whoever runs this may reach the sandbox. */
const foreign = /^(?:DATABASE_URL|(?:OPERATOR_)?(?:HOST|PORT)|LOG_LEVEL|PG[A-Z]+|TOLLGATE_.*)$/

/**
 * Starts the sandbox of a `program`, a bin/tollgate.mjs: the one built here, or an installed one.
 * Resolves with `file`, the content of sandbox.json, `said`, the output so far, and `stop`. If the
 * sandbox does not start, this rejects with its output.
 */
export async function startSandbox(interrupted, program = join(root, 'bin', 'tollgate.mjs')) {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-walk-'))
  // Run by root, PostgreSQL is another user's and has to pass here.
  chmodSync(directory, 0o711)
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
  const child = spawn(process.execPath, [program, 'sandbox'], {
    // A session of its own: Ctrl-C ends it through this program, in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, PORT: '0', TOLLGATE_DIR: directory },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  process.on('exit', () => {
    child.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  const stop = async () => {
    child.kill('SIGTERM')
    await Promise.race([ended, pause(stopWithinMs, undefined, { ref: false })])
  }
  try {
    const ready = join(directory, 'sandbox.json')
    await until('the sandbox serves', startWithinMs, interrupted, () => {
      if (child.exitCode !== null) throw new Error(`the sandbox did not start:\n${said}`)
      return existsSync(ready) && said.includes('is ready')
    })
    return { file: JSON.parse(readFileSync(ready, 'utf8')), said: () => said, stop }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

/** Polls until there is something; nothing waits forever. */
export async function until(what, withinMs, interrupted, look) {
  const late = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found) return found
    if (interrupted.aborted || performance.now() > late) throw new Error(`${what}: not within ${withinMs / 1000} s`)
    await pause(50)
  }
}
