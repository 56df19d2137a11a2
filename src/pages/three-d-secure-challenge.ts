import { asset } from '../http/asset.ts'
import { html } from '../http/page.ts'
import { creqOf, postForm } from '../three-d-secure/forms.ts'
import type { Page } from './layout.ts'
import { bankSays, doing, heading, scripted, style } from './three-d-secure-look.ts'
import { issuers, type ChallengeOrder } from './three-d-secure-pages.ts'
import { challengeReturnedScript, challengeScript } from './three-d-secure-script.ts'

/**
 * The windows that an issuer prepares its page for, largest first; challengeWindowSize 05 is the
 * whole window. 02 and 01 are left out: where only they fit, on phones, a whole window is the
 * better one.
 */
const windows = [
  ['03', 500, 600],
  ['04', 600, 400],
] as const

/**
 * The issuer asks the cardholder: in a frame where the window has room for one, else, or without
 * script, in its place.
 */
export function challengePage(order: ChallengeOrder, token: string, loopbackHttp: boolean): Page {
  const { threeDSServerTransId: threeDSServerTransID, acsTransId: acsTransID, version } = order
  const creq = (windowSize: '03' | '04' | '05') => creqOf({ threeDSServerTransID, acsTransID, version, windowSize })
  const framed = windows.map(([size, width, height]) => [size, width, height, creq(size)])
  return {
    status: 200,
    title: 'Confirm the payment with your bank',
    style: style + frameStyle,
    script: challengeScript,
    asks: true,
    formAction: issuers(loopbackHttp),
    frameSrc: issuers(loopbackHttp),
    content: html`${heading(order)} ${bankSays(order)} ${scripted(doing('Taking you to your bank to confirm this payment…'))}
      <div
        id="bank"
        hidden
        data-token="${token}"
        data-windows="${JSON.stringify(framed)}"
        data-asks="Your bank asks you to confirm this payment."
        data-back="Back from your bank. One moment…"
      >
        <iframe
          name="three-d-secure-challenge"
          title="Your bank: confirm the payment"
          sandbox="allow-forms allow-scripts allow-same-origin allow-pointer-lock"
          allow="payment *; publickey-credentials-get *"
        ></iframe>
      </div>
      ${postForm({
        action: order.acsUrl,
        fields: [['creq', creq('05')]],
        inside: html`<button id="continue" hidden>Continue to your bank</button>
          <noscript>
            <p>Your bank asks you to confirm this payment.</p>
            <button>Continue to your bank</button>
          </noscript>`,
      })}
      <p id="whole-window" class="quiet" hidden>
        Nothing to see above? <button type="button" class="link">Open your bank in the whole window</button>
      </p>`,
  }
}

/**
 * The end of a challenge inside a frame. Ours closes when it is told. A shop's own frame, which is
 * told nothing, has the way out of it: the payment's own page refuses to be framed.
 */
export const challengeReturnedPage = (pagePath: string, told: { token: string; origin: string } | undefined): Page => ({
  status: told ? 200 : 400,
  title: told ? 'Back from your bank' : 'Payment',
  style,
  framed: true,
  ...(told && { script: challengeReturnedScript }),
  content: html`${
      told
        ? html`<p id="challenge-returned" data-token="${told.token}" data-origin="${told.origin}">Your bank has answered.</p>`
        : html`<p>What your bank sent could not be read. Your payment is where it was.</p>`
    }
    <p><a class="button" href="${pagePath}" target="_top">Continue</a></p>`,
})

const frameStyle = asset(new URL('./three-d-secure-challenge.css', import.meta.url))
