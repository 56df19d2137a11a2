import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { request } from 'undici'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { makeCertificates } from '../../src/sandbox/certificates.ts'
import { oauthKeyOf } from '../../src/sandbox/oauth-key.ts'
import { startProgram } from '../../src/sandbox/programs.ts'
import { acquirerArguments, secureLineOf } from '../../src/sandbox/simulators.ts'
import { settleWorld } from '../../src/sandbox/world.ts'
import { localKeks, readKeks } from '../../src/keys/encryption.ts'
import { schemaOf } from '../../src/storage/cells.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPool } from '../../src/storage/pool.ts'
import { plainEnvironment } from '../../src/embedded/process.ts'
import { askAdmin, hastenReversals, type Books } from '../torture/state.ts'
import type { Shop } from '../torture/merchant.ts'
import type { Engine } from './engine.ts'
import { merchantsOf } from './merchants.ts'
import type { Part } from './part.ts'
import type { Site } from './site.ts'

/** Tollgate on a cluster: two gateways, an acquirer, and merchants with endpoints. */
export interface Installation {
  /** One for each cell of the cluster. */
  shops: readonly CellShop[]
  /** Where merchants reach each gateway. */
  origins: readonly [string, string]
  gateways: readonly [Part, Part]
  books: Books
  /** Whether each gateway says that it can take work. */
  ready(): Promise<readonly [boolean, boolean]>
  close(): Promise<void>
}

export interface CellShop {
  cellNo: number
  shop: Shop
}

const gatewayFile = fileURLToPath(new URL('./gateway.js', import.meta.url))
const readyWithinMs = 60_000
const probeMs = 1_000

/** A directory in memory, as `serve` demands it. The two gateways share it. */
export const keyDirectory = (): string => join('/dev/shm', `tollgate-cluster-${randomBytes(6).toString('hex')}`)

export const keyFileOf = (site: Site): string => join(site.directory, 'kek')

export async function openInstallation(engine: Engine, cvv2Keys: string, ended: AbortSignal): Promise<Installation> {
  const { site, ports, passwords, cells } = engine
  const kekFile = keyFileOf(site)
  writeFileSync(kekFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  mkdirSync(cvv2Keys, { mode: 0o700 })
  await asSuperuser(engine, 'postgres', [
    `create role tollgate_owner login password '${passwords.owner}' createrole`,
    'create database tollgate owner tollgate_owner',
  ])
  await engine.prepare()
  const databaseUrl = engine.urlOf(0, 'tollgate_owner', passwords.owner)
  const { acquirer, shops } = await settle(site.directory, databaseUrl, kekFile, cells)
  const books: Books = {
    databaseUrl,
    schemas: cells.map(schemaOf),
    admin: (...asked) => askAdmin(String(acquirer.ready.admin_url), ...asked),
  }
  await hastenReversals(books)
  await asSuperuser(engine, 'tollgate', [`create role gateway login password '${passwords.gateway}' in role tollgate_serve`])
  const gateway = (at: 0 | 1) =>
    site.part({
      name: `gateway${at + 1}`,
      command: process.execPath,
      args: [gatewayFile],
      env: {
        ...plainEnvironment,
        DATABASE_URL: engine.urlOf(at, 'gateway', passwords.gateway),
        TOLLGATE_KEY_FILE: kekFile,
        CVV2_KEY_DIRECTORY: cvv2Keys,
        PORT: String(ports.gateways[at]),
        OPERATOR_PORT: String(ports.operators[at]),
        CARDS_FORGET: 'off',
      },
    })
  const gateways = [gateway(0), gateway(1)] as const
  const ready = () => Promise.all([isReady(ports.operators[0]), isReady(ports.operators[1])])
  for (const one of gateways) one.start()
  const end = performance.now() + readyWithinMs
  while ((await ready()).includes(false)) {
    ended.throwIfAborted()
    if (performance.now() > end || site.endedByItself.length > 0)
      throw new Error(`the gateways did not start: ${site.endedByItself.join('\n')}`)
    await pause(100, undefined, { signal: ended })
  }
  const origins = [`http://127.0.0.1:${ports.gateways[0]}/gateway`, `http://127.0.0.1:${ports.gateways[1]}/gateway`] as const
  return {
    shops: shops.map(({ cellNo, shop }) => ({ cellNo, shop: { base_url: origins[0], ...shop } })),
    origins,
    gateways,
    books,
    ready,
    close: () => acquirer.stop(),
  }
}

async function asSuperuser(engine: Engine, database: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: await engine.superuserUrl(database) })
  await client.connect()
  try {
    for (const text of statements) await client.query(text)
  } finally {
    await client.end()
  }
}

/** The tables, and the world that a sandbox has. */
async function settle(directory: string, databaseUrl: string, kekFile: string, cells: readonly number[]) {
  const log = openLog({ level: 'warn', destination: process.stderr })
  const certificates = join(directory, 'certificates')
  await makeCertificates(certificates, systemRandom, systemClock.now())
  const acquirer = await startProgram({ name: 'acquirer', args: acquirerArguments(directory, certificates), directory, env: {} })
  const pool = openPool({ url: databaseUrl, connections: 2, use: 'admin', log })
  try {
    await migrate(pool, systemClock.now(), openLog({ level: 'silent', destination: process.stderr }))
    const kek = localKeks(() => readKeks('kek', readFileSync(kekFile, 'utf8')), systemRandom)
    const oauthKey = (await oauthKeyOf(directory)).publicKey
    const lines = { acquirerPort: Number(acquirer.ready.port), secureLine: secureLineOf(certificates, acquirer), oauthKey }
    const world = await settleWorld(pool, kek, lines, log)
    const first = { merchant: { login: world.login, control_key: world.controlKey.reveal() }, endpoints: world.endpoints }
    return { acquirer, shops: await merchantsOf(cells, first, { pool, databaseUrl, kek }) }
  } catch (thrown) {
    await acquirer.stop()
    throw thrown
  } finally {
    await pool.close()
  }
}

const isReady = (port: number): Promise<boolean> =>
  request(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(probeMs) }).then(
    async ({ statusCode, body }) => {
      await body.dump()
      return statusCode === 200
    },
    () => false,
  )
