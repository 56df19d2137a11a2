import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openLog } from '../../../src/base/log.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { databaseOf, schemaOf } from '../../../src/storage/cells.ts'
import { createCell } from '../../../src/storage/migrate.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import { insertCell } from '../../../src/storage/cell-rows.ts'
import { holds } from '../clock/until.ts'
import { testDatabase } from '../postgres/postgres.ts'
import { cellNo, openMerchants } from '../world/merchants.ts'
import { metricsOf } from '../world/metrics.ts'
import { freePort } from '../world/port.ts'
import { crashBy, sendWithinMs, type World, type WorldOptions } from '../world/world.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url))
const silent = openLog({ level: 'fatal', destination: process.stderr })
const startWithinMs = 180_000

const tuning = {
  TOLLGATE_SEND_WITHIN_MS: String(sendWithinMs),
  /** The third is so long that a test sees what happens in it. */
  TOLLGATE_REVERSAL_PAUSES_MS: '200,400,5000',
  /** A gateway that waits for its test would spend most of its time on this, every 10 ms. */
  TOLLGATE_LAG_EVERY_MS: '1000',
}
const knownWithinMs = 120_000
/** Its metrics are dear to make. */
const looksEveryMs = 200

/**
 * How to clear away what is left when this process ends. One listener does it for all: a broker
 * has many worlds, and Node warns of more than ten listeners. The last is first: a sandbox ends
 * before its directory goes.
 */
const leftovers = new Set<() => void>()
process.once('exit', () => {
  for (const clear of Array.from(leftovers).toReversed()) clear()
})

/** A new sandbox; `startWorld` has the choice. */
export async function startOwn(options: WorldOptions): Promise<World> {
  const isGiven = options.embedded || options.databaseUrl !== undefined
  const database = isGiven ? undefined : await testDatabase(process.env.TOLLGATE_TEST_TEMPLATE)
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-world-'))
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  leftovers.add(remove)
  // Run by root, the embedded server is another user's and has to pass here.
  chmodSync(directory, 0o711)
  // They take a second to make. A world of its own database makes its own, as a first start does.
  const keys = process.env.TOLLGATE_TEST_KEYS
  if (keys !== undefined && database) cpSync(keys, directory, { recursive: true })
  const named = { TOLLGATE_DIR: directory, DATABASE_URL: options.databaseUrl ?? '' }
  const env: Record<string, string> = { ...tuning, ...options.env, ...named }
  if (process.env.TOLLGATE_TEST_SIMULATORS) env.TOLLGATE_SIMULATORS = process.env.TOLLGATE_TEST_SIMULATORS
  if (database) env.DATABASE_URL = (await options.through?.(database.url)) ?? database.url
  // Kept through all crashes.
  env.PORT = String(await freePort())
  let running = await run(env, directory)
  const databaseUrl = database?.url ?? running.file.database_url
  const added = await addOthers(databaseUrl, directory).catch(giveUp)
  const halves = {
    async kill() {
      const gone = ended(running.child)
      running.child.kill('SIGKILL')
      await gone
    },
    async start() {
      running = await run(env, directory)
      Object.assign(world, viewOf(running.file), { endpoints: world.endpoints, pid: running.child.pid })
    },
  }
  const world: World = {
    ...viewOf(running.file),
    ...added,
    endpoints: { ...running.file.endpoints, ...added.endpoints },
    directory,
    databaseUrl,
    isShared: false,
    pid: running.child.pid!,
    output: () => running.output(),
    ...halves,
    crash: crashBy(halves),
    async halt() {
      const gone = ended(running.child)
      running.child.kill('SIGTERM')
      // A test that failed may have left it stopped.
      running.child.kill('SIGCONT')
      await gone
    },
    async stop() {
      await world.halt()
      await database?.close()
      remove()
      leftovers.delete(remove)
    },
  }
  await Promise.all([known(world), rangesLoaded(world)]).catch(giveUp)
  return world

  /**
   * Left running, the sandbox would keep this process from its end, and with it what went wrong
   * untold.
   */
  function giveUp(error: unknown): never {
    running.child.kill('SIGKILL')
    throw error
  }
}

interface SandboxFile {
  base_url: string
  operator_url: string
  merchant: { login: string; control_key: string; signing_secret: string }
  endpoints: { plain: number; secure: number; euro: number; mobile: number; mobile_fee: number; mobile_random_sum: number }
  endpoint_groups: { multi: number; multi_secure: number }
  merchant_server_url: string
  shop_url: string
  simulators: { acquirer_admin_url: string; directory_server_url: string; acs_url: string }
  database_url: string
  gateway_database_url: string
}

const viewOf = (file: SandboxFile) => ({
  baseUrl: file.base_url,
  operatorUrl: file.operator_url,
  merchant: {
    login: file.merchant.login,
    controlKey: file.merchant.control_key,
    signingSecret: file.merchant.signing_secret,
  },
  groups: file.endpoint_groups,
  acquirerAdminUrl: file.simulators.acquirer_admin_url,
  directoryServerUrl: file.simulators.directory_server_url,
  acsUrl: file.simulators.acs_url,
  merchantServerUrl: file.merchant_server_url,
  shopUrl: file.shop_url,
  gatewayDatabaseUrl: file.gateway_database_url,
})

const ended = (child: ChildProcess) =>
  new Promise((resolve) => (child.exitCode === null && child.signalCode === null ? child.once('exit', resolve) : resolve(0)))

async function run(env: Record<string, string>, directory: string) {
  rmSync(join(directory, 'sandbox.json'), { force: true })
  const child = spawn(process.execPath, [main, 'sandbox'], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  // What a test file throws while it opens its world ends the process without another word.
  const end = () => child.kill('SIGKILL')
  leftovers.add(end)
  child.once('exit', () => leftovers.delete(end))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const file = join(directory, 'sandbox.json')
  const since = Date.now()
  while (!existsSync(file)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the sandbox ended:\n${output}`)
    if (Date.now() - since > startWithinMs) {
      child.kill('SIGKILL')
      throw new Error(`the sandbox did not start:\n${output}`)
    }
    await pause(20)
  }
  return { child, file: JSON.parse(readFileSync(file, 'utf8')) as SandboxFile, output: () => output }
}

/** A second merchant, and endpoints of the first with settings the sandbox does not have. */
/** The sandbox's merchant has no orders yet. */
async function moveToCell(pool: Pool, url: string, cell: number): Promise<void> {
  const schema = schemaOf(cell)!
  const own = openPool({ ...databaseOf(url, { cellNo: cell }), connections: 2, use: 'admin', log: silent })
  await createCell({ cell: own, installation: pool, schema }, systemClock.now())
  await own.close()
  await insertCell(pool, { cellNo: cell }, systemClock.now())
  await pool.run({ name: '', text: `update merchant set cell_no = ${cell}` })
  await pool.run({ name: '', text: `update config_version set version = version + 1` })
}

async function addOthers(url: string, directory: string) {
  const pool = openPool({ url, connections: 2, use: 'search', log: silent })
  try {
    if (cellNo > 0) await moveToCell(pool, url, cellNo)
    return await (await openMerchants(pool, directory)).beside()
  } finally {
    await pool.close()
  }
}

/** A gateway may serve before it has the card ranges, and 3-D Secure would know no card. */
async function rangesLoaded(world: World): Promise<void> {
  const isDone = async () => {
    const metric = await metricsOf(world)
    const loaded = metric.names().filter((name) => name.startsWith('tollgate_directory_loaded{'))
    return loaded.length > 0 && loaded.every((name) => metric(name) === 1)
  }
  await holds(isDone, 'the card ranges are loaded', knownWithinMs, looksEveryMs)
}

/** The gateway reads a changed configuration within a second or two. */
async function known(world: World): Promise<void> {
  const isDone = async () => {
    const reply = await fetch(`${world.baseUrl}/api/v2/status/${world.endpoints.hundredths}`, { method: 'POST' })
    return !(await reply.text()).includes('error-code=4')
  }
  await holds(isDone, 'the gateway sees the new endpoints', knownWithinMs, looksEveryMs)
}
