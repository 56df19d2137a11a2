import Fastify, { type FastifyInstance } from 'fastify'
import type { Clock } from '../../src/base/clock.ts'
import { reasonOf, type Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { Secret } from '../../src/base/secret.ts'
import type { Merchant } from '../merchant-server/merchant.ts'
import { addOperations, pathsOf } from '../merchant-server/server.ts'
import { addDemoApp, type DemoAppOptions } from './app.ts'
import { CallbackBook, type CallbackFilter } from './callbacks.ts'
import { callbacksPage } from './page.ts'
import { ownPolicy, plain, sendPage } from './sending.ts'

export type AppOptions = Pick<DemoAppOptions, 'endpoints' | 'links' | 'acquirerAdminUrl'>

interface MerchantServerOptions {
  host: string
  /** 0 takes a free one. */
  port: number
  login: string
  controlKey: Secret<string>
  /** With its path, such as `http://127.0.0.1:8080/gateway`; only shown. */
  gatewayBaseUrl: string
  /** With it the endpoints of the mobile API are served beside the callbacks. */
  mobile?: Merchant
  /** Where the demo app may pay; with `mobile`, whose endpoints it calls. */
  app?: AppOptions | undefined
  clock: Clock
  random: Random
  log: Log
}

interface MerchantServer {
  port: number
  /** Without a slash at the end. */
  url: string
  book: CallbackBook
  /** Ends at once, open connections included. */
  close(): Promise<void>
}

/** Above the largest form the gateway sends: 65,536 characters of merchant data, four bytes each, three characters a byte. */
const bodyLimitBytes = 2 * 1024 * 1024

/**
 * The reference merchant server: what a merchant runs to hear from the gateway. It takes callbacks at `/callback`, checks their
 * control, and shows them at `/` and `/callbacks.json`; what the mobile API calls is in `simulators/merchant-server/`.
 */
export async function startMerchantServer(options: MerchantServerOptions): Promise<MerchantServer> {
  const book = new CallbackBook(options.controlKey, options.clock)
  const { mobile } = options
  const app = Fastify({
    ...(mobile && pathsOf(mobile)),
    bodyLimit: bodyLimitBytes,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  })
  if (mobile) await app.register(async (scope) => addOperations(scope, mobile))
  const demo = options.app
  if (demo) await app.register(async (scope) => addDemoApp(scope, { ...options, ...demo }))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => done(null, body))

  takeCallbacks(app, book, options.log)
  app.get('/callbacks.json', (request, reply) => {
    const list = book.list(filterOf(queryOf(request.url)))
    return reply.header('cache-control', 'no-store').send(
      list.map(({ receivedAt, method, valid, fields }) => ({
        received_at: new Date(receivedAt).toISOString(),
        method,
        valid,
        fields: Object.fromEntries(fields),
      })),
    )
  })
  const started = options.clock.now().toString(36)
  app.get('/', (request, reply) => {
    const revision = `"${started}-${book.counts.received}"`
    const query = queryOf(request.url)
    void reply.header('etag', revision).header('cache-control', 'no-cache')
    if (request.headers['if-none-match'] === revision) return reply.code(304).send()
    const nonce = options.random.bytes(16).toString('base64')
    return sendPage(
      reply,
      callbacksPage({
        nonce,
        revision,
        login: options.login,
        gatewayBaseUrl: options.gatewayBaseUrl,
        callbackUrl: `${url}/callback`,
        filter: filterOf(query),
        before: numberOf(query.get('before')),
        callbacks: book.list(filterOf(query)),
        counts: book.counts,
        now: options.clock.now(),
      }),
      ownPolicy(nonce, "'self'"),
    )
  })
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

function takeCallbacks(app: FastifyInstance, book: CallbackBook, log: Log) {
  app.route({
    method: ['GET', 'POST'],
    url: '/callback',
    handler: (request, reply) => {
      // The callback URL may have a query of its own; the gateway's pairs follow it, there or in the body, so the last of a name is the gateway's.
      const pairs = [...queryOf(request.url)]
      if (typeof request.body === 'string') pairs.push(...new URLSearchParams(request.body))
      const callback = book.receive(request.method === 'POST' ? 'POST' : 'GET', pairs)
      log.debug({ client_orderid: callback.fields.get('client_orderid'), valid: callback.valid }, 'A callback came.')
      if (callback.valid) return plain(reply, 200, 'OK')
      log.warn({ client_orderid: callback.fields.get('client_orderid') }, 'A callback came with a wrong control.')
      return plain(reply, 400, 'The control is wrong.')
    },
  })
}

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?')
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
}

/** An empty value is no filter: an empty box of the page's form sends one. */
function filterOf(query: URLSearchParams): CallbackFilter {
  const clientOrderid = query.get('client_orderid')?.trim()
  const orderid = query.get('orderid')?.trim()
  return { ...(clientOrderid && { clientOrderid }), ...(orderid && { orderid }) }
}

const numberOf = (text: string | null): number | undefined => (text && /^\d{1,15}$/.test(text) ? Number(text) : undefined)

function statusOf(thrown: unknown): number {
  const status = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined
  return typeof status === 'number' ? status : 500
}
