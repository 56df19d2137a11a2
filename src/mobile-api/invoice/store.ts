import type { Random } from '../../base/random.ts'
import { columnsOf, entitiesOn, readOf, rowsOf } from '../../storage/columns.ts'
import { entities, timestamp, type Pool, type Runner } from '../../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../../leases/heartbeat.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { claimValues, type Claimer } from '../../leases/leased.ts'
import {
  invoiceKey,
  type Confirmed,
  type Decline,
  type Fee,
  type Hold,
  type Invoice,
  type InvoiceName,
  type SumStatus,
} from './invoice.ts'
import { claim, firstDue, putBack, rest } from './due.ts'
import {
  columns,
  openInvoice,
  sealSecrets,
  sealTokens,
  sealedOf,
  type InvoiceRow,
  type OpenInvoice,
  type SealedBytes,
  type SealedInvoice,
  type Sealed,
} from './rows.ts'

const named = columnsOf<InvoiceName>()
const nameRows = rowsOf({
  merchant_id: named.int8((i) => i.merchantId),
  invoice_id: named.text((i) => i.invoiceId),
})
const selectAll = entitiesOn<InvoiceName, InvoiceRow>(
  nameRows,
  `select ${columns} from ${nameRows.list}
  join mobile_invoice i on i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id`,
)

const added = columnsOf<Sealed>()
const addedRows = rowsOf({
  merchant_id: added.int8(({ invoice }) => invoice.merchantId),
  invoice_id: added.text(({ invoice }) => invoice.invoiceId),
  endpoint_id: added.int8(({ invoice }) => invoice.endpointId),
  kind: added.text(({ invoice }) => invoice.kind),
  nonce: added.text(({ invoice }) => invoice.nonce),
  session_token: added.text(({ invoice }) => invoice.sessionToken),
  order_id: added.int8(({ invoice }) => invoice.orderId),
  digest: added.bytes(({ invoice }) => invoice.digest),
  request: added.json(({ invoice }) => invoice.request),
  secrets_sealed: added.bytes(({ secrets }) => secrets.bytes),
  secrets_key: added.int8(({ secrets }) => secrets.keyVersion),
  cvv2_sealed: added.bytes(({ cvv2 }) => cvv2?.bytes),
  cvv2_key: added.int8(({ cvv2 }) => cvv2?.keyVersion),
  due_at: added.time(({ invoice }) => invoice.createdAt + leaseLookMs),
  lease: added.int8(({ processId }) => processId),
  created_at: added.time(({ invoice }) => invoice.createdAt),
})
/** Stores one of several requests with the same invoice or nonce; the others find it. */
const insert = entitiesOn<Sealed, { orderId: bigint }>(
  addedRows,
  `insert into mobile_invoice (${addedRows.names}, state, tries)
  select ${addedRows.names}, 'checking', 0 from ${addedRows.list}
  on conflict do nothing returning order_id`,
)
const selectForUpdate = entities<InvoiceRow>(
  `select ${columns} from mobile_invoice i where i.merchant_id = $1 and i.invoice_id = $2 for update`,
)
const merchantOfPage = entities<{ merchantId: bigint }>(`select merchant_id from locator where key = $1`)
const selectByPage = entities<InvoiceRow>(
  `select ${columns} from mobile_invoice i where i.merchant_id = $1 and i.page_token = $2`,
)
const moved = columnsOf<Changing>()
const movedRows = rowsOf({
  merchant_id: moved.int8(({ invoice }) => invoice.merchantId),
  invoice_id: moved.text(({ invoice }) => invoice.invoiceId),
  was: moved.text(({ invoice }) => invoice.state),
  holder: moved.int8(({ processId }) => processId),
  at: moved.time(({ now }) => now),
  state: moved.text(({ to }) => to.state),
  due_at: moved.time(dueAfter),
  lease: moved.int8(({ to }) => leaseOf(to)),
  rests_until: moved.time(({ to }) => restOf(to)),
  confirmed: moved.json(({ to }) => to.confirmed),
  hold_order_id: moved.int8(({ to }) => to.hold?.orderId),
  sum_minor: moved.int8(({ to }) => to.hold?.sumMinor),
  page_token: moved.text(({ to }) => to.hold?.pageToken),
  wrong_answers: moved.int4(({ to }) => to.wrongAnswers),
  sum_status: moved.text(({ to }) => to.sumStatus),
  error_code: moved.int4(({ to }) => ('errorCode' in to ? to.errorCode : undefined)),
  error_message: moved.text(({ to }) => ('errorMessage' in to ? to.errorMessage : undefined)),
  fees: moved.json(({ to }) => ('fees' in to ? to.fees : undefined)),
  fee: moved.json(({ to }) => to.fee),
  secrets_sealed: moved.bytes(({ tokens }) => tokens?.bytes),
  secrets_key: moved.int8(({ tokens }) => tokens?.keyVersion),
})
/**
 * Changes an invoice only from the state that the decision was about, and only for the process that
 * works on it: if two processes decide, one succeeds. An invoice that ends, or is certain to, loses
 * its CVV2; one that ends its card numbers, which its order has, if there is one. The page of a
 * random sum is found by its token alone; its insert joins `mobile_invoice` for Citus alone, like
 * that of tries in delivery/store.ts. No invoice may be in the list twice.
 */
const change = entitiesOn<Changing, InvoiceRow>(
  movedRows,
  `with moved as (update mobile_invoice i set
    state = n.state, due_at = n.due_at, lease = n.lease, tries = 0, alarm = null, rests_until = n.rests_until,
    confirmed = coalesce(n.confirmed::jsonb, i.confirmed), hold_order_id = coalesce(n.hold_order_id, i.hold_order_id),
    sum_minor = coalesce(n.sum_minor, i.sum_minor), page_token = coalesce(n.page_token, i.page_token),
    wrong_answers = coalesce(n.wrong_answers, i.wrong_answers), sum_status = coalesce(n.sum_status, i.sum_status),
    error_code = n.error_code, error_message = n.error_message,
    fees = coalesce(n.fees::jsonb, i.fees), fee = coalesce(n.fee::jsonb, i.fee),
    ended_at = case when n.state in ('ordered', 'declined') then n.at end,
    secrets_sealed = coalesce(n.secrets_sealed, i.secrets_sealed), secrets_key = coalesce(n.secrets_key, i.secrets_key),
    cvv2_sealed = case when n.state in ('releasing', 'ordered', 'declined') then null else i.cvv2_sealed end,
    cvv2_key = case when n.state in ('releasing', 'ordered', 'declined') then null else i.cvv2_key end
  from ${movedRows.list}
  where i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id and i.state = n.was
    and (i.lease is null or i.lease = n.holder)
  returning ${columns}, n.page_token is not null as has_page),
  placed as (insert into locator (key, merchant_id, order_id)
    select m.page_token, m.merchant_id, m.order_id
    from moved m join mobile_invoice i on i.merchant_id = m.merchant_id and i.invoice_id = m.invoice_id
    where m.has_page on conflict (key) do nothing)
  select ${columns} from moved i`,
)
/** A change of state, with the data that is known from then on. */
export type InvoiceChange = (
  | { state: 'holding' | 'ordering'; lease: bigint }
  | { state: 'choosing'; restsUntil: number; fees: readonly Fee[] }
  | { state: 'answering'; restsUntil: number }
  | ({ state: 'releasing'; lease: bigint } & Decline)
  | { state: 'ordered' }
  | ({ state: 'declined' } & Decline)
) & { confirmed?: Confirmed; fee?: Fee; hold?: Hold; wrongAnswers?: number; sumStatus?: SumStatus }

/** A change that does not end the invoice. */
export type OnwardChange = Exclude<InvoiceChange, { state: 'ordered' | 'declined' }>

/** A decision about an invoice as it was read. */
export interface DecidedInvoice extends OpenInvoice {
  to: InvoiceChange
  now: number
}

/** `tokens`: what an invoice that ends keeps of its secrets. */
type Changing = Omit<DecidedInvoice, 'secrets'> & { processId: bigint; tokens?: SealedBytes }

const isEnd = ({ state }: InvoiceChange): boolean => state === 'ordered' || state === 'declined'

/** Answers of the first three are in the order of what was asked. All of them may be repeated. */
export interface InvoiceStore {
  /** False for an invoice whose id or nonce another one has; of those in the list, one has it. */
  add(invoices: readonly OpenInvoice[], processId: bigint): Promise<boolean[]>
  find(names: readonly InvoiceName[]): Promise<(SealedInvoice | undefined)[]>
  /** Undefined for an invoice that is in another state by now, or owned by another process. */
  change(decided: readonly DecidedInvoice[], processId: bigint): Promise<(SealedInvoice | undefined)[]>
  /** Whose page this is, also if the merchant is in another cell by now. */
  merchantOfPage(pageToken: string): Promise<bigint | undefined>
  findByPage(merchantId: bigint, pageToken: string): Promise<OpenInvoice | undefined>
  claimDue(by: Claimer, now: number, limit: number): Promise<SealedInvoice[]>
  /**
   * When the first invoice is due, whichever process owns its lease; `Infinity` if there is none.
   */
  firstDue(): Promise<number>
  /** Releases an invoice whose step has no result yet. */
  rest(invoice: Invoice, processId: bigint, dueAt: number): Promise<void>
  /** Returns an invoice whose step failed; with an alarm it is left to an operator. */
  putBack(invoice: Invoice, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void>
}

export function openInvoiceStore(pool: Pool, keys: KeyRing, random: Random): InvoiceStore {
  const find = async (names: readonly InvoiceName[]) => {
    const found = new Map((await readOf(pool, selectAll, names)).map((row) => [invoiceKey(row), row]))
    return names.map((name) => found.get(invoiceKey(name)))
  }
  return {
    async add(invoices, processId) {
      const sealed = invoices.map((open) => ({ invoice: open.invoice, processId, ...sealSecrets(open, keys, random) }))
      const stored = new Set((await readOf(pool, insert, sealed.toSorted(byName))).map((row) => row.orderId))
      const others = invoices.map(({ invoice }) => invoice).filter(({ orderId }) => !stored.has(orderId))
      for (const [i, row] of (await find(others)).entries())
        if (row && isAdded(row, others[i]!, processId)) stored.add(row.orderId)
      return invoices.map(({ invoice }) => stored.has(invoice.orderId))
    },
    async find(names) {
      return (await find(names)).map((row) => row && sealedOf(row, keys))
    },
    async change(decided, processId) {
      const changes: Changing[] = decided.map((one) => ({
        processId,
        ...one,
        ...(isEnd(one.to) && { tokens: sealTokens(one, keys, random) }),
      }))
      const answers = new Map<Changing, SealedInvoice>()
      for (const round of roundsOf(changes)) {
        const rows = new Map((await readOf(pool, change, round.toSorted(byName))).map((row) => [invoiceKey(row), row]))
        const others = round.filter(({ invoice }) => !rows.has(invoiceKey(invoice)))
        const asStored = await find(others.map(({ invoice }) => invoice))
        for (const [i, one] of others.entries()) {
          const row = asStored[i]
          if (row && isMoved(row, one)) rows.set(invoiceKey(row), row)
        }
        for (const one of round) {
          const row = rows.get(invoiceKey(one.invoice))
          if (row) answers.set(one, sealedOf(row, keys))
        }
      }
      return changes.map((one) => answers.get(one))
    },
    merchantOfPage: async (pageToken) => (await pool.run(merchantOfPage, [pageToken]))[0]?.merchantId,
    async findByPage(merchantId, pageToken) {
      const [row] = await pool.run(selectByPage, [merchantId, pageToken])
      return row && openInvoice(row, keys)
    },
    async claimDue(by, now, limit) {
      const lookAt = timestamp(now + leaseLookMs)
      const rows = await pool.run(claim, [by.processId, timestamp(now), limit, deadAfterMs, lookAt, ...claimValues(by)])
      return rows.map((row) => sealedOf(row, keys))
    },
    firstDue: async () => (await pool.run(firstDue, []))[0]?.dueAt ?? Infinity,
    async rest({ merchantId, invoiceId }, processId, dueAt) {
      await pool.run(rest, [merchantId, invoiceId, processId, timestamp(dueAt)])
    },
    async putBack({ merchantId, invoiceId }, processId, dueAt, alarm) {
      await pool.run(putBack, [merchantId, invoiceId, processId, timestamp(dueAt), alarm ?? null])
    },
  }
}

/** For a transaction that decides about the invoice. */
export async function lockInvoice(
  runner: Runner,
  keys: KeyRing,
  merchantId: bigint,
  invoiceId: string,
): Promise<OpenInvoice | undefined> {
  const [row] = await runner.run(selectForUpdate, [merchantId, invoiceId])
  return row && openInvoice(row, keys)
}

/** In the transaction that decided; undefined as for `change`. */
export async function changeInvoice(
  runner: Runner,
  keys: KeyRing,
  invoice: Invoice,
  to: OnwardChange,
  processId: bigint,
  now: number,
): Promise<OpenInvoice | undefined> {
  const [row] = await readOf(runner, change, [{ invoice, to, processId, now }])
  return row && openInvoice(row, keys)
}

/** Each of these has no invoice twice: a statement that updates a row twice does it once. */
function roundsOf(changes: readonly Changing[]): Changing[][] {
  const rounds: Changing[][] = []
  const seen = new Map<string, number>()
  for (const one of changes) {
    const name = invoiceKey(one.invoice)
    const at = seen.get(name) ?? 0
    seen.set(name, at + 1)
    ;(rounds[at] ??= []).push(one)
  }
  return rounds
}

/** Whether a run whose answer was lost stored it, and no worker has touched it since. */
const isAdded = (row: InvoiceRow, invoice: Invoice, processId: bigint): boolean =>
  row.orderId === invoice.orderId &&
  row.state === 'checking' &&
  row.lease === processId &&
  row.dueAt === invoice.createdAt + leaseLookMs

/** Whether this change was stored already, by a run whose answer was lost. */
const isMoved = (row: InvoiceRow, moving: Changing): boolean =>
  row.state === moving.to.state &&
  row.lease === leaseOf(moving.to) &&
  row.dueAt === dueAfter(moving) &&
  row.errorCode === ('errorCode' in moving.to ? moving.to.errorCode : undefined) &&
  (moving.to.fee === undefined || row.fee?.assignedId === moving.to.fee.assignedId)

function leaseOf(to: InvoiceChange): bigint | undefined {
  return 'lease' in to ? to.lease : undefined
}

function restOf(to: InvoiceChange): number | undefined {
  return 'restsUntil' in to ? to.restsUntil : undefined
}

function dueAfter({ to, now }: Changing): number | undefined {
  return 'lease' in to ? now + leaseLookMs : restOf(to)
}

/** The order in which a batch writes its rows: batches that share rows lock them in one order. */
export function byName(a: { invoice: InvoiceName }, b: { invoice: InvoiceName }): number {
  const [one, other] = [invoiceKey(a.invoice), invoiceKey(b.invoice)]
  return one === other ? 0 : one < other ? -1 : 1
}
