import { asJson, statement, timestamp, type Pool } from '../storage/pool.ts'
import type { OdditySum } from './oddities.ts'

/** In the order of the key, so that two processes never wait for each other. */
const addSums = statement<object>(`
  insert into directory_oddity (directory, what, count, last_at)
  select directory, what, count, last_at
  from json_to_recordset($1) as n (directory text, what text, count bigint, last_at timestamptz) order by directory, what
  on conflict (directory, what) do update set count = directory_oddity.count + excluded.count,
    last_at = greatest(directory_oddity.last_at, excluded.last_at)`)

export const addOddities = async (pool: Pool, sums: readonly OdditySum[]): Promise<void> =>
  void (await pool.run(addSums, [asJson(sums.map(({ lastAt, ...sum }) => ({ ...sum, last_at: timestamp(lastAt) })))]))
