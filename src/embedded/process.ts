import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, type Stats } from 'node:fs'
import { basename } from 'node:path'
import { codeOf } from '../base/error-code.ts'
import { type Clock, sleep } from '../base/clock.ts'

/** The user a child runs as, if we are root and it must not be. */
export interface User {
  name: string
  uid: number
  gid: number
}

/** Where Linux shows its processes. Without it (macOS), signal 0 and a connection decide. */
export const systemProc = '/proc'

/**
 * Identifies one life of one process, so that a reused pid is noticed. Undefined: no process has
 * this pid; a zombie counts as none, although signal 0 reaches it. Without /proc all lives of a pid
 * look the same.
 */
export function incarnationOf(pid: number, proc = systemProc): string | undefined {
  const stat = textOf(`${proc}/${pid}/stat`)
  if (stat === undefined) return hasProc(proc) || !answersSignal(pid) ? undefined : 'alive'
  // The second field, the program's name in brackets, may hold spaces and brackets itself: count
  // from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  if (state === undefined || 'ZXx'.includes(state)) return undefined
  return `${textOf(`${proc}/sys/kernel/random/boot_id`)?.trim()}:${startTicks}`
}

export const hasProc = (proc: string): boolean => existsSync(`${proc}/self`)

/** Which processes to find: by a server's working directory and the name of its children. */
export interface ServerTraces {
  data: string
  clusterName: string
}

/**
 * Whether this process is a postmaster or a child of one that works on `traces.data`. PostgreSQL's
 * processes all make the data directory their working directory. Root in a container without
 * CAP_SYS_PTRACE may not look at the working directory of another user's process; there the command
 * line decides, which everybody may read.
 */
export function isServerOf(traces: ServerTraces, pid: number, proc = systemProc): boolean {
  if (incarnationOf(pid, proc) === undefined) return false
  const words = textOf(`${proc}/${pid}/cmdline`)?.split('\0') ?? []
  const program = words[0] ?? ''
  if (basename(program) !== 'postgres' && !program.startsWith('postgres: ')) return false
  try {
    return sameFile(statSync(`${proc}/${pid}/cwd`), statSync(traces.data))
  } catch {
    return words.includes(traces.data) || program.startsWith(`postgres: ${traces.clusterName}: `)
  }
}

/** All processes that work on this data directory; none are found without /proc. */
export function serversOf(traces: ServerTraces, proc = systemProc): number[] {
  if (!hasProc(proc)) return []
  return readdirSync(proc)
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => isServerOf(traces, pid, proc))
}

export const sameFile = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino

/** Sends a signal; false if the process no longer exists. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (thrown) {
    if (codeOf(thrown) === 'ESRCH') return false
    throw thrown
  }
}

/**
 * Polls until `met` returns something other than undefined or false; undefined after the time
 * limit.
 */
export async function until<T>(
  clock: Clock,
  boundMs: number,
  met: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T | undefined> {
  const end = clock.monotonic() + boundMs
  for (;;) {
    const result = await met()
    if (result !== undefined && result !== false) return result
    if (clock.monotonic() >= end) return undefined
    await sleep(clock, 15)
  }
}

/**
 * The environment of every program started here: none of our variables, which may hold secrets and
 * PG… variables; messages in English, because some are recognised.
 */
export const plainEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

export const asUser = (user: User | undefined): { uid?: number; gid?: number } => (user ? { uid: user.uid, gid: user.gid } : {})

/**
 * Runs a program to its end. `failure` is undefined if it ended with 0, else its stderr, or why it
 * could not run.
 */
export function run(command: string, args: string[], user: User | undefined): Promise<{ output: string; failure?: string }> {
  return new Promise((resolve) => {
    // The other user may not be able to enter our working directory; '/' is open to everybody.
    const child = execFile(command, args, { cwd: '/', env: plainEnvironment, ...asUser(user) }, (error, output, errors) =>
      resolve(error ? { output, failure: errors.trim() || error.message } : { output }),
    )
    child.stdin?.end()
  })
}

/** Whether the pid is in use, even by a zombie or another user's process. */
export function answersSignal(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (thrown) {
    return codeOf(thrown) === 'EPERM'
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
