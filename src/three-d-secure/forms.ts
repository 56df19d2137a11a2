import { asset } from '../http/asset.ts'
import { isLocalhost, judgeRedirectUrl, type RefusedAddress } from '../http/address.ts'
import { html, verbatim, type Markup } from '../http/page.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { encodeParam } from './param.ts'

/** The gateway's own addresses of one authentication, as browsers reach them. */
export interface HostedUrls {
  /** Where the cardholder is sent: `redirect-to`. */
  page: string
  /** `threeDSMethodNotificationURL` unless the merchant runs the method itself. */
  method: string
  /** `notificationURL` unless the merchant gave its own. */
  challenge: string
  /** Method URL of a card range that has none. */
  collector: string
  /** `TermUrl` of 1.0.2, unless the merchant posts the form itself. */
  pares: string
}

export function hostedUrls(publicUrl: string, base: string, token: string): HostedUrls {
  const root = `${new URL(publicUrl).origin}${base}/3ds`
  return {
    page: `${root}/${token}`,
    method: `${root}/${token}/method`,
    challenge: `${root}/${token}/challenge`,
    collector: `${root}/collect`,
    pares: `${root}/${token}/pares`,
  }
}

/**
 * Checks a URL of the issuer or the merchant (acsURL, threeDSMethodURL, notification URLs) that a
 * page will send a browser to: https, without credentials. If loopback is allowed, so is plain
 * http, to the hosts that a Content-Security-Policy can name. ::1 is not one of them.
 */
export function usableUrl(text: string, { loopbackHttp }: { loopbackHttp: boolean }): URL | RefusedAddress {
  const url = judgeRedirectUrl(text, { plainHttp: loopbackHttp })
  if (!(url instanceof URL) || url.protocol === 'https:') return url
  const thisMachine = url.hostname === '127.0.0.1' || isLocalhost(url.hostname)
  return thisMachine ? url : { refused: 'plain http is for 127.0.0.1 and localhost only' }
}

export interface PostForm {
  /**
   * http or https. Anything else is a defect: `javascript:` in an action would run a stranger's
   * script.
   */
  action: string
  fields: readonly (readonly [name: string, value: string])[]
  /** Name of the frame that shows the answer; if absent, it replaces the page itself. */
  target?: string
  inside?: Markup
}

/** A form, with hidden fields, that a browser posts to another site. Everything is escaped. */
export function postForm({ action, fields, target = '_self', inside }: PostForm): Markup {
  const url = judgeRedirectUrl(action, { plainHttp: true })
  if (!(url instanceof URL)) throw new Error(`a form cannot go to ${JSON.stringify(action.slice(0, 200))}: ${url.refused}`)
  const inputs = fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)
  return html`<form id="three-d-secure-form" method="post" action="${action}" target="${target}" accept-charset="utf-8">
    ${inputs} ${inside}
  </form>`
}

export interface MethodFrame {
  methodUrl: string
  threeDSServerTransID: string
  notificationUrl: string
}

const methodFrameName = 'three-d-secure-method'

/**
 * The issuer's method: a hidden frame, and the form that is posted into it. The issuer has another
 * origin, so `allow-same-origin` gives it no access to ours.
 */
export function methodElements({ methodUrl, threeDSServerTransID, notificationUrl }: MethodFrame) {
  const threeDSMethodData = encodeParam(JSON.stringify({ threeDSServerTransID, threeDSMethodNotificationURL: notificationUrl }))
  const markup = html`<iframe
      name="${methodFrameName}"
      title="Check by your bank"
      hidden
      width="0"
      height="0"
      sandbox="allow-forms allow-scripts allow-same-origin"
    ></iframe>
    ${postForm({ action: methodUrl, fields: [['threeDSMethodData', threeDSMethodData]], target: methodFrameName })}`
  return { threeDSMethodData, markup }
}

/**
 * What `printed-method.js` adds to the address of the hosted page after running the method: whether
 * its notification arrived in time.
 */
export const methodRan = { parameter: 'method', returned: 'returned', late: 'late' } as const

/** How long the issuer's method may take; `printed-method.js` uses the same limit. */
export const methodMs = 10_000

/**
 * A page for merchants to print that runs the issuer's method. Printed as the whole page, it then
 * continues to the hosted page, because nothing else would; inside a frame, the merchant's own page
 * continues. The link is for browsers in which the script may not run.
 */
export function methodFrame({ pageUrl, ...frame }: MethodFrame & { pageUrl: string }): {
  threeDSMethodData: string
  html: string
} {
  const { threeDSMethodData, markup } = methodElements(frame)
  const content = html`<p role="status">Contacting your bank…</p>
    ${markup}
    <p><a id="three-d-secure-continue" href="${pageUrl}" target="_top">Continue with the payment</a></p>`
  return { threeDSMethodData, html: printable('Contacting your bank', content, methodFrameScript) }
}

export interface ChallengeForm {
  acsUrl: string
  threeDSServerTransID: string
  acsTransID: string
  version: Version
  /** 01 250×400, 02 390×400, 03 500×600, 04 600×400, 05 the full page. */
  windowSize: '01' | '02' | '03' | '04' | '05'
}

/**
 * CReq in the form in which a browser carries it. The same input gives the same text: a reload
 * sends an identical one, as issuers expect.
 */
export const creqOf = ({ threeDSServerTransID, acsTransID, version, windowSize }: Omit<ChallengeForm, 'acsUrl'>): string =>
  encodeParam(
    JSON.stringify({
      messageType: 'CReq',
      messageVersion: version,
      threeDSServerTransID,
      acsTransID,
      challengeWindowSize: windowSize,
    }),
  )

/** A page for merchants to print that sends the cardholder to the issuer. */
export function challengeForm(challenge: ChallengeForm): { creq: string; html: string } {
  const creq = creqOf(challenge)
  return { creq, html: issuerForm(challenge.acsUrl, [['creq', creq]]) }
}

export interface PayerForm {
  acsUrl: string
  pareq: string
  termUrl: string
  md: string
}

/** The form fields that 1.0.2 posts to the issuer. */
export const payerFields = ({ pareq, termUrl, md }: Omit<PayerForm, 'acsUrl'>): PostForm['fields'] => [
  ['PaReq', pareq],
  ['TermUrl', termUrl],
  ['MD', md],
]

/** A page for merchants to print that sends the cardholder to the issuer of a 1.0.2 card. */
export const payerForm = ({ acsUrl, ...fields }: PayerForm): { html: string } => ({
  html: issuerForm(acsUrl, payerFields(fields)),
})

/** The button is always shown: the merchant's Content-Security-Policy may forbid our script. */
function issuerForm(action: string, fields: PostForm['fields']): string {
  const content = html`<h1>Your bank asks you to confirm this payment</h1>
    <p role="status">Contacting your bank…</p>
    ${postForm({ action, fields, inside: html`<button>Continue to your bank</button>` })}`
  return printable('Confirm the payment with your bank', content, submitScript)
}

/**
 * Posts the form of a printed page. The scripts' comments are here, because merchants print the
 * files as they are. The scripts run among the merchant's own, so their names are unlikely to
 * collide, and they rely on nothing of the merchant's. Browsers drop a form inside another form;
 * then there is nothing to post.
 */
const submitScript = asset(new URL('./printed-submit.js', import.meta.url))

/**
 * Continues when the method has notified us or its time is over, whatever has loaded by then: it
 * may hang. A message counts only if it comes from a page of the gateway in that very frame; inside
 * a frame of the merchant's it is passed on to the page around, which waits for it. A
 * cardholder who arrives by the back button, or from a browser's page cache, is at another point of
 * the payment, and the hosted page knows which. Scripts can redefine `window.parent`, but not
 * `window.top`.
 */
const methodFrameScript = asset(new URL('./printed-method.js', import.meta.url))

/**
 * No style and one script, the same for every payment: the merchant's own Content-Security-Policy
 * applies and has to allow it.
 */
const printable = (title: string, content: Markup, script: string): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
      </head>
      <body>
        ${content}
        <script>
          ${verbatim(script)}
        </script>
      </body>
    </html>`.text
