import { asset } from '../../../src/http/asset.ts'
import { html, type Markup } from '../../../src/http/page.ts'
import { networkBadge, shopPage } from './frame.ts'
import type { Message } from './message.ts'
import type { ShopOrder } from './order.ts'
import { story } from './story.ts'

const style = asset(new URL('./order.css', import.meta.url)) + asset(new URL('./story.css', import.meta.url))
const script = asset(new URL('./order-live.js', import.meta.url))

interface OrderPage {
  nonce: string
  links: readonly (readonly [text: string, href: string])[]
  order: ShopOrder
  messages: readonly Message[]
  revision: string
  /** No more messages will come. */
  isSettled: boolean
  receiptUrl: string | undefined
}

export function orderPage(page: OrderPage): string {
  const { order, nonce, links } = page
  const title = `${headlineOf(order)[0]}: ${order.product.name}`
  return shopPage(
    {
      nonce,
      links,
      title,
      style,
      script,
      // Not while somebody types into a frame.
      ...(page.isSettled || order.mode === 'challenge' || order.mode === 'payer'
        ? {}
        : { head: html`<noscript><meta http-equiv="refresh" content="3" /></noscript>` }),
    },
    html`<main
      id="order"
      data-revision="${page.revision}"
      data-title="${title}"
      ${page.isSettled ? html`data-settled` : undefined}
    >
      <section class="side panel" aria-label="Your order">
        <div class="bought">
          <span class="picture">${order.product.picture}</span>
          <div>
            <b>${order.product.name}</b>
            <span class="price">${order.amount} <small>${order.currency}</small></span>
            <p class="quiet with">${networkBadge(order.network)}</p>
            <p class="quiet with">${order.scenario}</p>
          </div>
        </div>
        <div id="stage" data-step="${stepOf(order)}">${stage(page)}</div>
      </section>
      <section class="story panel" aria-labelledby="said">
        <h2 id="said">What everybody said</h2>
        <div id="story">${story(page.messages, order.startedAt)}</div>
        <p class="quiet foot">
          Solid arrows ask, dashed ones answer. Card numbers are masked where they are first written down.
          <a href="/orders/${order.id}.json">All of it as JSON</a>
        </p>
      </section>
    </main>`,
  )
}

/** The page keeps its content, above all its frames, until this changes. */
const stepOf = (order: ShopOrder): string => `${order.mode} ${order.transIds.length} ${order.seen.get('status') ?? ''}`

function headlineOf({ mode, seen, way }: ShopOrder): [headline: string, more: Markup | string | undefined] {
  const status = seen.get('status')
  if (mode === 'over') {
    if (status === undefined) return ['Refused', 'The gateway did not take this sale.']
    return status === 'approved' ? ['Approved', undefined] : [outcomes[status] ?? status, undefined]
  }
  if (mode === 'method')
    return ['Your bank looks at this browser', 'In a hidden frame; it takes a moment, at the most ten seconds.']
  if (mode === 'challenge' || mode === 'payer')
    return ['Your bank asks you', html`The page below is the issuer's. The password is <code>hint</code>.`]
  if (mode === 'away')
    return ["Over to the gateway's page", 'It looks at the browser, talks to the bank, and sends you back here.']
  if (status === 'unknown')
    return ['No answer from the acquirer', 'The gateway does not guess: it reverses, and waits until that is acknowledged.']
  return ['Paying …', way === 'hosted' ? 'The gateway is preparing its page.' : 'The gateway is at work.']
}

const outcomes: Readonly<Record<string, string>> = {
  declined: 'Declined',
  error: 'Not completed',
  filtered: 'Filtered',
}

function stage(page: OrderPage): Markup {
  const { order } = page
  const [headline, more] = headlineOf(order)
  const tone = order.mode !== 'over' ? 'open' : order.seen.get('status') === 'approved' ? 'good' : 'bad'
  return html`<h1 class="headline ${tone}" role="status">${marks[tone]} ${headline}</h1>
    ${more === undefined ? undefined : html`<p class="quiet more">${more}</p>`} ${inStage(page)}`
}

function inStage(page: OrderPage): Markup {
  const { order } = page
  const root = `/orders/${order.id}`
  if (order.mode === 'method') {
    return html`<iframe
        id="method"
        title="Check by your bank"
        hidden
        src="${root}/method-frame"
        sandbox="allow-forms allow-scripts allow-same-origin"
      ></iframe>
      <form id="browser" method="post" action="${root}/browser">
        <noscript><button>Go on without scripts</button></noscript>
      </form>`
  }
  if (order.mode === 'challenge' || order.mode === 'payer') {
    // 1.0.2 has no sizes.
    const size = windowSizeOf(order.seen.get('tds-creq-form-creq') ?? '')
    return html`<iframe
        id="challenge"
        class="size-${size}"
        title="Your bank's page"
        src="${root}/${order.mode}-frame"
        sandbox="allow-forms allow-scripts allow-same-origin"
      ></iframe>
      <noscript
        ><p class="more"><a href="${root}">Go on when your bank is done</a></p></noscript
      >`
  }
  if (order.mode === 'away')
    return html`<p>
      <a class="button" id="away" href="${order.seen.get('redirect-to') ?? '#'}">Continue to the payment page</a>
    </p>`
  return order.mode === 'over' ? outcome(page) : html``
}

/** 05 is the whole window, which here means all the available room. */
function windowSizeOf(creq: string): string {
  const text = Buffer.from(creq, 'base64url').toString('utf8')
  return /"challengeWindowSize"\s*:\s*"(0[1-5])"/.exec(text)?.[1] ?? '05'
}

const facts = [
  ['error-code', 'Reason'],
  ['verified-3d-status', '3-D Secure'],
  ['eci', 'ECI'],
  ['approval-code', 'Approval code'],
  ['processor-rrn', 'RRN'],
  ['gateway-order-id', 'Order id'],
  ['merchant-order-id', 'Our order id'],
] as const

function outcome({ order, receiptUrl, messages }: OrderPage): Markup {
  const { seen } = order
  const reason = seen.get('error-message')
  const callback = messages.find(({ name }) => name === 'callback')
  return html`${reason === undefined ? undefined : html`<p class="reason bad">${reason}</p>`}
    ${seen.has('motivational-message') ? html`<p class="quiet more">${seen.get('motivational-message')}</p>` : undefined}
    <dl class="facts">
      ${facts.map(([name, says]) =>
        seen.has(name)
          ? html`<div>
              <dt>${says}</dt>
              <dd>${seen.get(name)}</dd>
            </div>`
          : html``,
      )}
      <div>
        <dt>Callback</dt>
        <dd id="told">${callback === undefined ? 'not yet' : (callback.says ?? '')}</dd>
      </div>
    </dl>
    <p class="next">
      <a class="button" href="/">Buy something else</a>
      ${receiptUrl === undefined ? undefined : html`<a class="button second" href="${receiptUrl}">Receipt</a>`}
    </p>`
}

// Each has its own shape besides its colour.
const marks: Readonly<Record<string, Markup>> = {
  good: html`<svg viewBox="0 0 24 24" aria-hidden="true">
    <circle cx="12" cy="12" r="11" />
    <path d="M7 12.5l3.5 3.5L17 8.5" />
  </svg>`,
  bad: html`<svg viewBox="0 0 24 24" aria-hidden="true">
    <path class="body" d="M12 1l11 11-11 11L1 12z" />
    <path d="M9 9l6 6m0-6l-6 6" />
  </svg>`,
  open: html`<span class="spinner" aria-hidden="true"></span>`,
}
