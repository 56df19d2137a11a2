/** What is stored of a person, to hand to that person. Card numbers are masked. */
import { defined } from '../../base/defined.ts'
import type { ShownCard } from '../../card/number.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import type { Transaction } from '../../order/decide/order.ts'
import { maskOf } from '../order-lines.ts'
import type { StoredOrder, StoredOther } from './export.ts'
import type { OrderTrace, OtherTrace } from './subject.ts'

type Named<Row> = Row & { login: string }

export const orderTraceJson = (o: Named<OrderTrace>) =>
  jsonOf({
    ...pick(o, 'orderId', 'clientOrderid', 'status', 'createdAt', 'endedAt', 'erasedAt', 'left'),
    merchant: o.login,
    card: jsonOf(pick(o.card, 'bin', 'lastFour')),
  })

export const otherTraceJson = ({ is, id, login: merchant, createdAt, left }: Named<OtherTrace>) =>
  jsonOf({ [is === 'invoice' ? 'invoiceId' : 'cardRefId']: id, merchant, createdAt, left })

const cardJson = (card: ShownCard) => ({
  masked: maskOf(card),
  ...jsonOf(defined(pick(card, 'expiryMonth', 'expiryYear', 'printedName', 'network', 'country', 'bank'))),
})

/** The proof of an authentication is sealed, and says nothing of a person. */
function authenticationJson({ authentication }: Transaction): object | undefined {
  if (!authentication) return undefined
  const { authenticationValue: _proof, pageToken: _token, ...rest } = authentication
  return rest
}

const transactionJson = (t: Transaction) => ({
  transaction: t.no,
  ...jsonOf(pick(t, 'kind', 'amountMinor', 'createdAt')),
  ...defined({ comment: t.asked?.comment, authentication: authenticationJson(t) }),
})

/** The request is shown as it is stored. */
export const storedOrderJson = (o: Named<StoredOrder>) =>
  jsonOf({
    ...pick(o, 'orderId', 'clientOrderid', 'currency', 'createdAt', 'request'),
    merchant: o.login,
    amount: o.amountText,
    card: cardJson(o.card),
    screening: o.screening?.fired.map(({ name, found }) => ({ rule: name, found })) ?? [],
    transactions: o.transactions.map(transactionJson),
    callbackUrls: o.urls,
  })

export function storedOtherJson({ id, login: merchant, createdAt, ...stored }: Named<StoredOther>) {
  if (stored.is === 'invoice')
    return jsonOf({ invoiceId: id, merchant, createdAt, request: stored.request, confirmed: stored.confirmed })
  const { hashId: _hash, ...card } = stored.card
  const { payer, appEmail } = stored.firstPayment
  return jsonOf({ cardRefId: id, merchant, createdAt, card, payer: { ...payer, ...defined({ appEmail }) } })
}
