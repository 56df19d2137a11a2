/** The table of minute counts. */
import { columnsOf, onRows, rowsOf } from '../../storage/columns.ts'
import { statement, timestamp, type Pool, type Runner } from '../../storage/pool.ts'
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

const forget = statement<object>('delete from minute_count where minute < $1')
const keptMs = 400 * 86_400_000

/** What counts these saved changes, which belongs into their commit; nothing where none ended. */
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
  await pool.run(forget, [timestamp(now - keptMs)])
}
