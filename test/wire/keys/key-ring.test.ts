import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { retireKey, rotateKeyOf } from '../../../src/operator/keys/versions.ts'
import { fixedKek, WrongKek } from '../../../src/keys/encryption.ts'
import { commonHashesOf, numberIdOf } from '../../../src/card/vault.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { activationMs, openKeyRing } from '../../../src/keys/ring.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'

// The key ring of several processes on one database, on a clock that only the test moves.

const dayMs = 24 * 3_600_000
const log = openLog({ level: 'fatal', destination: process.stderr })
const kek = fixedKek(secret(Buffer.from(Array.from({ length: 32 }, (_, i) => i))), systemRandom)

async function openRings() {
  const database = closing(await migratedDatabase())
  const pool = closing(openPool({ url: database.url, connections: 4, use: 'oltp', log }))
  const clock = openHandClock(Date.parse('2026-02-03T04:05:06Z'))
  const ring = () => openKeyRing(pool, kek, clock, systemRandom)
  return {
    clock,
    desk: { pool, cells: async () => [{ cellNo: 0, pool }], clock, random: systemRandom, who: 'a test', action: 'a test' },
    rings: [await ring(), await ring()] as const,
  }
}

test('every process uses a new version from the same moment, and can open it before', async () => {
  const { clock, desk, rings } = await openRings()
  const [one, other] = rings
  const current = () => rings.map((ring) => ring.current('digest').version)
  await rotateKeyOf(desk, kek, 'digest')
  await one.refresh()
  assert.deepEqual(current(), [1n, 1n])
  assert.ok(one.version('digest', 2n))
  assert.equal(other.version('digest', 2n), undefined, 'it did not read the versions yet')
  await other.refresh()
  clock.pass(activationMs - 1)
  assert.deepEqual(current(), [1n, 1n])
  clock.pass(1)
  assert.deepEqual(current(), [2n, 2n])
  assert.deepEqual(
    one.versions('digest').map(({ version }) => version),
    [2n, 1n],
  )
  assert.deepEqual(one.version('digest', 2n)!.reveal(), other.version('digest', 2n)!.reveal())
})

test('the key for card numbers is replaced by itself after a week, once for all processes', async () => {
  const { clock, rings } = await openRings()
  const turn = () => Promise.all(rings.map((ring) => ring.turn()))
  const current = () => rings.map((ring) => ring.current('pan').version)
  clock.pass(7 * dayMs)
  await turn()
  clock.pass(activationMs)
  assert.deepEqual(current(), [1n, 1n])
  await turn()
  clock.pass(activationMs)
  await turn()
  assert.deepEqual(current(), [2n, 2n])
  assert.ok(rings[0].version('pan', 1n), 'what the first one sealed can still be opened')
  assert.equal(rings[0].versions('control').length, 1)
})

test('a version is destroyed for every process once its time is over and no row names it', async () => {
  const { clock, desk, rings } = await openRings()
  const hourMs = 3_600_000
  for (const purpose of ['digest', 'digest', 'pan'] as const) {
    await rotateKeyOf(desk, kek, purpose)
    clock.pass(activationMs)
  }
  const retire = (purpose: 'digest' | 'pan', version: bigint) =>
    retireKey(desk, purpose, version).catch((error: { refusal?: { by?: object } }) => error.refusal?.by)
  assert.equal(((await retire('pan', 1n)) as { is?: string }).is, 'superseded lately')
  clock.pass(hourMs)
  assert.equal(await retire('pan', 1n), undefined)
  clock.pass(25 * hourMs)
  // A limit of the first version, and one of the second, whose key begins with its number.
  for (const key of ['00'.repeat(16), `00000002${'00'.repeat(16)}`])
    await desk.pool.run(
      statement(`insert into filter_count (merchant_id, filter_no, key, buckets, until)
        values (1, 1, '\\x${key}', '[]', now() + interval '1 day')`),
    )
  for (const version of [1n, 2n])
    assert.deepEqual(await retire('digest', version), { is: 'rows', table: 'filter_count', cellNo: 0 })
  await desk.pool.run(statement(`delete from filter_count where length(key) = 16`))
  assert.equal(await retire('digest', 1n), undefined)
  assert.deepEqual(await retire('digest', 2n), { is: 'rows', table: 'filter_count', cellNo: 0 })
  for (const ring of rings) {
    await ring.refresh()
    assert.deepEqual([ring.version('pan', 1n), ring.version('digest', 1n)], [undefined, undefined])
    assert.ok(ring.version('digest', 2n))
  }
})

test('a card is counted under every version of the fingerprint key, and its id never changes', async () => {
  const { clock, desk, rings } = await openRings()
  const pan = secret('4111111111111111')
  const read = () => rings.map((ring) => ({ hashes: commonHashesOf(pan, ring), id: numberIdOf(pan, 1n, ring).toString('hex') }))
  const [before] = read()
  await rotateKeyOf(desk, kek, 'fingerprint')
  await Promise.all(rings.map((ring) => ring.refresh()))
  assert.deepEqual(read(), [before, before], 'before the version is used')
  clock.pass(activationMs)
  const [one, other] = read()
  assert.deepEqual(one, other)
  assert.deepEqual([one!.id, one!.hashes.slice(1)], [before!.id, before!.hashes])
  assert.match(one!.hashes[0], /^00000002[0-9a-f]{32}$/)
  await assert.rejects(retireKey(desk, 'fingerprint', 1n), /key in use/)
  clock.pass(25 * 3_600_000)
  await retireKey(desk, 'fingerprint', 1n)
  await Promise.all(rings.map((ring) => ring.refresh()))
  const after = { id: before!.id, hashes: one!.hashes.slice(0, 1) }
  assert.deepEqual(read(), [after, after])
})

test('a version of garbage keeps no process from rotations, and none from starting before it is in use', async () => {
  const { clock, desk, rings } = await openRings()
  const garbage = statement<object>(`insert into key_version (purpose, version, wrapped, kek, created_at, active_at)
    values ($1, $2, '\\x00', 'abc', $3, $4)`)
  const at = (ms: number) => new Date(ms).toISOString()
  const inAnHour = clock.now() + 3_600_000
  for (const purpose of ['pan', 'control']) await desk.pool.run(garbage, [purpose, 2n, at(clock.now()), at(inAnHour)])
  await rotateKeyOf(desk, kek, 'digest')
  await Promise.all(rings.map((ring) => ring.refresh()))
  const started = await openKeyRing(desk.pool, kek, clock, systemRandom)
  clock.pass(activationMs)
  for (const ring of [...rings, started])
    assert.deepEqual([ring.current('digest').version, ring.current('pan').version, ring.version('pan', 2n)], [2n, 1n, undefined])
  clock.pass(7 * dayMs)
  // It is in use by now: who runs goes on around it, and who starts is refused.
  await Promise.all(rings.map((ring) => ring.turn()))
  clock.pass(activationMs)
  for (const ring of rings) assert.deepEqual([ring.current('pan').version, ring.current('control').version], [3n, 1n])
  await assert.rejects(openKeyRing(desk.pool, kek, clock, systemRandom), WrongKek)
})
