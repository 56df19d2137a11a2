import { objectReader } from '../base/json.ts'
import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Guessed } from '../merchant/guessed.ts'
import { formReader } from '../spec/form.ts'
import type { BrowserData, CompInd } from '../three-d-secure/authentication.ts'
import { hostedUrls, methodMs, methodRan, usableUrl } from '../three-d-secure/forms.ts'
import { decodeParam, encodeParam } from '../three-d-secure/param.ts'
import { lookOf, type BrandParts } from './brand.ts'
import { textsFor } from './languages.ts'
import type { Texts } from './texts/en.ts'
import { pageAnswer, quietText, seeOther, type Page } from './layout.ts'
import { acceptOf, browserOfHeaders, readBrowser } from './three-d-secure-browser.ts'
import { challengePage, challengeReturnedPage } from './three-d-secure-challenge.ts'
import * as pages from './three-d-secure-pages.ts'
import type { MethodOrder, PageOrder, Return, WorkingOrder } from './three-d-secure-pages.ts'

export interface ThreeDSecureParts extends BrandParts {
  /** Path of the service, such as `/gateway`. */
  base: string
  /** The origin under which browsers reach it. */
  publicUrl: string
  /** Issuers and shops may use plain http on this machine: the sandbox. */
  loopbackHttp: boolean
  random: Random
  now: () => number
  turns: Turns
  find: (token: string) => Promise<PageOrder | undefined>
  guessed: Guessed
  /** Whether the payment awaits its method, and `url` may learn that it ran. */
  collects: (threeDSServerTransID: string, url: URL) => Promise<boolean>
  /**
   * The page begins the method, with the browser facts known so far. Returns how long the gateway
   * waits, once it knows enough to continue by itself.
   */
  methodBegun: (token: string, seen: Partial<BrowserData>) => Promise<number | undefined>
  browserCollected: (token: string, collected: { compInd: CompInd; browser: BrowserData }) => Promise<void>
  /**
   * The text of `cres`, or of the error that came instead, still encoded. It may come late and more
   * than once; returns whether it belongs to this payment.
   */
  challengeReturned: (token: string, cres: string) => Promise<boolean>
  /** The answer of an issuer of 1.0.2. It may come late and more than once. */
  paresReturned: (token: string, answer: { paRes: string; md: string }) => Promise<void>
  /** The client's address, if known. */
  ipOf: (request: Incoming) => string | undefined
}

/** How long the cardholder waits for the outcome before returning to the shop without it. */
const waitMs = 60_000
/**
 * A notification has about 500 characters, our CRes at most 4,096; an error contains two texts of
 * 2,048.
 */
const methodLimits = { length: 4_096, depth: 16, nodes: 1_000 }
const longestChallengeResult = 12_288
const longestNotificationUrl = 256
const longestPares = 10_240

/**
 * The pages that take a cardholder through 3-D Secure. Each GET shows the current state of the
 * order, so a reload, a second tab and the back button all work.
 */
export function threeDSecureRoutes(parts: ThreeDSecureParts): Route[] {
  const root = `${parts.base}/3ds`
  const at = (method: Route['method'], path: string, answer: typeof takeBrowser): Route => ({
    method,
    path: `${root}/:token${path}`,
    handle: async (request) => answer(parts, request, await locate(parts, request)),
  })
  return [
    at('GET', '', show),
    at('GET', '/state', showState),
    at('POST', '/begun', takeBegun),
    at('POST', '/browser', takeBrowser),
    at('POST', '/method', takeMethodReturn),
    at('POST', '/challenge', takeChallengeReturn),
    at('POST', '/pares', takePares),
    { method: 'POST', path: `${root}/collect`, handle: (request) => collect(parts, request) },
    ...['browser', 'method', 'challenge', 'pares'].map((end) => at('GET', `/${end}`, leadBack)),
  ]
}

async function show(parts: ThreeDSecureParts, request: Incoming, { token, order: found }: Located): Promise<Answer> {
  const look = await lookOf(parts, request, found)
  const order = found && { ...found, look }
  if (order?.is === 'method') return pageAnswer(parts.random, await methodPageOf(parts, token, order, request), look)
  return pageAnswer(
    parts.random,
    order ? pageOf(parts, token, order, sinceOf(parts, request)) : pages.missingPage(look.texts),
    look,
  )
}

/** For the script of an open page: one word for what the page would show now. */
async function showState(parts: ThreeDSecureParts, request: Incoming, { order }: Located): Promise<Answer> {
  const is = order?.is === 'working' && isLong(order, sinceOf(parts, request), parts) ? 'over' : (order?.is ?? 'missing')
  return quietText(order ? 200 : 404, is)
}

function pageOf(parts: ThreeDSecureParts, token: string, order: Exclude<PageOrder, MethodOrder>, since: number): Page {
  switch (order.is) {
    case 'challenge': {
      const url = usableUrl(order.acsUrl, parts)
      if (!(url instanceof URL)) throw new Error(`an acsURL that cannot be used was let in: ${url.refused}`)
      return challengePage(order, token)
    }
    case 'payer':
      return pages.payerPage(order)
    case 'working':
      return isLong(order, since, parts)
        ? pages.overPage({ ...order, is: 'over', status: 'processing', back: order.later })
        : pages.workingPage(order, since)
    case 'over':
      return pages.overPage(order)
  }
}

/**
 * When this browser began to wait, from its address. A cardholder who changes it merely returns to
 * the shop a little earlier, or later.
 */
function sinceOf({ now }: ThreeDSecureParts, { query }: Incoming): number {
  const text = new URLSearchParams(query).get('since') ?? ''
  return /^\d{13}$/.test(text) ? Math.min(Number(text), now()) : now()
}

const isLong = (order: WorkingOrder, since: number, { now }: ThreeDSecureParts): order is WorkingOrder & { later: Return } =>
  order.later !== undefined && now() - since >= waitMs

/**
 * The method never blocks the payment: a URL that cannot be used counts as a method that did not
 * run. A page printed by a merchant may have run the method already, as the address shows; a
 * cardholder who changes the address makes the method run again, or not at all.
 */
async function methodPageOf(parts: ThreeDSecureParts, token: string, order: MethodOrder, request: Incoming): Promise<Page> {
  const { base, publicUrl, loopbackHttp, now } = parts
  const { methodUrl: url } = order
  const ran = new URLSearchParams(request.query).get(methodRan.parameter)
  const returned = ran === methodRan.returned ? true : ran === methodRan.late ? false : undefined
  const runs = returned === undefined && url !== undefined && usableUrl(url, { loopbackHttp }) instanceof URL
  const seen = browserOfHeaders(request.headers, parts.ipOf(request))
  const until = order.methodUntil ?? (runs && order.saleDescribes ? await parts.methodBegun(token, seen) : undefined)
  const path = `${base}/3ds/${token}`
  return pages.methodPage({
    order,
    token,
    browserPath: `${path}/browser`,
    ...(runs && { method: { url, notificationUrl: hostedUrls(publicUrl, base, token).method } }),
    ...(runs && until === undefined && { begun: { path: `${path}/begun`, accept: acceptOf(request.headers) } }),
    ...(returned !== undefined && { returned }),
    waitMs: Math.min(methodMs, Math.max(0, (until ?? now() + methodMs) - now())),
    loopbackHttp,
  })
}

/**
 * The page's script reports its browser in full, where the headers were not enough to start the
 * wait for the method. The page does not wait for the answer.
 */
async function takeBegun(parts: ThreeDSecureParts, request: Incoming, { token, order }: Located): Promise<Answer> {
  const field = await fieldsOf(parts, request)
  const browser = field && readBrowser(field, request.headers, parts.ipOf(request))
  if (browser && order?.is === 'method' && order.methodUntil === undefined) await parts.methodBegun(token, browser)
  return quietText(order ? 200 : 404, '')
}

/**
 * The browser's report. Only the first counts: a second post finds that the order has moved on and
 * changes nothing.
 */
async function takeBrowser(
  parts: ThreeDSecureParts,
  request: Incoming,
  { token, order, say, pagePath }: Located,
): Promise<Answer> {
  if (!order) return say(pages.missingPage)
  if (request.overloaded) return say((texts) => pages.problemPage(503, pagePath, texts))
  if (order.is !== 'method') return seeOther(pagePath)
  const field = await fieldsOf(parts, request)
  const browser = field && readBrowser(field, request.headers, parts.ipOf(request))
  if (!browser) return say((texts) => pages.problemPage(400, pagePath, texts))
  const ran = browser.javascriptEnabled && field('methodReturned') === 'true'
  await parts.browserCollected(token, { compInd: order.methodUrl === undefined ? 'U' : ran ? 'Y' : 'N', browser })
  return seeOther(pagePath)
}

/**
 * Inside the hidden frame. A post that does not name this authentication is dropped, and the page
 * around the frame waits until its time is over. If the payment has moved on, the method no longer
 * counts, and the page around the frame continues too.
 */
async function takeMethodReturn(parts: ThreeDSecureParts, request: Incoming, { token, order }: Located): Promise<Answer> {
  const data = await readMethodData(parts, request)
  const named = data?.threeDSServerTransID?.toLowerCase()
  const own = order?.is === 'method' ? named === order.threeDSServerTransId.toLowerCase() : order && named !== undefined
  return pageAnswer(parts.random, pages.methodReturnedPage(own ? { token } : undefined))
}

/**
 * The browser is back; the issuer itself reports the result, elsewhere. The field name of an error
 * is not standardised. A post that cannot be a result of this payment ends on a page to read: if it
 * were redirected immediately, the cardholder might loop between here and the issuer. A browser too
 * old to report that it is in a frame continues inside it, invisibly; the page around it checks by
 * itself.
 */
async function takeChallengeReturn(
  parts: ThreeDSecureParts,
  request: Incoming,
  { token, order, say, pagePath }: Located,
): Promise<Answer> {
  if (!order) return say(pages.missingPage)
  const field = await fieldsOf(parts, request)
  const result = field?.('cres') ?? field?.('erro') ?? field?.('error') ?? ''
  const usable = result.length <= longestChallengeResult && Boolean(decodeParam(result))
  const own = usable && (await parts.challengeReturned(token, result))
  if (isFramed(request)) return say(framedEnd(parts, token, own))
  return own ? seeOther(pagePath) : say((texts) => pages.problemPage(request.overloaded ? 503 : 400, pagePath, texts))
}

const framedEnd =
  ({ base, publicUrl }: ThreeDSecureParts, token: string, own: boolean) =>
  (texts: Texts): Page =>
    challengeReturnedPage(`${base}/3ds/${token}`, texts, { token, origin: new URL(publicUrl).origin }, own)

const isFramed = ({ headers }: Incoming): boolean => /^i?frame$/.test(String(headers['sec-fetch-dest']))

/**
 * An address that takes posts was asked for: by hand, or by an issuer that redirects and so loses
 * its post. The payment's own page says where it stands; but at a challenge it leads to the issuer
 * immediately, so there is something to read first.
 */
async function leadBack(parts: ThreeDSecureParts, request: Incoming, { token, order, say, pagePath }: Located): Promise<Answer> {
  if (order && isFramed(request)) return say(framedEnd(parts, token, false))
  if (order?.is === 'challenge' || order?.is === 'payer') return say((texts) => pages.problemPage(400, pagePath, texts))
  return order ? seeOther(pagePath) : say(pages.missingPage)
}

/**
 * The browser is back from an issuer of 1.0.2, with its signed answer, which the order room checks.
 */
async function takePares(parts: ThreeDSecureParts, request: Incoming, { token, order, say, pagePath }: Located): Promise<Answer> {
  if (!order) return say(pages.missingPage)
  const field = await fieldsOf(parts, request)
  const [paRes, md] = [field?.('PaRes'), field?.('MD')]
  if (paRes === undefined || md === undefined || paRes.length > longestPares)
    return say((texts) => pages.problemPage(request.overloaded ? 503 : 400, pagePath, texts))
  await parts.paresReturned(token, { paRes, md })
  return seeOther(pagePath)
}

/**
 * The collector: run in a frame, it answers as an issuer's method would. It stores nothing. A form
 * to any other address would let strangers send browsers on in the gateway's name.
 */
async function collect(parts: ThreeDSecureParts, request: Incoming): Promise<Answer> {
  const { random, loopbackHttp, collects } = parts
  if (request.overloaded) return pageAnswer(random, pages.collectorRefusal(503))
  const { threeDSServerTransID = '', threeDSMethodNotificationURL = '' } = (await readMethodData(parts, request)) ?? {}
  const fits = uuidShape.test(threeDSServerTransID) && threeDSMethodNotificationURL.length <= longestNotificationUrl
  const url = fits ? usableUrl(threeDSMethodNotificationURL, { loopbackHttp }) : undefined
  if (!(url instanceof URL) || !(await collects(threeDSServerTransID.toLowerCase(), url)))
    return pageAnswer(random, pages.collectorRefusal(400))
  const reply = encodeParam(JSON.stringify({ threeDSServerTransID }))
  return pageAnswer(random, pages.collectorPage(threeDSMethodNotificationURL, reply, loopbackHttp))
}

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

interface Located {
  token: string
  pagePath: string
  order: PageOrder | undefined
  /** A page about the request itself, in the cardholder's language. */
  say: (page: (texts: Texts) => Page) => Answer
}

async function locate(parts: ThreeDSecureParts, request: Incoming): Promise<Located> {
  const token = request.params.token ?? ''
  const order = /^[\w-]{22}$/.test(token) ? await parts.find(token) : undefined
  if (!order) parts.guessed(request, { operation: 'payment-page', reason: 'unknown page' })
  const texts = textsFor(order?.languages, request.headers['accept-language'])
  const pagePath = `${parts.base}/3ds/${token}`
  return { token, pagePath, order, say: (page) => pageAnswer(parts.random, page(texts), { texts }) }
}

/**
 * The fields of a posted form, by names in any case, as issuers spell them; empty ones count as
 * absent. Undefined if it is not a form.
 */
async function fieldsOf(
  { turns }: ThreeDSecureParts,
  { body }: Incoming,
): Promise<((name: string) => string | undefined) | undefined> {
  const pairs = body && (await turns.run(formReader(body)))
  return pairs && ((name) => pairs.find(([other, value]) => other.toLowerCase() === name.toLowerCase() && value !== '')?.[1])
}

type MethodData = Partial<Record<'threeDSServerTransID' | 'threeDSMethodNotificationURL', string>>

/** The two texts of threeDSMethodData, if present. */
async function readMethodData(parts: ThreeDSecureParts, request: Incoming): Promise<MethodData | undefined> {
  const param = (await fieldsOf(parts, request))?.('threeDSMethodData')
  const text = param === undefined || param.length > methodLimits.length ? undefined : decodeParam(param)
  const read = text === undefined ? undefined : await parts.turns.run(objectReader(text, methodLimits))
  if (!read || read.is === 'refused') return undefined
  const held = Object.entries(read.fields).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(held) as MethodData
}
