import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../src/base/clock.ts'
import type { Log } from '../../../src/base/log.ts'
import type { Random } from '../../../src/base/random.ts'
import { ownPolicy, plain, sendPage } from '../sending.ts'
import type { CallbackBook, CallbackFilter } from './book.ts'
import { callbacksPage } from './page.ts'

interface CallbackRoutes {
  book: CallbackBook
  /** The callback address; the port is known only once the server listens. */
  callbackUrl: () => string
  login: string
  gatewayBaseUrl: string
  clock: Clock
  random: Random
  log: Log
}

/**
 * Takes callbacks at `/callback`, checks their control, and shows them at `/` and
 * `/callbacks.json`.
 */
export function addCallbacks(app: FastifyInstance, options: CallbackRoutes): void {
  const { book, clock, random } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.route({ method: ['GET', 'POST'], url: '/callback', handler: (request, reply) => take(options, request, reply) })
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
  const started = clock.now().toString(36)
  app.get('/', (request, reply) => {
    const revision = `"${started}-${book.counts.received}"`
    const query = queryOf(request.url)
    void reply.header('etag', revision).header('cache-control', 'no-cache')
    if (request.headers['if-none-match'] === revision) return reply.code(304).send()
    const nonce = random.bytes(16).toString('base64')
    const page = callbacksPage({
      nonce,
      revision,
      login: options.login,
      gatewayBaseUrl: options.gatewayBaseUrl,
      callbackUrl: options.callbackUrl(),
      filter: filterOf(query),
      before: numberOf(query.get('before')),
      callbacks: book.list(filterOf(query)),
      counts: book.counts,
      now: clock.now(),
    })
    return sendPage(reply, page, ownPolicy(nonce, "'self'"))
  })
}

function take({ book, log }: CallbackRoutes, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // The callback URL may have a query of its own. The gateway's pairs follow it, there or in the
  // body, so the last pair of a name is the gateway's.
  const pairs = [...queryOf(request.url)]
  if (typeof request.body === 'string') pairs.push(...new URLSearchParams(request.body))
  const callback = book.receive(request.method === 'POST' ? 'POST' : 'GET', pairs)
  log.debug({ client_orderid: callback.fields.get('client_orderid'), valid: callback.valid }, 'A callback came.')
  if (callback.valid) return plain(reply, 200, 'OK')
  log.warn({ client_orderid: callback.fields.get('client_orderid') }, 'A callback came with a wrong control.')
  return plain(reply, 400, 'The control is wrong.')
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
