import { mkdirSync, readFileSync, rmSync, writeFileSync, existsSync, renameSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { hmacSha256 } from '../base/digest.ts'
import { openLog, type Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { endOnDefect, untilSignal } from '../base/signals.ts'
import type { ServingOptions } from '../operator/serving.ts'
import { startOperatorApi } from '../operator-api/start.ts'
import { startGateway, type GatewayOptions } from '../gateway/start.ts'
import type { BarPages } from '../http/bar.ts'
import { localKeks, readKeks, type KeyEncryption } from '../keys/encryption.ts'
import { openHourKeys } from '../keys/hour-key-files.ts'
import { startEmbedded } from '../embedded/start.ts'
import { migrateAll } from '../storage/migrate-cells.ts'
import { whileRestarting } from '../storage/patience.ts'
import { openPool, type Pool } from '../storage/pool.ts'
import { banner, placesOf, step } from './banner.ts'
import { settleBins } from './bins.ts'
import { makeCertificates } from './certificates.ts'
import { partUrl } from './database-user.ts'
import type { OperatorDoor } from './reference/operator.ts'
import { sandboxDocs } from './reference/serve.ts'
import { startMerchantServer } from './merchant-server.ts'
import { oauthKeyOf } from './oauth-key.ts'
import { startSandboxConsole } from './console.ts'
import { sandboxOf, type SandboxFile, type ServedFile } from './file.ts'
import { openLogFile } from './log-file.ts'
import type { Program } from './programs.ts'
import { secureLineOf, startSimulators, threeDSecureOf } from './simulators.ts'
import { pointMobile, settleWorld } from './world.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where the gateway of a sandbox listens; the sandbox sets everything else. */
export type SandboxConfig = Pick<
  GatewayOptions,
  'host' | 'port' | 'operator' | 'trustedProxies' | 'maxConnections' | 'maxPerAddress' | 'limits' | 'tuning'
> & {
  /** Where the hourly keys of CVV2 values are; `sandbox` is its own directory. */
  cvv2Keys: (sandbox: string) => string
}

/** A sandbox that is being started: its directory, and what to stop again, in reverse order. */
interface Run {
  directory: string
  env: Environment
  log: Log
  stops: { what: string; stop: () => Promise<void> }[]
  /** Whether a signal arrived meanwhile. */
  interrupted: () => boolean
}

/**
 * Runs database, simulators and gateway until a signal. Resolves with the exit code once everything
 * has stopped.
 */
export async function runSandbox(env: Environment, config: SandboxConfig): Promise<number> {
  const directory = resolve(env.TOLLGATE_DIR || '.tollgate')
  const stops: Run['stops'] = []
  const asked = untilSignal()
  let why = ''
  void asked.then((name) => (why = name))
  try {
    mkdirSync(join(directory, 'log'), { recursive: true })
    const log = fileLog(directory, env.LOG_LEVEL ?? 'info')
    endOnDefect(log)
    const run: Run = { directory, env, log, stops, interrupted: () => why !== '' }
    const begin = (reached: () => void) =>
      start(run, config, reached).catch((error) => stopAll(stops).then(() => Promise.reject(error)))
    const stopped = await whileRestarting(begin, { clock: systemClock, log })
    const reason = stopped === undefined ? '' : await Promise.race([asked.then(() => ''), ...stopped])
    if (reason) console.error(`\n${reason}`)
    return reason ? 1 : 0
  } finally {
    if (why) console.log('\nStopping …')
    await stopAll(stops)
    if (why) console.log('Everything is stopped. Your data is kept for the next start.')
  }
}

/** The newest first. */
async function stopAll(stops: Run['stops']): Promise<void> {
  for (const { what, stop } of stops.splice(0).reverse())
    await stop().catch((error: Error) => console.error(`${what}: ${error.message}`))
}

/**
 * Starts the parts in order. Returns the other events that end the sandbox besides a signal;
 * undefined if a signal arrived during the start.
 */
async function start(run: Run, config: SandboxConfig, reached: () => void): Promise<Promise<string>[] | undefined> {
  if (run.interrupted()) return undefined
  const databaseUrl = await startDatabase(run)
  if (run.interrupted()) return undefined
  step('Preparing the database')
  const kek = masterKey(run.directory)
  const pool = openPool({ url: databaseUrl, connections: 2, use: 'admin', log: run.log })
  try {
    await migrateAll(pool, databaseUrl, systemClock.now(), run.log)
    reached()
    const passwords = passwordsIn(run.directory)
    const gatewayDatabaseUrl = await partUrl(pool, databaseUrl, ['gateway', 'serve'], passwords('gateway'))
    const operatorDatabaseUrl = await partUrl(pool, databaseUrl, ['clerk', 'operator'], passwords('clerk'))
    const cardWorld = await startCardWorld(run, pool, kek)
    if (run.interrupted()) return undefined
    const served = await serve(run, pool, { databaseUrl, gatewayDatabaseUrl, kek, ...cardWorld }, config)
    const { gateway, merchant } = served
    const parts = { databaseUrl: operatorDatabaseUrl, kek, file: served.file, limits: config.limits }
    const operator_api_url = await startApi(run, parts)
    const { url: console_url, link, token } = await startSandboxConsole(run, pool, servingOf(run, parts))
    Object.assign(served.operator, { url: operator_api_url, token })
    const file = { ...served.file, operator_api_url, console_url }
    writeSandboxFile(run, file)
    if (run.interrupted()) return undefined
    console.log(banner(file, { directory: run.directory, link, now: systemClock.now() }))
    return [
      gateway.lost.then(() => 'The gateway lost its lease; another process took its place.'),
      ...[cardWorld.acquirer, cardWorld.directoryServer, cardWorld.acs, merchant].map(endOf),
    ]
  } finally {
    await pool.close()
  }
}

async function startDatabase({ directory, env, log, stops }: Run): Promise<string> {
  step(env.DATABASE_URL ? 'Connecting to the database of DATABASE_URL' : 'Starting PostgreSQL')
  if (env.DATABASE_URL) return env.DATABASE_URL
  const database = await startEmbedded({ directory, log, clock: systemClock, random: systemRandom })
  stops.push({ what: 'PostgreSQL', stop: () => database.stop() })
  return database.url
}

async function startCardWorld({ directory, env, log, stops }: Run, pool: Pool, kek: KeyEncryption) {
  step('Starting the simulated card world: acquirer, directory server, issuer')
  const certificates = join(directory, 'certificates')
  await makeCertificates(certificates, systemRandom, systemClock.now())
  const [simulators, oauth] = await Promise.all([startSimulators(directory, certificates, env, stops), oauthKeyOf(directory)])
  await settleBins(pool)
  const acquirerPort = Number(simulators.acquirer.ready.port)
  const secureLine = secureLineOf(certificates, simulators.acquirer)
  const world = await settleWorld(pool, kek, { acquirerPort, secureLine, oauthKey: oauth.publicKey }, log)
  return { ...simulators, certificates, oauth, world }
}

type CardWorld = Awaited<ReturnType<typeof startCardWorld>>

/**
 * The gateway. Before it accepts requests it needs the merchant's server, which must know the
 * gateway's address and is part of its configuration.
 */
async function serve(
  { directory, env, log, stops }: Run,
  pool: Pool,
  world: CardWorld & { databaseUrl: string; gatewayDatabaseUrl: string; kek: KeyEncryption },
  { cvv2Keys, ...config }: SandboxConfig,
) {
  const { databaseUrl, gatewayDatabaseUrl, kek, acquirer, directoryServer, acs, certificates, oauth, world: shop } = world
  const simulators = {
    acquirer_admin_url: String(acquirer.ready.admin_url),
    directory_server_url: String(directoryServer.ready.admin_url),
    acs_url: String(acs.ready.url),
  }
  let served: { baseUrl: string; merchant: Program } | undefined
  const beforeServing = async (baseUrl: string) => {
    step("Starting the merchant's server and its shop")
    const merchant = await startMerchantServer(shop, { databaseUrl, baseUrl, simulators }, { directory, env })
    served = { baseUrl, merchant }
    stops.push({ what: 'merchant server', stop: merchant.stop })
    const { mobile, mobile_fee: fee, mobile_random_sum: randomSum, euro } = shop.endpoints
    await pointMobile(pool, [mobile, fee, randomSum, euro], String(merchant.ready.url))
  }
  const places: BarPages = {}
  const operator: OperatorDoor = {}
  const server = () => String(served!.merchant.ready.url)
  step('Starting the gateway')
  const gateway = await startGateway({
    ...config,
    databaseUrl: gatewayDatabaseUrl,
    ownerAllowed: true,
    kek,
    hourKeys: (clock) => openHourKeys(cvv2Keys(directory), clock, systemRandom),
    callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
    clock: systemClock,
    random: systemRandom,
    log,
    threeDSecure: threeDSecureOf(certificates, directoryServer),
    steering: true,
    explains: true,
    routes: sandboxDocs({ world: shop, oauthKeyFile: oauth.file, acsUrl: simulators.acs_url, places, server, operator }),
    beforeServing,
  }).catch((error: Error & { code?: string; port?: number }) => {
    const name = error.port === config.operator.port ? 'OPERATOR_PORT=0' : 'PORT=8090'
    throw error.code === 'EADDRINUSE' ? new Error(`Port ${error.port} is taken. Choose another: ${name} npm start`) : error
  })
  stops.push({ what: 'gateway', stop: gateway.stop })
  const { baseUrl, merchant } = served!
  const file = {
    base_url: baseUrl,
    pid: process.pid,
    merchant: {
      login: shop.login,
      control_key: shop.controlKey.reveal(),
      signing_secret: shop.signingSecret.reveal(),
      signing_public_key: shop.signingPublicKey,
      oauth_private_key_file: oauth.file,
    },
    endpoints: shop.endpoints,
    endpoint_groups: shop.groups,
    merchant_server_url: String(merchant.ready.url),
    shop_url: String(merchant.ready.shop_url),
    operator_url: urlOf(config.operator.host, gateway.operatorPort),
    simulators,
    database_url: databaseUrl,
    gateway_database_url: gatewayDatabaseUrl,
  }
  Object.assign(places, placesOf(file))
  for (const program of [acquirer, directoryServer, acs, merchant]) program.tell(places)
  return { gateway, merchant, file, operator }
}

interface ForOperators extends Pick<SandboxConfig, 'limits'> {
  databaseUrl: string
  kek: KeyEncryption
  file: ServedFile
}

/** On a free port of this machine alone. */
const servingOf = ({ directory, log }: Run, { databaseUrl, kek, file, limits }: ForOperators): ServingOptions => ({
  databaseUrl,
  ownerAllowed: true,
  kek: () => kek,
  callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
  sandbox: { ...sandboxOf(file, directory), pid: process.pid, isRunning: true },
  host: '127.0.0.1',
  port: 0,
  limits,
  clock: systemClock,
  random: systemRandom,
  log,
})

async function startApi(run: Run, parts: ForOperators): Promise<string> {
  step('Starting the API of operators')
  const api = await startOperatorApi(servingOf(run, parts))
  run.stops.push({ what: 'API of operators', stop: api.stop })
  return urlOf('127.0.0.1', api.port)
}

/** An address that stands for all of this machine is reached at its loopback. */
const urlOf = (host: string, port: number): string =>
  `http://${['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`

/** For programs; it exists while the sandbox runs. */
function writeSandboxFile({ directory, stops }: Run, file: SandboxFile): void {
  const sandboxFile = join(directory, 'sandbox.json')
  writeFileSync(`${sandboxFile}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${sandboxFile}.new`, sandboxFile)
  stops.push({ what: 'sandbox.json', stop: async () => rmSync(sandboxFile, { force: true }) })
}

const endOf = (program: Program): Promise<string> =>
  program.ended.then((how) => `The ${program.name} program ended unexpectedly (${how}); its log has the reason.`)

const masterKeyFile = (directory: string) => join(directory, 'keys', 'master.key')

/**
 * The password of a part's database user. Sandboxes that share a database share the key, and so
 * this one.
 */
const passwordsIn =
  (directory: string) =>
  (part: 'gateway' | 'clerk'): Secret<string> =>
    secret(hmacSha256(secret(readFileSync(masterKeyFile(directory))), `database user of the ${part}`).toString('hex'))

/** The key-encryption key: created once, stored in its own file, never in the database. */
function masterKey(directory: string): KeyEncryption {
  const file = masterKeyFile(directory)
  const folder = dirname(file)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${systemRandom.bytes(32).toString('base64')}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  return localKeks(() => readKeks(file, readFileSync(file, 'utf8')), systemRandom)
}

const fileLog = (directory: string, level: string): Log =>
  openLog({ level, destination: openLogFile(join(directory, 'log', 'gateway.log')) })
