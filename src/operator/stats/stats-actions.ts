/** How many payments ended in which way, from minute counts. */
import { isoTime, spanText, timeText } from '../../base/moments.ts'
import { listSchema, schema } from '../../entity/json.ts'
import { anyText, choice, id, list, whole } from '../../entity/kinds.ts'
import { numbered, tableOf, type Column } from '../../entity/show.ts'
import { action, type Actions } from '../action.ts'
import { ofOneMerchant } from '../inputs.ts'
import { endpointOf, gateNamed } from '../known.ts'
import { times } from '../lists.ts'
import { merchantIdOf } from '../where.ts'
import { readStats, splitNames, type Split, type StatsRow } from './stats-rows.ts'

const usualSpanMs = 86_400_000

interface Stats {
  from: number
  to: number
  rows: readonly StatsRow[]
}

/** The outcomes that have a column, besides approved. */
const outcomes = { orders: ['declined', 'filtered', 'error'], attempts: ['declined', 'unknown', 'not sent'] } as const

const share = ({ total, outcomes: all }: StatsRow): number => Math.round(((all.get('approved') ?? 0) * 1_000) / total) / 10

const counts = schema('ended:count outcomes:object approved_percent:number p50_ms:count p95_ms:count')
const splits = Object.fromEntries(splitNames.map((name) => [name, { type: ['string', 'null'] }]))
const rowOf = { ...counts, properties: { ...splits, ...(counts['properties'] as object) } }

const columnsOf = (of: 'orders' | 'attempts', by: readonly Split[]): Column<StatsRow>[] => [
  ...by.map((name, i) => ({ title: name.toUpperCase(), of: (row: StatsRow) => row.by[i] || '-' })),
  numbered('ENDED', ({ total }) => total),
  ...['approved', ...outcomes[of]].map((outcome) =>
    numbered<StatsRow>(outcome.toUpperCase(), ({ outcomes: all }) => all.get(outcome) ?? 0),
  ),
  { title: 'APPROVED %', of: (row) => share(row).toFixed(1), align: 'right' },
  { title: 'MEDIAN', of: ({ p50Ms }) => spanText(p50Ms), align: 'right' },
  { title: '95 % WITHIN', of: ({ p95Ms }) => spanText(p95Ms), align: 'right' },
]

export const statsActions: Actions = {
  stats: action({
    does: 'shows how many payments ended with each outcome, how many were approved, and how long they took',
    needs: 'read',
    forMerchants: true,
    takes: {
      of: {
        is: choice(['orders', 'attempts'] as const),
        usual: 'orders',
        means: 'payments, or messages to acquirers that may move money',
      },
      by: {
        is: list(choice(splitNames), 'list'),
        usual: ['endpoint'],
        means: `${splitNames.join(', ')}; several separated by commas`,
      },
      merchant: ofOneMerchant,
      endpoint: { is: id, names: 'endpoint', means: 'only of this endpoint' },
      gate: { is: anyText('gate'), means: 'only at this gate: its id or name' },
      ...times('ended'),
      limit: { is: whole(1, 10_000), usual: 100, means: 'how many lines' },
    },
    async perform(office, { merchant, endpoint, gate, limit, from, to, ...asked }): Promise<Stats> {
      const { pool, clock } = office
      const now = clock.now()
      const period = { from: from?.(now) ?? now - usualSpanMs, to: to?.(now) ?? now }
      const rows = await readStats(office, {
        ...asked,
        ...period,
        merchantId: await merchantIdOf(pool, merchant),
        endpointId: endpoint && (await endpointOf(pool, endpoint)).endpointId,
        gateId: gate === undefined ? undefined : (await gateNamed(pool, gate)).gateId,
      })
      return { ...period, rows: rows.slice(0, limit) }
    },
    gives: {
      json: ({ from, to, rows }, { of, by }) => ({
        of,
        from: isoTime(from),
        to: isoTime(to),
        stats: rows.map((row) => ({
          ...Object.fromEntries(by.map((name, i) => [name, name === 'endpoint' ? BigInt(row.by[i]!) : row.by[i] || null])),
          ended: row.total,
          outcomes: Object.fromEntries(row.outcomes),
          approved_percent: share(row),
          p50_ms: row.p50Ms,
          p95_ms: row.p95Ms,
        })),
      }),
      is: schema('of from:time to:time', listSchema('stats', { schema: rowOf })),
      blocks: ({ from, to, rows }, { asked: { of, by } }) => [
        rows.length === 0 ? 'Nothing ended in that time.' : tableOf(columnsOf(of, by), rows),
        `From ${timeText(from)} to ${timeText(to)} UTC, in whole minutes.`,
      ],
    },
    more: `Each count is written in the commit that ends the payment or attempt, so counts are exact. They are kept for 400
days, even after the orders are gone. They begin with the version that introduced them. Times are upper limits, in powers of two
of milliseconds. For attempts, 3ds is the state when the attempt ended.`,
    examples: [
      'stats',
      'stats --by reason,network --from 7d',
      'stats --by hour --from 2030-01-31 --to 2030-02-01 --json',
      'stats --of attempts --by gate,outcome --from 1h',
    ],
  }),
}
