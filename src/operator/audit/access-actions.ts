/** Requests that were refused because they did not prove whose they are. */
import { jsonBy } from '../../entity/json.ts'
import { moment } from '../../entity/kinds.ts'
import { dated, numbered } from '../../entity/show.ts'
import { entities, timestamp } from '../../storage/pool.ts'
import { action, listing, type Actions } from '../action.ts'
import { ofOneMerchant } from '../inputs.ts'
import { merchantNamed } from '../known.ts'
import { mostOf } from '../lists.ts'

/** Identical refusals since a moment. */
interface RefusedAccessEntry {
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

/** Those that came last first; without a login, in whatever name. */
const refused = entities<RefusedAccessEntry>(`
  select login, endpoint, operation, address, reason, sum(count)::bigint as count,
    min(first_at) as first_at, max(last_at) as last_at
  from access_refused where hour >= date_trunc('hour', $1::timestamptz) and ($2::text is null or login = $2)
  group by login, endpoint, operation, address, reason
  order by max(last_at) desc, count desc limit $3`)

/** Empty texts are null. */
const accessJson = jsonBy(
  'operation? endpoint? login? address? reason count:id first_at:time last_at:time',
  (e: RefusedAccessEntry) =>
    Object.fromEntries(Object.entries(e).map(([name, value]) => [name, value === '' ? null : value])) as object as typeof e,
)

const usualSpanMs = 86_400_000

export const accessActions: Actions = {
  access: action({
    does: 'lists requests with a wrong checksum, signature, token or random sum: in whose name, from where, how many',
    needs: 'read',
    forMerchants: true,
    takes: {
      merchant: { ...ofOneMerchant, means: "only requests in this merchant's name" },
      from: { is: moment, means: 'since: a date, a time in UTC, or how long ago (2h, 7d); 24h if left out' },
      limit: mostOf('lines'),
    },
    async perform({ pool, clock }, { merchant, from, limit }) {
      const now = clock.now()
      if (merchant !== undefined) await merchantNamed(pool, merchant)
      return pool.run(refused, [timestamp(from?.(now) ?? now - usualSpanMs), merchant, limit])
    },
    gives: listing<RefusedAccessEntry>({
      name: 'refused',
      json: accessJson,
      columns: (now) => [
        { title: 'LOGIN', of: (e) => e.login || 'unknown' },
        { title: 'ENDPOINT', of: (e) => e.endpoint },
        { title: 'OPERATION', of: (e) => e.operation },
        { title: 'ADDRESS', of: (e) => e.address },
        numbered('TIMES', (e) => e.count),
        dated('FIRST', now, (e) => e.firstAt),
        dated('LAST', now, (e) => e.lastAt),
        { title: 'REASON', of: (e) => e.reason },
      ],
      none: 'No access was refused.',
    }),
    more: `Gateways write the counts every five seconds, summed up by the hour, and keep them for 30 days. The reason "too many
failures before" means that a limit slowed down or locked a caller. Each gateway process has its own list of present
ones, in memory; tollgate_limit_beyond in its metrics has their number.`,
    examples: ['access', 'access --merchant shop --from 7d --json'],
  }),
}
