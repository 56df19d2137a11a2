import { statement, timestamp, type Pool } from '../../src/storage/pool.ts'

export interface CallRow {
  path: string
  invoiceId: string
  /** As JSON; null if there was no body. */
  request: string | null
  status: number
  reply: string
  signed: string
}

const keptCalls = 200n

const addCall = statement<{ call_no: bigint }>(`
  insert into merchant_server.calls (called_at, path, invoice_id, request, status, reply, signed)
  values ($1, $2, $3, $4, $5, $6, $7) returning call_no`)
const dropCalls = statement<object>(`delete from merchant_server.calls where call_no <= $1`)

export async function saveCall(pool: Pool, call: CallRow, now: number): Promise<void> {
  const { path, invoiceId, request, status, reply, signed } = call
  const [row] = await pool.run(addCall, [timestamp(now), path, invoiceId, request, status, reply, signed])
  if (row && row.call_no % 100n === 0n) await pool.run(dropCalls, [row.call_no - keptCalls])
}

const newest = statement<{
  call_no: bigint
  called_at: number
  path: string
  invoice_id: string
  request: unknown
  status: number
  reply: unknown
  signed: unknown
}>(`
  select call_no, called_at, path, invoice_id, request, status, reply, signed from merchant_server.calls
  where $1 = '' or invoice_id = $1 order by call_no desc limit ${keptCalls}`)

/** Newest first; only one invoice if an id is given. */
export const listCalls = (pool: Pool, invoiceId: string) => pool.run(newest, [invoiceId])
