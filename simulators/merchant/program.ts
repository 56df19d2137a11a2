// The reference merchant server as a program of its own, with the endpoints of the mobile API, and
// the shop beside it, where they are configured: program.js --port N [--shop-port N] [--host
// 127.0.0.1] [--die-with-parent] With --die-with-parent it stops when its standard input ends.
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { openLog, reasonOf } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { secret, type Secret } from '../../src/base/secret.ts'
import {
  readConfiguration as readMobileConfiguration,
  type Configuration as MobileConfiguration,
  type Place,
} from '../merchant-server/configuration.ts'
import { openMerchant } from '../merchant-server/start.ts'
import { startMerchantServer, type AppOptions } from './server.ts'
import { startShop, type ShopOptions } from './shop/server.ts'

const variable = 'MERCHANT_SERVER_CONFIG'
const keys = ['login', 'control_key', 'gateway_base_url'] as const
const shopKeys = ['plain', 'secure', 'euro', 'acs_url', 'directory_server_url', 'acquirer_admin_url'] as const
const stopWithinMs = 900

interface Configuration {
  login: string
  controlKey: Secret<string>
  gatewayBaseUrl: string
  /** Where the shop sells and reads; without it there is no shop, and only callbacks are taken. */
  shop: Pick<ShopOptions, 'endpoints' | 'journals'> | undefined
  /** As `npx tollgate merchant-server` takes it; login and key are those of the account. */
  mobile: (MobileConfiguration & Place) | undefined
  /** Endpoints of the demo app by name; it needs the shop's surroundings too. */
  app: Readonly<Record<string, unknown>> | undefined
}

const log = openLog({ level: process.env['LOG_LEVEL'] ?? 'info', destination: process.stderr })
try {
  const { host, port, shopPort, dieWithParent } = readArguments()
  const { shop: wanted, mobile: asked, app: appAsked, ...account } = readConfiguration()
  const world = { host, clock: systemClock, random: systemRandom, log }
  const mobile = asked && (await openMerchant({ ...world, ...asked }))
  const app = wanted && appAsked && appOf(appAsked, wanted)
  const server = await startMerchantServer({ ...world, ...account, ...(mobile && { mobile: mobile.merchant, app }), port })
  const { login, controlKey, gatewayBaseUrl } = account
  const shop =
    wanted &&
    (await startShop({
      ...world,
      ...wanted,
      port: shopPort,
      account: { login, controlKey, baseUrl: gatewayBaseUrl },
      book: server.book,
      callbackUrl: `${server.url}/callback`,
    }))
  const stop = stopOnce(async () => {
    await Promise.all([server.close(), shop?.close()])
    await mobile?.close()
  })
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  if (dieWithParent) watchParent(stop)
  process.stdout.write(`${JSON.stringify({ ready: true, port: server.port, url: server.url, shop_url: shop?.url })}\n`)
} catch (thrown) {
  process.stderr.write(`The merchant server cannot start: ${reasonOf(thrown)}\n`)
  process.exitCode = 2
}

function readArguments(): { host: string; port: number; shopPort: number; dieWithParent: boolean } {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      'shop-port': { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      'die-with-parent': { type: 'boolean', default: false },
    },
  })
  const isPort = (text: string | undefined) => text !== undefined && /^\d{1,5}$/.test(text)
  if (!isPort(values.port)) throw new Error('--port needs a number; 0 takes a free port')
  if (!isPort(values['shop-port'])) throw new Error('--shop-port needs a number; 0 takes a free port')
  return {
    host: values.host,
    port: Number(values.port),
    shopPort: Number(values['shop-port']),
    dieWithParent: values['die-with-parent'],
  }
}

/**
 * Reads the one variable and takes it out of the environment, so that nothing started from here
 * inherits the key.
 */
function readConfiguration(): Configuration {
  const text = process.env[variable]
  delete process.env[variable]
  if (text === undefined) throw new Error(`${variable} is not set; it is a JSON object of ${keys.join(', ')}`)
  const given = objectIn(text)
  const missing = keys.filter((key) => typeof given[key] !== 'string' || given[key] === '')
  if (missing.length > 0) throw new Error(`${variable} lacks ${missing.join(', ')}`)
  return {
    login: String(given['login']),
    controlKey: secret(String(given['control_key'])),
    gatewayBaseUrl: withoutSlash(given['gateway_base_url']),
    shop: readShop(given['shop']),
    mobile: given['mobile'] === undefined ? undefined : readMobile(given),
    app: given['app'] === undefined ? undefined : { ...Object(Object(given['app']).endpoints) },
  }
}

function readMobile({ mobile, login, control_key }: Record<string, unknown>): MobileConfiguration & Place {
  const read = readMobileConfiguration({ ...Object(mobile), login, control_key })
  if ('complaints' in read) throw new Error(`the mobile of ${variable}: ${read.complaints.join(', ')}`)
  return read
}

function withoutSlash(url: unknown): string {
  return String(url).replace(/\/+$/, '')
}

function appOf(endpoints: object, { journals: { acsUrl, acquirerAdminUrl } }: NonNullable<Configuration['shop']>): AppOptions {
  return {
    endpoints: Object.entries(endpoints).map(([name, id]) => ({ name, id: String(id) })),
    links: [
      ['Callbacks', '/'],
      ['Journal', '/log'],
      ['Test cards', `${acsUrl}/`],
      ['Acquirer', `${acquirerAdminUrl}/`],
    ],
    acquirerAdminUrl,
  }
}

function readShop(given: unknown): Configuration['shop'] {
  if (given === undefined) return undefined
  const shop: Record<string, unknown> = { ...Object(given) }
  const missing = shopKeys.filter((key) => shop[key] === undefined || shop[key] === '')
  if (missing.length > 0) throw new Error(`the shop of ${variable} lacks ${missing.join(', ')}`)
  return {
    endpoints: { plain: String(shop['plain']), secure: String(shop['secure']), euro: String(shop['euro']) },
    journals: {
      acsUrl: withoutSlash(shop['acs_url']),
      directoryServerUrl: withoutSlash(shop['directory_server_url']),
      acquirerAdminUrl: withoutSlash(shop['acquirer_admin_url']),
    },
  }
}

/** The message of JSON.parse quotes its input, and that holds the key: it must not be printed. */
function objectIn(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${variable} is not a JSON object`)
  return { ...value }
}

function stopOnce(close: () => Promise<void>): () => void {
  let stopping = false
  return () => {
    if (stopping) return
    stopping = true
    systemClock.after(stopWithinMs, () => process.exit(1))
    close().then(
      () => process.exit(0),
      (thrown: unknown) => {
        log.error({ reason: reasonOf(thrown) }, 'The merchant server did not close cleanly.')
        process.exit(1)
      },
    )
  }
}

/**
 * The parent keeps a pipe to our standard input; when the parent dies, however it dies, the pipe
 * ends.
 */
function watchParent(stop: () => void) {
  process.stdin.on('end', stop)
  process.stdin.on('error', stop)
  process.stdin.resume()
}
