import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOddities } from '../../../src/three-d-secure/oddities.ts'
import { addOddities } from '../../../src/three-d-secure/oddity-rows.ts'
import { watchRanges } from '../../../src/three-d-secure/range-rows.ts'
import { presTo } from '../../harness/three-d-secure/directory.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import {
  asked,
  ds,
  forced,
  lines,
  loaded,
  log,
  name,
  over,
  plain,
  pool,
  range,
  soon,
  start,
  starts,
} from './three-d-secure-keeper.ts'

const leftOutRow = plain<{ left_out_count: number; left_out: string[] }>(
  `select left_out_count, left_out from directory_state where directory = $1`,
)
const leftOut = async () => (await pool.run(leftOutRow, [name]))[0]!

test('an unusable entry costs only itself: it is logged, and kept for the doctor until a full load lacks it', async () => {
  const clock = openHandClock(Date.now())
  const good = Array.from({ length: 40 }, (_, i) => range(String(400_000 + i)))
  const mir = [
    range('220041', 'A', { startRange: '2200410000000000', endRange: '2200410100000999' }),
    range('220041', 'A', { startRange: '2200410000000000000', endRange: '2200410100000999999' }),
  ]
  const odd = [range('500000', 'A', { endRange: '4999999999999999' }), range('600000', 'A', { acsEndProtocolVersion: undefined })]
  ds.play((told) => presTo(told, '1', [...mir, ...odd, ...good]))
  const live = await watchRanges(pool, clock, log, [name])
  await forced(clock, 1)
  clock.pass(1_000)
  await soon(() => live.current().loaded(name), 'the ranges are read')
  const { find } = live.current()
  assert.deepEqual(
    ['2200410000000000', '2200410100000999999', '4000390000000000', '5000000000000000', '6000000000000000'].map(
      (pan) => find(pan)?.directory,
    ),
    [name, name, name, undefined, undefined],
  )
  const about = [
    '6000000000000000 to 6000009999999999: acsEndProtocolVersion is missing',
    '5000000000000000 to 4999999999999999: endRange does not fit',
  ]
  assert.deepEqual(
    { ...(await leftOut()), left_out: (await leftOut()).left_out.toSorted() },
    { left_out_count: 2, left_out: about.toSorted() },
  )
  const logged = lines.filter((line) => line.includes(`"${name}"`) && line.includes('were left out'))
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /"count":2.*acsEndProtocolVersion is missing/)
  assert.equal(ds.heard('Erro').length, 0)

  // A change says nothing of them, a full load does.
  ds.play((told) => presTo(told, '2', [range('700000')]))
  await forced(clock, 2)
  assert.equal((await leftOut()).left_out_count, 2)
  ds.play((told) => presTo(told, undefined, good))
  await forced(clock, 3)
  assert.deepEqual({ ...(await leftOut()) }, { left_out_count: 0, left_out: [] })
  live.stop()
})

test('a load of which more than a twentieth cannot be used is refused as a whole, and the old ranges stay', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  const odd = range('500000', 'A', { endRange: '4999999999999999' })
  ds.play((told) => presTo(told, undefined, [odd, ...Array.from({ length: 18 }, (_, i) => range(String(600_000 + i)))]))
  const refresh = start(clock, true)
  await asked(2)
  const { error } = await over(1)
  assert.match(error ?? '', /cardRangeData/)
  assert.deepEqual(await starts(), ['4000000000000000', '5000000000000000'])
  await soon(() => ds.heard('Erro').some(({ body }) => body['errorCode'] === '203'), 'the directory server hears why')
  await refresh.stop()
})

test('oddities are counted by directory server and kept for the doctor', async () => {
  const clock = openHandClock(Date.UTC(2030, 0, 1))
  const counted: string[] = []
  const parts = { clock, log, counted: (...one: [string, string]) => void counted.push(one.join(' ')) }
  const oddities = openOddities({ ...parts, store: (sums) => addOddities(pool, sums) })
  oddities.noted(name, 'id-1', new Set(['ARes eci unfit', 'ARes byte order mark']))
  oddities.noted(name, 'id-2', ['ARes eci unfit'])
  oddities.noted(name, 'id-3', undefined)
  await oddities.flush()
  clock.pass(1_000)
  oddities.noted(name, 'id-4', ['ARes eci unfit'])
  await oddities.flush()
  await oddities.flush()
  const row = plain<{ what: string; count: bigint; last_at: number }>(
    `select what, count, last_at from directory_oddity where directory = $1 order by what`,
  )
  assert.deepEqual(
    (await pool.run(row, [name])).map((one) => [one.what, Number(one.count), one.last_at - Date.UTC(2030, 0, 1)]),
    [
      ['ARes byte order mark', 1, 0],
      ['ARes eci unfit', 3, 1_000],
    ],
  )
  assert.equal(counted.filter((one) => one === `${name} ARes eci unfit`).length, 3)
  assert.equal(lines.filter((line) => line.includes('does not fit where it decides nothing')).length, 3)
})
