import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret } from '../base/secret.ts'
import { isFree } from '../storage/leased.ts'
import { bytea, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../storage/store-heartbeat.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { Claimer } from '../storage/store-silence.ts'
import type { Confirmed, Decline, Fee, Hold, Invoice, InvoiceSecrets, SumStatus } from './invoice.ts'

interface InvoiceRow {
  merchant_id: bigint
  invoice_id: string
  endpoint_id: bigint
  kind: Invoice['kind']
  nonce: string
  session_token: string
  order_id: bigint
  digest: Buffer
  request: Invoice['request']
  secrets_sealed: Buffer
  secrets_key: bigint
  cvv2_sealed: Buffer | null
  cvv2_key: bigint | null
  state: Invoice['state']
  confirmed: Confirmed | null
  fees: Fee[] | null
  fee: Fee | null
  rests_until: number | null
  hold_order_id: bigint | null
  sum_minor: bigint | null
  page_token: string | null
  wrong_answers: number
  sum_status: SumStatus | null
  error_code: number | null
  error_message: string | null
  tries: number
  created_at: number
}

const names = `merchant_id invoice_id endpoint_id kind nonce session_token order_id digest request
  secrets_sealed secrets_key cvv2_sealed cvv2_key state confirmed fees fee rests_until hold_order_id
  sum_minor page_token wrong_answers sum_status error_code error_message tries created_at`
const columns = names
  .split(/\s+/)
  .map((name) => `i.${name}`)
  .join(', ')

/** Stores one of two requests with the same invoice or nonce; the other request finds it. */
const insert = statement<object>(`
  insert into mobile_invoice (merchant_id, invoice_id, endpoint_id, kind, nonce, session_token, order_id, digest,
    request, secrets_sealed, secrets_key, cvv2_sealed, cvv2_key, state, due_at, lease, tries, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'checking', $14, $15, 0, $16)
  on conflict do nothing returning invoice_id`)
const select = statement<InvoiceRow>(`select ${columns} from mobile_invoice i where i.merchant_id = $1 and i.invoice_id = $2`)
const selectForUpdate = statement<InvoiceRow>(`${select.text} for update`)
const selectByPage = statement<InvoiceRow>(`select ${columns} from locator l
  join mobile_invoice i on i.merchant_id = l.merchant_id and i.page_token = l.key where l.key = $1`)
/**
 * Same rule as for transactions: takes invoices that are due and free, or leased by a dead process.
 */
const claim = statement<InvoiceRow>(`
  with due as (
    select i.merchant_id, i.invoice_id from mobile_invoice i
    where i.due_at <= $2 and i.alarm is null and ${isFree('i', { me: '$1', silent: '$6', deadAfterMs: '$4' })}
    order by i.due_at limit $3
    for update of i skip locked)
  update mobile_invoice i set lease = $1, due_at = $5
  from due where i.merchant_id = due.merchant_id and i.invoice_id = due.invoice_id
  returning ${columns}`)
/**
 * Moves an invoice only from the state that the decision was about, and only for the process that
 * works on it: if two processes decide, one succeeds. An invoice that ends, or is certain to, loses
 * its CVV2. The page of a random sum is found by its token alone.
 */
const move = statement<InvoiceRow>(`
  with moved as (update mobile_invoice i set
    state = $4::text, due_at = $5, lease = $6, tries = 0, alarm = null, rests_until = $7,
    confirmed = coalesce($8, i.confirmed), hold_order_id = coalesce($9, i.hold_order_id),
    sum_minor = coalesce($10, i.sum_minor), page_token = coalesce($11, i.page_token),
    wrong_answers = coalesce($12, i.wrong_answers), sum_status = coalesce($13, i.sum_status),
    error_code = $14, error_message = $15,
    fees = coalesce($16, i.fees), fee = coalesce($17, i.fee),
    ended_at = case when $4::text in ('ordered', 'declined') then $18::timestamptz end,
    cvv2_sealed = case when $4::text in ('releasing', 'ordered', 'declined') then null else i.cvv2_sealed end,
    cvv2_key = case when $4::text in ('releasing', 'ordered', 'declined') then null else i.cvv2_key end
  where i.merchant_id = $1 and i.invoice_id = $2 and i.state = $3 and (i.lease is null or i.lease = $19)
  returning ${columns}),
  placed as (insert into locator (key, merchant_id, order_id)
    select page_token, merchant_id, order_id from moved where $11::text is not null on conflict (key) do nothing)
  select * from moved`)
const firstDue = statement<{ due_at: number }>(
  `select due_at from mobile_invoice where due_at is not null and alarm is null order by due_at limit 1`,
)
const ofHolder = `merchant_id = $1 and invoice_id = $2 and lease = $3 and due_at is not null`
const rest = statement<object>(`update mobile_invoice set lease = null, due_at = $4 where ${ofHolder}`)
/**
 * Due later; with an alarm no sweep finds it any more. Only the holder of the lease may do this.
 */
const putBack = statement<object>(
  `update mobile_invoice set lease = null, due_at = $4, tries = tries + 1, alarm = $5 where ${ofHolder}`,
)

export interface OpenInvoice {
  invoice: Invoice
  secrets: InvoiceSecrets
}

/**
 * An invoice taken up by a sweep. Opening its secrets may fail, which must not hold up the others.
 */
export interface ClaimedInvoice {
  invoice: Invoice
  openSecrets: () => InvoiceSecrets
}

/** A change of state, with the data that is known from then on. */
export type Move = (
  | { state: 'holding' | 'ordering'; lease: bigint }
  | { state: 'choosing'; restsUntil: number; fees: readonly Fee[] }
  | { state: 'answering'; restsUntil: number }
  | ({ state: 'releasing'; lease: bigint } & Decline)
  | { state: 'ordered' }
  | ({ state: 'declined' } & Decline)
) & { confirmed?: Confirmed; fee?: Fee; hold?: Hold; wrongAnswers?: number; sumStatus?: SumStatus }

export interface InvoiceStore {
  /** False if the invoice or its nonce exists already. */
  add(invoice: Invoice, secrets: InvoiceSecrets, processId: bigint): Promise<boolean>
  find(merchantId: bigint, invoiceId: string): Promise<OpenInvoice | undefined>
  findByPage(pageToken: string): Promise<OpenInvoice | undefined>
  claimDue(by: Claimer, now: number, limit: number): Promise<ClaimedInvoice[]>
  /**
   * When the first invoice is due, whichever process owns its lease; `Infinity` if there is none.
   */
  firstDue(): Promise<number>
  /** Undefined if it is in another state by now, or owned by another process. */
  move(invoice: Invoice, to: Move, processId: bigint, now: number): Promise<OpenInvoice | undefined>
  /** Releases an invoice whose step has no result yet. */
  rest(invoice: Invoice, processId: bigint, dueAt: number): Promise<void>
  /** Returns an invoice whose step failed; with an alarm it is left to an operator. */
  putBack(invoice: Invoice, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void>
}

export function openInvoiceStore(pool: Pool, keys: KeyRing, random: Random): InvoiceStore {
  return {
    async add(invoice, secrets, processId) {
      const { merchantId, invoiceId, createdAt } = invoice
      const key = keys.current('pan')
      const cvv2Key = keys.current('cvv2')
      const kept = {
        accessToken: secrets.accessToken.reveal(),
        signature: secrets.signature.reveal(),
        pan: secrets.pan?.reveal(),
        toPan: secrets.toPan?.reveal(),
      }
      const sealed = seal(key.key, Buffer.from(JSON.stringify(kept)), contextOf(invoice, 'secrets'), random)
      const cvv2 = secrets.cvv2 && seal(cvv2Key.key, Buffer.from(secrets.cvv2.reveal()), contextOf(invoice, 'cvv2'), random)
      const rows = await pool.run(insert, [
        merchantId,
        invoiceId,
        invoice.endpointId,
        invoice.kind,
        invoice.nonce,
        invoice.sessionToken,
        invoice.orderId,
        bytea(invoice.digest),
        JSON.stringify(invoice.request),
        bytea(sealed),
        key.version,
        bytea(cvv2),
        cvv2 ? cvv2Key.version : null,
        timestamp(createdAt + leaseLookMs),
        processId,
        timestamp(createdAt),
      ])
      return rows.length > 0
    },
    async find(merchantId, invoiceId) {
      const [row] = await pool.run(select, [merchantId, invoiceId])
      return row && openInvoice(row, keys)
    },
    async findByPage(pageToken) {
      const [row] = await pool.run(selectByPage, [pageToken])
      return row && openInvoice(row, keys)
    },
    async claimDue({ processId, silent }, now, limit) {
      const lookAt = timestamp(now + leaseLookMs)
      const rows = await pool.run(claim, [processId, timestamp(now), limit, deadAfterMs, lookAt, [...silent]])
      return rows.map((row) => {
        const invoice = invoiceOf(row)
        return { invoice, openSecrets: () => secretsOf(row, invoice, keys) }
      })
    },
    firstDue: async () => (await pool.run(firstDue, []))[0]?.due_at ?? Infinity,
    move: (invoice, to, processId, now) => moveInvoice(pool, keys, invoice, to, processId, now),
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

export async function moveInvoice(
  runner: Runner,
  keys: KeyRing,
  { merchantId, invoiceId, state: from }: Invoice,
  to: Move,
  processId: bigint,
  now: number,
): Promise<OpenInvoice | undefined> {
  const { confirmed, fee, hold, wrongAnswers, sumStatus } = to
  const lease = 'lease' in to ? to.lease : null
  const restsUntil = 'restsUntil' in to ? timestamp(to.restsUntil) : null
  const { errorCode = null, errorMessage = null } = 'errorCode' in to ? to : {}
  const [row] = await runner.run(move, [
    merchantId,
    invoiceId,
    from,
    to.state,
    lease === null ? restsUntil : timestamp(now + leaseLookMs),
    lease,
    restsUntil,
    confirmed === undefined ? null : JSON.stringify(confirmed),
    hold?.orderId ?? null,
    hold?.sumMinor ?? null,
    hold?.pageToken ?? null,
    wrongAnswers ?? null,
    sumStatus ?? null,
    errorCode,
    errorMessage,
    'fees' in to ? JSON.stringify(to.fees) : null,
    fee === undefined ? null : JSON.stringify(fee),
    timestamp(now),
    processId,
  ])
  return row && openInvoice(row, keys)
}

const contextOf = (i: Pick<Invoice, 'merchantId' | 'invoiceId'>, what: 'secrets' | 'cvv2') =>
  `${what}:${i.merchantId}:${i.invoiceId}`

const holdOf = ({ hold_order_id: orderId, sum_minor: sumMinor, page_token: pageToken }: InvoiceRow): Hold | undefined =>
  orderId === null || sumMinor === null || pageToken === null ? undefined : { orderId, sumMinor, pageToken }

function openInvoice(row: InvoiceRow, keys: KeyRing): OpenInvoice {
  const invoice = invoiceOf(row)
  return { invoice, secrets: secretsOf(row, invoice, keys) }
}

function invoiceOf(row: InvoiceRow): Invoice {
  const hold = holdOf(row)
  return {
    merchantId: row.merchant_id,
    invoiceId: row.invoice_id,
    endpointId: row.endpoint_id,
    kind: row.kind,
    nonce: row.nonce,
    sessionToken: row.session_token,
    orderId: row.order_id,
    digest: row.digest,
    request: row.request,
    state: row.state,
    wrongAnswers: row.wrong_answers,
    tries: row.tries,
    createdAt: row.created_at,
    ...(row.confirmed === null ? {} : { confirmed: row.confirmed }),
    ...(row.fees === null ? {} : { fees: row.fees }),
    ...(row.fee === null ? {} : { fee: row.fee }),
    ...(row.rests_until === null ? {} : { restsUntil: row.rests_until }),
    ...(hold === undefined ? {} : { hold }),
    ...(row.sum_status === null ? {} : { sumStatus: row.sum_status }),
    ...(row.error_code === null ? {} : { errorCode: row.error_code }),
    ...(row.error_message === null ? {} : { errorMessage: row.error_message }),
  }
}

function secretsOf(row: InvoiceRow, invoice: Invoice, keys: KeyRing): InvoiceSecrets {
  const key = keys.version('pan', row.secrets_key)
  if (!key) throw new Error(`the vault has no key ${row.secrets_key} for invoice ${row.invoice_id}`)
  const kept = JSON.parse(unseal(key, row.secrets_sealed, contextOf(invoice, 'secrets')).toString()) as {
    accessToken: string
    signature: string
    pan?: string
    toPan?: string
  }
  // A CVV2 whose hourly key was destroyed is treated as absent.
  const cvv2Key = row.cvv2_key === null ? undefined : keys.version('cvv2', row.cvv2_key)
  const cvv2 = row.cvv2_sealed && cvv2Key ? unseal(cvv2Key, row.cvv2_sealed, contextOf(invoice, 'cvv2')).toString() : undefined
  return {
    accessToken: secret(kept.accessToken),
    signature: secret(kept.signature),
    ...(kept.pan === undefined ? {} : { pan: secret(kept.pan) }),
    ...(kept.toPan === undefined ? {} : { toPan: secret(kept.toPan) }),
    ...(cvv2 === undefined ? {} : { cvv2: secret(cvv2) }),
  }
}
