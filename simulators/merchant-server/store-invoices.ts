import { statement, timestamp, type Pool } from '../../src/storage/pool.ts'
import type { Kind } from './kind.ts'

export interface Invoice {
  invoice_id: string
  kind: Kind
  endpoint_id: string
  consumer: string
  token_hash: string
  serial_number: string
  nonce: string
  currency: string
  amount_centis: bigint | null
}

/** From the first check on, the session token is present, with question and answer. */
export interface InvoiceRow extends Invoice {
  session_token: string | null
  check_question: string | null
  check_answer: string | null
  email: string | null
  cards_noted: string | null
}

const columns = `invoice_id, kind, endpoint_id, consumer, token_hash, serial_number, nonce, currency, amount_centis,
  session_token, check_question, check_answer, email, cards_noted`

const addInvoice = statement<object>(`
  insert into merchant_server.invoices (invoice_id, kind, state, endpoint_id, consumer, token_hash, serial_number, nonce,
    currency, amount_centis, created_at)
  values ($1, $2, 'initiated', $3, $4, $5, $6, $7, $8, $9, $10)`)

export async function saveInvoice(pool: Pool, i: Invoice, now: number): Promise<void> {
  const owner = [i.consumer, i.token_hash, i.serial_number]
  await pool.run(addInvoice, [
    i.invoice_id,
    i.kind,
    i.endpoint_id,
    ...owner,
    i.nonce,
    i.currency,
    i.amount_centis,
    timestamp(now),
  ])
}

const byId = statement<InvoiceRow>(`select ${columns} from merchant_server.invoices where invoice_id = $1 and kind = $2`)
const byToken = statement<InvoiceRow>(`select ${columns} from merchant_server.invoices where session_token = $1 and kind = $2`)

export async function loadInvoice(pool: Pool, kind: Kind, invoiceId: string): Promise<InvoiceRow | undefined> {
  const [row] = await pool.run(byId, [invoiceId, kind])
  return row
}

/** A notification does not name its invoice; the session token of its check does. */
export async function loadInvoiceOf(pool: Pool, kind: Kind, sessionToken: string): Promise<InvoiceRow | undefined> {
  const [row] = await pool.run(byToken, [sessionToken, kind])
  return row
}

export interface CheckRow {
  sessionToken: string
  question: string
  answer: string
  email: string | undefined
}

/** Only one of two simultaneous checks writes; the other finds the invoice bound and compares. */
const bindCheck = statement<object>(`
  update merchant_server.invoices set state = 'checked', session_token = $2, check_question = $3, check_answer = $4, email = $5
  where invoice_id = $1 and session_token is null
  returning invoice_id`)

/** False when it was checked before. Refused as `taken` when another invoice has this token. */
export async function saveCheck(pool: Pool, invoiceId: string, check: CheckRow): Promise<boolean | 'taken'> {
  try {
    const written = await pool.run(bindCheck, [invoiceId, check.sessionToken, check.question, check.answer, check.email ?? null])
    return written.length > 0
  } catch (error) {
    const uniqueViolation = '23505'
    if (error instanceof Error && 'code' in error && error.code === uniqueViolation) return 'taken'
    throw error
  }
}

const markNotified = statement<object>(`
  update merchant_server.invoices set state = 'notified', cards_noted = $2 where invoice_id = $1`)

export async function saveNotified(pool: Pool, invoiceId: string, cards: string): Promise<void> {
  await pool.run(markNotified, [invoiceId, cards])
}
