/** Invoices that ended with their card numbers: by a version before, or in a process of one. */
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { bytea, statement, type Pool } from '../storage/pool.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { InvoiceSecrets } from './invoice.ts'
import { sealTokens, secretsOf } from './store-invoice-rows.ts'

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
/** Whoever changes a row now is not waited for, and what was changed is left to the next round. */
const save = statement<{ had: boolean }>(`
  with n as (select * from unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[], $5::bigint[], $6::boolean[])
    as n (merchant_id, invoice_id, old_value, tokens, tokens_key, had)),
  free as (
    select i.merchant_id, i.invoice_id from mobile_invoice i join n using (merchant_id, invoice_id)
    where i.secrets_sealed = n.old_value for update of i skip locked)
  update mobile_invoice i set secrets_sealed = n.tokens, secrets_key = n.tokens_key, has_numbers = false
  from n join free using (merchant_id, invoice_id)
  where i.merchant_id = n.merchant_id and i.invoice_id = n.invoice_id
  returning n.had`)

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
    const of = { merchantId: row.merchant_id, invoiceId: row.invoice_id }
    try {
      return { row, of, secrets: secretsOf({ ...row, cvv2_sealed: null, cvv2_key: null }, of, keys) }
    } catch (error) {
      log.warn(
        { invoice: of.invoiceId, merchant: String(of.merchantId), reason: reasonOf(error) },
        'an ended invoice does not open',
      )
      return []
    }
  })
  const rows = opened.map(({ row, of, secrets }) => {
    const tokens = sealTokens({ invoice: of, secrets }, keys, random)
    return [of.merchantId, of.invoiceId, bytea(row.secrets_sealed), bytea(tokens.bytes), tokens.keyVersion, hasNumbers(secrets)]
  })
  const saved =
    rows.length === 0
      ? []
      : await pool.run(
          save,
          rows[0]!.map((_, i) => rows.map((values) => values[i])),
        )
  const last = found.length === most ? found.at(-1) : undefined
  return {
    forgotten: saved.filter(({ had }) => had).length,
    last: last && [String(last.merchant_id), last.invoice_id],
  }
}

const hasNumbers = ({ pan, toPan }: InvoiceSecrets): boolean => pan !== undefined || toPan !== undefined
