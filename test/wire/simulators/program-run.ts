import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A program of the sandbox, started as a user starts it. */

const boundMs = 60_000

export interface Run {
  child: ChildProcess
  /** All that it printed so far. */
  output: () => string
  /** Its exit code; null where a signal ended it. */
  exited: Promise<number | null>
  /** The line by which it says that it serves. */
  ready: () => Promise<{ ready: boolean; port: number; url: string } & Record<string, unknown>>
}

export function runProgram(file: string, args: readonly string[], merchantServerConfig?: string): Run {
  const { MERCHANT_SERVER_CONFIG: _, ...env } = process.env
  const child = spawn(process.execPath, [file, ...args], {
    env: merchantServerConfig === undefined ? env : { ...env, MERCHANT_SERVER_CONFIG: merchantServerConfig },
    stdio: 'pipe',
  })
  let output = ''
  const collect = (text: Buffer) => (output += text.toString())
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const exited = once(child, 'close', { signal: AbortSignal.timeout(boundMs) })
    .then(() => child.exitCode)
    .finally(() => child.kill('SIGKILL'))
  const ready: Run['ready'] = async () => {
    const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(boundMs) })
    return JSON.parse(String(line))
  }
  return { child, output: () => output, exited, ready }
}
