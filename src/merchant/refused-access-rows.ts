import { asJson, statement, timestamp, type Pool } from '../storage/pool.ts'
import type { RefusedSum } from './refused-access.ts'

/** In the order of the key, so that two processes never wait for each other. */
const addSums = statement<object>(`
  insert into access_refused (hour, login, endpoint, operation, address, reason, count, first_at, last_at)
  select hour, login, endpoint, operation, address, reason, count, first_at, last_at
  from json_to_recordset($1) as n (hour timestamptz, login text, endpoint text, operation text, address text, reason text,
    count bigint, first_at timestamptz, last_at timestamptz)
  order by hour, login, endpoint, operation, address, reason
  on conflict on constraint access_refused_pkey do update set count = access_refused.count + excluded.count,
    first_at = least(access_refused.first_at, excluded.first_at), last_at = greatest(access_refused.last_at, excluded.last_at)`)
const forget = statement<object>('delete from access_refused where hour < $1')

const keptMs = 30 * 86_400_000

export async function addRefusedAccess(pool: Pool, sums: readonly RefusedSum[]): Promise<void> {
  const rows = sums.map(({ hour, firstAt, lastAt, ...kind }) => ({
    ...kind,
    hour: timestamp(hour),
    first_at: timestamp(firstAt),
    last_at: timestamp(lastAt),
  }))
  await pool.run(addSums, [asJson(rows)])
}

/** Removes what is older than 30 days. Safe to run twice, and in several processes. */
export const forgetRefusedAccess = async (pool: Pool, now: number): Promise<void> =>
  void (await pool.run(forget, [timestamp(now - keptMs)]))
