import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/base/clock.ts'
import { openLog } from '../src/base/log.ts'
import { systemRandom } from '../src/base/random.ts'
import { startEmbedded } from '../src/embedded/start.ts'
import { openPool, type Pool } from '../src/storage/pool.ts'
import type { Site } from './load/merchant.ts'

/** A process that serves. */
export interface Gateway {
  pid: number
  /** Its processes, if `pid` is their parent. */
  children?: readonly number[]
  gatewayOrigin: string
  /** Where it has `/health`, `/ready` and `/metrics`. */
  operatorUrl: string
}

/**
 * A sandbox of the bench: all its own processes and an empty, durable database in a directory that
 * goes away with it.
 */
export interface Sandbox extends Gateway {
  site: Site
  /** The gateway runs in the sandbox's own process. */
  pid: number
  /** Gateways of the bench on the same database. */
  others?: readonly Gateway[]
  /** Schemas of further cells in its database. */
  schemas?: readonly string[]
  /** The merchant's signing secret, for callbacks and requests. */
  signingSecret: string
  acquirerAdminUrl: string
  /** As the owner of the tables. */
  databaseUrl: string
  gatewayDatabaseUrl: string
  directory: string
  stop(): Promise<void>
}

interface SandboxFile {
  base_url: string
  operator_url: string
  pid: number
  merchant: { login: string; control_key: string; signing_secret: string }
  endpoints: Record<string, number>
  merchant_server_url: string
  simulators: { acquirer_admin_url: string }
  database_url: string
  gateway_database_url: string
}

/** All gateways on its database, the sandbox's own first. */
export const gatewaysOf = (sandbox: Sandbox): readonly Gateway[] => [sandbox, ...(sandbox.others ?? [])]

/** Its process, and others that serve for it. */
export const pidsOf = ({ pid, children = [] }: Gateway): readonly number[] => [pid, ...children]

const main = fileURLToPath(new URL('../src/cli/main.js', import.meta.url))
const startWithinMs = 60_000
const stopWithinMs = 20_000
/** No setting of whoever runs the bench may reach what is measured. */
const foreign =
  /^(?:DATABASE_URL|(?:OPERATOR_)?(?:HOST|PORT)|PROCESSES|LOG_LEVEL|PG[A-Z]+|MAX_CONNECTIONS_PER_ADDRESS|TOLLGATE_.*)$/

/** The bench is one address, and may have all of a gateway's connections. */
const allConnections = { MAX_CONNECTIONS_PER_ADDRESS: '5000' } as const

/** A directory for a sandbox; stopping it removes what is in it. */
export function makeDirectory(): { directory: string; stop(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  // Run by root, PostgreSQL is another user's and has to pass here.
  chmodSync(directory, 0o711)
  return { directory, stop: () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }) }
}

/** A program of Tollgate's command line that was started. */
export interface Spawned {
  /** Its output, if it has ended. */
  ended(): string | undefined
  stop(): Promise<void>
}

/** Starts one in the directory of a sandbox. */
export function spawnTollgate(directory: string, args: readonly string[], settings: Readonly<Record<string, string>>): Spawned {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: directory,
    env: { ...ownEnvironment(), TOLLGATE_DIR: directory, ...settings },
    // A session of its own: Ctrl-C in the terminal reaches the bench alone, which stops everybody
    // in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    ended: () => (child.exitCode === null && child.signalCode === null ? undefined : output),
    async stop() {
      child.kill('SIGTERM')
      const late = await Promise.race([gone.then(() => false), pause(stopWithinMs, true, { ref: false })])
      if (!late) return
      child.kill('SIGKILL')
      await gone
    },
  }
}

/**
 * Starts a sandbox. If it does not come up, or `signal` aborts, it is stopped and its files are
 * removed, except those in the directory of an earlier start, `kept`.
 */
export async function startSandbox(
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
  kept?: string,
): Promise<Sandbox> {
  const own = kept === undefined ? makeDirectory() : { directory: kept, stop() {} }
  const { directory } = own
  // A sandbox that was killed leaves its file behind.
  rmSync(join(directory, 'sandbox.json'), { force: true })
  const child = spawnTollgate(directory, ['sandbox'], { PORT: '0', ...allConnections, ...settings })

  async function stop(): Promise<void> {
    await child.stop()
    // A sandbox that died leaves its database running: the next start adopts it.
    const database = await startEmbedded({
      directory,
      log: openLog({ level: 'fatal', destination: process.stderr }),
      clock: systemClock,
      random: systemRandom,
    })
    await database.stop()
    own.stop()
  }

  try {
    const file = await sandboxFile(directory, child.ended, signal)
    // The sandbox shows off both signatures of a callback; merchants have the second if they ask.
    await runCli({ directory }, ['merchant', 'signing-key', file.merchant.login, '--off'])
    return {
      site: {
        baseUrl: file.base_url,
        login: file.merchant.login,
        controlKey: file.merchant.control_key,
        endpoints: file.endpoints,
        callbackUrl: `${file.merchant_server_url}/callback`,
      },
      pid: file.pid,
      gatewayOrigin: new URL(file.base_url).origin,
      operatorUrl: file.operator_url,
      signingSecret: file.merchant.signing_secret,
      acquirerAdminUrl: file.simulators.acquirer_admin_url,
      databaseUrl: file.database_url,
      gatewayDatabaseUrl: file.gateway_database_url,
      directory,
      stop,
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

/** One command of `tollgate` on a sandbox; rejects with what it printed when it fails. */
export async function runCli(sandbox: Pick<Sandbox, 'directory'>, args: readonly string[]): Promise<void> {
  const { code, output, errors } = await cliEnded(sandbox, args)
  if (code !== 0) throw new Error(`tollgate ${args.join(' ')} failed:\n${output}${errors}`)
}

/** One command of `tollgate` on a sandbox, whatever its exit code. */
export async function cliEnded(
  { directory }: Pick<Sandbox, 'directory'>,
  args: readonly string[],
): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: directory,
    env: { ...ownEnvironment(), TOLLGATE_DIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { output: '', errors: '' }
  child.stdout.on('data', (chunk: Buffer) => (texts.output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (texts.errors += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, ...texts }
}

/** Does something in the database of a sandbox as its owner, without a time limit. */
export async function onDatabase<T>({ databaseUrl }: Sandbox, work: (pool: Pool) => Promise<T>): Promise<T> {
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: databaseUrl, connections: 1, use: 'admin', log })
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

/** The settings with which `tollgate serve` can serve on the database of a sandbox. */
export const servingOn = ({
  directory,
  gatewayDatabaseUrl,
}: Pick<Sandbox, 'directory' | 'gatewayDatabaseUrl'>): Record<string, string> => ({
  DATABASE_URL: gatewayDatabaseUrl,
  TOLLGATE_KEY: readFileSync(join(directory, 'keys', 'master.key'), 'utf8').trim(),
  ...allConnections,
})

export const ownEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))

/** Waits for sandbox.json, which is there once the gateway serves. */
async function sandboxFile(directory: string, ended: () => string | undefined, signal: AbortSignal): Promise<SandboxFile> {
  const file = join(directory, 'sandbox.json')
  const end = performance.now() + startWithinMs
  while (!existsSync(file)) {
    signal.throwIfAborted()
    const output = ended()
    if (output !== undefined) throw new Error(`The sandbox ended:\n${output}`)
    if (performance.now() > end) throw new Error(`The sandbox did not start within ${startWithinMs / 1_000} s.`)
    await pause(20)
  }
  const read: SandboxFile = JSON.parse(readFileSync(file, 'utf8'))
  return read
}
