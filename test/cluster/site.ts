import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unprivilegedUser } from '../../src/embedded/data-directory.ts'
import { plainEnvironment, serversOf, signal, type User } from '../../src/embedded/process.ts'
import { Part, untilGone } from './part.ts'

interface Program {
  name: string
  command: string
  args: readonly string[]
  env?: Readonly<Record<string, string>>
}

const sitterFile = fileURLToPath(new URL('./sitter.js', import.meta.url))

/** A directory with everything that a run writes and starts; nothing of it outlives the run. */
export class Site {
  readonly directory: string
  /** A program that ended without being stopped. */
  readonly endedByItself: string[] = []
  /** Whom servers run as that refuse to be root. */
  readonly user: User | undefined
  readonly #sitter: ChildProcess
  readonly #parts: Part[] = []

  constructor(alsoRemoved: readonly string[]) {
    this.directory = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'))
    this.user = process.geteuid?.() === 0 ? unprivilegedUser() : undefined
    // Run by root, the programs are another user's and have to pass here.
    chmodSync(this.directory, 0o711)
    mkdirSync(join(this.directory, 'log'))
    this.#sitter = spawn(process.execPath, [sitterFile, this.directory, ...alsoRemoved], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
  }

  /** A program that is killed and started again, as the user of this process. */
  part(program: Program): Part {
    return this.#part(program)
  }

  /** The same as the unprivileged user. */
  server(program: Program): Part {
    return this.#part({ ...program, ...(this.user ? { user: this.user } : {}) })
  }

  #part(program: Program & { user?: User }): Part {
    const part = new Part({
      env: plainEnvironment,
      ...program,
      directory: this.directory,
      log: join(this.directory, 'log', `${program.name}.log`),
      watch: (pid, is) => this.#sitter.stdin?.write(`${is === 'begun' ? '+' : '-'}${pid}\n`),
      onEnd: (says) => this.endedByItself.push(says),
    })
    this.#parts.push(part)
    return part
  }

  /** A directory of the user that servers run as. */
  own(name: string): string {
    const path = join(this.directory, name)
    mkdirSync(path, { mode: 0o700 })
    if (this.user) chownSync(path, this.user.uid, this.user.gid)
    return path
  }

  /** A file of that user, which no other user reads. */
  ownFile(path: string, text: string): string {
    writeFileSync(path, text, { mode: 0o600 })
    if (this.user) chownSync(path, this.user.uid, this.user.gid)
    return path
  }

  /** The PostgreSQL of the directory with this name: its postmaster and all its children. */
  postgres = (name: string): number[] => serversOf({ data: join(this.directory, name, 'data'), clusterName: '' })

  /** Kills everything and removes it, unless `keep`. */
  async close(keep: boolean, servers: readonly string[]): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.end('SIGKILL', 0)))
    for (const name of servers) {
      const pids = this.postgres(name)
      for (const pid of pids) signal(pid, 'SIGKILL')
      await untilGone(pids)
    }
    this.#sitter.kill('SIGKILL')
    if (!keep && existsSync(this.directory)) rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }
}
