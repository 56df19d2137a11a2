import { asset } from '../../../src/http/asset.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { html, type Markup } from '../../../src/http/page.ts'
import { networkBadge, shopPage } from './frame.ts'
import type { ShopOrder } from './order.ts'
import { story, storyStyle, type StoryMessage } from '../../../src/look/story.ts'

const style = asset(new URL('./order.css', import.meta.url)) + storyStyle
const script = asset(new URL('./order-live.js', import.meta.url))

interface OrderPage {
  nonce: string
  places: BarPages
  order: ShopOrder
  messages: readonly StoryMessage[]
  revision: string
  /** No more messages will come. */
  isSettled: boolean
  receiptUrl: string | undefined
}

export function orderPage(page: OrderPage): string {
  const { order, nonce, places } = page
  const title = `${headlineOf(order).says}: ${order.product.name}`
  return shopPage(
    {
      nonce,
      places,
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
            <h1>${order.product.name}</h1>
            <span class="price">${order.amount} <small>${order.currency}</small></span>
            <p class="quiet">${networkBadge(order.network)}</p>
            <p class="quiet">${order.scenario}</p>
          </div>
        </div>
        <div id="state" role="status">${stateOf(order)}</div>
        <div id="stage" data-step="${stepOf(order)}">${inStage(page)}</div>
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

interface Headline {
  says: string
  more?: Markup | string
}

function headlineOf({ mode, seen, way }: ShopOrder): Headline {
  const status = seen.get('status')
  if (mode === 'over') {
    if (seen.get('type') === 'unreachable') return { says: 'No answer from the gateway', more: seen.get('error-message') ?? '' }
    if (status === undefined) return { says: 'Refused', more: 'The gateway did not take this sale.' }
    return outcomes[status] ?? { says: 'Not over yet', more: 'The shop has stopped asking.' }
  }
  if (mode === 'method')
    return { says: 'Your bank looks at this browser', more: 'In a hidden frame; it takes a moment, at the most ten seconds.' }
  if (mode === 'challenge' || mode === 'payer')
    return { says: 'Your bank asks you', more: html`The page below is the issuer's. The password is <code>hint</code>.` }
  if (mode === 'answered')
    return seen.get('tds-status') === 'MethodUrlFrame'
      ? { says: 'Your bank decides', more: 'It has seen this browser. Now it says whether it wants to ask you.' }
      : { says: 'Your bank has answered', more: 'The gateway takes no browser’s word for it, and waits for the bank’s own.' }
  if (mode === 'away')
    return { says: "Over to the gateway's page", more: 'It looks at the browser, talks to the bank, and sends you back here.' }
  if (status === 'unknown')
    return { says: 'No answer from the acquirer', more: 'The gateway does not guess: it takes the payment back.' }
  return { says: 'Paying …', more: way === 'hosted' ? 'The gateway is preparing its page.' : 'The gateway is at work.' }
}

const outcomes: Readonly<Record<string, Headline>> = {
  approved: { says: 'Approved' },
  declined: { says: 'Declined' },
  error: { says: 'Not completed' },
  filtered: { says: 'Filtered' },
}

/** The state of the money, once it is decided, or may have moved already. */
function moneyOf({ mode, seen, amount, currency }: ShopOrder): string | undefined {
  const status = seen.get('status')
  if (status === 'unknown' && mode !== 'over')
    return 'It may have been charged. Nothing stays charged once the acquirer confirms: that takes up to a minute here.'
  if (mode !== 'over') return undefined
  if (status === 'approved') return `${amount} ${currency} was charged.`
  if (seen.get('type') === 'unreachable' || (status !== undefined && outcomes[status] === undefined))
    return 'It may have been charged. A callback will say so.'
  return seen.get('error-code') === '911'
    ? 'Nothing was charged: the acquirer has confirmed that the payment is undone.'
    : 'Nothing was charged.'
}

const toneOf = ({ mode, seen }: ShopOrder) => (mode !== 'over' ? 'open' : seen.get('status') === 'approved' ? 'good' : 'bad')

/** The region that screen readers read out after a change. They ignore a new one, so it stays. */
function stateOf(order: ShopOrder): Markup {
  const { says, more } = headlineOf(order)
  const money = moneyOf(order)
  const bank = order.seen.get('cardholder-info')
  return html`<p class="headline ${toneOf(order)}">${marks[toneOf(order)]} ${says}</p>
    ${more === undefined ? undefined : html`<p class="quiet">${more}</p>`}
    ${money === undefined ? undefined : html`<p class="money">${money}</p>`}
    ${bank === undefined ? undefined : html`<p class="notice wait"><b>Your bank says</b> ${bank}</p>`}`
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
        ><p><a href="${root}">Go on when your bank is done</a></p></noscript
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
  const { product, currency, way, network } = order
  const again = new URLSearchParams({ product: product.id, currency, way, network })
  return html`${reason === undefined ? undefined : html`<p class="reason bad">${reason}</p>`}
    ${seen.has('motivational-message') ? html`<p class="quiet">${seen.get('motivational-message')}</p>` : undefined}
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
        <dd id="reported">${callback === undefined ? 'not yet' : (callback.says ?? '')}</dd>
      </div>
    </dl>
    <p class="buttons">
      <a class="button" href="/?${again.toString()}">Try another card</a>
      <a class="button second" href="/">Buy something else</a>
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
