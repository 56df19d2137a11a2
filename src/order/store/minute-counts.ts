/** The tables of minute counts, and of their sums by the hour. */
import { columnsOf, onRows, rowsOf } from '../../storage/columns.ts'
import { entities, statement, timestamp, type Pool, type Runner } from '../../storage/pool.ts'
import type { Write } from '../../storage/transaction.ts'
import type { Change } from '../decide/change.ts'
import { countedIn, type MinuteCount } from '../decide/counted.ts'

const count = columnsOf<MinuteCount>()
const countRows = rowsOf({
  merchant_id: count.int8((c) => c.merchantId),
  minute: count.time((c) => c.minute),
  key: count.text((c) => c.key),
  ended: count.int4((c) => c.ended),
})

/** Each process has rows of its own, so none waits for the commit of another. */
const add = onRows(
  countRows,
  `insert into minute_count as c (process_id, ${countRows.names})
  select $${countRows.count + 1}, ${countRows.names} from ${countRows.list}
  on conflict (merchant_id, minute, process_id, key) do update set ended = c.ended + excluded.ended`,
)

const forget = [
  statement<object>('delete from minute_count where minute < $1'),
  statement<object>('delete from hour_count where hour < $1'),
]
const keptMs = 400 * 86_400_000

/** Merchants of whom an hour is over that is not gathered yet, and its first minute. */
const ungathered = entities<{ merchantId: bigint; minute: number }>(`
  with recursive m as (
    select f.merchant_id from (select c.merchant_id from minute_count c order by c.merchant_id limit 1) f
    union all
    select n.merchant_id from m cross join lateral (
      select c.merchant_id from minute_count c where c.merchant_id > m.merchant_id order by c.merchant_id limit 1) n)
  select m.merchant_id, f.minute from m cross join lateral (
    select c.minute from minute_count c
    where c.merchant_id = m.merchant_id and c.minute < $1 and c.minute >= coalesce(
      (select max(h.hour) + interval '1 hour' from hour_count h where h.merchant_id = m.merchant_id), '-infinity')
    order by c.minute limit 1) f`)
/** All in one statement, so that a reader of an hour finds it whole. */
const gather = statement<object>(`
  insert into hour_count (merchant_id, hour, key, ended)
  select merchant_id, date_bin('1 hour', minute, 'epoch'), key, sum(ended)::int from minute_count
  where merchant_id = $1 and minute >= $2 and minute < $3 group by 1, 2, 3
  on conflict do nothing`)
const hourMs = 3_600_000
/** No process is so late to count what has ended, nor is its clock so wrong. */
const lateMs = 2 * hourMs
/** The counts of a merchant that one statement gathers, so that a long time takes several. */
const gatheredMs = 10 * 24 * hourMs

/** The statement that counts these saved changes in their commit; none if no payment ended. */
export function countWrites(changes: readonly Change[], processId: bigint): Write[] {
  const counted = countedIn(changes)
  return counted.length === 0 ? [] : [{ sql: add.sql, values: [...add.values(counted), processId] }]
}

/** The same within a transaction. */
export async function saveCounts(runner: Runner, changes: readonly Change[], processId: bigint): Promise<void> {
  for (const { sql, values } of countWrites(changes, processId)) await runner.run(sql, values)
}

/** Removes counts of more than 400 days ago. Safe to run in several processes. */
export async function forgetMinuteCounts(pool: Pool, now: number): Promise<void> {
  for (const sql of forget) await pool.run(sql, [timestamp(now - keptMs)])
}

/**
 * Adds up the hours that are over, of each merchant in their order. Safe to run in several
 * processes. Throws where a merchant is being moved, and goes on the next time.
 */
export async function gatherHours(pool: Pool, now: number): Promise<void> {
  const over = now - lateMs - (now % hourMs)
  for (;;) {
    const left = await pool.run(ungathered, [timestamp(over)])
    if (left.length === 0) return
    for (const { merchantId, minute } of left) {
      const from = minute - (minute % hourMs)
      await pool.run(gather, [merchantId, timestamp(from), timestamp(Math.min(over, from + gatheredMs))])
    }
  }
}
