import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { openLog } from '../../../src/base/log.ts'
import { readStats, type StatsQuery } from '../../../src/operator/stats/stats-rows.ts'
import { gatherHours } from '../../../src/order/store/minute-counts.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Sums of whole hours stand for their minutes: whatever is gathered, numbers are the same.

const { url: databaseUrl } = closing(await migratedDatabase())
const api = closing(await startOwnApi({ databaseUrl, keyFile: keyFileIn(openDirectory('hour-counts')) }))
for (const login of ['shop', 'other', 'idle']) await api.tell(['merchant', 'add', '--login', login, '--name', login])
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: databaseUrl, connections: 4, use: 'search', log }))

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** A quarter past an hour. */
const now = Date.parse('2030-05-20T10:15:00Z')
interface Counted {
  login: string
  at: number
  outcome: string
  ended: number
}
const counted: Counted[] = []
/** Three days have some, and after a gap more, so that the time takes several statements. */
for (let i = 0; i < 600; i++) {
  const ago = i < 300 ? (i * 7 * minute * 13) % (3 * day) : 16 * day + i * 11 * minute
  const [login, outcome] = [i % 3 === 0 ? 'other' : 'shop', ['approved', 'declined'][i % 2]!]
  counted.push({ login, at: Math.floor((now - ago) / minute) * minute, outcome, ended: (i % 5) + 1 })
}
const add = statement<object>(`
  insert into minute_count (merchant_id, minute, process_id, key, ended)
  select merchant_id, $2::timestamptz, $3, '1|0|sale|VISA|GB|' || $4 || '|||4|', $5 from merchant where login = $1`)
for (const [i, one] of counted.entries())
  await pool.run(add, [one.login, new Date(one.at).toISOString(), i, one.outcome, one.ended])

const startOf = (unit: 'minute' | 'hour' | 'day', at: number) =>
  `${new Date(Math.floor(at / { minute, hour, day }[unit]) * { minute, hour, day }[unit]).toISOString().slice(0, 16)}Z`

type Asked = Pick<StatsQuery, 'from' | 'to'> & { unit: 'minute' | 'hour' | 'day' }
const shown = (sums: Map<string, number>) => [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1))

async function isSame({ from, to, unit }: Asked): Promise<void> {
  const found = new Map<string, number>()
  const cells = () => Promise.resolve([{ cellNo: 0, pool }])
  const rows = await readStats(
    { pool, cells },
    {
      of: 'orders',
      by: ['merchant', unit, 'outcome'],
      from,
      to,
    },
  )
  for (const { by, total } of rows) found.set(by.join(), total)
  const right = new Map<string, number>()
  for (const { login, at, outcome, ended } of counted) {
    if (at < from - (from % minute) || at >= to) continue
    const key = [login, startOf(unit, at), outcome].join()
    right.set(key, (right.get(key) ?? 0) + ended)
  }
  assert.deepEqual(shown(found), shown(right))
}

const times = fc.oneof(
  fc.integer({ min: now - 25 * day, max: now + hour }),
  fc.integer({ min: now - 5 * hour, max: now + hour }),
  fc.integer({ min: 0, max: 600 }).map((hours) => now - (now % hour) - hours * hour),
)
const asked = fc
  .record({ from: times, to: times, unit: fc.constantFrom('minute' as const, 'hour' as const, 'day' as const) })
  .filter(({ from, to }) => from < to)
const allSame = () => fc.assert(fc.asyncProperty(asked, isSame), { numRuns: 40 })

const gathered = async () => {
  const [row] = await pool.run(
    statement<{ hours: number; newest: number }>(`
      select count(distinct hour)::int as hours, extract(epoch from max(hour))::float8 * 1000 as newest from hour_count`),
  )
  return row!
}

test('numbers are the sums of minutes, before an hour is gathered and after', async () => {
  await allSame()
  await gatherHours(pool, now - 2 * day)
  const some = await gathered()
  assert.ok(some.hours > 50, `${some.hours} hours`)
  await allSame()
  // Two processes together.
  await Promise.all([gatherHours(pool, now), gatherHours(pool, now)])
  await allSame()
  const all = await gathered()
  assert.ok(all.hours > some.hours)
  // What ended within two hours may still be counted.
  assert.ok(all.newest < now - 2 * hour && all.newest >= now - 5 * hour, new Date(all.newest).toISOString())
})

test('hours that are gathered stay as they are, and are what is read', async () => {
  await pool.run(statement(`delete from minute_count where minute < to_timestamp($1)`), [(now - day) / 1_000])
  await isSame({ from: now - (now % day) - 20 * day, to: now - (now % hour), unit: 'day' })
  await gatherHours(pool, now)
  await isSame({ from: now - (now % day) - 20 * day, to: now - (now % hour), unit: 'day' })
})
