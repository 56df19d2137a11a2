/** Requests that were refused because they did not prove whose they are. */
import { moment } from '../../entity/kinds.ts'
import { dated, numbered } from '../../entity/show.ts'
import { action, listing, type Subject } from '../action.ts'
import { ofOneMerchant } from '../inputs.ts'
import { merchantNamed } from '../known.ts'
import { mostOf } from '../lists.ts'
import { accessJson, refusedAccess, type RefusedAccessEntry } from './access.ts'

const usualSpanMs = 86_400_000

export const accessActions: Subject = {
  actions: {
    access: action({
      does: 'requests with a wrong checksum, signature, token or random sum: whose name, from where, how often',
      needs: 'read',
      forMerchants: true,
      takes: {
        merchant: { ...ofOneMerchant, means: "only in this merchant's name" },
        from: { is: moment, means: 'since: a date, a time in UTC, or how long ago (2h, 7d); 24h without it' },
        limit: mostOf('lines'),
      },
      async perform({ pool, clock }, { merchant, from, limit }) {
        const now = clock.now()
        if (merchant !== undefined) await merchantNamed(pool, merchant)
        return refusedAccess(pool, from?.(now) ?? now - usualSpanMs, merchant, limit)
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
      more: `Gateways write them down every five seconds, summed up by the hour, and keep them for 30 days.
Whom a limit slows down or locks has the reason "too many failures before". Who that is right now is in the memory of
each gateway process alone: tollgate_limit_beyond in its metrics says how many they are.`,
      examples: ['access', 'access --merchant shop --from 7d --json'],
    }),
  },
}
