import { html, type Markup } from '../http/page.ts'
import type { DeclineReason } from '../spec/action-codes.ts'
import type { Status } from '../spec/words.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { methodElements, postForm } from '../three-d-secure/forms.ts'
import type { Page } from './layout.ts'
import type { Texts } from './texts/en.ts'
import { amount, bankSays, doing, heading, scripted, sign, textsOf, type ShownOrder } from './three-d-secure-look.ts'
import { methodReturnedScript, methodScript, returnScript, submitScript, workingScript } from './three-d-secure-script.ts'

/**
 * The issuer's method has to run; or, if there is none, only the browser's own report is needed.
 */
export interface MethodOrder extends ShownOrder {
  is: 'method'
  threeDSServerTransId: string
  methodUrl?: string
  /**
   * When the gateway continues without the method, if the method has begun and the browser is
   * known; the page waits no longer than this.
   */
  methodUntil?: number
  /** The sale contains the browser facts that the headers of a request lack. */
  saleDescribes?: true
}

export interface ChallengeOrder extends ShownOrder {
  is: 'challenge'
  threeDSServerTransId: string
  acsTransId: string
  acsUrl: string
  version: Version
}

/** The issuer of a 1.0.2 card asks the cardholder, on its own page. */
export interface PayerOrder extends ShownOrder {
  is: 'payer'
  acsUrl: string
  fields: readonly (readonly [string, string])[]
}

/** Shows only that something is in progress. */
export interface WorkingOrder extends ShownOrder {
  is: 'working'
  /** Where the cardholder is sent if it takes too long. */
  later?: Return
}

/** The way back to the shop, with the fields that the browser posts to it. */
export interface Return {
  url: string
  pairs: readonly (readonly [string, string])[]
}

/**
 * The cardholder returns to the shop, whatever the outcome, with the same pairs as in the
 * merchant's callback.
 */
export interface OverOrder extends ShownOrder {
  is: 'over'
  /** `given back`: approved, and a return or void was asked for since. */
  status: Status | 'given back'
  /** Why it was not approved. */
  why?: DeclineReason
  /** It was approved, and the money is charged only by a capture. */
  held?: true
  /** Absent: the merchant named no URL, and this page is the last. */
  back?: Return
}

export type PageOrder = MethodOrder | ChallengeOrder | PayerOrder | WorkingOrder | OverOrder

/**
 * The addresses of issuers are not known beforehand, and browsers apply `form-action` also to
 * redirects after a post.
 */
const issuers = (loopbackHttp: boolean): string[] => [
  "'self'",
  'https:',
  ...(loopbackHttp ? ['http://127.0.0.1:*', 'http://localhost:*', 'http://*.localhost:*'] : []),
]

/** Long enough to read the bank's text before the page continues by itself. */
const readMs = 10_000

export interface MethodView {
  order: MethodOrder
  token: string
  /** The path of the form with the browser's report. */
  browserPath: string
  /** Absent: there is no method to run. */
  method?: { url: string; notificationUrl: string }
  waitMs: number
  /**
   * Where the page reports its start, and the Accept header that its own request had; absent: the
   * gateway already has everything.
   */
  begun?: { path: string; accept: string }
  /** A page printed by a merchant ran the method: whether its notification came back. */
  returned?: boolean
  loopbackHttp: boolean
}

export function methodPage({ order, token, browserPath, method, waitMs, begun, returned, loopbackHttp }: MethodView): Page {
  const fields = [
    'methodReturned',
    'javascriptEnabled',
    'javaEnabled',
    'language',
    'colorDepth',
    'screenHeight',
    'screenWidth',
    'timeZone',
  ]
  const texts = textsOf(order)
  const elements =
    method &&
    methodElements({
      methodUrl: method.url,
      threeDSServerTransID: order.threeDSServerTransId,
      notificationUrl: method.notificationUrl,
    })
  return {
    title: texts.sale.title(order.merchantName),
    script: methodScript,
    asks: true,
    formAction: issuers(loopbackHttp),
    frameSrc: issuers(loopbackHttp),
    content: html`${heading(order)} ${scripted(doing(texts.wait.contacting))} ${elements?.markup}
      <form
        id="browser"
        method="post"
        action="${browserPath}"
        data-token="${token}"
        data-wait-ms="${waitMs}"
        ${begun && html`data-begun="${begun.path}" data-accept="${begun.accept}"`}
        ${returned === undefined ? undefined : html`data-returned="${String(returned)}"`}
      >
        ${fields.map((name) => html`<input type="hidden" name="${name}" value="" />`)}
      </form>
      <noscript>
        <form method="post" action="${browserPath}">
          <input type="hidden" name="javascriptEnabled" value="false" />
          <p>${texts.go.noScript}</p>
          <button>${texts.go.on}</button>
        </form>
      </noscript>`,
  }
}

/** Issuers of 1.0.2 have no window sizes, so they get the whole window. */
export const payerPage = (order: PayerOrder): Page => ({
  title: textsOf(order).bank.title,
  script: returnScript,
  formAction: 'anywhere',
  content: html`${heading(order)} ${scripted(doing(textsOf(order).wait.taking))}
  ${postForm({ action: order.acsUrl, fields: order.fields, inside: html`<button>${textsOf(order).bank.go}</button>` })}`,
})

/**
 * The page asks for what comes next. `since` is when this browser began to wait; from then on it is
 * part of the address.
 */
export const waitingPage = (title: string, since: number, above: Markup, says: string, below?: Markup): Page => ({
  title,
  script: workingScript,
  asks: true,
  refresh: { seconds: 2, to: `?since=${since}` },
  content: html`${above}
    <div data-since="${since}">${doing(says)}</div>
    ${below}`,
})

/** Who began long ago goes back to the shop, and so does who does not want to wait. */
export function workingPage(order: WorkingOrder, since: number): Page {
  const { sale, wait, go } = textsOf(order)
  const leave = order.later && html`<p><a class="link" href="?since=1000000000000">${go.shop}</a></p>`
  return waitingPage(sale.title(order.merchantName), since, heading(order), wait.processed, html`${bankSays(order)} ${leave}`)
}

/** How it ended, what became of the money, and why. */
function endingOf({ status, why, held, ...order }: OverOrder): { title: string; content: Markup } {
  const { sale, ended, money, why: reasons } = textsOf(order)
  const isOpen = status === 'processing' || status === 'unknown'
  const isBack = status === 'given back'
  const titles: Partial<Record<OverOrder['status'], string>> = {
    approved: sale.approved,
    'given back': ended.givenBack,
    error: ended.error,
    processing: ended.processing,
    unknown: ended.processing,
  }
  const title = titles[status] ?? sale.declined
  const isApproved = status === 'approved'
  const about = isOpen ? money.open : isApproved ? held && money.held : isBack ? undefined : money.none
  const content = html`${sign(isApproved ? 'done' : isOpen || isBack ? 'waiting' : 'failed')}
    <h1 class="news">${title}</h1>
    ${amount(order)} ${about && html`<p class="about">${isOpen || isApproved || !why ? '' : `${reasons[why]} `}${about}</p>`}
    <p>${isApproved && !held ? ended.paidTo(order.merchantName) : sale.title(order.merchantName)}</p>
    ${bankSays(order)}`
  return { title, content }
}

export function overPage(order: OverOrder): Page {
  const { back } = order
  const { go } = textsOf(order)
  const { title, content } = endingOf(order)
  if (back === undefined) return { title, content }
  const wait = order.cardholderInfo === undefined ? undefined : html`data-after-ms="${readMs}"`
  return {
    title,
    script: returnScript,
    // The form goes to the URL that was checked with the order. Where that leads is for the shop to
    // say: another host, plain http, its app.
    formAction: 'anywhere',
    content: html`${content}
      <p role="status" class="scripted" ${wait}>${go.going}</p>
      ${postForm({ action: back.url, fields: back.pairs, inside: html`<button>${go.shop}</button>` })}`,
  }
}

export const missingPage = ({ missing }: Texts): Page => ({
  status: 404,
  title: missing.title,
  content: html`${sign('failed')}
    <h1 class="news">${missing.is}</h1>
    <p>${missing.help}</p>`,
})

/** A post that none of our pages sent, or no room for it now; the payment is unchanged. */
export const problemPage = (status: 400 | 503, pagePath: string, { ended, problem, go }: Texts): Page => ({
  status,
  title: ended.payment,
  content: html`<h1 class="news">${status === 503 ? problem.busy : problem.unread}</h1>
    <p>${problem.unchanged}</p>
    <p><a class="button" href="${pagePath}">${go.payment}</a></p>`,
})

/**
 * The end of the method, inside its frame. `returned` absent: the post does not belong to this
 * payment, so no notification is sent.
 */
export const methodReturnedPage = (returned?: { token: string }): Page => ({
  status: returned ? 200 : 400,
  title: 'Check by your bank',
  framed: true,
  ...(returned && { script: methodReturnedScript }),
  content: returned
    ? html`<p id="method-returned" data-token="${returned.token}">The check is done.</p>`
    : html`<p>This does not belong to a payment.</p>`,
})

/** Replaces the method of an issuer that has none: it only reports back. */
export const collectorPage = (notificationUrl: string, threeDSMethodData: string, loopbackHttp: boolean): Page => ({
  title: 'Check of the browser',
  framed: true,
  script: submitScript,
  formAction: issuers(loopbackHttp),
  content: postForm({
    action: notificationUrl,
    fields: [['threeDSMethodData', threeDSMethodData]],
    inside: html`<noscript><button>Continue</button></noscript>`,
  }),
})

export const collectorRefusal = (status: 400 | 503): Page => ({
  status,
  title: 'Check of the browser',
  framed: true,
  content: html`<p>${status === 503 ? 'The service is busy.' : 'threeDSMethodData cannot be used.'}</p>`,
})
