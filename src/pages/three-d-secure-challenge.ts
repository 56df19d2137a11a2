import { asset } from '../http/asset.ts'
import { html } from '../http/page.ts'
import { creqOf, postForm } from '../three-d-secure/forms.ts'
import { hostedStyle, type Page } from './layout.ts'
import type { Texts } from './texts/en.ts'
import { bankSays, doing, heading, scripted, textsOf } from './three-d-secure-look.ts'
import type { ChallengeOrder } from './three-d-secure-pages.ts'
import { challengeReturnedScript, challengeScript } from './three-d-secure-script.ts'

/**
 * The window sizes that an issuer prepares its page for, largest first; challengeWindowSize 05 is
 * the whole window. 02 and 01 are left out: if only they fit, as on phones, a whole window is
 * better.
 */
const windows = [
  ['03', 500, 600],
  ['04', 600, 400],
] as const

/**
 * The issuer asks the cardholder: in a frame if the window has room for one; otherwise, or without
 * script, in place of this page. It may open its app or a window of its own, also from the frame,
 * but never take this page elsewhere: `allow-popups` lets a frame open apps too, and a help page in
 * a window works as anywhere.
 */
export function challengePage(order: ChallengeOrder, token: string): Page {
  const { bank, back, wait } = textsOf(order)
  const { threeDSServerTransId: threeDSServerTransID, acsTransId: acsTransID, version } = order
  const creq = (windowSize: '03' | '04' | '05') => creqOf({ threeDSServerTransID, acsTransID, version, windowSize })
  const framed = windows.map(([size, width, height]) => [size, width, height, creq(size)])
  return {
    title: bank.title,
    style: hostedStyle + frameStyle,
    script: challengeScript,
    asks: true,
    formAction: 'anywhere',
    frameSrc: 'anywhere',
    content: html`${heading(order)} ${bankSays(order)} ${scripted(doing(wait.taking))}
      <div
        id="bank"
        hidden
        data-token="${token}"
        data-windows="${JSON.stringify(framed)}"
        data-asks="${bank.asks}"
        data-back="${back.moment}"
      >
        <iframe
          name="three-d-secure-challenge"
          title="${bank.frame}"
          sandbox="allow-forms allow-scripts allow-same-origin allow-pointer-lock allow-popups allow-popups-to-escape-sandbox"
          allow="payment *; publickey-credentials-get *"
        ></iframe>
      </div>
      ${postForm({
        action: order.acsUrl,
        fields: [['creq', creq('05')]],
        inside: html`<button id="continue" hidden>${bank.go}</button>
          <noscript>
            <p>${bank.asks}</p>
            <button>${bank.go}</button>
          </noscript>`,
      })}
      <p id="whole-window" class="quiet" hidden>${bank.nothing} <button type="button" class="link">${bank.whole}</button></p>`,
  }
}

/**
 * The end of a challenge inside a frame. Our own frame is notified and closes: immediately with a
 * result of this payment, else at the press of the link, or the two pages might go round and round.
 * A shop's own frame is not notified; there the link leaves the frame, because the payment's own
 * page refuses to be framed.
 */
export const challengeReturnedPage = (
  pagePath: string,
  { back, ended, go }: Texts,
  around: { token: string; origin: string },
  own: boolean,
): Page => ({
  status: own ? 200 : 400,
  title: own ? back.title : ended.payment,
  framed: true,
  script: challengeReturnedScript,
  content: html`<p id="challenge-returned" data-token="${around.token}" data-origin="${around.origin}" data-own="${String(own)}">
      ${own ? back.answered : back.unread}
    </p>
    <p><a class="button" href="${pagePath}" target="_top">${go.on}</a></p>`,
})

const frameStyle = asset(new URL('./challenge.css', import.meta.url))
