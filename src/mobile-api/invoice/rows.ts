/** Rows of invoices, and the secrets in them. */
import { defined } from '../../base/defined.ts'
import type { Random } from '../../base/random.ts'
import { seal, unseal } from '../../base/seal.ts'
import { secret } from '../../base/secret.ts'
import { openCvv2, sealCvv2 } from '../../card/vault.ts'
import type { SealedTable } from '../../keys/reseal.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { Invoice, InvoiceName, InvoiceSecrets } from './invoice.ts'

/** A row, read as an entity; the hold of the invoice is in columns of their own. */
export interface InvoiceRow extends Omit<Invoice, 'hold'>, SecretsRow {
  dueAt?: number
  lease?: bigint
  holdOrderId?: bigint
  sumMinor?: bigint
  pageToken?: string
}

/** The secrets of an invoice as they are stored. */
export interface SecretsRow {
  secretsSealed?: Buffer
  secretsKey?: bigint
  cvv2Sealed?: Buffer
  cvv2Key?: bigint
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

/** The content of `secrets_sealed`, as JSON. */
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

export function sealSecrets({ invoice, secrets }: OpenInvoice, keys: KeyRing, random: Random): Pick<Sealed, 'secrets' | 'cvv2'> {
  const { pan, toPan, cvv2 } = secrets
  const kept = { ...tokensOf(secrets), ...defined({ pan: pan?.reveal(), toPan: toPan?.reveal() }) }
  const sealed = { secrets: sealKept(invoice, kept, keys, random) }
  return cvv2 ? { ...sealed, cvv2: sealCvv2(cvv2, contextOf(invoice, 'cvv2'), keys, random) } : sealed
}

/** The secrets that an ended invoice keeps: the app sends its token to read the status. */
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

export function openInvoice(row: InvoiceRow, keys: KeyRing): OpenInvoice {
  const invoice = invoiceOf(row)
  return { invoice, secrets: secretsOf(row, invoice, keys) }
}

/** Members left out belong to the process, or are sealed. */
function invoiceOf({ holdOrderId, sumMinor, pageToken, ...row }: InvoiceRow): Invoice {
  const { dueAt: _due, lease: _lease, secretsSealed: _s, secretsKey: _k, cvv2Sealed: _c, cvv2Key: _v, ...invoice } = row
  if (holdOrderId === undefined || sumMinor === undefined || pageToken === undefined) return invoice
  return { ...invoice, hold: { orderId: holdOrderId, sumMinor, pageToken } }
}

export function secretsOf(row: SecretsRow, invoice: InvoiceName, keys: KeyRing): InvoiceSecrets {
  const { secretsSealed, secretsKey, cvv2Sealed, cvv2Key } = row
  // Erased: no token fits.
  if (!secretsSealed || secretsKey === undefined) return { accessToken: secret(''), signature: secret('') }
  const key = keys.version('pan', secretsKey)
  if (!key) throw new Error(`the vault has no key ${secretsKey} for invoice ${invoice.invoiceId}`)
  const kept = JSON.parse(unseal(key, secretsSealed, contextOf(invoice, 'secrets')).toString()) as Kept
  return {
    accessToken: secret(kept.accessToken),
    signature: secret(kept.signature),
    ...(kept.pan !== undefined && { pan: secret(kept.pan) }),
    ...(kept.toPan !== undefined && { toPan: secret(kept.toPan) }),
    ...(cvv2Sealed && cvv2Key !== undefined && { cvv2: openCvv2(cvv2Sealed, cvv2Key, contextOf(invoice, 'cvv2'), keys) }),
  }
}
