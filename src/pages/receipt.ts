import type { Random } from '../base/random.ts'
import type { Incoming, Route } from '../http/server.ts'
import { html, type Markup } from '../http/page.ts'
import type { Merchant } from '../merchant/merchant.ts'
import type { Guessed } from '../merchant/guessed.ts'
import type { Order, Transaction } from '../order/decide/order.ts'
import type { OrderKey } from '../order/decide/change.ts'
import type { ReceiptIds } from '../order/decide/receipt.ts'
import { statusView } from '../order/decide/view.ts'
import { statusOfState } from '../order/decide/order.ts'
import { lookOf, type BrandParts } from './brand.ts'
import { timeText } from './languages.ts'
import type { Texts } from './texts/en.ts'
import { pageAnswer } from './layout.ts'
import { amount, sign } from './three-d-secure-look.ts'

export interface ReceiptParts extends BrandParts {
  random: Random
  receipts: Pick<ReceiptIds, 'orderKeyOf'>
  order: (orderKey: OrderKey) => Promise<Order | undefined>
  merchant: (merchantId: bigint) => Merchant | undefined
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
    const orderKey = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? parts.receipts.orderKeyOf(id) : undefined
    const order = orderKey && (await parts.order(orderKey))
    const transaction = order?.transactions.find((t) => t.result.receiptId === id)
    if (!order || !transaction || params.endpoint !== String(order.endpointId)) {
      parts.guessed(request, { operation: 'receipt', reason: 'unknown receipt' })
      const look = await lookOf(parts, request)
      return pageAnswer(parts.random, { status: 404, ...missing(look.texts) }, look)
    }
    const merchant = parts.merchant(order.merchantId)
    const look = await lookOf(parts, request, { merchant, languages: order.request.browser?.language })
    const title = look.texts.receipt.title(order.clientOrderid)
    const content = receipt(order, transaction, merchant?.page?.name ?? merchant?.name, look.texts)
    return pageAnswer(parts.random, { title, content }, look)
  }
  return [
    { method: 'GET', path: `${base}/view-receipt/:endpoint/:receipt/`, handle },
    { method: 'GET', path: `${base}/view-receipt/:endpoint/:receipt`, handle },
  ]
}

const missing = ({ receipt: names }: Texts) => ({
  title: names.missing,
  content: html`<h1>${names.missing}</h1>
    <p>${names.help}</p>`,
})

function receipt(order: Order, transaction: Transaction, merchant: string | undefined, texts: Texts): Markup {
  const { receipt: names, sale, ended } = texts
  const { amountText } = transaction
  const view = statusView(order, transaction)
  const rows: [string, string | undefined][] = [
    [names.to, merchant],
    [names.for, order.request.orderDesc],
    [names.order, order.clientOrderid],
    [names.payment, String(order.orderId)],
    [names.card, `${view['card-type'] ?? names.card} ···· ${order.card.lastFour}`],
    [names.approval, view['approval-code']],
    [names.reference, view['processor-rrn']],
    [names.statement, view.descriptor],
    [names.date, timeText(texts, transaction.finalAt)],
  ]
  const isApproved = statusOfState(transaction.state) === 'approved'
  return html`${isApproved ? sign('done') : undefined}
    <h1 class="news">${isApproved ? sale.approved : ended.payment}</h1>
    ${amount({ amountText, currency: order.currency, look: { texts } })}
    <dl class="facts">
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
