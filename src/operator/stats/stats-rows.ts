/** Sums of minute counts, over all cells. */
import { groupBy } from '../../base/groups.ts'
import { countParts } from '../../order/decide/counted.ts'
import { entities, timestamp } from '../../storage/pool.ts'
import { Conditions } from '../orders/conditions.ts'
import type { Databases } from '../desk.ts'
import { inEach } from '../in-cells.ts'
import { listGates } from '../known.ts'
import { Refused, unfit } from '../refused.ts'
import { cellsFor, loginsIn } from '../where.ts'

const units = ['minute', 'hour', 'day'] as const
const timeBy = (unit: (typeof units)[number]) => `to_char(date_trunc('${unit}', c.time), 'YYYY-MM-DD"T"HH24:MI"Z"')`

const partOf = (part: (typeof countParts)[number]) => `split_part(c.key, '|', ${countParts.indexOf(part) + 1})`

/** What counts can be split by, each as a text in SQL. */
// oxfmt-ignore
const splits = {
  minute:   timeBy('minute'),
  hour:     timeBy('hour'),
  day:      timeBy('day'),
  merchant: 'c.merchant_id::text',
  endpoint: partOf('endpoint'),
  gate:     partOf('gate'),
  kind:     partOf('kind'),
  network:  partOf('network'),
  country:  partOf('country'),
  outcome:  partOf('outcome'),
  reason:   partOf('reason'),
  '3ds':    partOf('3ds'),
} as const

export type Split = keyof typeof splits
export const splitNames = Object.keys(splits) as Split[]

export interface StatsQuery {
  of: 'orders' | 'attempts'
  by: readonly Split[]
  /** Milliseconds since 1970; whole minutes are counted, the first one included. */
  from: number
  to: number
  merchantId?: bigint | undefined
  endpointId?: bigint | undefined
  gateId?: bigint | undefined
}

/** What ended in that time and is the same by all that was asked for. */
export interface StatsRow {
  /** In the order of the splits; empty where there is none. */
  by: readonly string[]
  total: number
  outcomes: ReadonlyMap<string, number>
  /** Within which power of two of milliseconds half of them ended, and 95 of 100. */
  p50Ms: number
  p95Ms: number
}

interface Sum {
  by: string[]
  outcome: string
  withinMs: number
  ended: bigint
}

const mostSums = 100_000
const minuteMs = 60_000

/** By time, or the most first. Refuses what would add up too much. */
export async function readStats(databases: Databases, query: StatsQuery): Promise<StatsRow[]> {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, query.merchantId)
  const sums = await inEach(cells, ({ pool, cellNo }) => {
    const asked = new Conditions()
    asked.add('c.minute >= ?', timestamp(query.from - (query.from % minuteMs)))
    asked.add('c.minute < ?', timestamp(query.to))
    // Those of a merchant that moves are in two cells.
    asked.add(
      'c.merchant_id = any (?::bigint[])',
      query.merchantId === undefined ? logins.merchantIds(cellNo) : [query.merchantId],
    )
    asked.add(`${splits.endpoint} = ?`, query.endpointId?.toString())
    asked.add(`${splits.gate} = ?`, query.gateId?.toString())
    const by = query.by.map((name) => splits[name]).join(', ')
    const unit = units.find((one) => query.by.includes(one))
    const time = unit ? `date_trunc('${unit}', c.minute at time zone 'UTC')` : 'null::timestamp'
    // Few keys come in many minutes: each is split once.
    const sum = entities<Sum>(`
      select array[${by}]::text[] as "by", ${splits.outcome} as outcome, ${partOf(query.of)}::int as within_ms,
        sum(c.ended)::bigint as ended
      from (
        select c.merchant_id, c.key, ${time} as time, sum(c.ended) as ended
        from minute_count c ${asked.where} group by 1, 2, 3) c
      where ${partOf(query.of)} <> ''
      group by 1, 2, 3 limit ${mostSums + 1}`)
    return pool.run(sum, asked.values)
  })
  if (sums.some(({ length }) => length > mostSums)) throw new Refused(unfit('by', 'less at once, or the time shorter'))
  const gates = new Map((await listGates(databases.pool)).map(({ gateId, name }) => [String(gateId), name]))
  const named = (value: string, i: number): string => {
    if (query.by[i] === 'merchant') return logins.named({ merchantId: BigInt(value) }).login
    return query.by[i] === 'gate' ? (gates.get(value) ?? '') : value
  }
  const all = groupBy(sums.flat(), ({ by }) => JSON.stringify(by))
  const byTime = query.by.findIndex((name) => name === 'minute' || name === 'hour' || name === 'day')
  return [...all.values()]
    .map((same) => statsRow(same[0]!.by.map(named), same))
    .toSorted((a, b) => (a.by[byTime] ?? '').localeCompare(b.by[byTime] ?? '') || b.total - a.total)
}

function statsRow(by: readonly string[], sums: readonly Sum[]): StatsRow {
  const outcomes = new Map<string, number>()
  for (const { outcome, ended } of sums) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + Number(ended))
  const sorted = sums.toSorted((a, b) => a.withinMs - b.withinMs)
  const total = sorted.reduce((sum, { ended }) => sum + Number(ended), 0)
  const within = (percent: number): number => {
    let left = Math.ceil((total * percent) / 100)
    return sorted.find(({ ended }) => (left -= Number(ended)) <= 0)!.withinMs
  }
  return { by, total, outcomes, p50Ms: within(50), p95Ms: within(95) }
}
