import { isBelieved, signedParts, type Callback, type CallbackFilter } from './book.ts'
import { controlMark, copyable, counted, cut, signatureMark, statusMark } from './look.ts'
import { asset } from '../../../src/http/asset.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { html, type Markup } from '../../../src/http/page.ts'
import { iconOf, peoplePage } from '../../page.ts'

const style = asset(new URL('./page.css', import.meta.url)) + asset(new URL('./table.css', import.meta.url))
const script = asset(new URL('./live.js', import.meta.url))
const icon = iconOf(asset(new URL('./mark.svg', import.meta.url)))

interface CallbacksPage {
  /** Unique to this reply; the content security policy names it. */
  nonce: string
  places: BarPages
  /** Changes with every callback. */
  revision: string
  login: string
  gatewayBaseUrl: string
  callbackUrl: string
  filter: CallbackFilter
  /** Shows only callbacks with a lower number. */
  before: number | undefined
  /** Newest first, filtered. */
  callbacks: Callback[]
  counts: { received: number; wrong: number }
  now: number
}

const rowsOfPage = 50

export function callbacksPage(page: CallbacksPage): string {
  const { nonce, places } = page
  const head = html`<noscript><meta http-equiv="refresh" content="10" /></noscript>`
  return peoplePage(
    { nonce, title: `Callbacks · ${page.login}`, places, here: 'Callbacks', style, script, icon, head },
    html`<header>
        <h1>Merchant server</h1>
        <p class="lead">What the gateway reported to merchant <strong>${page.login}</strong> about its payments.</p>
        <dl class="facts">
          <div>
            <dt>Callbacks come to</dt>
            <dd>${copyable(page.callbackUrl)}</dd>
          </div>
          <div>
            <dt>Gateway</dt>
            <dd>${copyable(page.gatewayBaseUrl)}</dd>
          </div>
        </dl>
      </header>
      <main>
        ${filterForm(page.filter)}
        <div id="live" data-revision="${page.revision}" data-now="${page.now}">
          ${summaryLine(page)} ${page.callbacks.length > 0 ? table(page) : emptyState(page)}
        </div>
      </main>
      <footer>
        <p id="state" role="status">
          Newest first. The last 1,000 are kept until this program ends; also as
          <a href="/callbacks.json${queryFor(page.filter)}">JSON</a>.
        </p>
      </footer>`,
  )
}

function filterForm({ clientOrderid, orderid }: CallbackFilter): Markup {
  const clear = clientOrderid !== undefined || orderid !== undefined ? html`<a href="/">Show all</a>` : undefined
  return html`<form method="get" action="/" role="search">
    <label class="field"
      >Client order id <input name="client_orderid" value="${clientOrderid}" autocomplete="off" spellcheck="false"
    /></label>
    <label class="field"
      >Order id <input name="orderid" value="${orderid}" inputmode="numeric" autocomplete="off" size="12"
    /></label>
    <button class="second">Find</button>${clear}
  </form>`
}

function summaryLine({ counts, callbacks, filter }: CallbacksPage): Markup {
  if (counts.received === 0) return html``
  const filtered = filter.clientOrderid !== undefined || filter.orderid !== undefined
  const found = filtered ? html`<strong>${counted(callbacks.length)}</strong> found of ` : undefined
  const wrong =
    counts.wrong > 0
      ? html`<strong class="bad">${counted(counts.wrong)} with a wrong control or signature</strong>`
      : html`every control valid`
  return html`<p class="summary">${found}<strong>${counted(counts.received)}</strong> received, ${wrong}</p>`
}

function table({ callbacks, before, filter, now }: CallbacksPage): Markup {
  const from = before === undefined ? callbacks : callbacks.filter(({ number }) => number < before)
  const shown = from.slice(0, rowsOfPage)
  const decimals = Math.max(0, ...shown.map(({ fields }) => amountOf(fields.get('amount'))?.fraction.length ?? 0))
  const last = from.length > shown.length ? shown.at(-1) : undefined
  const older = last && html`<a rel="next" href="/${queryFor(filter, last.number)}">Older</a>`
  const newest = before === undefined ? undefined : html`<a href="/${queryFor(filter)}">Newest</a>`
  return html`<table class="decimals-${Math.min(decimals, 4)}">
      <thead>
        <tr>
          <th>Received</th>
          <th>Status</th>
          <th>Type</th>
          <th class="amount">Amount</th>
          <th>Client order id</th>
          <th>Order id</th>
          <th>Control</th>
          <th><span class="unseen">Fields</span></th>
        </tr>
      </thead>
      ${shown.map((callback) => row(callback, now))}
    </table>
    <nav>${newest} ${older}</nav>`
}

function row(callback: Callback, now: number): Markup {
  const { number, fields, valid } = callback
  const wrong = !valid || !isBelieved(callback.signatures)
  return html`<tbody id="callback-${number}" ${wrong ? html` class="wrong"` : undefined}>
    <tr>
      <td class="when">${time(callback.receivedAt, now)}</td>
      <td class="status">${statusMark(fields.get('status'))}</td>
      <td class="type">${fields.get('type')}</td>
      <td class="amount">${amount(fields.get('amount'), fields.get('currency'))}</td>
      <td class="client-order">${copyable(fields.get('client_orderid'))}</td>
      <td class="order">${copyable(fields.get('orderid'))}</td>
      <td class="control" title="control">${controlMark(valid)}</td>
      <td></td>
    </tr>
    <tr class="more">
      <td colspan="8">
        <details>
          <summary><span class="unseen">Fields (${fields.size})</span></summary>
          ${details(callback)}
        </details>
      </td>
    </tr>
  </tbody> `
}

function details(callback: Callback): Markup {
  const { fields, method, receivedAt, valid } = callback
  const parts = signedParts(fields).map((part, i) => html`<span class="part" title="${signedNames[i]}">${cut(part)}</span>`)
  return html`<div class="inside">
    <section>
      <h2>Signed text</h2>
      <p class="signed">
        <code>${parts}<span class="part key" title="control key">***</span></code>
      </p>
      <p class="note">
        status, orderid, client_orderid and the control key, one after the other; its SHA-1 in hex is the control.
        ${controlVerdict(fields.get('control'), valid)}
      </p>
    </section>
    ${signatureSection(callback)}
    <section>
      <h2>Fields</h2>
      <dl class="facts">
        ${[...fields].map(
          ([name, value]) =>
            html`<div>
              <dt>${cut(name)}</dt>
              <dd>${value === '' ? html`<i>empty</i>` : copyable(value)}</dd>
            </div>`,
        )}
      </dl>
      <p class="note">${method} on ${exactTime(receivedAt)}</p>
    </section>
  </div>`
}

/** The text signed by Standard Webhooks: unlike the control, it covers all data and the time. */
function signatureSection({ signatures: { verdict: whole, kinds }, headers, method }: Callback): Markup {
  const { id, timestamp, signature: given } = headers
  const rows = [
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', given],
  ] as const
  return html`<section>
    <h2>Signature</h2>
    <dl class="facts">
      ${rows.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value === undefined ? html`<i>absent</i>` : copyable(value)}</dd>
          </div>`,
      )}
    </dl>
    <ul class="plain verdicts">
      ${[...kinds].map(
        ([kind, verdict]) =>
          html`<li>
            <code>${cut(kind)}</code>${signatureMark(verdict)}<span class="made">${made.get(kind) ?? 'not known here'}</span>
          </li>`,
      )}
    </ul>
    <p class="note">
      Over id, timestamp and the raw ${method === 'POST' ? 'body' : 'query'}, with dots between; good for five minutes.
      ${whole === 'not checked' ? 'Not checked: there is no key for it here.' : undefined}
    </p>
  </section>`
}

const made = new Map([
  ['v1', 'HMAC-SHA256 under the signing secret'],
  ['v1a', 'Ed25519 by the key of this merchant'],
])

const signedNames = ['status', 'orderid', 'client_orderid'] as const

/**
 * The expected control is not shown: otherwise the page would hand out valid controls for any
 * fields that somebody sends to it.
 */
function controlVerdict(control: string | undefined, valid: boolean): Markup {
  if (valid) return html`The one received is valid.`
  if (control === undefined || control === '') return html`<strong class="bad">This callback has none.</strong>`
  if (!/^[0-9a-f]{40}$/i.test(control)) return html`<strong class="bad">The one received is not 40 hex digits.</strong>`
  return html`<strong class="bad">The one received is not it:</strong> a value was changed on the way, or the two sides hold
    different control keys.`
}

function emptyState({ filter, gatewayBaseUrl, counts }: CallbacksPage): Markup {
  if (counts.received > 0 && (filter.clientOrderid !== undefined || filter.orderid !== undefined)) {
    return html`<section class="panel empty">
      <h2>None of the callbacks has these ids</h2>
      <p>It may be still to come, or older than the last 1,000. <a href="/">Show all</a></p>
    </section>`
  }
  return html`<section class="panel empty first">
    <h2>No callback yet</h2>
    <p>
      The gateway calls back when a payment has its outcome. To get the first one, paste the <code>curl</code> command that the
      sandbox printed when it started: its control is already computed. It looks like this:
    </p>
    <pre><code>curl ${gatewayBaseUrl}/api/v2/sale/<i>endpoint</i> \\
  -d client_orderid=first-1 -d amount=10.50 -d currency=USD … \\
  -d control=<i>SHA-1 of endpoint, client_orderid, 1050, email and control key</i></code></pre>
    <p>The callback appears here a moment later, by itself.</p>
  </section>`
}

function amountOf(text: string | undefined): { whole: string; fraction: string } | undefined {
  const match = /^(\d{1,20})(\.\d{1,10})?$/.exec(text ?? '')
  return match ? { whole: match[1]!, fraction: match[2]?.slice(1) ?? '' } : undefined
}

/**
 * Whole and fraction stand in boxes of their own, so that the points of a column are below each
 * other whatever the currency.
 */
function amount(text: string | undefined, currency: string | undefined): Markup {
  const read = amountOf(text)
  const number = read
    ? html`<span class="number"
        >${read.whole}<span class="fraction">${read.fraction === '' ? '' : `.${read.fraction}`}</span></span
      >`
    : html`<span class="number">${cut(text ?? '')}</span>`
  return html`${number} <span class="currency">${cut(currency ?? '')}</span>`
}

const exactTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC')

const time = (ms: number, now: number): Markup =>
  html`<time datetime="${new Date(ms).toISOString()}" title="${exactTime(ms)}">${relative(now - ms)}</time>`

/** The page's script does the same, to keep the text current while the page is open. */
function relative(elapsedMs: number): string {
  const seconds = Math.max(0, Math.floor(elapsedMs / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`
}

function queryFor({ clientOrderid, orderid }: CallbackFilter, before?: number): string {
  const query = new URLSearchParams()
  if (clientOrderid !== undefined) query.set('client_orderid', clientOrderid)
  if (orderid !== undefined) query.set('orderid', orderid)
  if (before !== undefined) query.set('before', String(before))
  return query.size === 0 ? '' : `?${query.toString()}`
}
