/** Rows of invoices, and the secrets in them. */
import { defined, notNull } from '../../base/defined.ts'
import type { Random } from '../../base/random.ts'
import { seal, unseal } from '../../base/seal.ts'
import { secret } from '../../base/secret.ts'
import { openCvv2, sealCvv2 } from '../../card/vault.ts'
import type { SealedTable } from '../../keys/reseal.ts'
import type { KeyRing } from '../../keys/ring.ts'
import {
  invoiceKey,
  type Confirmed,
  type Fee,
  type Hold,
  type Invoice,
  type InvoiceName,
  type InvoiceSecrets,
  type SumStatus,
} from './invoice.ts'

export interface InvoiceRow {
  merchant_id: bigint
  invoice_id: string
  endpoint_id: bigint
  kind: Invoice['kind']
  nonce: string
  session_token: string
  order_id: bigint
  digest: Buffer
  request: Invoice['request']
  secrets_sealed: Buffer | null
  secrets_key: bigint | null
  cvv2_sealed: Buffer | null
  cvv2_key: bigint | null
  state: Invoice['state']
  due_at: number | null
  lease: bigint | null
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
  secrets_sealed secrets_key cvv2_sealed cvv2_key state due_at lease confirmed fees fee rests_until hold_order_id
  sum_minor page_token wrong_answers sum_status error_code error_message tries created_at`
export const columns = names
  .split(/\s+/)
  .map((name) => `i.${name}`)
  .join(', ')

export interface OpenInvoice {
  invoice: Invoice
  secrets: InvoiceSecrets
}

/** A stored invoice. Opening its secrets may fail, which must not hold up other invoices. */
export interface SealedInvoice {
  invoice: Invoice
  openSecrets: () => InvoiceSecrets
}

export interface SealedBytes {
  bytes: Buffer
  keyVersion: bigint
}

/** What is sealed in `secrets_sealed`, as JSON. */
interface Kept {
  accessToken: string
  signature: string
  pan?: string
  toPan?: string
}

/** A new invoice of a process, as it is stored. */
export interface Sealed {
  invoice: Invoice
  processId: bigint
  secrets: SealedBytes
  cvv2?: SealedBytes
}

export const nameOf = (row: Pick<InvoiceRow, 'merchant_id' | 'invoice_id'>): string =>
  invoiceKey({ merchantId: row.merchant_id, invoiceId: row.invoice_id })

export function sealSecrets({ invoice, secrets }: OpenInvoice, keys: KeyRing, random: Random): Pick<Sealed, 'secrets' | 'cvv2'> {
  const { pan, toPan, cvv2 } = secrets
  const kept = { ...tokensOf(secrets), ...defined({ pan: pan?.reveal(), toPan: toPan?.reveal() }) }
  const sealed = { secrets: sealKept(invoice, kept, keys, random) }
  return cvv2 ? { ...sealed, cvv2: sealCvv2(cvv2, contextOf(invoice, 'cvv2'), keys, random) } : sealed
}

/** What an ended invoice keeps: the app shows its token to ask for the status. */
export const sealTokens = (
  { invoice, secrets }: { invoice: InvoiceName; secrets: InvoiceSecrets },
  keys: KeyRing,
  random: Random,
): SealedBytes => sealKept(invoice, tokensOf(secrets), keys, random)

const tokensOf = ({ accessToken, signature }: InvoiceSecrets): Kept => ({
  accessToken: accessToken.reveal(),
  signature: signature.reveal(),
})

function sealKept(of: InvoiceName, kept: Kept, keys: KeyRing, random: Random): SealedBytes {
  const { key, version } = keys.current('pan')
  return { bytes: seal(key, Buffer.from(JSON.stringify(kept)), contextOf(of, 'secrets'), random), keyVersion: version }
}

export const sealedOf = (row: InvoiceRow, keys: KeyRing): SealedInvoice => {
  const invoice = invoiceOf(row)
  return { invoice, openSecrets: () => secretsOf(row, invoice, keys) }
}

const contextOf = (i: InvoiceName, what: 'secrets' | 'cvv2') => `${what}:${i.merchantId}:${i.invoiceId}`

export const sealedInvoices: SealedTable = {
  table: 'mobile_invoice',
  purpose: 'pan',
  id: { merchant_id: 'bigint', invoice_id: 'text' },
  version: 'secrets_key',
  sealed: { secrets_sealed: (merchantId: bigint, invoiceId: string) => contextOf({ merchantId, invoiceId }, 'secrets') },
}

const holdOf = ({ hold_order_id: orderId, sum_minor: sumMinor, page_token: pageToken }: InvoiceRow): Hold | undefined =>
  orderId === null || sumMinor === null || pageToken === null ? undefined : { orderId, sumMinor, pageToken }

export function openInvoice(row: InvoiceRow, keys: KeyRing): OpenInvoice {
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
    ...notNull({ confirmed: row.confirmed, fees: row.fees, fee: row.fee, restsUntil: row.rests_until }),
    ...(hold === undefined ? {} : { hold }),
    ...notNull({ sumStatus: row.sum_status, errorCode: row.error_code, errorMessage: row.error_message }),
  }
}

export type SecretsRow = Pick<InvoiceRow, 'secrets_sealed' | 'secrets_key' | 'cvv2_sealed' | 'cvv2_key'>

export function secretsOf(row: SecretsRow, invoice: InvoiceName, keys: KeyRing): InvoiceSecrets {
  // Erased: no token fits.
  if (row.secrets_sealed === null || row.secrets_key === null) return { accessToken: secret(''), signature: secret('') }
  const key = keys.version('pan', row.secrets_key)
  if (!key) throw new Error(`the vault has no key ${row.secrets_key} for invoice ${invoice.invoiceId}`)
  const kept = JSON.parse(unseal(key, row.secrets_sealed, contextOf(invoice, 'secrets')).toString()) as Kept
  const { cvv2_sealed: cvv2, cvv2_key: cvv2Key } = row
  return {
    accessToken: secret(kept.accessToken),
    signature: secret(kept.signature),
    ...(kept.pan === undefined ? {} : { pan: secret(kept.pan) }),
    ...(kept.toPan === undefined ? {} : { toPan: secret(kept.toPan) }),
    ...(cvv2 === null || cvv2Key === null ? {} : { cvv2: openCvv2(cvv2, cvv2Key, contextOf(invoice, 'cvv2'), keys) }),
  }
}
