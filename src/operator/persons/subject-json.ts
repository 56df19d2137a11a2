/** What is stored of a person, to hand to that person. Card numbers are masked. */
import { defined } from '../../base/defined.ts'
import type { ShownCard } from '../../card/number.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { maskOf } from '../orders/order.ts'
import { isoTime } from '../../base/moments.ts'
import type { OrderTrace, OtherTrace } from './subject.ts'
import type { StoredOther } from './export.ts'
import { jsonOf, pick } from '../../entity/json.ts'

export const orderTraceJson = (login: string, o: OrderTrace) =>
  jsonOf({
    ...pick(o, 'orderId', 'clientOrderid', 'status', 'createdAt', 'endedAt', 'erasedAt', 'left'),
    merchant: login,
    card: jsonOf(pick(o.card, 'bin', 'lastFour')),
  })

export const otherTraceJson = (login: string, o: OtherTrace) => ({
  [o.is === 'invoice' ? 'invoice_id' : 'card_ref_id']: o.id,
  merchant: login,
  created_at: isoTime(o.createdAt),
  left: o.left ?? null,
})

const cardJson = ({ bin, lastFour, network, expiryMonth, expiryYear, printedName, country, bank }: ShownCard) => ({
  masked: maskOf({ card: { bin, lastFour } }),
  expiry_month: expiryMonth,
  expiry_year: expiryYear,
  ...defined({ printed_name: printedName, network, country, bank }),
})

/** The proof of an authentication is sealed, and says nothing of a person. */
function authenticationJson({ authentication }: Transaction): object | undefined {
  if (!authentication) return undefined
  const { authenticationValue: _proof, pageToken: _token, ...rest } = authentication
  return rest
}

const transactionJson = (t: Transaction) => ({
  transaction: t.no,
  kind: t.kind,
  amount_minor: t.amountMinor,
  created_at: isoTime(t.createdAt),
  ...defined({ comment: t.asked?.comment, authentication: authenticationJson(t) }),
})

/** The request is shown as it is stored. */
export const storedOrderJson = (login: string, { request, ...order }: Order, urls: readonly string[]) => ({
  order_id: order.orderId,
  merchant: login,
  client_orderid: order.clientOrderid,
  amount: order.amountText,
  currency: order.currency,
  created_at: isoTime(order.createdAt),
  request,
  card: cardJson(order.card),
  screening: order.screening?.fired.map(({ name, found }) => ({ rule: name, found })) ?? [],
  transactions: order.transactions.map(transactionJson),
  callback_urls: urls,
})

export const storedOtherJson = (login: string, stored: StoredOther) =>
  stored.is === 'invoice'
    ? {
        invoice_id: stored.id,
        merchant: login,
        created_at: isoTime(stored.createdAt),
        request: stored.request,
        confirmed: stored.confirmed ?? null,
      }
    : { card_ref_id: stored.id, merchant: login, created_at: isoTime(stored.createdAt), card: stored.card, payer: stored.payer }
