import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openCard, sealCard, sealedCards } from '../../../src/card/vault.ts'
import { sealedWithOrders } from '../../../src/gateway/sealed-tables.ts'
import { startResealing } from '../../../src/keys/resealing.ts'
import { rotateKeyOf } from '../../../src/operator/keys/versions.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { bytea, openPool, statement } from '../../../src/storage/pool.ts'
import { firstId, resealBatch, type RowId } from '../../../src/keys/reseal.ts'
import { activationMs, openKeyRing } from '../../../src/keys/ring.ts'
import { listResealing } from '../../../src/keys/resealing-rows.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { until } from '../../harness/clock/until.ts'

// Stored cards are sealed again by the processes that serve, on a clock that only the test moves.

const log = openLog({ level: 'fatal', destination: process.stderr })
const kek = fixedKek(secret(Buffer.from(Array.from({ length: 32 }, (_, i) => i))), systemRandom)
const cards = 1_300
const pan = '4111111111111111'
const place = (orderId: bigint) => ({ merchantId: 7n, orderId })

async function openInstallation() {
  const database = closing(await migratedDatabase())
  const pool = closing(openPool({ url: database.url, connections: 4, use: 'oltp', log }))
  const clock = openHandClock(Date.parse('2026-02-03T04:05:06Z'))
  return { pool, clock, keys: await openKeyRing(pool, kek, clock, systemRandom) }
}
type Installation = Awaited<ReturnType<typeof openInstallation>>

const rotatePan = ({ pool, clock }: Pick<Installation, 'pool' | 'clock'>) =>
  rotateKeyOf(
    { pool, cells: async () => [{ cellNo: 0, pool }], clock, random: systemRandom, who: 'a test', action: 'a test' },
    kek,
    'pan',
  )

async function storeCards({ pool, keys }: Installation): Promise<void> {
  const ids = Array.from({ length: cards }, (_, i) => BigInt(i + 1))
  const sealed = ids.map((id) => sealCard({ pan: secret(pan) }, place(id), keys, systemRandom))
  await pool.run(
    statement(`insert into order_facts (merchant_id, order_id, request, card, card_hash, pan_sealed, pan_key)
      select 7, n.order_id, '{}', '{}', '', n.pan_sealed, n.pan_key
      from unnest($1::bigint[], $2::bytea[], $3::bigint[]) as n (order_id, pan_sealed, pan_key)`),
    [ids, sealed.map((one) => bytea(one.panSealed)), sealed.map((one) => one.panKey)],
  )
}

/** A process that serves, as far as the duty knows it. */
async function openProcess({ pool, keys, clock }: Installation, processId: bigint) {
  await pool.run(
    statement(`insert into heartbeat (process_id, instance, started_at, beat_at)
      values ($1::bigint, $1::bigint::text, now(), now() + interval '1 day')`),
    [processId],
  )
  let asked = 0
  const duty = startResealing({
    pool,
    keys,
    heartbeat: { processId, holding: () => true },
    judge() {
      asked++
      return Promise.resolve({ processId, silent: [] })
    },
    clock,
    random: systemRandom,
    log,
    tables: sealedWithOrders,
  })
  const die = () => pool.run(statement(`delete from heartbeat where process_id = $1`), [processId])
  return closing({ ...duty, die, asked: () => asked })
}

test('a new key for card numbers: one process at a time seals the stored ones again, and another goes on', async () => {
  const installation = await openInstallation()
  const { pool, clock, keys } = installation
  await storeCards(installation)
  const [one, other] = [await openProcess(installation, 1n), await openProcess(installation, 2n)]
  const facts = async () => (await listResealing(pool)).find(({ table }) => table === 'order_facts')!
  const after = (ms: number) => {
    clock.pass(ms)
    return facts()
  }

  await rotatePan(installation)
  // A process that asks again has ended the turn in which it asked before.
  const waiting = await until(
    () => after(activationMs),
    () => one.asked() > 1 && other.asked() > 1,
  )
  assert.deepEqual([waiting.rows, waiting.endedAt], [0, undefined], 'neither process has read the new version')
  await keys.refresh()
  const begun = await until(
    () => after(5_000),
    ({ rows }) => rows > 0,
  )
  assert.equal(begun.endedAt, undefined)
  const [first, second] = one.rows() > 0 ? [one, other] : [other, one]
  await first.stop()
  const left = await facts()
  assert.equal(first.rows(), left.rows)
  assert.ok(left.rows < cards)
  const before = second.asked()
  await until(
    () => after(5_000),
    () => second.asked() > before + 3,
  )
  assert.equal(second.rows(), 0, 'the process that has the table is alive')
  await first.die()
  const ended = await until(
    () => after(5_000),
    ({ endedAt }) => endedAt !== undefined,
  )
  assert.deepEqual([ended.rows, second.rows()], [cards, cards - left.rows], 'no card twice, and none left out')
  const sealed = await pool.run(
    statement<{ order_id: bigint; pan_sealed: Buffer; pan_key: bigint }>(`select order_id, pan_sealed, pan_key from order_facts`),
  )
  for (const { order_id: id, pan_sealed: panSealed, pan_key: panKey } of sealed) {
    assert.equal(panKey, 2n)
    assert.equal(openCard({ panSealed, panKey }, place(id), keys).pan.reveal(), pan)
  }
})

test('a card that is being changed is not waited for, and sealed again afterwards', async () => {
  const installation = await openInstallation()
  const { pool, clock, keys } = installation
  await storeCards(installation)
  await rotatePan(installation)
  clock.pass(activationMs)
  await keys.refresh()
  const seal = (after = firstId(sealedCards)) => resealBatch(pool, sealedCards, keys, systemRandom, { after, most: 2_000 })
  const connection = await pool.connect()
  await connection.command('begin')
  await connection.command('select from order_facts where order_id = 17 for update')
  const { rows, next } = await seal()
  await connection.command('rollback')
  connection.release(false)
  assert.equal(rows, cards - 1)
  assert.deepEqual(await seal(next), { rows: 1 })
})

test('rows that need nothing are passed more quickly than rows are sealed', async () => {
  const installation = await openInstallation()
  const { pool, clock, keys } = installation
  await storeCards(installation)
  await rotatePan(installation)
  await keys.refresh()
  clock.pass(activationMs)
  const batch = (after: RowId) => resealBatch(pool, sealedCards, keys, systemRandom, { after, most: 5 })
  assert.deepEqual(await batch(firstId(sealedCards)), { rows: 5, next: [7n, 5n] })
  assert.deepEqual(await batch([7n, 5n]), { rows: 5, next: [7n, 10n] })
  await pool.run(statement(`update order_facts set pan_key = 2 where order_id between 11 and 120 or order_id = 125`))
  assert.deepEqual(await batch([7n, 10n]), { rows: 0, next: [7n, 110n] })
  assert.deepEqual(await batch([7n, 110n]), { rows: 5, next: [7n, 126n] })
  assert.deepEqual(await batch([7n, BigInt(cards) - 3n]), { rows: 3 })
  assert.deepEqual(await batch([7n, BigInt(cards)]), { rows: 0 })
})
