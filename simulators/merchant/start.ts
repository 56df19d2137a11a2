import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { whileRestarting } from '../../src/storage/patience.ts'
import { openMerchant } from '../merchant-server/start.ts'
import type { Configuration } from './configuration.ts'
import { startMerchantServer, type AppOptions } from './server.ts'
import { startShop } from './shop/server.ts'

interface Around {
  host: string
  /** 0 takes a free one; so does `shopPort`. */
  port: number
  shopPort: number
  /** Filled once the whole sandbox serves. */
  places?: BarPages
  clock: Clock
  random: Random
  log: Log
}

export interface RunningMerchant {
  port: number
  /** Without a slash at the end, as that of the shop. */
  url: string
  shopUrl: string | undefined
  close(): Promise<void>
}

/** Starts the merchant's server inside this process, and its shop where that is configured. */
export async function startMerchant(
  { shopPort, port, places = {}, ...given }: Around,
  configuration: Configuration,
): Promise<RunningMerchant> {
  const { shop: wanted, mobile: asked, app: appAsked, ...account } = configuration
  const { login, controlKey, gatewayBaseUrl: baseUrl } = account
  const world = { ...given, places }
  const stops: (() => Promise<void>)[] = []
  const close = async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  }
  try {
    const mobile = asked && (await whileRestarting(() => openMerchant({ ...world, ...asked }), world))
    if (mobile) stops.push(mobile.close)
    const app = wanted && appAsked && appOf(appAsked, wanted)
    const server = await startMerchantServer({ ...world, ...account, ...(mobile && { mobile: mobile.merchant, app }), port })
    stops.push(server.close)
    const { book, url } = server
    const shopOptions = wanted && { ...world, ...wanted, port: shopPort, account: { login, controlKey, baseUrl }, book }
    const shop = shopOptions && (await startShop({ ...shopOptions, callbackUrl: `${url}/callback` }))
    if (shop) stops.push(shop.close)
    return { port: server.port, url, shopUrl: shop?.url, close }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

function appOf(endpoints: object, { journals: { acquirerAdminUrl } }: NonNullable<Configuration['shop']>): AppOptions {
  return {
    endpoints: Object.entries(endpoints).map(([name, id]) => ({ name, id: String(id) })),
    acquirerAdminUrl,
  }
}
