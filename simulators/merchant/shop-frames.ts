import { createHash } from 'node:crypto'
import { judgeRedirectUrl } from '../../src/http/address.ts'
import { html, verbatim, type Markup } from '../../src/http/page.ts'
import { methodMessage } from './shop-order-script.ts'

/** The pages inside the frames of an order: each with the content security policy it goes out with. */
export interface FramePage {
  html: string
  policy: string
}

const common = `default-src 'none'; base-uri 'none'; frame-ancestors 'self'`

/**
 * The issuer's method with a notification URL of our own, so that we hear when it is over: of the gateway's `html`, which has the gateway's, a merchant
 * would have to wait out the ten seconds.
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
          ${verbatim('document.forms[0].submit()')}
        </script>`,
    ),
  }
}

/** Back from the method: tells the page around, which is of the same origin. */
export const methodReturned = (nonce: string): FramePage => ({
  policy: `${common}; script-src 'nonce-${nonce}'`,
  html: framed(
    'The check is done',
    html`<p>The check is done.</p>
      <script nonce="${nonce}">
        ${verbatim(`parent.postMessage('${methodMessage}', location.origin)`)}
      </script>`,
  ),
})

/**
 * The gateway's `html` as it is. Its scripts have no nonce of ours; the policy names each by its hash, so that nothing else in it could run.
 */
export function challengeFrame(page: string, acsUrl: string): FramePage | undefined {
  const url = judgeRedirectUrl(acsUrl, { plainHttp: true })
  if (!(url instanceof URL)) return undefined
  const hashes = Array.from(page.matchAll(/<script>([^]*?)<\/script>/g), ([, script = '']) => `'sha256-${createHash('sha256').update(script, 'utf8').digest('base64')}'`) // oxfmt-ignore
  return { html: page, policy: `${common}; script-src ${hashes.join(' ') || `'none'`}; form-action ${url.origin}` }
}

/** Back from the challenge; the page around goes on by itself. Without scripts a link leads out of the frame. */
export const challengeReturned = (orderPath: string): FramePage => ({
  policy: common,
  html: framed(
    'Back at the shop',
    html`<p>Your bank has answered. The shop goes on.</p>
      <noscript><a href="${orderPath}" target="_top">Continue</a></noscript>`,
  ),
})

const framed = (title: string, content: Markup): string =>
  html`<!doctype html>
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
