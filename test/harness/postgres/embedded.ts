import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Client } from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { type EmbeddedOptions, type EmbeddedServer, startEmbedded } from '../../../src/embedded/start.ts'
import { packageFolder } from '../../../src/embedded/binaries.ts'
import { serversOf, signal } from '../../../src/embedded/process.ts'

export const isRoot = process.geteuid?.() === 0

const log = openLog({ level: 'silent', destination: process.stderr })

export const optionsFor = (directory: string, more: Partial<EmbeddedOptions> = {}): EmbeddedOptions => ({
  directory,
  log,
  clock: systemClock,
  random: systemRandom,
  ...more,
})

/**
 * A directory for this test alone. It is removed after the file's tests, and all processes that
 * serve it are ended.
 */
export async function ownDirectory(mode = 0o711): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-embedded-'))
  await chmod(directory, mode)
  after(async () => {
    await chmod(directory, 0o711)
    for (const pid of processesOn(directory)) signal(pid, 'SIGKILL')
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  })
  return directory
}

/**
 * Makes a database, and gives copies of it for as long as the file runs: a copy costs a tenth of a
 * second of processor time, and a new database more than two.
 */
export async function openCopies(): Promise<() => Promise<string>> {
  const made = await ownDirectory()
  await withServer(optionsFor(made), async () => undefined)
  return async () => {
    const directory = await ownDirectory()
    // With the owner of each file.
    execFileSync('cp', ['-a', `${made}/.`, directory])
    return directory
  }
}

/** The processes that work on the data in this directory. */
export const processesOn = (directory: string): number[] =>
  serversOf({ data: join(directory, 'postgres'), clusterName: 'none of this name' })

/** Runs `work` with a server, which is stopped afterwards. */
export async function withServer<T>(options: EmbeddedOptions, work: (server: EmbeddedServer) => Promise<T>): Promise<T> {
  const server = await startEmbedded(options)
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const result = await client.query<Record<string, unknown>>(sql)
    return result.rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Another process that holds a server: a gateway, as far as these tests go. */
export interface Holder {
  pid: number
  url: string
  adopted: boolean
  serverPid: number
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>
}

const holderCode = `
  const [systemClock, systemRandom, openLog, startEmbedded] = await Promise.all(
    ['base/clock.js systemClock', 'base/random.js systemRandom', 'base/log.js openLog', 'embedded/start.js startEmbedded'].map(
      async (both) => (await import(process.argv[1] + both.split(' ')[0]))[both.split(' ')[1]]))
  const log = openLog({ level: 'silent', destination: process.stderr })
  setInterval(() => undefined, 1000)
  try {
    const server = await startEmbedded({ log, clock: systemClock, random: systemRandom, ...JSON.parse(process.argv[2]) })
    console.log(JSON.stringify({ url: server.url, adopted: server.adopted, serverPid: server.pid }))
  } catch (error) {
    console.log(JSON.stringify({ refused: error.message }))
    process.exit(1)
  }`

const ownSource = new URL('../../../src/', import.meta.url)

/**
 * The URL of a copy of the compiled source, with the packages it needs to run a server, which every
 * user may read: the clone may be below a directory of its owner's alone. It is removed after the
 * test.
 */
export async function readableSource(): Promise<string> {
  const place = await ownDirectory(0o755)
  const packages = join(packageFolder(), '..', '..')
  const needed = new Set(['pg', 'pino', relative(packages, packageFolder())])
  for (const name of needed) {
    const { dependencies = {} }: { dependencies?: object } = JSON.parse(
      readFileSync(join(packages, name, 'package.json'), 'utf8'),
    )
    for (const one of Object.keys(dependencies)) needed.add(one)
  }
  const copies = [...needed].map((name) => [join(packages, name), join(place, 'node_modules', name)] as const)
  for (const [from, to] of [[fileURLToPath(ownSource), join(place, 'src')] as const, ...copies])
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.map') })
  await writeFile(join(place, 'package.json'), JSON.stringify({ type: 'module' }))
  execFileSync('chmod', ['-R', 'a+rX', place])
  return pathToFileURL(join(place, 'src/')).href
}

/** The user of a holder, and a source that this user may read. */
interface Stranger {
  uid: number
  source: string
}

/** Starts a process that starts a server; it is there until it is killed. */
export function spawnHolder(options: Pick<EmbeddedOptions, 'directory' | 'proc'>, as?: Stranger): ChildProcess & { pid: number } {
  const { uid, source } = as ?? { uid: undefined, source: ownSource.href }
  const child = spawn(process.execPath, ['--input-type=module', '-e', holderCode, source, JSON.stringify(options)], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  after(() => child.kill('SIGKILL'))
  if (child.pid === undefined) throw new Error('The holder did not start')
  return Object.assign(child, { pid: child.pid })
}

/** What a holder says once its server is ready; throws its refusal. */
export async function holderOn(options: Pick<EmbeddedOptions, 'directory' | 'proc'>, as?: Stranger): Promise<Holder> {
  const child = spawnHolder(options, as)
  const gone = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout! })) {
    const said: { refused?: string; url: string; adopted: boolean; serverPid: number } = JSON.parse(line)
    if (said.refused !== undefined) throw new Error(said.refused)
    return {
      ...said,
      pid: child.pid,
      async kill() {
        child.kill('SIGKILL')
        await gone
      },
    }
  }
  throw new Error('The holder ended without a word')
}

/** The pid of a dead process that its parent never asks for. */
export async function zombie(): Promise<number> {
  // The parent leaves a reader of its input behind and becomes a program that knows nothing of it.
  const parent = spawn('/bin/sh', ['-c', 'exec 3<&0; (read word <&3) & echo $!; exec sleep 1000'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  after(() => parent.kill('SIGKILL'))
  const [line]: unknown[] = await once(parent.stdout, 'data')
  const pid = Number(String(line))
  if (!(await within(30_000, () => readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('sleep'))))
    throw new Error('No sleep')
  parent.stdin.write('go\n')
  if (!(await within(30_000, () => statOf(pid)[0] === 'Z'))) throw new Error('No zombie')
  return pid
}

/**
 * The fields of /proc/<pid>/stat after the name: state, parent, group, session, …; empty if there
 * is no such process.
 */
export function statOf(pid: number): string[] {
  const path = `/proc/${pid}/stat`
  const stat = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Polls every few milliseconds until `met` holds; false when it did not within the bound. */
export async function within(boundMs: number, met: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + boundMs; performance.now() < end; await pause(10)) if (await met()) return true
  return false
}
