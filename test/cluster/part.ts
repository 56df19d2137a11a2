import { spawn, type ChildProcess } from 'node:child_process'
import { openSync, closeSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { asUser, incarnationOf, signal, type User } from '../../src/embedded/process.ts'

export interface PartSettings {
  name: string
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Whom it runs as, if this process is root's and it refuses to be. */
  user?: User
  directory: string
  log: string
  /** Learns of each process, and of its end. */
  watch: (pid: number, is: 'begun' | 'ended') => void
  /** It ended without a request to. */
  onEnd: (says: string) => void
}

/** One program: etcd, Patroni, HAProxy or a gateway. It is killed and started again. */
export class Part {
  readonly name: string
  readonly #settings: PartSettings
  #child: ChildProcess | undefined
  #wanted = false

  constructor(settings: PartSettings) {
    this.name = settings.name
    this.#settings = settings
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): void {
    const { command, args, env, user, directory, log, watch, onEnd, name } = this.#settings
    const file = openSync(log, 'a', 0o600)
    // A session of its own: Ctrl-C in the terminal reaches this process alone.
    const child = spawn(command, args, { cwd: directory, env, ...asUser(user), detached: true, stdio: ['ignore', file, file] })
    closeSync(file)
    this.#child = child
    this.#wanted = true
    child.once('error', (error) => onEnd(`${name} cannot be started: ${error.message}`))
    const pid = child.pid
    if (pid === undefined) return
    watch(pid, 'begun')
    child.once('exit', (code, how) => {
      watch(pid, 'ended')
      if (this.#child !== child) return
      this.#child = undefined
      if (this.#wanted) onEnd(`${name} ended by itself (${how ?? `exit code ${code}`}): ${endOf(log)}`)
    })
  }

  signal(name: NodeJS.Signals): void {
    if (this.#child?.pid !== undefined) signal(this.#child.pid, name)
  }

  /** Sends the signal and waits for the end; after `withinMs` it is killed. */
  async end(name: 'SIGKILL' | 'SIGTERM', withinMs: number): Promise<void> {
    this.#wanted = false
    const child = this.#child
    if (child?.pid === undefined) return
    const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    signal(child.pid, 'SIGCONT')
    signal(child.pid, name)
    const late = setTimeout(() => signal(child.pid!, 'SIGKILL'), withinMs)
    await over
    clearTimeout(late)
  }
}

const endOf = (log: string): string => readFileSync(log, 'utf8').trim().split('\n').slice(-15).join('\n')

/** Waits until none of these processes is there any more. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  while (pids.some((pid) => incarnationOf(pid) !== undefined)) await pause(20)
}
