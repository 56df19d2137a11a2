import type { FastifyInstance } from 'fastify'
import type { RequestListener } from 'node:http'
import type { Clock } from '../../../src/base/clock.ts'
import type { Log } from '../../../src/base/log.ts'
import type { Random } from '../../../src/base/random.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { ownPolicy } from '../../page.ts'
import { plain, sendPage } from '../sending.ts'
import type { CallbackBook, CallbackFilter, Message } from './book.ts'
import { callbacksPage } from './page.ts'
import { signatureHeaders } from './signature.ts'

interface CallbackRoutes {
  book: CallbackBook
  /** The callback address; the port is known only once the server listens. */
  callbackUrl: () => string
  login: string
  gatewayBaseUrl: string
  places: BarPages
  clock: Clock
  random: Random
  log: Log
}

/**
 * Takes callbacks at `/callback`, checks their control and their signature, and shows them at `/`
 * and `/callbacks.json`.
 */
export function addCallbacks(app: FastifyInstance, options: CallbackRoutes): void {
  const { book, clock, random } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.route({
    method: ['GET', 'POST'],
    url: '/callback',
    handler(request, reply) {
      const query = formOf(request.url)
      const body = typeof request.body === 'string' ? request.body : undefined
      const { status, text } = take(options, {
        method: request.method === 'POST' ? 'POST' : 'GET',
        form: body === undefined ? query : `${query}&${body}`,
        payload: request.method === 'POST' ? (body ?? '') : query,
        headers: signatureHeaders(request.headers),
      })
      return plain(reply, status, text)
    },
  })
  app.get('/callbacks.json', (request, reply) => {
    const list = book.list(filterOf(queryOf(request.url)))
    return reply.header('cache-control', 'no-store').send(
      list.map(({ receivedAt, method, valid, signatures, headers, fields }) => ({
        received_at: new Date(receivedAt).toISOString(),
        method,
        valid,
        signature: signatures.verdict,
        signatures: Object.fromEntries(signatures.kinds),
        headers: { 'webhook-id': headers.id, 'webhook-timestamp': headers.timestamp, 'webhook-signature': headers.signature },
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
      places: options.places,
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

/**
 * Takes the usual callback, a GET with a query, before the routes see it, and leaves every other
 * request to them: a busy gateway sends hundreds a second, and with the routes each costs twice as
 * much.
 */
export const callbacksFirst =
  (options: Pick<CallbackRoutes, 'book' | 'log'>, routes: RequestListener): RequestListener =>
  (request, response) => {
    if (request.method !== 'GET' || !request.url?.startsWith('/callback?')) return routes(request, response)
    const form = formOf(request.url)
    const { status, text } = take(options, { method: 'GET', form, payload: form, headers: signatureHeaders(request.headers) })
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': text.length })
    response.end(text)
  }

/**
 * The callback URL may have a query of its own. The gateway's pairs follow it, there or in the
 * body, so the last pair of a name is the gateway's.
 */
function take({ book, log }: Pick<CallbackRoutes, 'book' | 'log'>, message: Message): { status: 200 | 400; text: string } {
  const { wrong, clientOrderid } = book.receive(message)
  log.debug({ client_orderid: clientOrderid, valid: !wrong }, 'A callback came.')
  if (!wrong) return { status: 200, text: 'OK' }
  log.warn({ client_orderid: clientOrderid }, `A callback came with a wrong ${wrong}.`)
  return { status: 400, text: `The ${wrong} is wrong.` }
}

/** The query of a URL. */
function formOf(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}

const queryOf = (url: string): URLSearchParams => new URLSearchParams(formOf(url))

/** An empty value is no filter: an empty box of the page's form sends one. */
function filterOf(query: URLSearchParams): CallbackFilter {
  const clientOrderid = query.get('client_orderid')?.trim()
  const orderid = query.get('orderid')?.trim()
  return { ...(clientOrderid && { clientOrderid }), ...(orderid && { orderid }) }
}

const numberOf = (text: string | null): number | undefined => (text && /^\d{1,15}$/.test(text) ? Number(text) : undefined)
