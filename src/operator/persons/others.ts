/** Data of a person that is not in an order: invoices of the mobile API, and card references. */
import { orderKeyText, type OrderKey } from '../../order/decide/change.ts'
import { bytea } from '../../storage/pool.ts'
import { ordersAt, ordersOf } from './subject-rows.ts'
import type { OrderTrace, OtherTrace, Person, Traces } from './subject.ts'
import { anyOf, inSql, nextBy, pagesOf, phonesOf, walk, type Search } from './walk.ts'

const invoices = (texts: readonly string[]) =>
  pagesOf<OtherTrace>(
    `select merchant_id, invoice_id as id, order_id, created_at, ended_at, state, request, confirmed from mobile_invoice
    where ${nextBy('merchant_id, invoice_id')}`,
    `select i.merchant_id, i.id, 'invoice' as "is", i.order_id, i.created_at, case
      when i.ended_at is null then 'open'
      when i.ended_at >= case when i.state = 'ordered' then $5::timestamptz else $6::timestamptz end then 'young' end as "left"
    from looked i where ${anyOf(texts)}`,
  )
const references = (condition: string) =>
  pagesOf<OtherTrace>(
    `select merchant_id, card_ref_id as id, order_id, created_at, first_payment, number_id from card_reference
    where ${nextBy('merchant_id, card_ref_id')}`,
    `select r.merchant_id, r.id::text as id, 'reference' as "is", r.order_id, r.created_at from looked r where ${condition}`,
  )

const payer = `r.first_payment->'payer'`
const invoicesBy = {
  email: invoices([`lower(i.request->>'email')`, `lower(i.confirmed->>'email')`]),
  phone: invoices(
    ['request', 'confirmed']
      .map((part) => `i.${part}->'billing'->>`)
      .flatMap((of) => phonesOf(`(${of}'country')`, `${of}'phone'`)),
  ),
}
const referencesBy = {
  email: references(anyOf([`lower(${payer}->>'email')`, `lower(r.first_payment->>'appEmail')`])),
  phone: references(anyOf(phonesOf(`(${payer}->>'country')`, `${payer}->>'phone'`, `${payer}->>'cellPhone'`))),
  card: references(`r.number_id = any ($4::bytea[])`),
}

async function* othersOf(search: Search, person: Person): AsyncGenerator<OtherTrace> {
  if (person.by === 'order') return
  if (person.by !== 'card') yield* walk(search, invoicesBy[person.by], [0n, ''], [person.values, ...inSql(search.bounds)])
  const values = person.by === 'card' ? person.numberIds.map(bytea) : person.values
  yield* walk(search, referencesBy[person.by], [0n, '0'], [values])
}

/**
 * What only invoices and card references lead to: their orders, unless `known`, and they
 * themselves where there is no order.
 */
export async function ledBy(search: Search, person: Person, known: readonly OrderKey[]): Promise<Traces> {
  const knownKeys = new Set(known.map(orderKeyText))
  const all: OtherTrace[] = []
  for await (const trace of othersOf(search, person)) if (!knownKeys.has(orderKeyText(trace))) all.push(trace)
  const orders = new Map((await ordersAt(search.pool, search.bounds, all)).map((trace) => [orderKeyText(trace), trace]))
  return { orders: [...orders.values()], others: all.filter((trace) => !orders.has(orderKeyText(trace))) }
}

/** Everything that holds data of the person. */
export async function tracesOf(search: Search, person: Person): Promise<Search & Traces> {
  const orders: OrderTrace[] = []
  for await (const trace of ordersOf(search, person)) orders.push(trace)
  const led = await ledBy(search, person, orders)
  return { ...search, orders: [...orders, ...led.orders], others: led.others }
}
