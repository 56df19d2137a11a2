import { asset } from '../../src/http/asset.ts'
import { html, verbatim, type Markup } from '../../src/http/page.ts'
import { lookStyle } from '../../src/look/look.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { iconOf, peoplePage } from '../page.ts'
import { password, type TestCard } from '../three-d-secure/cards.ts'
import type { View } from './challenge.ts'
import type { Shown } from './desk.ts'

/** The bank's pages. Each takes the nonce of its own reply. */

const pageStyle = asset(new URL('./pages.css', import.meta.url))
const submitScript = asset(new URL('./submit.js', import.meta.url))
const printScript = asset(new URL('./print.js', import.meta.url))
const listStyle = asset(new URL('./cards.css', import.meta.url))

const bank = 'Harbour Bank'
const mark = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" aria-hidden="true">
  <path
    fill="currentColor"
    d="M12 2 2 7.5V9h20V7.5L12 2ZM4 10.5h3v7H4v-7Zm6.5 0h3v7h-3v-7Zm6.5 0h3v7h-3v-7ZM2 19.5h20V22H2v-2.5Z"
  />
</svg>`

interface Frame {
  nonce: string
  title: string
  /** Shown beside the bank's name. */
  aside?: string
  head?: Markup
  foot?: Markup
}

function page({ nonce, title, aside, head, foot }: Frame, content: Markup): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} · ${bank}</title>
        <style nonce="${nonce}">
          ${verbatim(lookStyle + pageStyle)}
        </style>
        ${head}
      </head>
      <body>
        <header>${mark}<strong>${bank}</strong><span>${aside}</span></header>
        <main>${content}</main>
        <footer>${foot ?? html`A simulated bank: no real money, no real cards.`}</footer>
      </body>
    </html> `.text
}

const notices = {
  empty: html`<p class="notice bad" role="alert">Type the password first.</p>`,
  'sent again': html`<p class="notice" role="status">We have sent a new password.</p>`,
  'not sent again': html`<p class="notice bad" role="alert">We cannot send another one. Please use the last.</p>`,
}

/**
 * The payment that a page asks about. `path` is where its form goes, with /answer, and its refresh,
 * with /state.
 */
interface Question {
  id: string
  path: string
  shown: Shown
}

/**
 * Asks for the one-time password. It needs no script; the refresh happens when the time is over.
 */
export function challengePage(
  { id, path, shown }: Question,
  view: Extract<View, { is: 'asking' }>,
  nonce: string,
  refreshSeconds: number,
): string {
  const { merchantName, amount, lastFour, network, phone } = shown
  const left = view.triesLeft === 1 ? '1 try is left.' : `${view.triesLeft} tries are left.`
  const notice =
    view.notice === 'wrong'
      ? html`<p class="notice bad" role="alert">That password is not right. ${left}</p>`
      : view.notice && notices[view.notice]
  const head = html`<meta http-equiv="refresh" content="${refreshSeconds};url=${path}/state?id=${id}" />`
  const foot = html`A simulated bank. The password is <code>${password}</code>.`
  return page(
    { nonce, title: 'Confirm your payment', aside: network, head, foot },
    html`<h1>Confirm your payment</h1>
      <dl class="facts">
        ${row('Merchant', merchantName)} ${row('Amount', amount, 'amount')} ${row('Card', `•••• ${lastFour}`)}
      </dl>
      ${notice}
      <form method="post" action="${path}/answer">
        <input type="hidden" name="id" value="${id}" />
        <label for="password">One-time password</label>
        <p class="quiet" id="sent">Sent to your phone ${phone}.</p>
        <input
          id="password"
          name="password"
          autocomplete="one-time-code"
          autocapitalize="off"
          spellcheck="false"
          aria-describedby="sent"
        />
        <button class="main" name="action" value="submit">Confirm</button>
        <div class="other">
          <button class="link" name="action" value="resend">Send again</button>
          <button class="link" name="action" value="cancel">Cancel</button>
        </div>
      </form>`,
  )
}

const row = (name: string, value: string | undefined, kind = ''): Markup | undefined =>
  value === undefined
    ? undefined
    : html`<div>
        <dt>${name}</dt>
        <dd class="${kind}">${value}</dd>
      </div>`

/**
 * Sends the browser back to the site that asked: automatically with script, by a button without.
 */
export function returnPage(action: string, fields: Record<string, string>, nonce: string): string {
  const inputs = Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)
  return page(
    { nonce, title: 'Going back to the shop' },
    html`<form class="wait" method="post" action="${action}">
        ${inputs}
        <p role="status">Thank you. Going back to the shop …</p>
        <noscript><button class="main">Continue</button></noscript>
      </form>
      <script nonce="${nonce}">
        ${verbatim(submitScript)}
      </script>`,
  )
}

/** For a visitor whose request this bank cannot continue. */
export const strangerPage = (message: string, nonce: string): string =>
  page(
    { nonce, title: 'Nothing to confirm' },
    html`<h1>There is nothing to confirm here</h1>
      <p>${message}</p>
      <p class="quiet">Go back to the shop and try again from there.</p>`,
  )

/** The method page, in an invisible frame. */
export function methodPage(id: string, notificationUrl: string, methodData: string, nonce: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${bank}</title>
      </head>
      <body>
        <form method="post" action="${notificationUrl}" data-id="${id}">
          <input type="hidden" name="threeDSMethodData" value="${methodData}" />
        </form>
        <script nonce="${nonce}">
          ${verbatim(printScript)}
        </script>
      </body>
    </html> `.text
}

/** The list of test cards, for people. */
export function cardsPage(cards: readonly TestCard[], nonce: string, places: BarPages): string {
  const networks = [...new Set(cards.map(({ network }) => network))]
  return peoplePage(
    { nonce, title: 'Test cards · Simulated issuer', places, here: 'Issuer', style: listStyle, icon: iconOf(mark.text) },
    html`<main>
      <h1>Test cards</h1>
      <p class="lead">
        The last four digits tell the story: version, method, outcome, check digit. Any other number of the networks is
        authenticated without a challenge. Whatever would be authenticated or attempted is challenged where the merchant mandates
        it. Version 9 is 1.0.2, in no range. The password is <code>${password}</code>.
      </p>
      <p class="lead">
        Here is <a href="/admin">what the issuer was asked, and how to make it fail</a>. For programs the cards are
        <a href="/test-cards.json">JSON</a>.
      </p>
      ${networks.map((network) => cardTable(network, cards))}
    </main>`,
  )
}

const cardTable = (network: string, cards: readonly TestCard[]): Markup =>
  html`<h2>${network}</h2>
    <div class="wide panel">
      <table>
        <thead>
          <tr>
            <th>Number</th>
            <th>Scenario</th>
            <th>Version</th>
            <th>Method</th>
            <th>What happens</th>
          </tr>
        </thead>
        <tbody>
          ${cards.filter((card) => card.network === network).map(cardRow)}
        </tbody>
      </table>
    </div>`

const cardRow = ({ number, scenario, version, method, note, password: word }: TestCard): Markup =>
  html`<tr>
    <td><code>${number.replaceAll(/\d{4}(?=\d)/g, '$& ')}</code></td>
    <td>${scenario}</td>
    <td data-title="Version">${version}</td>
    <td data-title="Method">${method === 'works' ? '' : method}</td>
    <td>${note}${word === undefined ? undefined : html` <small class="wait">asks for the password</small>`}</td>
  </tr>`
