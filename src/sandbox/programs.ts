import { spawn } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { BarPages } from '../http/bar.ts'

/** A simulator that runs in a separate process. */
export interface Program {
  name: string
  /** The one line that it printed when it was ready. */
  ready: Readonly<Record<string, unknown>>
  /** Resolves when it ends, whether stopped or not. */
  ended: Promise<string>
  stop: () => Promise<void>
  /** Sends it the pages of the whole sandbox, for the bar of its own. */
  tell: (places: BarPages) => void
}

/** Which simulator, and how. Its log is <directory>/log/<name>.log. */
export interface Launch {
  name: string
  args: string[]
  directory: string
  env: Record<string, string>
}

/** Longer than one waits for a database that is being restarted. */
const startWithinMs = 90_000
const stopWithinMs = 3_000

/** The file of a simulator, which is started by its name, because nothing here imports one. */
export const programFile = (name: string): string =>
  fileURLToPath(new URL(`../../simulators/${name}/program.js`, import.meta.url))

const logFileOf = ({ directory, name }: Launch): string => join(directory, 'log', `${name}.log`)

/**
 * Starts `simulators/<name>/program` and waits for its ready line. It ends when this process does.
 * Tests start it in a process that runs many; a connection to this socket stands for its own.
 */
export const startProgram = (launch: Launch, socket?: string): Promise<Program> =>
  socket === undefined ? startProcess(launch) : startAmongOthers(launch, socket)

function startProcess(launch: Launch): Promise<Program> {
  const { name, args, env } = launch
  const log = openSync(logFileOf(launch), 'a', 0o600)
  const child = spawn(process.execPath, [programFile(name), '--die-with-parent', ...args], {
    // A separate session: Ctrl-C in the terminal reaches only the sandbox, which stops everything
    // in order.
    detached: true,
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, ...env },
  })
  closeSync(log)
  const ended = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`)))
  return opened(launch, { input: child.stdin!, output: child.stdout!, ended }, async () => {
    child.kill('SIGTERM')
    const kill = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
    await ended
    clearTimeout(kill)
  })
}

function startAmongOthers(launch: Launch, socket: string): Promise<Program> {
  const line = connect(socket)
  const ended = new Promise<string>((resolve) => line.once('close', () => resolve('its process ended')))
  line.write(`${JSON.stringify(launch)}\n`)
  return opened(launch, { input: line, output: line, ended }, async () => {
    line.end()
    await ended
  })
}

async function opened(
  launch: Launch,
  { input, output, ended }: { input: Writable; output: Readable; ended: Promise<string> },
  stop: () => Promise<void>,
): Promise<Program> {
  const { name } = launch
  // It may end at any time; `ended` reports that.
  input.on('error', () => undefined)
  const line = new Promise<string>((resolve) => createInterface(output).once('line', resolve))
  const failed = (how: string) => new Error(`The ${name} program did not start (${how}); see ${logFileOf(launch)}`)
  const late = new Promise<string>((resolve) =>
    AbortSignal.timeout(startWithinMs).addEventListener('abort', () => resolve(`not ready within ${startWithinMs / 1000} s`)),
  )
  const ready = await Promise.race([line, Promise.race([ended, late]).then((how) => Promise.reject(failed(how)))])
  return { name, ready: JSON.parse(ready), ended, stop, tell: (places) => input.write(`${JSON.stringify(places)}\n`) }
}
