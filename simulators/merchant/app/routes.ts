import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { reasonOf, type Log } from '../../../src/base/log.ts'
import type { Random } from '../../../src/base/random.ts'
import { sumsHeld } from './bank.ts'
import { appPage, type AppEndpoint } from './page.ts'
import type { Clock } from '../../../src/base/clock.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { ownPolicy } from '../../page.ts'
import { plain, sendPage } from '../sending.ts'

export interface DemoAppOptions {
  /** Including its path, such as `http://127.0.0.1:8080/gateway`. */
  gatewayBaseUrl: string
  /** Where the app may pay; the first is the default. */
  endpoints: readonly AppEndpoint[]
  places: BarPages
  clock: Clock
  acquirerAdminUrl: string
  random: Random
  log: Log
}

/** The browser imports the first, which imports the others. */
const modules = ['look.js', 'call-list.js', 'wallet.js', 'elements.js', 'flow.js', 'calls.js']
const relayWithinMs = 20_000
const bodyLimitBytes = 64 * 1024

/**
 * The demo app: a page in the place of a phone. It belongs to the merchant, and so its calls of the
 * merchant's server are of one origin.
 */
export function addDemoApp(app: FastifyInstance, options: DemoAppOptions): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.get('/app', (_request, reply) => {
    const nonce = options.random.bytes(16).toString('base64')
    const page = appPage({ ...options, nonce, now: options.clock.now() })
    return sendPage(reply.header('cache-control', 'no-store'), page, ownPolicy(nonce, "'none'"))
  })
  for (const name of modules) {
    const source = readFileSync(new URL(name, import.meta.url), 'utf8')
    app.get(`/app/${name}`, (_request, reply) =>
      reply
        .headers({
          'content-type': 'text/javascript; charset=utf-8',
          'cache-control': 'no-cache',
          'x-content-type-options': 'nosniff',
        })
        .send(source),
    )
  }
  app.get('/app/bank', async (request, reply) => {
    const { bin = '', since = '' } = request.query as Record<string, string>
    if (!/^\d{6}$/.test(bin) || !/^\d{1,15}$/.test(since)) return plain(reply, 400, 'bin and since are needed.')
    return reply.header('cache-control', 'no-store').send({ held: await sumsHeld(options.acquirerAdminUrl, bin, Number(since)) })
  })
  for (const url of ['/app/gateway/:kind/:endpointId/:invoiceId', '/app/gateway/:kind/:endpointId/:invoiceId/:last'])
    app.post(url, { bodyLimit: bodyLimitBytes }, (request, reply) => relay(options, request, reply))
}

/**
 * Forwards a call of the app to the gateway, and the answer back. An app on a phone calls the
 * gateway itself; a page of another origin may not, and the gateway is not opened to pages just for
 * this one. A real merchant must never do this: it would receive every card number.
 */
async function relay(
  { gatewayBaseUrl, log }: DemoAppOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return plain(reply, 403, 'Only the demo app calls here.')
  const { kind = '', endpointId = '', invoiceId = '', last } = request.params as Record<string, string>
  const isCall =
    /^(?:verification|sale|transfer)$/.test(kind) &&
    [endpointId, invoiceId, last ?? 'x'].every((one) => /^[\w.-]{1,128}$/.test(one) && !isStep(one))
  if (!isCall) return plain(reply, 404, 'There is no such call of the gateway.')
  const path = [kind, endpointId, invoiceId, ...(last === undefined ? [] : [last])].map(encodeURIComponent).join('/')
  try {
    const answer = await fetch(`${gatewayBaseUrl}/dapi/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof request.body === 'string' ? request.body : '',
      redirect: 'error',
      signal: AbortSignal.timeout(relayWithinMs),
    })
    return reply
      .code(answer.status)
      .headers({
        'content-type': answer.headers.get('content-type') ?? 'text/plain',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      .send(await answer.text())
  } catch (error) {
    log.warn({ reason: reasonOf(error) }, 'The gateway did not answer the demo app.')
    return plain(reply, 502, 'The gateway does not answer.')
  }
}

/** In a path these change the directory, encoded or not. */
const isStep = (name: string): boolean => name === '.' || name === '..'
