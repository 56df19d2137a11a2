import Fastify from 'fastify'
import { createServer } from 'node:http'
import type { Clock } from '../../src/base/clock.ts'
import { reasonOf, type Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { BarPages } from '../../src/http/bar.ts'
import type { Merchant } from '../merchant-server/merchant.ts'
import { strangerOf } from '../this-machine.ts'
import { addOperations, pathsOf } from '../merchant-server/server.ts'
import { addDemoApp, type DemoAppOptions } from './app/routes.ts'
import { CallbackBook, type CallbackKeys } from './callbacks/book.ts'
import { addCallbacks, callbacksFirst } from './callbacks/routes.ts'
import { plain } from './sending.ts'

export type AppOptions = Pick<DemoAppOptions, 'endpoints' | 'acquirerAdminUrl'>

interface MerchantServerOptions extends CallbackKeys {
  host: string
  /** 0 picks a free port. */
  port: number
  login: string
  /** Including its path, such as `http://127.0.0.1:8080/gateway`; only shown. */
  gatewayBaseUrl: string
  /** If present, the endpoints of the mobile API are served beside the callbacks. */
  mobile?: Merchant
  /** Where the demo app may pay; with `mobile`, whose endpoints it calls. */
  app?: AppOptions | undefined
  places?: BarPages
  clock: Clock
  random: Random
  log: Log
}

interface MerchantServer {
  port: number
  /** Without a trailing slash. */
  url: string
  book: CallbackBook
  /** Ends immediately, including open connections. */
  close(): Promise<void>
}

/**
 * Above the largest form the gateway sends: 65,536 characters of merchant data, four bytes each,
 * three characters a byte.
 */
const bodyLimitBytes = 2 * 1024 * 1024

/** A gateway that calls now and then need not connect again each time. */
const keepAliveMs = 72_000

/**
 * The reference merchant server: what a merchant runs to receive the gateway's messages. It
 * receives and shows callbacks. The part that the mobile API calls is in
 * `simulators/merchant-server/`.
 */
export async function startMerchantServer(options: MerchantServerOptions): Promise<MerchantServer> {
  const book = new CallbackBook(options, options.clock)
  const { mobile, places = {} } = options
  const app = Fastify({
    ...(mobile && pathsOf(mobile)),
    bodyLimit: bodyLimitBytes,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    serverFactory: (routes) => createServer({ keepAliveTimeout: keepAliveMs }, callbacksFirst({ ...options, book }, routes)),
  })
  app.addHook('onRequest', async (request, reply) => {
    const turned = strangerOf(request, "the merchant's server of the sandbox")
    if (turned) await plain(reply, turned.status, turned.why)
  })
  if (mobile) await app.register(async (scope) => addOperations(scope, mobile))
  const demo = options.app
  if (demo) await app.register(async (scope) => addDemoApp(scope, { ...options, ...demo, places }))
  addCallbacks(app, { ...options, places, book, callbackUrl: () => `${url}/callback` })
  app.setNotFoundHandler((_request, reply) =>
    plain(reply, 404, 'There is nothing here. Callbacks go to /callback; / shows them.'),
  )
  app.setErrorHandler((thrown, _request, reply) => {
    const status = statusOf(thrown)
    if (status >= 500) options.log.error({ reason: reasonOf(thrown) }, 'A request failed.')
    return plain(reply, status, status >= 500 ? 'Internal error' : reasonOf(thrown))
  })

  await app.listen({ host: options.host, port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
  return { port, url, book, close: () => app.close() }
}

function statusOf(thrown: unknown): number {
  const status = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined
  return typeof status === 'number' ? status : 500
}
