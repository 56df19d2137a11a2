import { spawn } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { BarPages } from '../http/bar.ts'

/** A simulator that runs as a separate process. */
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

/** Longer than one waits for a database that is being restarted. */
const startWithinMs = 90_000
const stopWithinMs = 3_000

/** The file of a simulator, which is started by its name, because nothing here imports one. */
export const programFile = (name: string): string =>
  fileURLToPath(new URL(`../../simulators/${name}/program.js`, import.meta.url))

/**
 * Starts `simulators/<name>/program` and waits for its ready line. Its log is
 * <directory>/log/<name>.log; it ends when this process does.
 */
export async function startProgram(
  name: string,
  args: string[],
  directory: string,
  env: Record<string, string>,
): Promise<Program> {
  const logFile = join(directory, 'log', `${name}.log`)
  const log = openSync(logFile, 'a', 0o600)
  const child = spawn(process.execPath, [programFile(name), '--die-with-parent', ...args], {
    // A separate session: Ctrl-C in the terminal reaches only the sandbox, which stops everything
    // in order.
    detached: true,
    stdio: ['pipe', 'pipe', log],
    env: { ...process.env, ...env },
  })
  closeSync(log)
  // It may end at any time; `ended` reports that.
  child.stdin!.on('error', () => undefined)
  const ended = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`)))
  const line = new Promise<string>((resolve) => createInterface(child.stdout!).once('line', resolve))
  const late = AbortSignal.timeout(startWithinMs)
  const readyLine = await Promise.race([
    line,
    ended.then((how) => Promise.reject(new Error(`The ${name} program did not start (${how}); see ${logFile}`))),
    new Promise<never>((_, reject) =>
      late.addEventListener('abort', () =>
        reject(new Error(`The ${name} program did not start in ${startWithinMs / 1000} s; see ${logFile}`)),
      ),
    ),
  ])
  return {
    name,
    ready: JSON.parse(readyLine),
    ended,
    tell: (places) => child.stdin!.write(`${JSON.stringify(places)}\n`),
    async stop() {
      child.kill('SIGTERM')
      const kill = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
      await ended
      clearTimeout(kill)
    },
  }
}
