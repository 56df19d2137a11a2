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
type Unit = (typeof units)[number]
const binOf = (unit: Unit, time: string) => `date_bin('1 ${unit}', ${time}, 'epoch')`
const timeBy = (unit: Unit) => `to_char(${binOf(unit, 'c.time')} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')`

const partOf = (part: (typeof countParts)[number]) => `split_part(c.key, '|', ${countParts.indexOf(part) + 1})`

/** The dimensions of counts, each as a text in SQL. */
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

/** The counts of that time, grouped by the requested dimensions. */
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
const [minuteMs, hourMs] = [60_000, 3_600_000]
const floorTo = (unitMs: number, ms: number): number => ms - (ms % unitMs)

/** Sums for each of these merchants: of whole hours, if they are gathered, else of minutes. */
function summing({ of, by, from, to, endpointId, gateId }: StatsQuery, whose: readonly bigint[]) {
  const firstHour = by.includes('minute') ? to : Math.min(to, floorTo(hourMs, from + hourMs - 1))
  const lastHour = by.includes('minute') ? to : Math.max(firstHour, floorTo(hourMs, to))
  const asked = new Conditions()
  const merchants = `${asked.put(whose)}::bigint[]`
  const [begin, first, last, end] = [floorTo(minuteMs, from), firstHour, lastHour, to].map(
    (time) => `${asked.put(timestamp(time))}::timestamptz`,
  )
  asked.add(`${splits.endpoint} = ?`, endpointId?.toString())
  asked.add(`${splits.gate} = ?`, gateId?.toString())
  const unit = units.find((one) => by.includes(one))
  const time = unit ? binOf(unit, 'c.at') : 'null::timestamptz'
  const part = (table: string, column: string) => `select c.merchant_id, c.key, c.${column} as at, c.ended from ${table} c`
  // Few keys come in many minutes: each is split once.
  const sql = entities<Sum>(`
    select array[${by.map((name) => splits[name]).join(', ')}]::text[] as "by", ${splits.outcome} as outcome,
      ${partOf(of)}::int as within_ms, sum(c.ended)::bigint as ended
    from (
      select c.merchant_id, c.key, ${time} as time, sum(c.ended) as ended from (
        ${part('minute_count', 'minute')}
        where c.merchant_id = any (${merchants}) and c.minute >= ${begin} and c.minute < ${first}
        union all
        ${part('hour_count', 'hour')}
        where c.merchant_id = any (${merchants}) and c.hour >= ${first} and c.hour < ${last}
        union all
        ${part('minute_count', 'minute')} join (
          select m.id, least(${last}, greatest(${first}, (
            select max(h.hour) + interval '1 hour' from hour_count h where h.merchant_id = m.id))) as gathered
          from unnest(${merchants}) as m (id)) g on c.merchant_id = g.id and c.minute >= g.gathered and c.minute < ${end}
      ) c ${asked.where} group by 1, 2, 3) c
    where ${partOf(of)} <> ''
    group by 1, 2, 3 limit ${mostSums + 1}`)
  return { sql, values: asked.values }
}

/** By time, or the most first. Refuses what would add up too much. */
export async function readStats(databases: Databases, query: StatsQuery): Promise<StatsRow[]> {
  const logins = await loginsIn(databases.pool)
  const cells = await cellsFor(databases, logins, query.merchantId)
  const sums = await inEach(cells, ({ pool, cellNo }) => {
    // Those of a merchant that moves are in two cells.
    const whose = query.merchantId === undefined ? logins.merchantIds(cellNo) : [query.merchantId]
    const { sql, values } = summing(query, whose)
    return pool.run(sql, values)
  })
  if (sums.some(({ length }) => length > mostSums)) throw new Refused(unfit('by', 'fewer in one call, or the time shorter'))
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
