import { mkdirSync, readFileSync, rmSync, writeFileSync, existsSync, createWriteStream, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { openLog, type Log } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { startEmbedded } from '../storage/embedded.ts'
import { migrate } from '../storage/migrate.ts'
import { openPool } from '../storage/pool.ts'
import { ConfigError, readPort, readTrustedProxies } from './config.ts'
import { basePath, startGateway, type GatewayOptions } from '../gateway/start.ts'
import type { Program } from './programs.ts'
import { banner, step } from './sandbox-banner.ts'
import { makeCertificates } from './sandbox-certificates.ts'
import { sandboxDocs } from './sandbox-docs.ts'
import { startMerchantServer } from './sandbox-merchant-server.ts'
import { oauthKeyOf } from './sandbox-oauth-key.ts'
import { startSimulators, threeDSecureOf } from './sandbox-simulators.ts'
import { settleBins } from './sandbox-bins.ts'
import { pointMobile, settleWorld } from './sandbox-world.ts'
import { endOnDefect, untilSignal } from './signals.ts'
import { usualTuning, type Tuning } from '../gateway/tuning.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Runs the whole world until a signal: database, simulators and gateway. Resolves when all of it has stopped. */
export async function runSandbox(env: Environment): Promise<void> {
  const complaints: string[] = []
  const trustedProxies = readTrustedProxies(env.TRUSTED_PROXIES, complaints)
  const where = { port: readPort(env.PORT, complaints), ...(trustedProxies && { trustedProxies }) }
  if (complaints.length > 0) throw new ConfigError(complaints)
  const directory = resolve(env.TOLLGATE_DIR || '.tollgate')
  const stops: { what: string; stop: () => Promise<void> }[] = []
  const asked = untilSignal()
  let why = ''
  void asked.then((name) => (why = name))
  try {
    const stopped = await start(directory, where, env, stops, () => why !== '')
    const reason = stopped === undefined ? '' : await Promise.race([asked.then(() => ''), ...stopped])
    if (reason) {
      console.error(`\n${reason}`)
      process.exitCode = 1
    }
  } finally {
    if (why) console.log('\nStopping …')
    for (const { what, stop } of stops.reverse()) await stop().catch((error: Error) => console.error(`${what}: ${error.message}`))
    if (why) console.log('Everything is stopped. Your data is kept for the next start.')
  }
}

/** Starts the parts in order. Answers what ends the sandbox besides a signal; undefined when a signal came during the start. */
async function start(
  directory: string,
  { port, ...proxies }: Pick<GatewayOptions, 'port' | 'trustedProxies'>,
  env: Environment,
  stops: { what: string; stop: () => Promise<void> }[],
  interrupted: () => boolean,
): Promise<Promise<string>[] | undefined> {
  mkdirSync(join(directory, 'log'), { recursive: true })
  const log = fileLog(directory, env.LOG_LEVEL ?? 'info')
  endOnDefect(log)

  step(env.DATABASE_URL ? 'Connecting to the database of DATABASE_URL' : 'Starting PostgreSQL')
  const database = env.DATABASE_URL
    ? undefined
    : await startEmbedded({ directory, log, clock: systemClock, random: systemRandom })
  if (database) stops.push({ what: 'PostgreSQL', stop: () => database.stop() })
  const databaseUrl = database?.url ?? env.DATABASE_URL!
  if (interrupted()) return undefined

  step('Preparing the database')
  const kek = masterKey(directory)
  const pool = openPool({ url: databaseUrl, connections: 2, use: 'admin', log })
  try {
    await migrate(pool, systemClock.now(), log)

    step('Starting the simulated card world: acquirer, directory server, issuer')
    const certificates = join(directory, 'certificates')
    await makeCertificates(certificates, systemRandom, systemClock.now())
    const [{ acquirer, directoryServer, acs }, oauth] = await Promise.all([
      startSimulators(directory, certificates, env, stops),
      oauthKeyOf(directory),
    ])
    await settleBins(pool)
    const world = await settleWorld(pool, kek, { acquirerPort: Number(acquirer.ready.port), oauthKey: oauth.publicKey }, log)
    if (interrupted()) return undefined

    const simulators = {
      acquirer_admin_url: String(acquirer.ready.admin_url),
      directory_server_url: String(directoryServer.ready.admin_url),
      acs_url: String(acs.ready.url),
    }
    let merchant: Program | undefined
    const beforeServing = async (baseUrl: string) => {
      step("Starting the merchant's server and its shop")
      merchant = await startMerchantServer(world, { databaseUrl, directory, baseUrl, simulators })
      stops.push({ what: 'merchant server', stop: merchant.stop })
      const { mobile, mobile_fee: fee, mobile_random_sum: randomSum, euro } = world.endpoints
      await pointMobile(pool, [mobile, fee, randomSum, euro], String(merchant.ready.url))
    }

    step('Starting the gateway')
    const gateway = await startGateway({
      databaseUrl,
      kek,
      host: env.HOST ?? '127.0.0.1',
      port,
      ...proxies,
      callbackPolicy: { plainHttp: true, loopbackAnyPort: true },
      clock: systemClock,
      random: systemRandom,
      log,
      threeDSecure: threeDSecureOf(certificates, directoryServer),
      steering: true,
      explains: true,
      routes: sandboxDocs({ world, oauthKeyFile: oauth.file, acsUrl: String(acs.ready.url) }),
      beforeServing,
      tuning: tuningOf(env),
    }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EADDRINUSE' ? new Error(`Port ${port} is taken. Choose another: PORT=8090 npm start`) : error
    })
    stops.push({ what: 'gateway', stop: gateway.stop })
    const baseUrl = `http://127.0.0.1:${gateway.port}${basePath}`

    const file = {
      base_url: baseUrl,
      pid: process.pid,
      merchant: { login: world.login, control_key: world.controlKey.reveal(), oauth_private_key_file: oauth.file },
      endpoints: world.endpoints,
      endpoint_groups: world.groups,
      merchant_server_url: String(merchant!.ready.url),
      shop_url: String(merchant!.ready.shop_url),
      simulators,
      database_url: databaseUrl,
    }
    const sandboxFile = join(directory, 'sandbox.json')
    writeFileSync(`${sandboxFile}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${sandboxFile}.new`, sandboxFile)
    stops.push({ what: 'sandbox.json', stop: async () => rmSync(sandboxFile, { force: true }) })
    if (interrupted()) return undefined
    console.log(banner(file, directory, systemClock.now()))
    return [
      gateway.lost.then(() => 'The gateway lost its lease; another process took its place.'),
      ...[acquirer, directoryServer, acs, merchant!].map(endOf),
    ]
  } finally {
    await pool.close()
  }
}

const endOf = (program: Program): Promise<string> =>
  program.ended.then((how) => `The ${program.name} program ended by itself (${how}); its log says why.`)

/** The key-encryption key of the sandbox: made once, kept in a file of its own, never in the database. */
function masterKey(directory: string): Secret<Buffer> {
  const folder = join(directory, 'keys')
  const file = join(folder, 'master.key')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${systemRandom.bytes(32).toString('base64')}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  return secret(Buffer.from(readFileSync(file, 'utf8'), 'base64'))
}

function fileLog(directory: string, level: string): Log {
  const file = createWriteStream(join(directory, 'log', 'gateway.log'), { flags: 'a', mode: 0o600 })
  return openLog({ level, destination: file })
}

/** The bench turns these to show what batching and the hand-over in memory are worth. */
const tuningOf = (env: Environment): Tuning => ({
  ...usualTuning,
  ...(env.TOLLGATE_MAX_BATCH ? { maxBatch: Number(env.TOLLGATE_MAX_BATCH) } : {}),
  ...(env.TOLLGATE_HAND_OVER === 'off' ? { handOver: false } : {}),
  ...(env.TOLLGATE_LANES ? { lanes: Number(env.TOLLGATE_LANES) } : {}),
})
