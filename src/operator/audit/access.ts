import { entities, timestamp, type Pool } from '../../storage/pool.ts'
import { jsonOf } from '../../entity/json.ts'

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

const list = entities<RefusedAccessEntry>(`
  select login, endpoint, operation, address, reason, sum(count)::bigint as count,
    min(first_at) as first_at, max(last_at) as last_at
  from access_refused where hour >= date_trunc('hour', $1::timestamptz) and ($2::text is null or login = $2)
  group by login, endpoint, operation, address, reason
  order by max(last_at) desc, count desc limit $3`)

/** Those that came last first; without a login, in whatever name. */
export const refusedAccess = (
  pool: Pool,
  from: number,
  login: string | undefined,
  limit: number,
): Promise<RefusedAccessEntry[]> => pool.run(list, [timestamp(from), login ?? null, limit])

/** Empty texts are null. */
export const accessJson = (e: RefusedAccessEntry): object =>
  jsonOf(Object.fromEntries(Object.entries(e).map(([name, value]) => [name, value === '' ? null : value])))
