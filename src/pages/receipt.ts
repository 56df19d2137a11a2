import type { Random } from '../base/random.ts'
import type { Incoming, Route } from '../http/server.ts'
import { asset } from '../http/asset.ts'
import { html, type Markup } from '../http/page.ts'
import type { Guessed } from '../merchant/guessed.ts'
import type { Order, Transaction } from '../order/order.ts'
import { receiptKey } from '../order/locator-keys.ts'
import type { Place } from '../order/change.ts'
import type { ReceiptIds } from '../order/receipt.ts'
import { statusView, wireTime } from '../order/view.ts'
import { statusOfState } from '../order/order.ts'
import { pageAnswer } from './layout.ts'

export interface ReceiptParts {
  random: Random
  receipts: Pick<ReceiptIds, 'placeOf'>
  locate: (key: string) => Promise<Place | undefined>
  order: (place: Place) => Promise<Order | undefined>
  merchantName: (merchantId: bigint) => string | undefined
  guessed: Guessed
}

/**
 * The receipt of an approved payment: public, but its address cannot be guessed, and it shows only
 * the last four digits of the card.
 */
export function receiptRoutes(base: string, parts: ReceiptParts): Route[] {
  const handle = async (request: Incoming) => {
    const { params } = request
    const id = params.receipt?.toLowerCase() ?? ''
    const place = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
      ? (parts.receipts.placeOf(id) ?? (await parts.locate(receiptKey(id))))
      : undefined
    const order = place && (await parts.order(place))
    const transaction = order?.transactions.find((t) => t.result.receiptId === id)
    if (!order || !transaction || params.endpoint !== String(order.endpointId)) {
      parts.guessed(request, { operation: 'receipt', reason: 'unknown receipt' })
      return pageAnswer(parts.random, { status: 404, title: 'Receipt not found', content: missing })
    }
    return pageAnswer(parts.random, {
      status: 200,
      title: `Receipt ${order.clientOrderid}`,
      style,
      content: receipt(order, transaction, parts.merchantName(order.merchantId)),
    })
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
    ['Card', `${order.card.network ?? 'Card'} ···· ${order.card.lastFour}`],
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

const style = asset(new URL('./receipt.css', import.meta.url))
