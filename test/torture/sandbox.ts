import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startEmbedded } from '../../src/embedded/start.ts'
import { freePort } from '../harness/world/port.ts'
import type { Shop } from './merchant.ts'
import { askAdmin, hastenReversals } from './state.ts'

export interface SandboxFile extends Shop {
  pid: number
  simulators: { acquirer_admin_url: string }
  database_url: string
}

export type Say = (text: string) => void

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const startWithinMs = 180_000
const starts = 4
/**
 * A graceful stop of the gateway takes at most ten seconds; PostgreSQL and the simulators stop
 * after it.
 */
const stopWithinMs = 30_000
const programsWithinMs = 5_000
/** No setting of whoever runs this may reach the sandbox. */
const foreign = /^(?:DATABASE_URL|(?:OPERATOR_)?(?:HOST|PORT)|LOG_LEVEL|PG[A-Z]+|TOLLGATE_.*|NODE_TEST_CONTEXT)$/

/**
 * A sandbox with a durable PostgreSQL of its own, on one port and one directory through all its
 * lives. It is *up* (its process runs, sandbox.json is there), *down* (it was killed or stopped by
 * us), or *ended* (by itself, which is a defect: it is noted and the sandbox is started again).
 */
export class Sandbox {
  readonly directory: string
  /** The programs that ended without being stopped, with the end of their output. */
  readonly endedByItself: string[] = []
  longestStopMs = 0
  /** When PostgreSQL was last killed: a start meanwhile may fail. */
  databaseKilledAt = -Infinity
  file!: SandboxFile
  readonly #say: Say
  readonly #port: number
  readonly #sitter: ChildProcess
  #child: ChildProcess | undefined
  #wanted = false
  #starting: Promise<void> = Promise.resolve()
  #output = ''

  private constructor(port: number, say: Say) {
    this.#port = port
    this.#say = say
    this.directory = mkdtempSync(join(tmpdir(), 'tollgate-torture-'))
    // Run by root, PostgreSQL is another user's and has to pass here.
    chmodSync(this.directory, 0o711)
    this.#sitter = sit(this.directory)
  }

  static async open(say: Say): Promise<Sandbox> {
    // Fixed through all restarts, as a real gateway's is.
    return new Sandbox(await freePort(), say)
  }

  get isUp(): boolean {
    return this.#child !== undefined
  }

  /**
   * Starts it; without `handOver` it keeps no order in memory, and every step is a row that is
   * swept. Tries again when it does not come up while PostgreSQL is being killed.
   */
  start(handOver = true): Promise<void> {
    return (this.#starting = this.#start(handOver))
  }

  async #start(handOver: boolean): Promise<void> {
    const beganAt = performance.now()
    for (let tries = 1; ; tries++) {
      const triedAt = performance.now()
      const why = await this.#startOnce(handOver)
      if (why === undefined) break
      const excused = this.databaseKilledAt > triedAt - 10_000
      if (!excused || tries >= starts) throw new Error(`the sandbox does not start:\n${why}`)
      this.#say(`the sandbox did not come up while PostgreSQL was killed; it is started again (${why.trim().split('\n').at(-1)})`)
    }
    await hastenReversals(this).catch(() => undefined)
    const swept = handOver ? '' : ', and takes every step from its row'
    this.#say(`the gateway serves after ${seconds(performance.now() - beganAt)}${swept}`)
  }

  async #startOnce(handOver: boolean): Promise<string | undefined> {
    const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
    const file = join(this.directory, 'sandbox.json')
    rmSync(file, { force: true })
    this.#output = ''
    const child = spawn(process.execPath, [main, 'sandbox'], {
      cwd: this.directory,
      env: {
        ...own,
        TOLLGATE_DIR: this.directory,
        PORT: String(this.#port),
        ...(handOver ? {} : { TOLLGATE_HAND_OVER: 'off' }),
      },
      // A session of its own: Ctrl-C in the terminal reaches the torture alone, which stops
      // everybody in order.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#sitter.stdin?.write(`${child.pid}\n`)
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()))
    this.#wanted = true
    const end = performance.now() + startWithinMs
    while (!existsSync(file)) {
      if (hasEnded(child)) return this.#output
      if (performance.now() > end) {
        child.kill('SIGKILL')
        return `no answer within ${startWithinMs / 1_000} s; it said:\n${this.#output}`
      }
      await pause(20)
    }
    this.file = JSON.parse(readFileSync(file, 'utf8'))
    this.#child = child
    child.once('exit', (code, how) => void this.#ended(child, how ?? `exit code ${code}`))
    return undefined
  }

  async #ended(child: ChildProcess, how: string): Promise<void> {
    if (!this.#wanted || this.#child !== child) return
    this.#child = undefined
    this.endedByItself.push(`the sandbox ended by itself (${how}): ${this.#output.trim().split('\n').slice(-40).join('\n')}`)
    this.#say(this.endedByItself.at(-1)!)
    await this.start().catch((error: Error) => this.endedByItself.push(error.message))
  }

  /** kill -9, and waits until its simulators noticed: two acquirers must not write one ledger. */
  async kill(): Promise<void> {
    const child = await this.#take()
    if (!child) return
    const programs = programsOf(child.pid!)
    child.kill('SIGKILL')
    await untilEnded(child, stopWithinMs)
    const end = performance.now() + programsWithinMs
    while (programs.some(({ pid }) => isAlive(pid)) && performance.now() < end) await pause(10)
    for (const { pid } of programs) signal(pid, 'SIGKILL')
  }

  /** SIGTERM, and waits for the end. */
  async stop(): Promise<void> {
    const child = await this.#take()
    if (!child) return
    const beganAt = performance.now()
    signal(child.pid!, 'SIGCONT')
    child.kill('SIGTERM')
    const ended = await untilEnded(child, stopWithinMs)
    const tookMs = performance.now() - beganAt
    this.longestStopMs = Math.max(this.longestStopMs, tookMs)
    this.#say(`the sandbox stopped after ${seconds(tookMs)}`)
    if (ended) return
    this.endedByItself.push(`the sandbox did not stop within ${stopWithinMs / 1_000} s of SIGTERM`)
    child.kill('SIGKILL')
    await untilEnded(child, stopWithinMs)
  }

  async #take(): Promise<ChildProcess | undefined> {
    await this.#starting.catch(() => undefined)
    this.#wanted = false
    const child = this.#child
    this.#child = undefined
    return child
  }

  /** SIGSTOP and, after a while, SIGCONT: of the gateway or of the simulated acquirer. */
  async pause(who: 'gateway' | 'acquirer', forMs: number, ended: AbortSignal): Promise<void> {
    const gateway = this.#child?.pid
    const pid =
      who === 'gateway' ? gateway : gateway && programsOf(gateway).find(({ line }) => line.includes('simulators/acquirer'))?.pid
    if (pid === undefined) return
    signal(pid, 'SIGSTOP')
    await pause(forMs, undefined, { signal: ended }).catch(() => undefined)
    signal(pid, 'SIGCONT')
  }

  killDatabase(): boolean {
    const file = join(this.directory, 'postgres', 'postmaster.pid')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
    // A file may outlive its process; another program may have the number then.
    if (!(pid > 1) || !lineOf(pid).includes(this.directory)) return false
    this.databaseKilledAt = performance.now()
    signal(pid, 'SIGKILL')
    return true
  }

  get databaseUrl(): string {
    return this.file.database_url
  }

  admin<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> {
    return askAdmin(this.file.simulators.acquirer_admin_url, method, path, body)
  }

  /** Stops everything and removes it, unless `keep`. */
  async close(keep: boolean): Promise<void> {
    await this.stop()
    const log = openLog({ level: 'fatal', destination: process.stderr })
    // Adopts the server that a killed sandbox left.
    const database = await startEmbedded({ directory: this.directory, log, clock: systemClock, random: systemRandom })
    await database.stop()
    this.#sitter.kill('SIGKILL')
    if (!keep) rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * Should this process be killed, no other would end what it started: a shell reads a pipe that
 * this process alone can write, remembers the last process id it read, and at the end of the pipe
 * kills that process and the database and removes the files.
 */
function sit(directory: string): ChildProcess {
  const script = `while read -r pid; do last=$pid; done
kill -KILL "$last"; kill -QUIT "$(head -n 1 "$1/postgres/postmaster.pid")"; sleep 2; rm -rf "$1"`
  return spawn('/bin/sh', ['-c', script, 'sitter', directory], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
}

/** The processes that a sandbox started, by /proc; none where there is no /proc. */
function programsOf(parent: number): { pid: number; line: string }[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent)
    .map((pid) => ({ pid, line: lineOf(pid) }))
    .filter(({ line }) => line.includes('simulators/'))
}

function parentOf(pid: number): number | undefined {
  const stat = textOf(`/proc/${pid}/stat`)
  return stat === '' ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

const lineOf = (pid: number): string => textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')

/** Empty when the process is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const isAlive = (pid: number): boolean => lineOf(pid).includes('simulators/')

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

async function untilEnded(child: ChildProcess, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (!hasEnded(child) && performance.now() < end) await pause(10)
  return hasEnded(child)
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
