/** The table of `Idempotency-Key`s. */
import { columnsOf, insertion, onRows, readOf, rowsOf } from '../../storage/columns.ts'
import { statement, timestamp, type Runner } from '../../storage/pool.ts'

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

const named = columnsOf<KeyName>()
const nameRows = rowsOf({ merchant_id: named.int8((k) => k.merchantId), key: named.text((k) => k.key) })
const select = onRows<KeyName, IdempotencyRow>(
  nameRows,
  `select k.merchant_id as "merchantId", k.key, k.digest, k.order_id as "orderId", k.transaction_no as "transactionNo",
    k.serial_number as "serialNumber", k.held_until as "heldUntil"
  from ${nameRows.list} join idempotency_key k on k.merchant_id = n.merchant_id and k.key = n.key`,
)

const row = columnsOf<IdempotencyRow>()
const keyRows = rowsOf({
  merchant_id: row.int8((k) => k.merchantId),
  key: row.text((k) => k.key),
  digest: row.bytes((k) => k.digest),
  order_id: row.int8((k) => k.orderId),
  transaction_no: row.int4((k) => k.transactionNo),
  serial_number: row.uuid((k) => k.serialNumber),
  held_until: row.time((k) => k.heldUntil),
})

/** Sorted, so that two batches lock shared keys in the same order. */
const forgetExpired = onRows<KeyName>(
  nameRows,
  `delete from idempotency_key k using (
    select k.merchant_id, k.key from ${nameRows.list}
    join idempotency_key k on k.merchant_id = n.merchant_id and k.key = n.key
    where k.held_until <= $${nameRows.count + 1} order by k.merchant_id, k.key for update of k) old
  where k.merchant_id = old.merchant_id and k.key = old.key`,
)
/**
 * Takes keys that are free; sorted as above. A row of the very same request is written again: its
 * commit may have succeeded although the connection broke. *Rejected:* taking expired ones here
 * too. Citus passes no parameter to what follows `on conflict` in an insert of selected rows.
 */
const claim = onRows<IdempotencyRow, { merchant_id: bigint }>(
  keyRows,
  `insert into idempotency_key as k (${keyRows.names})
  select ${keyRows.names} from ${keyRows.list}
  order by merchant_id, key
  on conflict (merchant_id, key) do update
    set digest = excluded.digest, order_id = excluded.order_id, transaction_no = excluded.transaction_no,
      held_until = excluded.held_until
    where k.serial_number = excluded.serial_number
  returning merchant_id`,
)

/** Takes keys that have no row, not even an expired one; fails if one has. */
export const claimNewIdempotencyKeys = insertion('idempotency_key', keyRows, 'order by merchant_id, key')

/** Skips rows that another process is removing at this moment. */
const forget = statement<object>(`
  delete from idempotency_key where (merchant_id, key) in
    (select merchant_id, key from idempotency_key where held_until <= $1 order by held_until limit $2 for update skip locked)
  returning merchant_id`)

const atOnce = 5_000

/** The rows of these keys; keys that are free are left out. */
export const selectIdempotencyKeys = async (runner: Runner, keys: readonly KeyName[], now: number): Promise<IdempotencyRow[]> =>
  (await readOf(runner, select, keys)).filter(({ heldUntil }) => heldUntil > now)

/**
 * Inside a transaction: whether all of them were taken. If not, other requests hold some, and the
 * caller looks those up. No key may appear twice.
 */
export async function claimIdempotencyKeys(runner: Runner, taken: readonly IdempotencyRow[], now: number): Promise<boolean> {
  if (taken.length === 0) return true
  const [, claimed] = await Promise.all([
    runner.run(forgetExpired.sql, [...forgetExpired.values(taken), timestamp(now)]),
    runner.run(claim.sql, claim.values(taken)),
  ])
  return claimed.length === taken.length
}

export async function forgetIdempotencyKeys(runner: Runner, now: number): Promise<void> {
  let forgotten: object[]
  do forgotten = await runner.run(forget, [timestamp(now), atOnce])
  while (forgotten.length === atOnce)
}
