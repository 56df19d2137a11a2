/** The stored data of a person, to give to that person. Card numbers are masked. */
import { defined } from '../../base/defined.ts'
import type { ShownCard } from '../../card/number.ts'
import type { FirstPayment } from '../../card/reference.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import type { Confirmed, MobileRequest } from '../../mobile-api/invoice/invoice.ts'
import { orderKeyText, type OrderKey } from '../../order/decide/change.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities } from '../../storage/pool.ts'
import { keysOf, type Logins } from '../where.ts'
import { maskOf } from '../order-lines.ts'
import type { OtherTrace, Traces } from './subject.ts'
import type { Search } from './walk.ts'

interface Stored {
  merchantId: bigint
  id: string
  createdAt: number
}
type Invoice = Stored & { request: MobileRequest; confirmed?: Confirmed }
type Reference = Stored & { card: ShownCard; firstPayment: FirstPayment }
type Named<Row> = Row & { login: string }

const places = `unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)`
const texts = entities<OrderKey & { is: 'url' | 'answer'; text: string }>(`
  select d.merchant_id, d.order_id, 'url' as is, d.url as text from ${places}
  join delivery d on d.merchant_id = n.merchant_id and d.order_id = n.order_id
  union select a.merchant_id, a.order_id, 'answer', a.answer from ${places}
  join delivery_attempt a on a.merchant_id = n.merchant_id and a.order_id = n.order_id where a.answer is not null`)
/** Invoices with an order, and invoices without one. */
const invoices = entities<Invoice>(`
  select merchant_id, invoice_id as id, created_at, request, confirmed from mobile_invoice
  where (merchant_id, invoice_id) in (
    select f.merchant_id, f.request->'mobile'->>'invoiceId' from ${places}
    join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id
    union select * from unnest($3::bigint[], $4::text[]))`)
const references = entities<Reference>(`
  select r.merchant_id, r.card_ref_id::text as id, r.created_at, r.card, r.first_payment from ${places}
  join card_reference r on r.merchant_id = n.merchant_id and r.order_id = n.order_id`)

/** All invoices and card references: with an order, and without. */
export async function readStored({ pool, orders, others }: Search & Traces, { named }: Logins) {
  const loose = (what: OtherTrace['is']) => others.filter(({ is }) => is === what)
  const unordered = loose('invoice')
  const [loaded, sent, invoiced, registered] = await Promise.all([
    openOrderStore(pool).load(orders),
    pool.run(texts, keysOf(orders)),
    pool.run(invoices, [...keysOf(orders), unordered.map((i) => i.merchantId), unordered.map((i) => i.id)]),
    pool.run(references, keysOf([...orders, ...loose('reference')])),
  ])
  const textsOf = (order: Order, is: string) =>
    sent.flatMap((one) => (one.is === is && orderKeyText(one) === orderKeyText(order) ? one.text : []))
  return {
    orders: loaded.map((order) => ({ ...named(order), urls: textsOf(order, 'url'), answers: textsOf(order, 'answer') })),
    others: [...invoiced, ...registered].map(named),
  }
}

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
export const storedOrderJson = (o: Named<Order> & { urls: string[]; answers: string[] }) =>
  jsonOf({
    ...pick(o, 'orderId', 'clientOrderid', 'currency', 'createdAt', 'request'),
    merchant: o.login,
    amount: o.amountText,
    card: cardJson(o.card),
    screening: o.screening?.fired.map(({ name, found }) => ({ rule: name, found })) ?? [],
    transactions: o.transactions.map(transactionJson),
    callbackUrls: o.urls,
    callbackAnswers: o.answers,
  })

export function storedOtherJson({ id, login: merchant, createdAt, ...stored }: Named<Invoice | Reference>) {
  if ('request' in stored)
    return jsonOf({ invoiceId: id, merchant, createdAt, request: stored.request, confirmed: stored.confirmed })
  const { hashId: _hash, ...card } = stored.card
  const { payer, appEmail } = stored.firstPayment
  return jsonOf({ cardRefId: id, merchant, createdAt, card, payer: { ...payer, ...defined({ appEmail }) } })
}
