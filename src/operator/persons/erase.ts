/** Erasing data of a person. Amounts, states, attempts, events and the audit trail stay. */
import { erasedConfirmed, erasedInvoiceRequest } from '../../mobile-api/invoice/erased.ts'
import type { Confirmed, MobileRequest } from '../../mobile-api/invoice/invoice.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import { erasedAsked, erasedAuthentication, erasedCard, erasedRequest, erasedScreening } from '../../order/decide/erased.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { entities, statement, type Runner } from '../../storage/pool.ts'
import { transaction } from '../../storage/transaction.ts'
import { record } from '../change.ts'
import type { Desk } from '../desk.ts'
import { inTurn, refuseWhileMoving } from '../in-cells.ts'
import { keysOf } from '../where.ts'
import { listedNames } from './listed.ts'
import { ordersAt } from './subject-rows.ts'
import { together, type LeftUnerased, type OrderTrace, type OtherTrace, type Person, type Traces } from './subject.ts'
import type { Search } from './walk.ts'

const atOnce = 50

/** The list of keys is `n`. */
const ofPlaces = (table: string, row: string) => `unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)
  join ${table} ${row} on ${row}.merchant_id = n.merchant_id and ${row}.order_id = n.order_id`

/** Whoever moves one of them meanwhile waits, and then finds another version. */
const hold = statement<object>(`
  select from orders o where (o.merchant_id, o.order_id) in (select * from unnest($1::bigint[], $2::bigint[]))
  order by o.merchant_id, o.order_id for update`)

const orderRows = entities<OrderKey & Pick<Order, 'request' | 'card' | 'screening'> & Pick<Transaction, 'authentication'>>(`
  select o.merchant_id, o.order_id, f.request, f.card, f.screening, o.authentication from ${ofPlaces('orders', 'o')}
  join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id`)
const transactionRows = entities<OrderKey & Pick<Transaction, 'asked' | 'authentication'> & { transactionNo: number }>(`
  select t.merchant_id, t.order_id, t.transaction_no, t.asked, t.authentication from ${ofPlaces('transaction', 't')}
  where num_nonnulls(t.asked, t.authentication) > 0`)
interface Invoice {
  merchantId: bigint
  invoiceId: string
  request: MobileRequest
  confirmed?: Confirmed
}
/** The invoice of a hold too, if no payment came of it. */
const invoiceRows = entities<Invoice>(`
  select i.merchant_id, i.invoice_id, i.request, i.confirmed from ${ofPlaces('order_facts', 'f')}
  join mobile_invoice i on i.merchant_id = f.merchant_id and i.invoice_id = f.request->'mobile'->>'invoiceId'
  where i.ended_at is not null and (i.order_id = f.order_id or not exists (
    select from orders o where o.merchant_id = i.merchant_id and o.order_id = i.order_id))`)
const looseInvoiceRows = entities<Invoice>(`
  select i.merchant_id, i.invoice_id, i.request, i.confirmed
  from unnest($1::bigint[], $2::text[]) as n (merchant_id, invoice_id)
  join mobile_invoice i on i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id where i.ended_at is not null`)

/** A copy of the order that a gateway keeps for showing is no longer true with another version. */
const eraseOrderRows = statement<object>(`
  update orders o set version = o.version + 1, authentication = n.authentication::json
  from unnest($1::bigint[], $2::bigint[], $3::text[]) as n (merchant_id, order_id, authentication)
  where o.merchant_id = n.merchant_id and o.order_id = n.order_id`)
const eraseFacts = statement<object>(`
  update order_facts f set request = n.request::json, card = n.card::json, screening = n.screening::json, card_hash = '',
    pan_sealed = null, pan_key = null, destination_sealed = null, cvv2_sealed = null, cvv2_key = null
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[])
    as n (merchant_id, order_id, request, card, screening)
  where f.merchant_id = n.merchant_id and f.order_id = n.order_id`)
const eraseTransactions = statement<object>(`
  update transaction t set asked = n.asked::json, authentication = n.authentication::json
  from unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[], $5::text[])
    as n (merchant_id, order_id, transaction_no, asked, authentication)
  where t.merchant_id = n.merchant_id and t.order_id = n.order_id and t.transaction_no = n.transaction_no`)
/** Merchants may write anything into a URL, and their servers into an answer. */
const eraseUrls = statement<object>(`
  with places as (select * from unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)),
  silent as (
    update delivery_attempt a set answer = null from places n
    where a.merchant_id = n.merchant_id and a.order_id = n.order_id and a.answer is not null)
  update delivery d set url = d.origin from places n
  where d.merchant_id = n.merchant_id and d.order_id = n.order_id and d.state <> 'due'`)
/** The nonce was used once, and is unique. */
const eraseInvoiceRows = statement<object>(`
  update mobile_invoice i set request = n.request::jsonb, confirmed = n.confirmed::jsonb, nonce = 'erased ' || i.invoice_id,
    session_token = '', secrets_sealed = null, secrets_key = null, cvv2_sealed = null, cvv2_key = null
  from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as n (merchant_id, invoice_id, request, confirmed)
  where i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id`)
const forgetReferences = statement<object>(`
  delete from card_reference r using unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)
  where r.merchant_id = n.merchant_id and r.order_id = n.order_id returning 1`)

/** Lists themselves are configuration; their histories are not. Such a change cannot be undone. */
const eraseListed = statement<object>(`
  update setting_change set before = before - $2::text[], after = after - $2::text[],
    secrets = array_remove(secrets, 'values of a person') || array['values of a person']
  where entity = 'filter' and ($1::bigint is null or merchant_id = $1) and after ?| $2::text[] returning 1`)

/**
 * Erases what was found and can be erased, in small transactions. It can be stopped and begun
 * again, and run beside payments and beside itself.
 */
export async function eraseTraces(desk: Desk, person: Person, found: readonly (Search & Traces)[]) {
  const { by } = person
  const { orders, others } = together(found)
  await note(desk, { by, orders: orders.length, others: others.length })
  const done: Done[] = []
  let changes = 0
  await inTurn(found, async (cell) => {
    const erase = async <Trace>(traces: readonly Trace[], work: (runner: Runner, some: Trace[]) => Promise<Done>) => {
      for (let at = 0; at < traces.length; at += atOnce)
        done.push(
          await transaction(cell.pool, async (runner) => {
            await refuseWhileMoving(runner, cell.cellNo)
            return work(runner, traces.slice(at, at + atOnce))
          }),
        )
    }
    // First: the orders are what finds the values again.
    const listed = await listedNames([cell], person, cell.orders.filter(canBeErased))
    changes += (await desk.pool.run(eraseListed, [cell.merchantId, listed])).length
    await erase(cell.orders, (runner, some) => eraseOrders(runner, cell, some))
    await erase(cell.others, eraseOthers)
  })
  const sum = (what: 'orders' | 'invoices' | 'references') => done.reduce((all, one) => all + one[what], 0)
  const left = countedLeft(done.flatMap(({ judged }) => judged))
  const erased = { orders: sum('orders'), invoices: sum('invoices'), references: sum('references'), changes, left }
  await note({ ...desk, action: 'subject erased' }, { by, ...erased })
  return erased
}

/** The rows that a transaction erased, and all rows it looked at. */
interface Done {
  orders: number
  invoices: number
  references: number
  judged: readonly { left?: LeftUnerased }[]
}

async function eraseOrders(runner: Runner, { clock, bounds }: Search, some: readonly OrderKey[]): Promise<Done> {
  await runner.run(hold, keysOf(some))
  // Read after they are held: what moved them before is seen.
  const judged = await ordersAt(runner, bounds, some)
  const fit = judged.filter(canBeErased)
  const keys = keysOf(fit)
  const [orders, transactions, invoices] = await Promise.all([
    runner.run(orderRows, keys),
    runner.run(transactionRows, keys),
    runner.run(invoiceRows, keys),
  ])
  const authenticationsOf = (rows: readonly Pick<Transaction, 'authentication'>[]) =>
    rows.map(({ authentication: a }) => text(a && erasedAuthentication(a)))
  await runner.run(eraseOrderRows, [...keysOf(orders), authenticationsOf(orders)])
  await runner.run(eraseFacts, [
    ...keysOf(orders),
    orders.map(({ request }) => text(erasedRequest(request, clock.now()))),
    orders.map(({ card }) => text(erasedCard(card))),
    orders.map(({ screening }) => text(screening && erasedScreening(screening))),
  ])
  await runner.run(eraseTransactions, [
    ...keysOf(transactions),
    transactions.map(({ transactionNo }) => transactionNo),
    transactions.map(({ asked }) => text(asked && erasedAsked(asked))),
    authenticationsOf(transactions),
  ])
  await runner.run(eraseUrls, keys)
  await eraseInvoices(runner, invoices)
  const references = await runner.run(forgetReferences, keys)
  return { orders: fit.length, invoices: invoices.length, references: references.length, judged }
}

async function eraseOthers(runner: Runner, judged: readonly OtherTrace[]): Promise<Done> {
  const fit = judged.filter(({ left }) => left === undefined)
  const named = fit.filter(({ is }) => is === 'invoice')
  const invoices = await runner.run(looseInvoiceRows, [named.map((i) => i.merchantId), named.map((i) => i.id)])
  await eraseInvoices(runner, invoices)
  const references = await runner.run(forgetReferences, keysOf(fit.filter(({ is }) => is === 'reference')))
  return { orders: 0, invoices: invoices.length, references: references.length, judged }
}

const eraseInvoices = (runner: Runner, invoices: readonly Invoice[]) =>
  runner.run(eraseInvoiceRows, [
    invoices.map(({ merchantId }) => merchantId),
    invoices.map(({ invoiceId }) => invoiceId),
    invoices.map(({ request }) => text(erasedInvoiceRequest(request))),
    invoices.map(({ confirmed }) => text(confirmed && erasedConfirmed(confirmed))),
  ])

const text = (value: object | undefined): string | null => (value ? JSON.stringify(value) : null)

/** The effect that `eraseTraces` would have now. */
export function wouldErase(found: readonly Traces[]) {
  const { orders, others } = together(found)
  const loose = others.filter(({ left }) => left === undefined)
  const would = { orders: orders.filter(canBeErased).length, others: loose.length }
  return { would, left: countedLeft([...orders, ...others]) }
}

const canBeErased = ({ left, erasedAt }: OrderTrace): boolean => left === undefined && erasedAt === undefined

/** Orders and invoices that stay for now. */
function countedLeft(judged: Done['judged']): Record<LeftUnerased, number> {
  const count = (why: LeftUnerased) => judged.filter(({ left }) => left === why).length
  return { open: count('open'), callbacks: count('callbacks'), young: count('young') }
}

/** Never with anything of the person: how they were named, and how many. */
const note = (desk: Desk, details: object): Promise<void> => record(desk, { subject: 'a person', details })
