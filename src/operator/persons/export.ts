/** Reading everything that is stored of a person. */
import type { ShownCard } from '../../card/number.ts'
import type { FirstPayment } from '../../card/reference.ts'
import type { Confirmed, MobileRequest } from '../../mobile-api/invoice/invoice.ts'
import { orderKeyText, recordKey, type OrderKey } from '../../order/decide/change.ts'
import type { Order } from '../../order/decide/order.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import type { Traces } from './others.ts'

interface Traced {
  merchantId: bigint
  id: string
  createdAt: number
}

export type StoredOther = Traced &
  (
    | { is: 'invoice'; request: MobileRequest; confirmed?: Confirmed }
    | { is: 'reference'; card: Omit<ShownCard, 'hashId'>; payer: FirstPayment['payer'] & { appEmail?: string } }
  )

export interface StoredOfPerson {
  orders: { order: Order; urls: string[] }[]
  /** All invoices and card references: with an order, and without. */
  others: StoredOther[]
}

const places = `unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)`
const urls = statement<{ merchant_id: bigint; order_id: bigint; url: string }>(`
  select distinct d.merchant_id, d.order_id, d.url from ${places}
  join delivery d on d.merchant_id = n.merchant_id and d.order_id = n.order_id`)
/** Of the invoices that have an order, and of those that have none. */
const invoices = entities<Omit<Extract<StoredOther, { is: 'invoice' }>, 'is'>>(`
  select merchant_id, invoice_id as id, created_at, request, confirmed from mobile_invoice
  where (merchant_id, invoice_id) in (
    select f.merchant_id, f.request->'mobile'->>'invoiceId' from ${places}
    join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id
    union select * from unnest($3::bigint[], $4::text[]))`)
const references = entities<Traced & { card: ShownCard; firstPayment: FirstPayment }>(`
  select r.merchant_id, r.card_ref_id::text as id, r.created_at, r.card, r.first_payment from ${places}
  join card_reference r on r.merchant_id = n.merchant_id and r.order_id = n.order_id`)

export async function readStored(pool: Pool, { orders, others }: Traces): Promise<StoredOfPerson> {
  const named = others.filter(({ is }) => is === 'invoice')
  const loose = others.filter(({ is }) => is === 'reference')
  const [loaded, sent, invoiced, registered] = await Promise.all([
    openOrderStore(pool).load(orders),
    pool.run(urls, keysOf(orders)),
    pool.run(invoices, [...keysOf(orders), named.map((i) => i.merchantId), named.map((i) => i.id)]),
    pool.run(references, keysOf([...orders, ...loose])),
  ])
  return {
    orders: loaded.map((order) => ({
      order,
      urls: sent.flatMap((row) => (recordKey(row) === orderKeyText(order) ? row.url : [])),
    })),
    others: [
      ...invoiced.map((invoice) => ({ is: 'invoice' as const, ...invoice })),
      ...registered.map(({ card: { hashId: _hash, ...card }, firstPayment: { payer, appEmail }, ...reference }) => ({
        is: 'reference' as const,
        ...reference,
        card,
        payer: { ...payer, ...(appEmail === undefined ? {} : { appEmail }) },
      })),
    ],
  }
}

const keysOf = (some: readonly OrderKey[]) => [some.map((p) => p.merchantId), some.map((p) => p.orderId)]
