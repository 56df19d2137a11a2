import { asJson, bytea, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import type { CountKey, CountRow, CountTables } from './limits.ts'
import type { Bucket } from './velocity.ts'

interface Row {
  merchant_id: bigint
  filter_no: number
  key: Buffer
  buckets: Bucket[]
}
const columns = 'merchant_id bigint, filter_no int, key bytea'

/**
 * Locks each row, new or not, in the order of the primary key, so that two batches never wait for
 * each other in a circle; the time is when the row was locked. *Rejected:* select … for update and
 * an insert of the missing rows, a round trip more.
 */
const lock = statement<Row & { at: number }>(`
  insert into filter_count as c (merchant_id, filter_no, key, buckets, until)
  select merchant_id, filter_no, key, '[]', now() from json_to_recordset($1) as n (${columns})
  order by merchant_id, filter_no, key
  on conflict (merchant_id, filter_no, key) do update set until = c.until
  returning merchant_id, filter_no, key, buckets, clock_timestamp() as at`)

const save = statement<object>(`
  update filter_count c set buckets = n.buckets, until = n.until
  from json_to_recordset($1) as n (${columns}, buckets jsonb, until timestamptz)
  where c.merchant_id = n.merchant_id and c.filter_no = n.filter_no and c.key = n.key`)

const read = statement<Row>(`
  select c.merchant_id, c.filter_no, c.key, c.buckets from json_to_recordset($1) as n (${columns})
  join filter_count c on c.merchant_id = n.merchant_id and c.filter_no = n.filter_no and c.key = n.key`)

const take = statement<Row>(`
  delete from filter_count c using json_to_recordset($1) as n (${columns})
  where c.merchant_id = n.merchant_id and c.filter_no = n.filter_no and c.key = n.key
  returning c.merchant_id, c.filter_no, c.key, c.buckets`)

/** Skips a locked row, which an order is about to use, until the next time. */
const forget = statement<object>(`
  delete from filter_count where (merchant_id, filter_no, key) in (
    select merchant_id, filter_no, key from filter_count where until < now()
    order by merchant_id, filter_no, key limit 5000 for update skip locked)`)

/** The counts inside a transaction. */
export const countTables = (runner: Runner): CountTables => ({
  async lockCounts(places) {
    if (places.length === 0) return []
    return (await runner.run(lock, [placesJson(places)])).map((row) => ({ ...countOf(row), at: row.at }))
  },
  async saveCounts(rows) {
    if (rows.length === 0) return
    const sent = rows.map((r) => ({
      ...placeRow(r),
      key: keyBytes(r.key),
      buckets: r.buckets,
      until: timestamp(r.until),
    }))
    await runner.run(save, [asJson(sent)])
  },
})

/** The current counts, without a lock. */
export const readCounts = async (runner: Runner, places: readonly CountKey[]): Promise<CountRow[]> =>
  (await runner.run(read, [placesJson(places)])).map(countOf)

/** Removes counts, as they were: who counts by them next begins from nothing. */
export const takeCounts = async (runner: Runner, places: readonly CountKey[]): Promise<CountRow[]> =>
  (await runner.run(take, [placesJson(places)])).map(countOf)

/** Removes expired counts. */
export async function forgetCounts(pool: Pool): Promise<void> {
  await pool.run(forget)
}

const placesJson = (places: readonly CountKey[]) => asJson(places.map((p) => ({ ...placeRow(p), key: keyBytes(p.key) })))
const countOf = (row: Row): CountRow => ({
  merchantId: row.merchant_id,
  filterNo: row.filter_no,
  key: row.key.toString('base64url'),
  buckets: row.buckets,
})

const placeRow = ({ merchantId, filterNo }: { merchantId: bigint; filterNo: number }) => ({
  merchant_id: String(merchantId),
  filter_no: filterNo,
})
const keyBytes = (key: string) => bytea(Buffer.from(key, 'base64url'))
