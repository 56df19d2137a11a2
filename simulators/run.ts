import { openLog, reasonOf, type Log } from '../src/base/log.ts'
import type { BarPages } from '../src/http/bar.ts'
import { followParent } from './parent.ts'

/** Shared parts of the programs: options, the ready line, the end. */

/** A simulator that runs as a program, or together with others in one process. */
export interface Simulator {
  /** For its log. */
  name: string
  usage: string
  start(given: Given): Promise<Running>
}

interface Given {
  args: string[]
  /** `start` removes the key that it takes, so that nothing started later inherits it. */
  env: Record<string, string | undefined>
  log: Log
  /** Filled once all of the sandbox serves. */
  places: BarPages
  /** It cannot go on. */
  onFailure: () => void
}

interface Running {
  /** Printed as one line of JSON with `"ready": true`. */
  ready: object
  close(): Promise<void>
}

const dieWithParent = '--die-with-parent'

/** How long to wait for a stop. */
const stopWithinMs = 900

export function whole(name: string, text: string | undefined, most: number): number {
  if (text === undefined) throw new Error(`${name} is missing`)
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) > most) throw new Error(`${name} must be a whole number up to ${most}`)
  return Number(text)
}

export function scaleIn(text: string | undefined): number {
  const scale = Number(text ?? '1')
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text ?? '1') || scale <= 0 || scale > 1000)
    throw new Error('--time-scale must be a number above 0, such as 0.01')
  return scale
}

export function required(name: string, text: string | undefined): string {
  if (text === undefined || text === '') throw new Error(`${name} is missing`)
  return text
}

/** An absolute URL of this scheme, without a trailing slash. */
export function urlIn(name: string, text: string | undefined, scheme: 'http:' | 'https:'): string {
  const url = required(name, text)
  if (!URL.canParse(url) || (new URL(url).protocol !== scheme && scheme === 'https:') || !/^https?:/.test(url))
    throw new Error(`${name} must be an absolute URL that begins with ${scheme}//`)
  return url.replace(/\/+$/, '')
}

/**
 * Runs a program until a signal stops it. Start-up errors are printed together with the usage, and
 * the exit code is 2.
 */
export async function runProgram({ name, usage, start }: Simulator): Promise<void> {
  const { env } = process
  const log = openLog({ level: env['LOG_LEVEL'] ?? 'info', destination: process.stderr })
  try {
    const args = process.argv.slice(2).filter((arg) => arg !== dieWithParent)
    const places: BarPages = {}
    const { ready, close } = await start({ args, env, log, places, onFailure: () => process.exit(1) })
    const stop = stopOnce(name, close, log)
    process.on('SIGTERM', () => stop('SIGTERM'))
    process.on('SIGINT', () => stop('SIGINT'))
    if (process.argv.includes(dieWithParent)) followParent(places, stop)
    process.stdout.write(JSON.stringify({ ready: true, ...ready }) + '\n')
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n${usage}`)
    process.exitCode = 2
  }
}

function stopOnce(name: string, close: () => Promise<void>, log: Log): (why: string) => void {
  let stopping = false
  return (why) => {
    if (stopping) return
    stopping = true
    log.info({ why }, `${name} stops`)
    setTimeout(() => process.exit(1), stopWithinMs)
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ reason: reasonOf(error) }, `${name} could not stop cleanly`)
        process.exit(1)
      },
    )
  }
}
