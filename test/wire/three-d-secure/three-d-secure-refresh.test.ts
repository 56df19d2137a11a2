import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import type { DirectoryClient } from '../../../src/three-d-secure/directory.ts'
import { refreshRanges } from '../../../src/three-d-secure/directory-refresh.ts'
import { rangesOf, readState, watchRanges } from '../../../src/three-d-secure/range-rows.ts'
import { presTo, type Scripted, type Told } from '../../harness/three-d-secure/directory.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import {
  asked,
  client,
  ds,
  duty,
  forced,
  full,
  heartbeats,
  hour,
  judgeOf,
  loaded,
  log,
  minute,
  name,
  over,
  passes,
  plain,
  pool,
  range,
  serials,
  soon,
  start,
  starts,
} from './three-d-secure-keeper.ts'

test('an empty installation loads all ranges immediately, and requests changes a day later, not sooner', async () => {
  const clock = openHandClock(Date.now())
  const refresh = await loaded(clock)
  assert.deepEqual(await starts(), ['4000000000000000', '5000000000000000'])
  const { due_at: due } = await duty()
  assert.ok(due > clock.now() + 22 * hour - 1 && due <= clock.now() + 24 * hour)
  ds.play((told) =>
    presTo(told, '2', [
      range('500000', 'D'),
      range('400000', 'M', { threeDSMethodURL: 'https://acs.example/m' }),
      range('600000'),
    ]),
  )
  await passes(clock, 21 * hour)
  assert.equal(ds.told.length, 1)
  await passes(clock, 4 * hour, () => ds.told.length > 1)
  await asked(2)
  await over(0)
  assert.deepEqual(serials(), [null, '1'])
  assert.deepEqual(await starts(), ['4000000000000000', '6000000000000000'])
  const [first] = await rangesOf(pool, name)
  assert.equal(first?.threeDSMethodURL, 'https://acs.example/m')
  assert.deepEqual((await readState(pool, name)).serialNum, '2')
  await refresh.stop()
})

test('an answer without a serial number replaces all ranges', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  ds.play((told) => presTo(told, undefined, [range('700000')]))
  const refresh = start(clock, true)
  await asked(2)
  await soon(async () => (await starts()).join() === '7000000000000000', 'the ranges are replaced')
  assert.equal((await readState(pool, name)).serialNum, undefined)
  await refresh.stop()
})

// oxfmt-ignore
const outOfStep: readonly [string, (told: Told) => Scripted][] = [
  ['contradicts a range that is there', (told) => presTo(told, '2', [range('600000'), range('400000', 'A', { acsEndProtocolVersion: '2.1.0' })])],
  ['deletes a range that is not',     (told) => presTo(told, '2', [range('600000'), range('700000', 'D')])],
  ['modifies a range that is not',    (told) => presTo(told, '2', [range('600000'), range('700000', 'M')])],
  ['lays a range over another',       (told) => presTo(told, '2', [range('600000'), range('400000', 'A', { endRange: '4000001234567890123', acsEndProtocolVersion: '2.1.0' })])],
  ['cannot be read',                  (told) => presTo(told, '2', [range('600000', 'X')])],
  ['is an Erro 307',                  (told) => ({ json: { messageType: 'Erro', messageVersion: '2.2.0', threeDSServerTransID: told.body['threeDSServerTransID'], errorCode: '307', errorComponent: 'D', errorDescription: 'no', errorDetail: 'serialNum' } })],
]

for (const [what, answer] of outOfStep) {
  test(`after a delta that ${what}, all ranges are requested immediately, and nothing of the delta counts`, async () => {
    const clock = openHandClock(Date.now())
    await (await loaded(clock)).stop()
    ds.play((told) => (told.body['serialNum'] === undefined ? presTo(told, '9', [range('800000')]) : answer(told)))
    const refresh = start(clock, true)
    await asked(3)
    await soon(async () => (await readState(pool, name)).serialNum === '9', 'the full load is stored')
    assert.deepEqual(await starts(), ['8000000000000000'])
    assert.deepEqual(serials(), [null, '1', null])
    await refresh.stop()
  })
}

test('the repair is one question: when it fails the old ranges stay, and an hour later all are asked for', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  ds.play((told) => (told.body['serialNum'] === undefined ? { status: 500 } : presTo(told, '2', [range('700000', 'D')])))
  const refresh = start(clock, true)
  await asked(3)
  const { due_at: due, error } = await over(1)
  assert.ok(due >= clock.now() + hour)
  assert.match(error ?? '', /HTTP status 500/)
  assert.deepEqual(await starts(), ['4000000000000000', '5000000000000000'])
  await passes(clock, hour - minute)
  assert.equal(ds.heard('PReq').length, 3)
  ds.play(full)
  await passes(clock, 10 * minute, () => ds.heard('PReq').length > 3)
  await asked(4)
  await over(0)
  assert.deepEqual(serials(), [null, '1', null, null])
  await refresh.stop()
})

test('without ranges it asks again after two seconds, then four', async () => {
  const clock = openHandClock(Date.now())
  ds.play(() => ({ status: 503 }))
  const refresh = start(clock)
  await asked(1)
  const { due_at: due } = await over(1)
  assert.equal(due - clock.now(), 2_000)
  ds.play(full)
  await passes(clock, 2_000, () => ds.heard('PReq').length > 1)
  await asked(2)
  await over(0)
  assert.equal((await starts()).length, 2)
  await refresh.stop()
})

test('two processes ask once between them', async () => {
  const clock = openHandClock(Date.now())
  ds.play(full)
  const both = heartbeats.map((heartbeat) => start(clock, false, heartbeat))
  await asked(1)
  await over(0)
  await passes(clock, 5 * minute)
  await Promise.all(both.map((one) => one.stop()))
  assert.equal(ds.heard('PReq').length, 1)
})

test('the refresh of a dead process is taken over, after the hour of its question; that of a living one is not', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  const hold = plain<object>(`update duty set lease = $2, due_at = $3 where name = $1`)
  const setAsked = plain<object>(`update directory_state set asked_at = $2 where directory = $1`)
  const at = (ms: number) => new Date(ms).toISOString()
  clock.pass(10 * hour)
  await pool.run(hold, [`card ranges ${name}`, 2n, at(clock.now() - 1_000)])
  const refresh = start(clock)
  await passes(clock, 10 * minute)
  assert.equal(ds.heard('PReq').length, 1)
  await pool.run(setAsked, [name, at(clock.now())])
  await pool.run(hold, [`card ranges ${name}`, 77n, at(clock.now() - 1_000)])
  await passes(clock, 50 * minute)
  assert.equal(ds.heard('PReq').length, 1)
  await passes(clock, 20 * minute, () => ds.heard('PReq').length > 1)
  await asked(2)
  await over(0)
  await refresh.stop()
})

test('a process that was taken over while it asked stores nothing', async () => {
  const clock = openHandClock(Date.now())
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  ds.play(full)
  const slow = {
    cardRanges: async (...which: Parameters<DirectoryClient['cardRanges']>) => held.then(() => client.cardRanges(...which)),
  }
  const refresh = refreshRanges({
    pool,
    client: slow,
    directories: [name],
    heartbeat: heartbeats[0]!,
    judge: judgeOf(heartbeats[0]!),
    clock,
    random: systemRandom,
    log,
    now: false,
  })
  await soon(async () => (await duty())?.tries === 1, 'it asks')
  await pool.run(plain<object>(`update duty set lease = 2 where name = $1`), [`card ranges ${name}`])
  release()
  await refresh.stop()
  assert.equal(ds.heard('PReq').length, 1)
  assert.deepEqual(await starts(), [])
  assert.equal((await readState(pool, name)).loaded, false)
  assert.equal((await duty()).lease, 2n)
})

test('a process whose lease is late does not ask', async () => {
  const clock = openHandClock(Date.now())
  ds.play(full)
  const refresh = start(clock, false, { processId: 1n, holding: () => false })
  await soon(async () => (await duty())?.lease === 1n, 'it takes the duty')
  await refresh.stop()
  assert.deepEqual([ds.told.length, (await duty()).tries], [0, 0])
})

test('every process sees what is loaded within a second or so, and the same load again changes nothing', async () => {
  const clock = openHandClock(Date.now())
  const live = await watchRanges(pool, clock, log, [name])
  assert.deepEqual([live.current().loaded(name), live.current().find('4000001234567890')], [false, undefined])
  await (await loaded(clock)).stop()
  clock.pass(1_000)
  await soon(() => live.current().loaded(name), 'the ranges are read')
  const found = live.current().find('4000001234567890')
  assert.deepEqual(
    [found?.directory, found?.dsEndProtocolVersion, live.current().find('6000000000000000')],
    [name, '2.2.0', undefined],
  )

  const versionOf = plain<{ version: bigint }>(`select version from directory_state where directory = $1`)
  const version = async () => (await pool.run(versionOf, [name]))[0]!.version
  assert.equal(await version(), 1n)
  ds.play((told) => presTo(told, undefined, [range('400000'), range('500000')]))
  await forced(clock, 2)
  assert.equal(await version(), 1n)
  ds.play((told) => presTo(told, undefined, [range('400000'), range('500000')], { dsEndProtocolVersion: '2.1.0' }))
  await forced(clock, 3)
  assert.equal(await version(), 2n)
  clock.pass(1_000)
  await soon(() => live.current().find('4000001234567890')?.dsEndProtocolVersion === '2.1.0', 'the version is read')
  live.stop()
})
