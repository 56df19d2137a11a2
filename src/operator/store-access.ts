import { statement, timestamp, type Pool } from '../storage/pool.ts'
import { isoTime } from './moments.ts'

/** Identical refusals since a moment. */
export interface RefusedAccessEntry {
  /** Empty where no merchant was named. */
  login: string
  endpoint: string
  operation: string
  /** Empty in what was summed up. */
  address: string
  reason: string
  count: bigint
  firstAt: number
  lastAt: number
}

const list = statement<{
  login: string
  endpoint: string
  operation: string
  address: string
  reason: string
  count: bigint
  first_at: number
  last_at: number
}>(`
  select login, endpoint, operation, address, reason, sum(count)::bigint as count,
    min(first_at) as first_at, max(last_at) as last_at
  from access_refused where hour >= date_trunc('hour', $1::timestamptz) and ($2::text is null or login = $2)
  group by login, endpoint, operation, address, reason
  order by max(last_at) desc, count desc limit $3`)

export interface AccessQuery {
  from: number
  login?: string
  limit: number
}

/** Those that came last first. */
export async function refusedAccess(pool: Pool, { from, login, limit }: AccessQuery): Promise<RefusedAccessEntry[]> {
  const rows = await pool.run(list, [timestamp(from), login ?? null, limit])
  return rows.map(({ first_at: firstAt, last_at: lastAt, ...row }) => ({ ...row, firstAt, lastAt }))
}

export const accessJson = (e: RefusedAccessEntry) => ({
  login: e.login === '' ? null : e.login,
  endpoint: e.endpoint === '' ? null : e.endpoint,
  operation: e.operation === '' ? null : e.operation,
  address: e.address === '' ? null : e.address,
  reason: e.reason,
  count: e.count,
  first_at: isoTime(e.firstAt),
  last_at: isoTime(e.lastAt),
})
