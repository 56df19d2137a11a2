import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { currencyOfNumeric, minorToDecimal } from '../../src/base/money.ts'
import { secret } from '../../src/base/secret.ts'
import { judgeRedirectUrl } from '../../src/http/address.ts'
import { panOf } from '../three-d-secure/account.ts'
import { legacyOutcomeOf, networkOf, type LegacyOutcome } from '../three-d-secure/cards.ts'
import { inflateParam, readPareq, type Pareq, type Pares } from '../three-d-secure/legacy.ts'
import type { Direction } from '../three-d-secure/journal.ts'
import { anyFormAction, formOf, policy, refreshSeconds, send, turnAway } from './browser.ts'
import { Challenge, type View } from './challenge.ts'
import { keep, type Desk, type LegacyCase, type Shown } from './desk.ts'
import { challengePage, returnPage } from './pages.ts'
import { paresFor } from './pares.ts'

/**
 * The page of 1.0.2. The browser carries PaReq, TermUrl and MD here, and PaRes and MD to TermUrl.
 */

const path = '/pareq-page'
const longestUrl = 2048
const longestMd = 1024
/** 1.0.2 does not reveal which site shows the page in a frame. */
const anybody = ['http:', 'https:']

export function pareqRoutes(app: FastifyInstance, desk: Desk, timeScale: number): void {
  const refreshAfter = Math.ceil(refreshSeconds * timeScale)
  const show = (reply: FastifyReply, one: LegacyCase, view: View | undefined) => {
    const nonce = desk.random.bytes(16).toString('base64')
    if (view?.is === 'asking') {
      noteBrowser(desk, one, 'out', { messageType: 'Page', triesLeft: view.triesLeft, notice: view.notice })
      return send(
        reply,
        200,
        challengePage({ ...one, path }, view, nonce, refreshAfter),
        policy(nonce, `form-action 'self'`, anybody),
      )
    }
    one.paRes ??= paresFor(desk, one, statusOf(one.outcome, view?.result.passed))
    const page = returnPage(one.termUrl, { PaRes: one.paRes, MD: one.md }, nonce)
    return send(reply, 200, page, policy(nonce, anyFormAction, anybody))
  }
  app.get(path, (_request, reply) => turnAway(desk, reply, 400, 'This page opens from a shop, by POST with a PaReq.'))
  app.post(path, async (request, reply) => {
    const one = openCase(desk, formOf(request))
    return typeof one === 'string' ? turnAway(desk, reply, 400, one) : show(reply, one, await one.challenge?.open())
  })
  app.post(`${path}/answer`, async (request, reply) => {
    const form = formOf(request)
    const one = desk.legacyCases.get(form.get('id') ?? '')
    if (!one?.challenge) return turnAway(desk, reply, 404, 'This payment is not known, or was long ago.')
    const action = form.get('action') ?? 'submit'
    const { challenge } = one
    noteBrowser(desk, one, 'in', { messageType: 'Answer', action })
    if (action === 'cancel') return show(reply, one, await challenge.cancel())
    if (action === 'resend') return show(reply, one, await challenge.resend())
    return show(reply, one, await challenge.submit(form.get('password') ?? ''))
  })
  app.get(`${path}/state`, async (request: FastifyRequest<{ Querystring: { id?: unknown } }>, reply) => {
    const one = desk.legacyCases.get(String(request.query.id))
    if (!one?.challenge) return turnAway(desk, reply, 404, 'This payment is not known.')
    return show(reply, one, await one.challenge.view())
  })
}

/** Logs a visit that is not a message of the protocol, without the cardholder's input. */
const noteBrowser = ({ journal }: Desk, { pareq }: LegacyCase, direction: Direction, fields: object): void =>
  journal.note(direction, 'browser', JSON.stringify({ ...fields, messageVersion: '1.0.2', messageId: pareq.messageId }))

/** `passed` is undefined without a challenge. */
function statusOf(outcome: LegacyOutcome, passed: boolean | undefined): Pares['status'] {
  if (passed === undefined) return outcome === 'attempt' ? 'A' : 'N'
  if (!passed) return 'N'
  return outcome === 'unavailable' ? 'U' : 'Y'
}

/** The case that the browser opens, or opened before; otherwise a text for the cardholder. */
function openCase(desk: Desk, form: URLSearchParams): LegacyCase | string {
  const [param, termUrl, md] = [form.get('PaReq') ?? '', form.get('TermUrl') ?? '', form.get('MD')]
  const id = createHash('sha256')
    .update(JSON.stringify([param, termUrl, md]))
    .digest('hex')
  const known = desk.legacyCases.get(id)
  if (known !== undefined) return known
  const pareq = readPareq(param)
  if (pareq === undefined || !fits(pareq)) return 'The PaReq cannot be read.'
  if (termUrl.length > longestUrl || !(judgeRedirectUrl(termUrl, { plainHttp: true }) instanceof URL))
    return 'The TermUrl is no address that you could be sent to.'
  // Mandatory, even if the shop does not use it.
  if (md === null || !/^[\x20-\x7e]*$/.test(md) || md.length > longestMd) return 'The MD is missing, or is not one.'
  const card = panOf(desk.cavvKey, pareq.acctID)
  if (card === undefined) return 'This bank does not know the card.'
  // A card that a script made the directory server call enrolled behaves like most cards.
  const outcome = legacyOutcomeOf(card) ?? 'password'
  desk.journal.noteXml('in', 'browser', inflateParam(param)!, { TermUrl: termUrl, MD: md })
  const asks = outcome !== 'attempt' && outcome !== 'denied'
  const ending = outcome === 'password-failed' ? 'fails' : 'password'
  const one: LegacyCase = {
    id,
    pareq,
    card: secret(card),
    outcome,
    termUrl,
    md,
    shown: shownOf(pareq, card),
    // The browser carries the result, so it is not reported to anybody else.
    ...(asks ? { challenge: new Challenge(desk.clock, ending, () => Promise.resolve('delivered')) } : {}),
  }
  keep(desk.legacyCases, id, one, ({ challenge }) => challenge?.drop())
  return one
}

/** The fields that are shown on the page, or signed. */
const fits = ({ xid, date, purchAmount, currency, exponent }: Pareq): boolean =>
  /^[A-Za-z0-9+/]{27}=$/.test(xid) &&
  /^[0-9]{8} [0-9]{2}:[0-9]{2}:[0-9]{2}$/.test(date) &&
  /^[0-9]{1,12}$/.test(purchAmount) &&
  /^[0-9]{3}$/.test(currency) &&
  /^[0-9]$/.test(exponent)

/** The signed amount, not the one that the shop spelled for the cardholder. */
function shownOf({ name, purchAmount, currency, exponent }: Pareq, card: string): Shown {
  const amount = minorToDecimal(BigInt(purchAmount), Number(exponent))
  return {
    merchantName: name,
    amount: `${amount} ${currencyOfNumeric(currency)?.code ?? ''}`,
    lastFour: card.slice(-4),
    network: networkOf(card),
    phone: '•••• 42',
  }
}
