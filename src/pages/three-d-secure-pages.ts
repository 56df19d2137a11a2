import { html } from '../http/page.ts'
import type { Status } from '../spec/words.ts'
import type { Version } from '../three-d-secure/authentication.ts'
import { methodElements, postForm } from '../three-d-secure/forms.ts'
import type { Page } from './layout.ts'
import { amount, bankSays, doing, heading, scripted, style, type Shown } from './three-d-secure-look.ts'
import { methodReturnedScript, methodScript, returnScript, submitScript, workingScript } from './three-d-secure-script.ts'

/**
 * The issuer's method is to run, or where it has none, only what the browser says of itself is
 * wanted.
 */
export interface MethodOrder extends Shown {
  is: 'method'
  threeDSServerTransId: string
  methodUrl?: string
  /**
   * When the gateway goes on without the method, where it has begun and the browser is known; the
   * page waits no longer.
   */
  methodUntil?: number
  /** The sale says of the browser what the headers of a request do not. */
  saleDescribes?: true
}

export interface ChallengeOrder extends Shown {
  is: 'challenge'
  threeDSServerTransId: string
  acsTransId: string
  acsUrl: string
  version: Version
}

/** The issuer of a card of 1.0.2 asks the cardholder, on a page of its own. */
export interface PayerOrder extends Shown {
  is: 'payer'
  acsUrl: string
  fields: readonly (readonly [string, string])[]
}

/** Nothing to show but that something is under way. */
export interface WorkingOrder extends Shown {
  is: 'working'
  /** Where the cardholder goes when it takes too long. */
  later?: Return
}

/** The way back to the shop, with what the browser posts there. */
export interface Return {
  url: string
  pairs: readonly (readonly [string, string])[]
}

/**
 * The cardholder goes back, whatever came out, with the same pairs that the merchant's callback
 * has.
 */
export interface OverOrder extends Shown {
  is: 'over'
  status: Status
  /** Absent: the merchant named no URL, and the page is the end. */
  back?: Return
}

export type PageOrder = MethodOrder | ChallengeOrder | PayerOrder | WorkingOrder | OverOrder

/**
 * Where the issuers are is not known beforehand, and browsers hold `form-action` against the
 * redirects after a post as well.
 */
export const issuers = (loopbackHttp: boolean): string[] => [
  "'self'",
  'https:',
  ...(loopbackHttp ? ['http://127.0.0.1:*', 'http://localhost:*', 'http://*.localhost:*'] : []),
]

/** Long enough to read what the bank says, before the page goes on by itself. */
const readMs = 10_000

export interface MethodView {
  order: MethodOrder
  token: string
  /** Of the form with what the browser says. */
  browserPath: string
  /** Absent: there is no method to run. */
  method?: { url: string; notificationUrl: string }
  waitMs: number
  /**
   * Where the page reports that it begins, and the Accept header that its own request had; absent:
   * the gateway knows all it needs.
   */
  begun?: { path: string; accept: string }
  /** A page that a merchant printed ran the method: whether it came back. */
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
  const elements =
    method &&
    methodElements({
      methodUrl: method.url,
      threeDSServerTransID: order.threeDSServerTransId,
      notificationUrl: method.notificationUrl,
    })
  return {
    status: 200,
    title: `Payment to ${order.merchantName}`,
    style,
    script: methodScript,
    asks: true,
    formAction: issuers(loopbackHttp),
    frameSrc: issuers(loopbackHttp),
    content: html`${heading(order)} ${scripted(doing('Contacting your bank…'))} ${elements?.markup}
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
          <p>Scripts are switched off in this browser. The payment works without them.</p>
          <button>Continue</button>
        </form>
      </noscript>`,
  }
}

/** Issuers of 1.0.2 know no sizes of windows, so theirs is the whole one. */
export const payerPage = (order: PayerOrder, loopbackHttp: boolean): Page => ({
  status: 200,
  title: 'Confirm the payment with your bank',
  style,
  script: returnScript,
  formAction: issuers(loopbackHttp),
  content: html`${heading(order)} ${scripted(doing('Taking you to your bank to confirm this payment…'))}
  ${postForm({ action: order.acsUrl, fields: order.fields, inside: html`<button>Continue to your bank</button>` })}`,
})

/** `since` is when this browser began to wait; the address has it from then on. */
export const workingPage = (order: WorkingOrder, since: number): Page => ({
  status: 200,
  title: `Payment to ${order.merchantName}`,
  style,
  script: workingScript,
  asks: true,
  refresh: { seconds: 2, to: `?since=${since}` },
  content: html`${heading(order)}
    <div data-since="${since}">${doing('Your payment is being processed. This page goes on by itself.')}</div>
    ${bankSays(order)}`,
})

// oxfmt-ignore
const outcomes: Readonly<Record<Status, string>> = {
  approved:   'Payment approved',
  declined:   'Payment declined',
  filtered:   'Payment declined',
  error:      'Payment not completed',
  processing: 'Your payment is still being processed',
  unknown:    'Your payment is still being processed',
}

export function overPage(order: OverOrder, loopbackHttp: boolean): Page {
  const { back, status, merchantName } = order
  const outcome = outcomes[status]
  const content = html`<h1 class="news">${outcome}</h1>
    ${amount(order)}
    <p>${status === 'approved' ? 'Paid to' : 'Payment to'} ${merchantName}</p>
    ${bankSays(order)}`
  if (back === undefined) return { status: 200, title: outcome, style, content }
  const wait = order.cardholderInfo === undefined ? undefined : html`data-after-ms="${readMs}"`
  return {
    status: 200,
    title: outcome,
    style,
    script: returnScript,
    // A shop on plain http, which is judged when the order is made, may send its customer on to
    // another host of its own.
    formAction: [...issuers(loopbackHttp), ...(/^http:/i.test(back.url) ? ['http:'] : [])],
    content: html`${content}
      <p role="status" class="scripted" ${wait}>You are going back to the shop.</p>
      ${postForm({ action: back.url, fields: back.pairs, inside: html`<button>Return to the shop</button>` })}`,
  }
}

export const missingPage: Page = {
  status: 404,
  title: 'Payment not found',
  style,
  content: html`<h1 class="news">There is no such payment</h1>
    <p>Please check the address, or go back to the shop and try again.</p>`,
}

/** Something that no page of ours sent, or no room for it now; the payment is where it was. */
export const problemPage = (status: 400 | 503, pagePath: string): Page => ({
  status,
  title: 'Payment',
  style,
  content: html`<h1 class="news">${status === 503 ? 'The service is busy' : 'That could not be read'}</h1>
    <p>Your payment is where it was.</p>
    <p><a class="button" href="${pagePath}">Back to the payment</a></p>`,
})

/**
 * The end of the method, inside its frame. `returned` absent: what came does not belong to this
 * payment, so nobody is told.
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

/** Stands in for the method of an issuer that has none: it only reports back. */
export const collectorPage = (notificationUrl: string, threeDSMethodData: string, loopbackHttp: boolean): Page => ({
  status: 200,
  title: 'Check of the browser',
  style,
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
