import { createHash } from 'node:crypto'
import { judgeRedirectUrl } from '../../../src/http/address.ts'
import { asset } from '../../../src/http/asset.ts'
import { html, verbatim, type Markup } from '../../../src/http/page.ts'

/**
 * The pages inside the frames of an order: each with the content security policy it goes out with.
 */
export interface FramePage {
  html: string
  policy: string
}

const submitScript = asset(new URL('./submit.js', import.meta.url))
const methodReturnedScript = asset(new URL('./method-returned.js', import.meta.url))

const common = `default-src 'none'; base-uri 'none'; frame-ancestors 'self'`

/**
 * The issuer's method with a notification URL of our own, so that we hear when it is over: of the
 * gateway's `html`, which has the gateway's, a merchant would have to wait out the ten seconds.
 */
export function methodFrame(
  methodUrl: string,
  threeDSServerTransID: string,
  notificationUrl: string,
  nonce: string,
): FramePage | undefined {
  const url = judgeRedirectUrl(methodUrl, { plainHttp: true })
  if (!(url instanceof URL)) return undefined
  const data = Buffer.from(JSON.stringify({ threeDSServerTransID, threeDSMethodNotificationURL: notificationUrl })).toString(
    'base64url',
  )
  return {
    policy: `${common}; script-src 'nonce-${nonce}'; form-action ${url.origin}`,
    html: framed(
      'Contacting your bank',
      html`<form method="post" action="${methodUrl}">
          <input type="hidden" name="threeDSMethodData" value="${data}" />
          <noscript><button>Go on</button></noscript>
        </form>
        <script nonce="${nonce}">
          ${verbatim(submitScript)}
        </script>`,
    ),
  }
}

/** Back from the method: notifies the surrounding page, which has the same origin. */
export const methodReturned = (nonce: string): FramePage => ({
  policy: `${common}; script-src 'nonce-${nonce}'`,
  html: framed(
    'The check is done',
    html`<p>The check is done.</p>
      <script nonce="${nonce}">
        ${verbatim(methodReturnedScript)}
      </script>`,
  ),
})

/**
 * The gateway's `html` as it is. Its scripts have no nonce of ours; the policy names each by its
 * hash, so that nothing else in it could run.
 */
export function challengeFrame(page: string, acsUrl: string): FramePage | undefined {
  const url = judgeRedirectUrl(acsUrl, { plainHttp: true })
  if (!(url instanceof URL)) return undefined
  const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script = '']) => script)
  const hashes = scripts.map((script) => `'sha256-${createHash('sha256').update(script, 'utf8').digest('base64')}'`)
  return { html: page, policy: `${common}; script-src ${hashes.join(' ') || `'none'`}; form-action ${url.origin}` }
}

/**
 * The form of 1.0.2 with a TermUrl of our own; the one in the gateway's `html` would end on the
 * gateway's page.
 */
export function payerFrame(seen: ReadonlyMap<string, string>, termUrl: string, nonce: string): FramePage | undefined {
  const field = (name: string) => seen.get(`tds-pareq-form-${name}`) ?? ''
  const url = judgeRedirectUrl(field('acs-url'), { plainHttp: true })
  if (!(url instanceof URL)) return undefined
  const fields = { PaReq: field('pareq'), TermUrl: termUrl, MD: field('md') }
  return {
    policy: `${common}; script-src 'nonce-${nonce}'; form-action ${url.origin}`,
    html: framed(
      'Contacting your bank',
      html`<form method="post" action="${field('acs-url')}">
          ${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
          <noscript><button>Go on to your bank</button></noscript>
        </form>
        <script nonce="${nonce}">
          ${verbatim(submitScript)}
        </script>`,
    ),
  }
}

/**
 * Back from the bank; the page around goes on by itself. Without scripts its own link does, since
 * nothing in the sandboxed frame may.
 */
export const bankReturned: FramePage = {
  policy: common,
  html: framed(
    'Back at the shop',
    html`<p>Your bank has answered. The shop goes on.</p>
      <noscript><p>Follow the link below.</p></noscript>`,
  ),
}

function framed(title: string, content: Markup): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
      </head>
      <body>
        ${content}
      </body>
    </html> `.text
}
