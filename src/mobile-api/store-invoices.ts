import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret } from '../base/secret.ts'
import { bytea, statement, timestamp, type Pool } from '../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../storage/store-heartbeat.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { Decline, Invoice, InvoiceSecrets } from './invoice.ts'

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
  error_code: number | null
  error_message: string | null
  tries: number
  created_at: number
}

const columns = `merchant_id, invoice_id, endpoint_id, kind, nonce, session_token, order_id, digest, request, secrets_sealed, secrets_key, cvv2_sealed,
  cvv2_key, state, error_code, error_message, tries, created_at`

/** Of two requests with this invoice or this nonce one is written; the other finds it. */
const insert = statement<object>(`
  insert into mobile_invoice (merchant_id, invoice_id, endpoint_id, kind, nonce, session_token, order_id, digest, request, secrets_sealed, secrets_key,
    cvv2_sealed, cvv2_key, state, due_at, lease, tries, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'checking', $14, $15, 0, $16)
  on conflict do nothing returning invoice_id`)
const select = statement<InvoiceRow>(`select ${columns} from mobile_invoice where merchant_id = $1 and invoice_id = $2`)
/** As transactions are taken up: what is due and in nobody's hand, or in a dead one's. */
const claim = statement<InvoiceRow>(`
  with due as (
    select i.merchant_id, i.invoice_id from mobile_invoice i
    where i.due_at <= $2 and (i.lease is null or i.lease = $1 or not exists (
      select from heartbeat h where h.process_id = i.lease and h.beat_at > now() - $4::int * interval '1 millisecond'))
    order by i.due_at limit $3
    for update of i skip locked)
  update mobile_invoice i set lease = $1, due_at = $5, tries = i.tries + 1
  from due where i.merchant_id = due.merchant_id and i.invoice_id = due.invoice_id
  returning i.merchant_id, i.invoice_id, i.endpoint_id, i.kind, i.nonce, i.session_token, i.order_id, i.digest, i.request, i.secrets_sealed, i.secrets_key,
    i.cvv2_sealed, i.cvv2_key, i.state, i.error_code, i.error_message, i.tries, i.created_at`)
const end = statement<object>(`
  update mobile_invoice set state = $3, error_code = $4, error_message = $5, due_at = null, lease = null, cvv2_sealed = null, cvv2_key = null, ended_at = $6
  where merchant_id = $1 and invoice_id = $2 and state = 'checking' returning invoice_id`)
const putBack = statement<object>(`
  update mobile_invoice set lease = null, due_at = $4 where merchant_id = $1 and invoice_id = $2 and lease = $3 and state = 'checking'`)

export interface OpenInvoice {
  invoice: Invoice
  secrets: InvoiceSecrets
}

export interface InvoiceStore {
  /** False when the invoice or its nonce is there already. */
  add(invoice: Invoice, secrets: InvoiceSecrets, processId: bigint): Promise<boolean>
  find(merchantId: bigint, invoiceId: string): Promise<OpenInvoice | undefined>
  claimDue(processId: bigint, now: number, limit: number): Promise<OpenInvoice[]>
  /** Ends it once: the CVV2 goes with it. */
  end(invoice: Invoice, how: { state: 'ordered' } | ({ state: 'declined' } & Decline), now: number): Promise<void>
  putBack(invoice: Invoice, processId: bigint, dueAt: number): Promise<void>
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
      return row && opened(row, keys)
    },
    async claimDue(processId, now, limit) {
      const rows = await pool.run(claim, [processId, timestamp(now), limit, deadAfterMs, timestamp(now + leaseLookMs)])
      return rows.map((row) => opened(row, keys))
    },
    async end({ merchantId, invoiceId }, how, now) {
      const { errorCode = null, errorMessage = null } = how.state === 'declined' ? how : {}
      await pool.run(end, [merchantId, invoiceId, how.state, errorCode, errorMessage, timestamp(now)])
    },
    async putBack({ merchantId, invoiceId }, processId, dueAt) {
      await pool.run(putBack, [merchantId, invoiceId, processId, timestamp(dueAt)])
    },
  }
}

const contextOf = (i: Pick<Invoice, 'merchantId' | 'invoiceId'>, what: 'secrets' | 'cvv2') =>
  `${what}:${i.merchantId}:${i.invoiceId}`

function opened(row: InvoiceRow, keys: KeyRing): OpenInvoice {
  const invoice: Invoice = {
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
    ...(row.error_code === null ? {} : { errorCode: row.error_code }),
    ...(row.error_message === null ? {} : { errorMessage: row.error_message }),
    tries: row.tries,
    createdAt: row.created_at,
  }
  const key = keys.version('pan', row.secrets_key)
  if (!key) throw new Error(`the vault has no key ${row.secrets_key} for invoice ${row.invoice_id}`)
  const kept = JSON.parse(unseal(key, row.secrets_sealed, contextOf(invoice, 'secrets')).toString()) as {
    accessToken: string
    signature: string
    pan?: string
  }
  // A CVV2 whose hourly key is gone is simply absent.
  const cvv2Key = row.cvv2_key === null ? undefined : keys.version('cvv2', row.cvv2_key)
  const cvv2 = row.cvv2_sealed && cvv2Key ? unseal(cvv2Key, row.cvv2_sealed, contextOf(invoice, 'cvv2')).toString() : undefined
  return {
    invoice,
    secrets: {
      accessToken: secret(kept.accessToken),
      signature: secret(kept.signature),
      ...(kept.pan === undefined ? {} : { pan: secret(kept.pan) }),
      ...(cvv2 === undefined ? {} : { cvv2: secret(cvv2) }),
    },
  }
}
