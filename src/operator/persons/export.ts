/** Reading everything that is stored of a person. */
import type { ShownCard } from '../../card/number.ts'
import type { FirstPayment } from '../../card/reference.ts'
import type { Confirmed, MobileRequest } from '../../mobile-api/invoice/invoice.ts'
import { orderKeyText, type OrderKey } from '../../order/decide/change.ts'
import type { Order } from '../../order/decide/order.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities, type Pool } from '../../storage/pool.ts'
import { keysOf } from './subject-rows.ts'
import type { Traces } from './subject.ts'

interface Stored {
  merchantId: bigint
  id: string
  createdAt: number
}

interface StoredInvoice extends Stored {
  request: MobileRequest
  confirmed?: Confirmed
}

interface StoredReference extends Stored {
  card: ShownCard
  firstPayment: FirstPayment
}

export type StoredOther = ({ is: 'invoice' } & StoredInvoice) | ({ is: 'reference' } & StoredReference)
export type StoredOrder = Order & { urls: string[] }

const places = `unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)`
const urls = entities<OrderKey & { url: string }>(`
  select distinct d.merchant_id, d.order_id, d.url from ${places}
  join delivery d on d.merchant_id = n.merchant_id and d.order_id = n.order_id`)
/** Of the invoices that have an order, and of those that have none. */
const invoices = entities<StoredInvoice>(`
  select merchant_id, invoice_id as id, created_at, request, confirmed from mobile_invoice
  where (merchant_id, invoice_id) in (
    select f.merchant_id, f.request->'mobile'->>'invoiceId' from ${places}
    join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id
    union select * from unnest($3::bigint[], $4::text[]))`)
const references = entities<StoredReference>(`
  select r.merchant_id, r.card_ref_id::text as id, r.created_at, r.card, r.first_payment from ${places}
  join card_reference r on r.merchant_id = n.merchant_id and r.order_id = n.order_id`)

/** Of `others`, all invoices and card references: with an order, and without. */
export async function readStored(
  pool: Pool,
  { orders, others }: Traces,
): Promise<{ orders: StoredOrder[]; others: StoredOther[] }> {
  const named = others.filter(({ is }) => is === 'invoice')
  const loose = others.filter(({ is }) => is === 'reference')
  const [loaded, sent, invoiced, registered] = await Promise.all([
    openOrderStore(pool).load(orders),
    pool.run(urls, keysOf(orders)),
    pool.run(invoices, [...keysOf(orders), named.map((i) => i.merchantId), named.map((i) => i.id)]),
    pool.run(references, keysOf([...orders, ...loose])),
  ])
  const urlsOf = (order: Order) => sent.flatMap((one) => (orderKeyText(one) === orderKeyText(order) ? one.url : []))
  return {
    orders: loaded.map((order) => ({ ...order, urls: urlsOf(order) })),
    others: [
      ...invoiced.map((one) => ({ is: 'invoice' as const, ...one })),
      ...registered.map((one) => ({ is: 'reference' as const, ...one })),
    ],
  }
}
