import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Client } from 'pg'
import { codeOf } from '../base/error-code.ts'
import { type Clock, sleep } from '../base/clock.ts'
import { type Log, reasonOf } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import { databaseName, roleName, tracesOf } from './cluster.ts'
import type { DataDirectory } from './data-directory.ts'
import {
  answersSignal,
  asUser,
  hasProc,
  incarnationOf,
  isServerOf,
  plainEnvironment,
  sameFile,
  serversOf,
  signal,
  until,
} from './process.ts'

/** Everything that the functions of this file need to know of one installation. */
export interface Site extends DataDirectory {
  password: Secret<string>
  clock: Clock
  log: Log
  proc: string
}

/** A postmaster and the port it listens on. */
export interface Postmaster {
  pid: number
  incarnation: string
  port: number
}

// Recovery after a crash reads at most max_wal_size; a slow disk may take minutes and must not be
// interrupted.
const readyBoundMs = 300_000
const fastStopBoundMs = 60_000
const immediateStopBoundMs = 10_000
const childrenBoundMs = 5_000
const listeningBoundMs = 2_000
const largestLogBytes = 10_000_000

const logFile = (directory: string): string => join(directory, 'postgres.log')

export const urlOf = (password: Secret<string>, port: number): string =>
  `postgres://${roleName}:${password.reveal()}@127.0.0.1:${port}/${databaseName}`

interface PidFile {
  pid: number
  port: number | undefined
  status: string
}

/**
 * postmaster.pid has a line each for pid, data directory, start time, port, socket directory,
 * address, shared memory key, status.
 */
function readPidFile(data: string): PidFile | undefined {
  const path = join(data, 'postmaster.pid')
  if (!existsSync(path)) return undefined
  const lines = readFileSync(path, 'utf8').split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]) || undefined, status: lines[7]?.trim() ?? '' }
}

/**
 * The live server of this data directory, once it answers. Undefined: there is none, and no remains
 * of a dead one are in the way. Throws if there is one that does not answer.
 */
export async function findServer(site: Site): Promise<Postmaster | undefined> {
  const found = await until(site.clock, readyBoundMs, async () => {
    const live = await judge(site)
    if (live === undefined) return 'none'
    // Wait for a server that is stopping: a gateway that has just ended stopped it.
    if (live.port === undefined || live.status !== 'ready') return undefined
    const answer = await greet(site, live.port)
    if (answer === 'ours') return { pid: live.pid, port: live.port, incarnation: incarnationOf(live.pid, site.proc) ?? '' }
    if (answer.startsWith('refused')) throw new Error(`PostgreSQL (pid ${live.pid}) works on ${site.data} and ${answer}`)
    return undefined
  })
  if (found === undefined) {
    throw new Error(`PostgreSQL (pid ${readPidFile(site.data)?.pid}) works on ${site.data} and does not answer`)
  }
  if (found !== 'none') return found
  await clearRemains(site)
  return undefined
}

/**
 * The process that postmaster.pid names, if it is a live postmaster of this directory and not a
 * zombie or an unrelated process with the same pid.
 */
async function judge(site: Site): Promise<PidFile | undefined> {
  const file = readPidFile(site.data)
  if (file === undefined || incarnationOf(file.pid, site.proc) === undefined) return undefined
  if (hasProc(site.proc)) return isServerOf(tracesOf(site.data), file.pid, site.proc) ? file : undefined
  // Without /proc only a connection shows it. A postmaster listens from its first moments until its
  // end, even while it recovers.
  const answer = await until(site.clock, listeningBoundMs, async () => {
    const greeting = file.port === undefined ? 'silent' : await greet(site, file.port)
    return greeting !== 'silent' && greeting
  })
  return answer === 'ours' || answer === 'busy' ? file : undefined
}

/**
 * The children of a killed postmaster end when they notice, and PostgreSQL refuses to start until
 * then. It also refuses if postmaster.pid names a pid that answers signal 0, even a zombie's or
 * another program's: then the file has to be removed.
 */
async function clearRemains(site: Site): Promise<void> {
  const traces = tracesOf(site.data)
  if (!(await until(site.clock, childrenBoundMs, () => serversOf(traces, site.proc).length === 0))) {
    // Without their postmaster they can do nothing useful, and recovery starts from the log anyway.
    for (const pid of serversOf(traces, site.proc)) signal(pid, 'SIGKILL')
    await until(site.clock, childrenBoundMs, () => serversOf(traces, site.proc).length === 0)
  }
  const file = readPidFile(site.data)
  if (file === undefined) return
  site.log.warn({ pid: file.pid, data: site.data }, 'The last PostgreSQL server was not stopped; it recovers from its log')
  if (!(file.pid > 0) || answersSignal(file.pid)) rmSync(join(site.data, 'postmaster.pid'), { force: true })
}

/**
 * ours: it accepts us and works on this directory. busy: it starts or stops. silent: no process
 * listens. refused…: it is not ours.
 */
async function greet(site: Site, port: number): Promise<'ours' | 'busy' | 'silent' | `refused: ${string}`> {
  try {
    const directory = await withClient(site, port, 'postgres', async (client) => {
      const answer = await client.query<{ data: string }>(`select current_setting('data_directory') as data`)
      return answer.rows[0]!.data
    })
    return sameFile(statSync(directory), statSync(site.data)) ? 'ours' : `refused: it serves ${directory}`
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === '57P03' || code === '53300') return 'busy'
    return code === '28P01' || code === '28000' ? `refused: ${reasonOf(thrown)}` : 'silent'
  }
}

async function withClient<T>(site: Site, port: number, database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: roleName,
    password: site.password.reveal(),
    database,
    ssl: false,
    connectionTimeoutMillis: 5_000,
    application_name: 'tollgate supervisor',
  })
  // The server may stop at any moment; the query then fails with the reason.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Creates a missing database: after initdb, or after a start that was killed right after initdb.
 */
export async function ensureDatabase(site: Site, port: number): Promise<void> {
  await withClient(site, port, 'postgres', async (client) => {
    const found = await client.query('select 1 from pg_database where datname = $1', [databaseName])
    if (found.rows.length === 0) await client.query(`create database ${databaseName}`)
  })
}

/** Asks the kernel for a port that is free on the loopback address at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/**
 * Starts the server in its own session, so that neither our death nor Ctrl-C in our terminal ends
 * it, and waits until it accepts us. A port may be taken between its choice and its use: then
 * `choosePort` is called again, ten times at most.
 */
export async function launch(site: Site, postgres: string, choosePort: () => Promise<number>): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await launchOn(site, postgres, await choosePort())
    if (typeof outcome !== 'string') return outcome
    const passing = /Address already in use|pre-existing shared memory block/.test(outcome) || outcome.startsWith(killed)
    if (!passing || attempt === 10) throw new Error(`PostgreSQL did not start: ${outcome} (${logFile(site.directory)})`)
    await sleep(site.clock, attempt * 20)
    await clearRemains(site)
  }
}

const killed = 'it was ended by '

/** A text is the reason of the failure in the server's own words. */
async function launchOn(site: Site, postgres: string, port: number): Promise<Postmaster | string> {
  const path = logFile(site.directory)
  if (existsSync(path) && statSync(path).size > largestLogBytes) renameSync(path, `${path}.1`)
  const log = openSync(path, 'a', 0o600)
  const logStart = statSync(path).size
  const child = spawn(postgres, ['-D', site.data, '-p', String(port)], {
    cwd: '/',
    detached: true,
    env: plainEnvironment,
    stdio: ['ignore', log, log],
    ...asUser(site.user),
  })
  closeSync(log)
  let ended: string | undefined
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (_code, name) => {
    ended ??= name ? killed + name : complaintIn(path, logStart)
  })
  child.unref()
  const answer = await until(site.clock, readyBoundMs, async () => {
    if (ended !== undefined) return ended
    const file = readPidFile(site.data)
    if (file?.pid !== child.pid || file?.status !== 'ready') return undefined
    const greeting = await greet(site, port)
    return greeting !== 'silent' && greeting !== 'busy' && greeting
  })
  if (ended !== undefined) return ended
  const started: Postmaster = { pid: child.pid!, incarnation: incarnationOf(child.pid!, site.proc) ?? '', port }
  if (answer === 'ours') return started
  await halt(site, started)
  return answer ?? `it was not ready within ${readyBoundMs / 1000} s`
}

function complaintIn(path: string, from: number): string {
  const lines = readFileSync(path).subarray(from).toString('utf8').split('\n')
  const telling = lines.filter((line) => line !== '' && !/LOG: {2}(?:starting|listening|database system)/.test(line))
  return telling.slice(-6).join('\n') || 'it ended without a message'
}

/**
 * Ends the server and waits until its last process is gone: first by a fast shutdown, then without
 * a checkpoint, then by force.
 */
export async function halt(site: Site, server: Postmaster): Promise<void> {
  const traces = tracesOf(site.data)
  const gone = () => incarnationOf(server.pid, site.proc) !== server.incarnation
  const steps: [NodeJS.Signals, number][] = [
    ['SIGINT', fastStopBoundMs],
    ['SIGQUIT', immediateStopBoundMs],
    ['SIGKILL', immediateStopBoundMs],
  ]
  for (const [name, boundMs] of steps) {
    if (gone()) break
    if (name !== 'SIGINT') site.log.warn({ pid: server.pid, signal: name }, 'PostgreSQL takes too long to stop')
    signal(server.pid, name)
    await until(site.clock, boundMs, gone)
  }
  const left = await until(site.clock, childrenBoundMs, () => serversOf(traces, site.proc).length === 0)
  if (!left) for (const pid of serversOf(traces, site.proc)) signal(pid, 'SIGKILL')
}
