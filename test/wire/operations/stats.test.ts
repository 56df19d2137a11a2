import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, reversalsAfter, settled, untilStatus } from '../../conformance/requests/client.ts'
import { followed, part } from '../../conformance/operations/operations.ts'
import { filteredOrder, newEmail, openFilters } from '../../conformance/requests/filters.ts'
import { carryThrough, secureOrder } from '../../conformance/three-d-secure/shopper.ts'
import { openLog } from '../../../src/base/log.ts'
import { forgetMinuteCounts } from '../../../src/order/store/minute-counts.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { preauth } from '../../harness/world/follow.ts'
import { miscounts, type Miscount } from '../../harness/postgres/minute-counts.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../operator/cli-run.ts'

/** Minute counts: what they count, and what `stats` shows of them. */

const world = await openWorld({ own: true })
const desk = closing(await openFaultDesk(world))
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 1, use: 'admin', log }))
const { tell, json, refuse } = cliOf(() => world)
const wrong = () => desk.rows<Miscount>(miscounts.text, [null])

interface Stats {
  of: string
  from: string
  to: string
  stats: ({ ended: number; outcomes: Record<string, number>; approved_percent: number; p50_ms: number; p95_ms: number } & Record<
    string,
    unknown
  >)[]
}
const stats = (...args: string[]) => json<Stats>('stats', ...args)
/** Each line without its times, shortly. */
const lines = ({ stats: rows }: Stats) =>
  rows.map(({ ended, outcomes, approved_percent: percent, p50_ms: p50, p95_ms: p95, ...by }) => {
    assert.ok(p50 >= 1 && p50 <= p95 && Number.isInteger(Math.log2(p95)), `${p50} ${p95}`)
    return [...Object.values(by), ended, outcomes, percent]
  })

test('without payments the statistics are empty and say so', async () => {
  assert.deepEqual((await stats()).stats, [])
  assert.match(await tell(['stats']), /Nothing ended in that time\./)
})

test('counts are those of the orders and attempts that are stored, of every way to end', async () => {
  const filters = openFilters(world)
  const email = newEmail()
  await filters.add('black', '--of', 'email', '--value', email)
  await reversalsAfter(world, 0)
  for (const cvv2 of ['123', '123', '116', '116', '209']) await settled(world, await order(world, { cvv2 }))
  await untilStatus(world, await order(world, { cvv2: '217' }), ({ status }) => status === 'error', 120_000)
  const held = await preauth(world)
  await settled(world, held)
  await followed(world, 'capture', held, part('5.00'))
  await followed(world, 'return', held, part('1.00'))
  await carryThrough(world, await secureOrder(world, 'frictionless'))
  assert.equal((await filteredOrder(world, email)).seen.status, 'filtered')
  assert.deepEqual(await wrong(), [])

  const { plain, secure } = world.endpoints
  assert.deepEqual(lines(await stats()), [
    [plain, 8, { approved: 3, declined: 3, error: 1, filtered: 1 }, 37.5],
    [secure, 1, { approved: 1 }, 100],
  ])
  const by = async (splits: string, ...args: string[]) =>
    lines(await stats('--by', splits, ...args)).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
  assert.deepEqual(await by('reason', '--endpoint', String(plain)), [
    ['funds', 2, { declined: 2 }, 0],
    ['issuer', 1, { declined: 1 }, 0],
    ['refused', 1, { filtered: 1 }, 0],
    ['technical', 1, { error: 1 }, 0],
    [null, 3, { approved: 3 }, 100],
  ])
  assert.deepEqual(await by('3ds,network', '--merchant', world.merchant.login, '--endpoint', String(secure)), [
    ['AUTHENTICATED', 'VISA', 1, { approved: 1 }, 100],
  ])
  assert.deepEqual(await by('kind,gate', '--of', 'attempts', '--gate', 'sandbox acquirer'), [
    ['capture', 'sandbox acquirer', 1, { approved: 1 }, 100],
    ['preauth', 'sandbox acquirer', 1, { approved: 1 }, 100],
    ['return', 'sandbox acquirer', 1, { approved: 1 }, 100],
    ['reversal', 'sandbox acquirer', 1, { approved: 1 }, 100],
    ['sale', 'sandbox acquirer', 7, { approved: 3, declined: 3, unknown: 1 }, 42.9],
  ])
})

test('a time has the minutes that began in it, and lines by time come in its order', async () => {
  const [first] = await desk.rows<{ minute: Date }>('select min(minute) as minute from minute_count')
  const began = first!.minute.toISOString()
  const all = await stats('--by', 'minute,outcome', '--from', '2025-01-01')
  const minutes = all.stats.map(({ minute }) => String(minute))
  assert.deepEqual(minutes, minutes.toSorted())
  assert.equal(minutes[0], `${began.slice(0, 16)}Z`)
  assert.equal(
    all.stats.reduce((sum, { ended }) => sum + ended, 0),
    9,
  )
  assert.deepEqual((await stats('--from', '2025-01-01', '--to', began)).stats, [])
  const inside = new Date(first!.minute.getTime() + 59_000).toISOString()
  assert.equal(
    (await stats('--by', 'day', '--from', inside)).stats.reduce((sum, { ended }) => sum + ended, 0),
    9,
  )
})

test('a person reads a table, and what cannot be counted is refused', async () => {
  const table = await tell(['stats', '--by', 'network'])
  assert.match(table, /NETWORK +ENDED +APPROVED +DECLINED +FILTERED +ERROR +APPROVED % +MEDIAN +95 % WITHIN/)
  assert.match(table, /VISA +9 +4 +3 +1 +1 +44\.4/)
  assert.match(table, /UTC, in whole minutes/)
  assert.match(await refuse(2, 'stats', '--by', 'weather'), /--by/)
  assert.match(await refuse(1, 'stats', '--endpoint', '999999'), /999999/)
  assert.match(await refuse(1, 'stats', '--gate', 'nowhere'), /nowhere/)
})

test('counts of more than 400 days ago are forgotten, younger ones are kept', async () => {
  const counts = () =>
    desk.rows<{ days: number }>(`select extract(days from now() - minute)::int as days from minute_count
    where merchant_id = 7 order by 1`)
  for (const days of [399, 401])
    await desk.rows(
      `insert into minute_count
       select 7, date_trunc('minute', now() - $1::int * interval '1 day'), 1, '1|0|sale|||approved|||1|', 1`,
      [days],
    )
  await forgetMinuteCounts(pool, Date.now())
  assert.deepEqual(await counts(), [{ days: 399 }])
  await desk.rows('delete from minute_count where merchant_id = 7')
})
