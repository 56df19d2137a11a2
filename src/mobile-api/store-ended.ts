/** Invoices that ended with their card numbers: by a version before, or in a process of one. */
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { columnsOf, onRows, readOf, rowsOf } from '../storage/columns.ts'
import { statement, type Pool } from '../storage/pool.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { InvoiceName, InvoiceSecrets } from './invoice.ts'
import { sealTokens, secretsOf, type SealedBytes } from './store-invoice-rows.ts'

interface EndedRow {
  merchant_id: bigint
  invoice_id: string
  secrets_sealed: Buffer
  secrets_key: bigint
}

const page = statement<EndedRow>(`
  select merchant_id, invoice_id, secrets_sealed, secrets_key from mobile_invoice
  where has_numbers and ended_at is not null and secrets_sealed is not null and (merchant_id, invoice_id) > ($1::bigint, $2::text)
  order by merchant_id, invoice_id limit $3`)
interface Saved {
  invoice: InvoiceName
  /** The secrets as they were read. */
  old: Buffer
  tokens: SealedBytes
  had: boolean
}

const saved = columnsOf<Saved>()
const savedRows = rowsOf({
  merchant_id: saved.int8(({ invoice }) => invoice.merchantId),
  invoice_id: saved.text(({ invoice }) => invoice.invoiceId),
  old_value: saved.bytes(({ old }) => old),
  tokens: saved.bytes(({ tokens }) => tokens.bytes),
  tokens_key: saved.int8(({ tokens }) => tokens.keyVersion),
  had: saved.bool(({ had }) => had),
})
/**
 * Does not wait for a row that somebody else is changing. A row that was changed since it was read
 * is left to the next round.
 */
const save = onRows<Saved, { had: boolean }>(
  savedRows,
  `with n as (select * from ${savedRows.list}),
  free as (
    select i.merchant_id, i.invoice_id from mobile_invoice i join n using (merchant_id, invoice_id)
    where i.secrets_sealed = n.old_value for update of i skip locked)
  update mobile_invoice i set secrets_sealed = n.tokens, secrets_key = n.tokens_key, has_numbers = false
  from n join free using (merchant_id, invoice_id)
  where i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id
  returning n.had`,
)

export type InvoiceKey = readonly [merchantId: string, invoiceId: string]

/**
 * Takes the card numbers out of the next `most` ended invoices that may have some. Returns how many
 * had, and the last invoice; undefined after the last ones. Those that do not open are passed over.
 */
export async function forgetNumbers(
  { pool, keys, random, log }: { pool: Pool; keys: KeyRing; random: Random; log: Log },
  after: InvoiceKey | undefined,
  most: number,
): Promise<{ forgotten: number; last: InvoiceKey | undefined }> {
  const found = await pool.run(page, [...(after ?? ['-1', '']), most])
  const opened = found.flatMap((row) => {
    const invoice = { merchantId: row.merchant_id, invoiceId: row.invoice_id }
    try {
      return { row, invoice, secrets: secretsOf({ ...row, cvv2_sealed: null, cvv2_key: null }, invoice, keys) }
    } catch (error) {
      log.warn(
        { invoice: invoice.invoiceId, merchant: String(invoice.merchantId), reason: reasonOf(error) },
        'an ended invoice does not open',
      )
      return []
    }
  })
  const changes = opened.map(({ row, invoice, secrets }): Saved => {
    const tokens = sealTokens({ invoice, secrets }, keys, random)
    return { invoice, old: row.secrets_sealed, tokens, had: hasNumbers(secrets) }
  })
  const changed = await readOf(pool, save, changes)
  const last = found.length === most ? found.at(-1) : undefined
  return {
    forgotten: changed.filter(({ had }) => had).length,
    last: last && [String(last.merchant_id), last.invoice_id],
  }
}

const hasNumbers = ({ pan, toPan }: InvoiceSecrets): boolean => pan !== undefined || toPan !== undefined
