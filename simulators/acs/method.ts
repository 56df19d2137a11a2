import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sleep } from '../../src/base/clock.ts'
import { judgeRedirectUrl } from '../../src/http/address.ts'
import { decodeParam, encodeParam } from '../three-d-secure/codec.ts'
import { isRecord, readJson } from '../three-d-secure/json.ts'
import { formOf } from './browser.ts'
import { keep, type Desk } from './desk.ts'
import { methodPage } from './pages.ts'

/**
 * The method page, at the address that the card range names. It works, is slow, never answers, or
 * fails.
 */

const slowMs = 12_000
const longestUrl = 256

interface MethodRequest {
  Params: { kind: string }
  Querystring: { threeDSMethodData?: unknown }
}

export function methodRoutes(app: FastifyInstance, desk: Desk): void {
  const answer = async (request: FastifyRequest<MethodRequest>, reply: FastifyReply) => {
    const { kind } = request.params
    if (!['works', 'slow', 'silent', 'error'].includes(kind)) return reply.callNotFound()
    const query = request.query.threeDSMethodData
    const param = formOf(request).get('threeDSMethodData') ?? (typeof query === 'string' ? query : '')
    const asked = readMethodData(desk, param)
    if (typeof asked === 'string') return plain(reply, 400, asked)
    const { faults, clock, realClock, random } = desk
    if (kind === 'silent' || faults.take('method_dead')) {
      reply.hijack()
      return reply
    }
    if (kind === 'error' || faults.take('method_error')) return plain(reply, 500, 'Internal error')
    if (kind === 'slow') await sleep(clock, slowMs)
    const delayMs = faults.takeMs('method_delay_ms')
    if (delayMs !== undefined) await sleep(realClock, delayMs)
    const back = encodeParam(JSON.stringify({ threeDSServerTransID: asked.id }))
    const nonce = random.bytes(16).toString('base64')
    // The framing site is not known here, and there is nothing in the frame to click.
    const own = `default-src 'none'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'`
    const policy = `${own}; form-action http: https:`
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy, 'cache-control': 'no-store' })
      .send(methodPage(asked.id, asked.notificationUrl, back, nonce))
  }
  app.get('/method/:kind', answer)
  app.post('/method/:kind', answer)
  app.post('/method/print', (request, reply) => {
    const form = formOf(request)
    const id = form.get('id') ?? ''
    if (/^[0-9a-f-]{36}$/i.test(id)) keep(desk.prints, id, (form.get('print') ?? '').slice(0, 500))
    return reply.code(204).send()
  })
}

/** A text is the refusal. */
function readMethodData(desk: Desk, param: string): { id: string; notificationUrl: string } | string {
  const text = decodeParam(param)
  const json = text === undefined ? undefined : readJson(text)
  if (json?.is !== 'read' || !isRecord(json.value))
    return 'This is a 3-D Secure method URL; it takes threeDSMethodData, base64url of JSON.'
  const { threeDSServerTransID: id, threeDSMethodNotificationURL: url } = json.value
  if (typeof id !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    return 'threeDSServerTransID is not a UUID.'
  if (typeof url !== 'string' || url.length > longestUrl || !(judgeRedirectUrl(url, { plainHttp: true }) instanceof URL))
    return 'threeDSMethodNotificationURL does not fit.'
  desk.journal.note(
    'in',
    'browser',
    JSON.stringify({ messageType: 'Method', threeDSServerTransID: id, threeDSMethodNotificationURL: url }),
  )
  return { id, notificationUrl: url }
}

const plain = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`)
