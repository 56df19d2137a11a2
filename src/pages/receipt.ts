import type { Random } from '../base/random.ts'
import type { Answer, Route } from '../http/server.ts'
import { html, verbatim, type Markup } from '../http/page.ts'
import type { Order, Transaction } from '../order/order.ts'
import { receiptKey, type Place } from '../order/store.ts'
import { statusView, wireTime } from '../order/view.ts'
import { statusOfState } from '../order/order.ts'

export interface ReceiptParts {
  random: Random
  locate: (key: string) => Promise<Place | undefined>
  order: (place: Place) => Promise<Order | undefined>
  merchantName: (merchantId: bigint) => string | undefined
}

/** The receipt of an approved payment: public, but nobody can guess its address, and no more of the card than its last four digits. */
export function receiptRoutes(base: string, parts: ReceiptParts): Route[] {
  const handle = async ({ params }: { params: Readonly<Record<string, string>> }) => {
    const id = params.receipt?.toLowerCase() ?? ''
    const place = /^[0-9a-f-]{36}$/.test(id) ? await parts.locate(receiptKey(id)) : undefined
    const order = place && (await parts.order(place))
    const transaction = order?.transactions.find((t) => t.result.receiptId === id)
    if (!order || !transaction || params.endpoint !== String(order.endpointId))
      return page(parts.random, 404, 'Receipt not found', missing)
    return page(
      parts.random,
      200,
      `Receipt ${order.clientOrderid}`,
      receipt(order, transaction, parts.merchantName(order.merchantId)),
    )
  }
  return [
    { method: 'GET', path: `${base}/view-receipt/:endpoint/:receipt/`, handle },
    { method: 'GET', path: `${base}/view-receipt/:endpoint/:receipt`, handle },
  ]
}

const missing = html`<h1>There is no such receipt</h1>
  <p>Please check the address, or ask the shop where you paid.</p>`

function receipt(order: Order, transaction: Transaction, merchant: string | undefined): Markup {
  const view = statusView(order, transaction)
  const rows: [string, string | undefined][] = [
    ['Paid to', merchant],
    ['For', order.request.orderDesc],
    ['Order', order.clientOrderid],
    ['Payment', String(order.orderId)],
    ['Card', `${view['card-type'] ?? 'Card'} ···· ${order.card.lastFour}`],
    ['Approval code', view['approval-code']],
    ['Reference', view['processor-rrn']],
    ['On your statement', view.descriptor],
    ['Date', wireTime(transaction.finalAt)],
  ]
  return html`<h1>${statusOfState(transaction.state) === 'approved' ? 'Payment approved' : 'Payment'}</h1>
    <p class="amount">${transaction.amountText} <small>${order.currency}</small></p>
    <dl>
      ${rows
        .filter(([, value]) => value)
        .map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
    </dl>`
}

const style = `
:root { color-scheme: light dark; --ink: #1c1f24; --quiet: #5d6673; --line: #dfe3e8; --paper: #fff; --desk: #f3f5f7; --accent: #0b6bcb }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --quiet: #9aa4b2; --line: #333a44; --paper: #1b1f25; --desk: #111418; --accent: #6db3ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--desk); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 34rem; margin: 3rem auto; padding: 2rem; background: var(--paper); border-radius: 12px; border-top: 4px solid var(--accent) }
h1 { margin: 0; font-size: 1.1rem; font-weight: 600; color: var(--quiet) }
.amount { margin: .25rem 0 1.5rem; font-size: 2.4rem; font-weight: 650; font-variant-numeric: tabular-nums }
.amount small { font-size: 1.1rem; font-weight: 500; color: var(--quiet) }
dl { margin: 0 } dl div { display: grid; grid-template-columns: 9.5rem 1fr; gap: 1rem; padding: .55rem 0; border-top: 1px solid var(--line) }
dt { color: var(--quiet) } dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 40rem) { main { margin: 0; min-height: 100vh; border-radius: 0; padding: 1.5rem } dl div { grid-template-columns: 1fr; gap: 0 } }
@media print { body { background: none } main { margin: 0; padding: 0; border: 0 } }`

function page(random: Random, status: number, title: string, content: Markup): Answer {
  const nonce = random.bytes(16).toString('base64')
  return {
    status,
    type: 'text/html;charset=utf-8',
    headers: {
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    },
    body: html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <title>${title}</title>
          <style nonce="${nonce}">
            ${verbatim(style)}
          </style>
        </head>
        <body>
          <main>${content}</main>
        </body>
      </html> `.text,
  }
}
