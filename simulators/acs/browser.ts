import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ownPolicy } from '../page.ts'
import { decodeParam, readMessage, unusable, type Message, textOf } from '../three-d-secure/codec.ts'
import { testCards } from '../three-d-secure/cards.ts'
import type { Direction } from '../three-d-secure/journal.ts'
import type { View } from './challenge.ts'
import type { Case, Desk } from './desk.ts'
import { cardsPage, challengePage, returnPage, strangerPage } from './pages.ts'
import { erroParting, partingOf } from './parting.ts'

/** The routes for browsers: the challenge, and the list of test cards. */

/** A little more than a cardholder has, so that the refresh finds the time expired. */
export const refreshSeconds = 603
const longestSessionData = 1024

export function browserRoutes(app: FastifyInstance, desk: Desk, timeScale: number): void {
  const refreshAfter = Math.ceil(refreshSeconds * timeScale)
  const show = (reply: FastifyReply, one: Case, view: View) => {
    const nonce = desk.random.bytes(16).toString('base64')
    if (view.is === 'asking') {
      noteBrowser(desk, one, 'out', { messageType: 'Page', triesLeft: view.triesLeft, notice: view.notice })
      const page = challengePage({ id: one.acsTransID, path: '/challenge', shown: one.shown }, view, nonce, refreshAfter)
      return send(reply, 200, page, policy(nonce, `form-action 'self'`, one.framedBy))
    }
    return leave(reply, one, partingOf(desk, one, view), nonce)
  }
  const stranger = (reply: FastifyReply, status: number, message: string) => turnAway(desk, reply, status, message)
  app.get('/challenge', (_request, reply) => stranger(reply, 400, 'This page opens from a shop, by POST with a creq.'))
  app.post('/challenge', async (request, reply) => {
    const form = formOf(request)
    const read = readCReq(desk, form.get('creq') ?? '')
    if (typeof read === 'string') return stranger(reply, 400, read)
    const { one, message } = read
    const sessionData = form.get('threeDSSessionData')
    if (sessionData !== null && sessionData.length <= longestSessionData) one.sessionData = sessionData
    if (message === undefined) {
      const nonce = desk.random.bytes(16).toString('base64')
      return leave(reply, one, erroParting(desk, one, read.why), nonce)
    }
    return show(reply, one, await one.challenge.open())
  })
  app.post('/challenge/answer', async (request, reply) => {
    const form = formOf(request)
    const one = desk.cases.get(form.get('id') ?? '')
    if (one === undefined) return stranger(reply, 404, 'This payment is not known, or was long ago.')
    const action = form.get('action') ?? 'submit'
    const { challenge } = one
    noteBrowser(desk, one, 'in', { messageType: 'Answer', action })
    if (action === 'cancel') return show(reply, one, await challenge.cancel())
    if (action === 'resend') return show(reply, one, await challenge.resend())
    return show(reply, one, await challenge.submit(form.get('password') ?? ''))
  })
  app.get('/challenge/state', async (request: FastifyRequest<{ Querystring: { id?: unknown } }>, reply) => {
    const one = desk.cases.get(String(request.query.id))
    return one === undefined ? stranger(reply, 404, 'This payment is not known.') : show(reply, one, await one.challenge.view())
  })
  app.get('/test-cards.json', (_request, reply) => reply.header('access-control-allow-origin', '*').send(testCards()))
  app.get('/', (_request, reply) => {
    const nonce = desk.random.bytes(16).toString('base64')
    return send(reply, 200, cardsPage(testCards(), nonce, desk.places), ownPolicy(nonce, "'none'"))
  })
}

/** Logs a visit that is not a message of the protocol, without the cardholder's input. */
const noteBrowser = ({ journal }: Desk, { threeDSServerTransID, acsTransID }: Case, direction: Direction, fields: object): void =>
  journal.note(direction, 'browser', JSON.stringify({ ...fields, threeDSServerTransID, acsTransID }))

export const formOf = ({ body }: FastifyRequest): URLSearchParams => new URLSearchParams(typeof body === 'string' ? body : '')

type ReadCReq = { one: Case; message: Message } | { one: Case; message: undefined; why: ReturnType<typeof unusable> }

/**
 * Returns a text for the cardholder if the transaction is not known, because no other party can be
 * notified.
 */
function readCReq({ cases, journal }: Desk, param: string): ReadCReq | string {
  if (param === '') return 'The shop sent no creq.'
  const text = decodeParam(param)
  if (text === undefined) return 'The creq cannot be decoded.'
  journal.note('in', 'browser', text)
  const read = readMessage(text, ['CReq'])
  const fields = read.is === 'message' ? read.message : read.about
  const one = cases.get(textOf(fields, 'acsTransID'))
  if (one === undefined) return 'This payment is not known, or was long ago.'
  if (read.is === 'unusable') return { one, message: undefined, why: read }
  if (fields['threeDSServerTransID'] !== one.threeDSServerTransID)
    return { one, message: undefined, why: unusable('301', 'threeDSServerTransID', fields) }
  if (fields['messageVersion'] !== one.version) return { one, message: undefined, why: unusable('203', 'messageVersion', fields) }
  return { one, message: read.message }
}

function leave(reply: FastifyReply, one: Case, parting: { field: string; value: string }, nonce: string): FastifyReply {
  const fields = {
    [parting.field]: parting.value,
    ...(one.sessionData === undefined ? {} : { threeDSSessionData: one.sessionData }),
  }
  const page = returnPage(one.notificationURL, fields, nonce)
  return send(reply, 200, page, policy(nonce, anyFormAction, one.framedBy))
}

/**
 * For pages with a form that leads elsewhere. Browsers apply form-action to the redirects of a form
 * too, and the ACS does not know where the shop sends its customer next.
 */
export const anyFormAction = 'form-action http: https:'

/** Tells the cardholder why the payment cannot continue here. */
export function turnAway({ random }: Desk, reply: FastifyReply, status: number, message: string): FastifyReply {
  const nonce = random.bytes(16).toString('base64')
  return send(reply, status, strangerPage(message, nonce), policy(nonce, `form-action 'none'`, []))
}

/** Only the page that frames it may do so; X-Frame-Options has no list and is left out. */
export function policy(nonce: string, formAction: string, framedBy: readonly string[]): string {
  const ancestors = framedBy.length === 0 ? `'none'` : framedBy.join(' ')
  const own = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; base-uri 'none'`
  return `${own}; ${formAction}; frame-ancestors ${ancestors}`
}

export const send = (reply: FastifyReply, status: number, page: string, contentSecurityPolicy: string): FastifyReply =>
  reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .send(page)
