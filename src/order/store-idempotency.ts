/** The table of `Idempotency-Key`s. */
import { asJson, bytea, statement, timestamp, type Runner } from '../storage/pool.ts'

/** The transaction that a key stands for, with the digest of its request. */
export interface IdempotencyRow {
  merchantId: bigint
  orderId: bigint
  key: string
  digest: Buffer
  transactionNo: number
  /** The request that took the key. */
  serialNumber: string
  heldUntil: number
}

export interface KeyName {
  merchantId: bigint
  key: string
}

const select = statement<{
  merchant_id: bigint
  key: string
  digest: Buffer
  order_id: bigint
  transaction_no: number
  serial_number: string
  held_until: number
}>(`
  select k.merchant_id, k.key, k.digest, k.order_id, k.transaction_no, k.serial_number, k.held_until
  from json_to_recordset($1) as n (merchant_id bigint, key text)
  join idempotency_key k on k.merchant_id = n.merchant_id and k.key = n.key
  where k.held_until > $2`)

/**
 * Takes keys that are free or expired. Sorted, so that two batches lock shared keys in the same
 * order. A row of the very same request is written again: its commit may have succeeded although
 * the connection broke.
 */
const claim = statement<{ merchant_id: bigint }>(`
  insert into idempotency_key as k (merchant_id, key, digest, order_id, transaction_no, serial_number, held_until)
  select merchant_id, key, digest, order_id, transaction_no, serial_number, held_until
  from json_to_recordset($1) as n (merchant_id bigint, key text, digest bytea, order_id bigint, transaction_no int,
    serial_number uuid, held_until timestamptz)
  order by merchant_id, key
  on conflict (merchant_id, key) do update
    set digest = excluded.digest, order_id = excluded.order_id, transaction_no = excluded.transaction_no,
      serial_number = excluded.serial_number, held_until = excluded.held_until
    where k.held_until <= $2 or k.serial_number = excluded.serial_number
  returning merchant_id`)

/** Skips rows that another process is removing at this moment. */
const forget = statement<object>(`
  delete from idempotency_key where (merchant_id, key) in
    (select merchant_id, key from idempotency_key where held_until <= $1 order by held_until limit $2 for update skip locked)
  returning merchant_id`)

const atOnce = 5_000

/** The rows of these keys; keys that are free are left out. */
export async function selectIdempotencyKeys(runner: Runner, keys: readonly KeyName[], now: number): Promise<IdempotencyRow[]> {
  const wanted = keys.map(({ merchantId, key }) => ({ merchant_id: String(merchantId), key }))
  const rows = await runner.run(select, [asJson(wanted), timestamp(now)])
  return rows.map((r) => ({
    merchantId: r.merchant_id,
    key: r.key,
    digest: r.digest,
    orderId: r.order_id,
    transactionNo: r.transaction_no,
    serialNumber: r.serial_number,
    heldUntil: r.held_until,
  }))
}

/**
 * Whether all of them were taken. If not, other requests hold some, and the caller looks those up.
 * No key may appear twice.
 */
export async function claimIdempotencyKeys(runner: Runner, rows: readonly IdempotencyRow[], now: number): Promise<boolean> {
  const records = rows.map((r) => ({
    merchant_id: String(r.merchantId),
    key: r.key,
    digest: bytea(r.digest),
    order_id: String(r.orderId),
    transaction_no: r.transactionNo,
    serial_number: r.serialNumber,
    held_until: timestamp(r.heldUntil),
  }))
  return (await runner.run(claim, [asJson(records), timestamp(now)])).length === rows.length
}

export async function forgetIdempotencyKeys(runner: Runner, now: number): Promise<void> {
  let forgotten: object[]
  do forgotten = await runner.run(forget, [timestamp(now), atOnce])
  while (forgotten.length === atOnce)
}
