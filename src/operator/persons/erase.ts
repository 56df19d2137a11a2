/** Erasing data of a person. Amounts, states, attempts, events and the audit trail stay. */
import { defined } from '../../base/defined.ts'
import type { ShownCard } from '../../card/number.ts'
import { erasedConfirmed, erasedInvoiceRequest } from '../../mobile-api/invoice/erased.ts'
import type { Confirmed, MobileRequest } from '../../mobile-api/invoice/invoice.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import { erasedAsked, erasedAuthentication, erasedCard, erasedRequest, erasedScreening } from '../../order/decide/erased.ts'
import type { FollowAsked, OrderRequest } from '../../order/decide/order.ts'
import type { Screening } from '../../risk/screening.ts'
import { statement, type Runner } from '../../storage/pool.ts'
import { transaction } from '../../storage/transaction.ts'
import type { Authentication } from '../../three-d-secure/authentication.ts'
import type { CellDesk, Desk } from '../desk.ts'
import { inTurn, refuseWhileMoving } from '../in-cells.ts'
import { record } from '../change.ts'
import { ordersAt } from './subject-rows.ts'
import type { Traces } from './others.ts'
import type { Bounds, LeftUnerased, OtherTrace, Person } from './subject.ts'

export interface Erased {
  orders: number
  invoices: number
  references: number
  /** Orders and invoices that stay for now. */
  left: Record<LeftUnerased, number>
}

const atOnce = 50

/** The list of keys is `n`. */
const ofPlaces = (table: string, row: string) => `unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)
  join ${table} ${row} on ${row}.merchant_id = n.merchant_id and ${row}.order_id = n.order_id`

/** Whoever moves one of them meanwhile waits, and then finds another version. */
const hold = statement<object>(`
  select from orders o where (o.merchant_id, o.order_id) in (select * from unnest($1::bigint[], $2::bigint[]))
  order by o.merchant_id, o.order_id for update`)

interface OrderRow {
  merchant_id: bigint
  order_id: bigint
  request: OrderRequest
  card: ShownCard
  screening: Screening | null
  authentication: Authentication | null
}
const orderRows = statement<OrderRow>(`
  select o.merchant_id, o.order_id, f.request, f.card, f.screening, o.authentication from ${ofPlaces('orders', 'o')}
  join order_facts f on f.merchant_id = o.merchant_id and f.order_id = o.order_id`)
interface TransactionRow {
  merchant_id: bigint
  order_id: bigint
  transaction_no: number
  asked: FollowAsked | null
  authentication: Authentication | null
}
const transactionRows = statement<TransactionRow>(`
  select t.merchant_id, t.order_id, t.transaction_no, t.asked, t.authentication from ${ofPlaces('transaction', 't')}
  where num_nonnulls(t.asked, t.authentication) > 0`)
interface InvoiceRow {
  merchant_id: bigint
  invoice_id: string
  request: MobileRequest
  confirmed: Confirmed | null
}
/** The invoice of a hold too, if no payment came of it. */
const invoiceRows = statement<InvoiceRow>(`
  select i.merchant_id, i.invoice_id, i.request, i.confirmed from ${ofPlaces('order_facts', 'f')}
  join mobile_invoice i on i.merchant_id = f.merchant_id and i.invoice_id = f.request->'mobile'->>'invoiceId'
  where i.ended_at is not null and (i.order_id = f.order_id or not exists (
    select from orders o where o.merchant_id = i.merchant_id and o.order_id = i.order_id))`)
const looseInvoiceRows = statement<InvoiceRow>(`
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
/** Merchants may write anything into a URL. */
const eraseUrls = statement<object>(`
  update delivery d set url = d.origin
  from unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)
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

const list = <Row, Value>(rows: readonly Row[], value: (row: Row) => Value): Value[] => rows.map(value)
const text = (value: object | undefined | null): string | null => (value ? JSON.stringify(value) : null)

/** What was found in a cell. */
export interface TracesIn extends Traces {
  cell: CellDesk
}

/**
 * Erases what was found and can be erased, in small transactions. It can be stopped and begun
 * again, and run beside payments and beside itself.
 */
export async function eraseTraces(desk: Desk, bounds: Bounds, by: Person['by'], found: readonly TracesIn[]): Promise<Erased> {
  const counts = { orders: sumOf(found, ({ orders }) => orders.length), others: sumOf(found, ({ others }) => others.length) }
  await note(desk, { by, ...counts })
  const total: Erased = { orders: 0, invoices: 0, references: 0, left: { open: 0, callbacks: 0, young: 0 } }
  const addTo = ({ left, ...erased }: Partial<Erased>) => {
    for (const [what, count] of Object.entries(erased) as ['orders' | 'invoices' | 'references', number][]) total[what] += count
    for (const [why, count] of Object.entries(left ?? {}) as [LeftUnerased, number][]) total.left[why] += count
  }
  const tracesOf = (cell: CellDesk) => found.find((one) => one.cell === cell)!
  const cells = found.map(({ cell }) => cell)
  await inTurn(cells, async (cell) => {
    const { orders, others } = tracesOf(cell)
    const erase = (work: (runner: Runner) => Promise<Partial<Erased>>) =>
      transaction(cell.pool, async (runner) => {
        await refuseWhileMoving(runner, cell.cellNo)
        return work(runner)
      })
    for (const some of chunks(orders)) addTo(await erase((runner) => eraseOrders(runner, desk, bounds, some)))
    for (const some of chunks(others)) addTo(await erase((runner) => eraseOthers(runner, some)))
  })
  await note({ ...desk, action: 'subject erased' }, { by, ...total })
  return total
}

const sumOf = <Item>(items: readonly Item[], of: (item: Item) => number): number => items.reduce((sum, item) => sum + of(item), 0)

async function eraseOrders(
  runner: Runner,
  { clock }: Desk,
  bounds: Bounds,
  orderKeys: readonly OrderKey[],
): Promise<Partial<Erased>> {
  await runner.run(hold, keysOf(orderKeys))
  // Read after they are held: what moved them before is seen.
  const judged = await ordersAt(runner, bounds, orderKeys)
  const fit = judged.filter(({ left, erasedAt }) => left === undefined && erasedAt === undefined)
  const keys = keysOf(fit)
  const [orders, transactions, invoices] = await Promise.all([
    runner.run(orderRows, keys),
    runner.run(transactionRows, keys),
    runner.run(invoiceRows, keys),
  ])
  const authentication = (row: OrderRow | TransactionRow) => text(row.authentication && erasedAuthentication(row.authentication))
  const rows = [list(orders, (o) => o.merchant_id), list(orders, (o) => o.order_id)]
  await runner.run(eraseOrderRows, [...rows, list(orders, authentication)])
  await runner.run(eraseFacts, [
    ...rows,
    list(orders, (o) => text(erasedRequest(o.request, clock.now()))),
    list(orders, (o) => text(erasedCard(o.card))),
    list(orders, (o) => text(o.screening && erasedScreening(o.screening))),
  ])
  await runner.run(eraseTransactions, [
    list(transactions, (t) => t.merchant_id),
    list(transactions, (t) => t.order_id),
    list(transactions, (t) => t.transaction_no),
    list(transactions, (t) => text(t.asked && erasedAsked(t.asked))),
    list(transactions, authentication),
  ])
  await runner.run(eraseUrls, keys)
  await eraseInvoices(runner, invoices)
  const references = await runner.run(forgetReferences, keys)
  return { orders: fit.length, invoices: invoices.length, references: references.length, left: countedLeft(judged) }
}

async function eraseOthers(runner: Runner, others: readonly OtherTrace[]): Promise<Partial<Erased>> {
  const fit = others.filter(({ left }) => left === undefined)
  const named = fit.filter(({ is }) => is === 'invoice')
  const invoices = await runner.run(looseInvoiceRows, [list(named, (i) => i.merchantId), list(named, (i) => i.id)])
  await eraseInvoices(runner, invoices)
  const references = await runner.run(forgetReferences, keysOf(fit.filter(({ is }) => is === 'reference')))
  return { invoices: invoices.length, references: references.length, left: countedLeft(others) }
}

const eraseInvoices = (runner: Runner, invoices: readonly InvoiceRow[]) =>
  runner.run(eraseInvoiceRows, [
    list(invoices, (i) => i.merchant_id),
    list(invoices, (i) => i.invoice_id),
    list(invoices, (i) => text(erasedInvoiceRequest(i.request))),
    list(invoices, (i) => text(i.confirmed && erasedConfirmed(i.confirmed))),
  ])

const keysOf = (orderKeys: readonly OrderKey[]) => [list(orderKeys, (p) => p.merchantId), list(orderKeys, (p) => p.orderId)]

export function countedLeft(judged: readonly { left?: LeftUnerased }[]): Record<LeftUnerased, number> {
  const count = (why: LeftUnerased) => judged.filter(({ left }) => left === why).length
  return { open: count('open'), callbacks: count('callbacks'), young: count('young') }
}

function* chunks<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let at = 0; at < items.length; at += atOnce) yield items.slice(at, at + atOnce)
}

/** Never with anything of the person: how they were named, and how many. */
const note = (desk: Desk, details: object): Promise<void> => record(desk, { subject: 'a person', details: defined(details) })
