/** Data of a person that is not in an order: invoices of the mobile API, and card references. */
import { sleep } from '../../base/clock.ts'
import { orderKeyText } from '../../order/decide/change.ts'
import { bytea, entities, type Statement } from '../../storage/pool.ts'
import { phonesOf, inSql, ordersAt, ordersOf, pageRows, restMs, type Search } from './subject-rows.ts'
import type { OrderTrace, OtherTrace, Person } from './subject.ts'

/** Without an id if nothing was found. */
type Row = Partial<Omit<OtherTrace, 'is'>> & { looked: bigint; lastMerchant?: bigint; lastId?: string }

const scan = (looked: string, found: string) =>
  entities<Row>(`
  with looked as (${looked}), found as (${found})
  select found.*, (select count(*) from looked) as looked, l.merchant_id as last_merchant, l.id::text as last_id
  from (values (1)) as one
  left join (select merchant_id, id from looked order by merchant_id desc, id desc limit 1) l on true
  left join found on true`)

const anyOf = (texts: readonly string[], values: string) => texts.map((text) => `${text} = any (${values})`).join(' or ')

const invoices = (texts: readonly string[]) =>
  scan(
    `select merchant_id, invoice_id as id, order_id, created_at, ended_at, state, request, confirmed from mobile_invoice
    where (merchant_id, invoice_id) > ($1, $2) and ($3::bigint is null or merchant_id = $3)
    order by merchant_id, invoice_id limit ${pageRows}`,
    `select i.merchant_id, i.id, i.order_id, i.created_at, case
      when i.ended_at is null then 'open'
      when i.ended_at >= case when i.state = 'ordered' then $5::timestamptz else $6::timestamptz end then 'young' end as "left"
    from looked i where ${anyOf(texts, '$4::text[]')}`,
  )
const references = (condition: string) =>
  scan(
    `select merchant_id, card_ref_id as id, order_id, created_at, first_payment, number_id from card_reference
    where (merchant_id, card_ref_id) > ($1, $2) and ($3::bigint is null or merchant_id = $3)
    order by merchant_id, card_ref_id limit ${pageRows}`,
    `select r.merchant_id, r.id::text as id, r.order_id, r.created_at, null::text as "left" from looked r where ${condition}`,
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
  email: references(anyOf([`lower(${payer}->>'email')`, `lower(r.first_payment->>'appEmail')`], '$4::text[]')),
  phone: references(anyOf(phonesOf(`(${payer}->>'country')`, `${payer}->>'phone'`, `${payer}->>'cellPhone'`), '$4::text[]')),
  card: references(`r.number_id = any ($4::bytea[])`),
}

async function othersOf(search: Search, person: Person): Promise<OtherTrace[]> {
  if (person.by === 'order') return []
  if (person.by === 'card') return scanned(search, 'reference', referencesBy.card, [person.numberIds.map(bytea)])
  const { by, values } = person
  return [
    ...(await scanned(search, 'invoice', invoicesBy[by], [values, ...inSql(search.bounds)])),
    ...(await scanned(search, 'reference', referencesBy[by], [values])),
  ]
}

async function scanned(
  { cell: { pool }, clock, merchantId }: Search,
  is: OtherTrace['is'],
  page: Statement<Row>,
  values: readonly unknown[],
): Promise<OtherTrace[]> {
  const found: OtherTrace[] = []
  let at: readonly [bigint, string] = [0n, is === 'invoice' ? '' : '0']
  for (;;) {
    const rows = await pool.run(page, [...at, merchantId ?? null, ...values])
    for (const { looked: _looked, lastMerchant: _merchant, lastId: _id, ...trace } of rows)
      if (trace.id !== undefined) found.push({ is, ...trace } as OtherTrace)
    const { looked, lastMerchant, lastId } = rows[0]!
    if (looked < pageRows) return found
    at = [lastMerchant!, lastId!]
    await sleep(clock, restMs)
  }
}

export interface Traces {
  orders: OrderTrace[]
  /** Without an order: it was never made, or its partition was dropped. */
  others: OtherTrace[]
}

/**
 * What only invoices and card references lead to: their orders, unless `known`, and they
 * themselves where there is no order.
 */
export async function ledBy(search: Search, person: Person, known: ReadonlySet<string>): Promise<Traces> {
  const all = (await othersOf(search, person)).filter((trace) => !known.has(orderKeyText(trace)))
  const orders = new Map((await ordersAt(search.cell.pool, search.bounds, all)).map((trace) => [orderKeyText(trace), trace]))
  return { orders: [...orders.values()], others: all.filter((trace) => !orders.has(orderKeyText(trace))) }
}

/** Everything that holds data of the person. */
export async function tracesOf(search: Search, person: Person): Promise<Traces> {
  const orders: OrderTrace[] = []
  for await (const trace of ordersOf(search, person)) orders.push(trace)
  const led = await ledBy(search, person, new Set(orders.map(orderKeyText)))
  return { orders: [...orders, ...led.orders], others: led.others }
}
