import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { openNonces, type Nonces } from '../../../src/merchant/nonces.ts'
import { forgetNonces, useNonces } from '../../../src/merchant/nonce-rows.ts'
import { openPool, statement, type Pool } from '../../../src/storage/pool.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })
const { url, pool: first } = await openMigrated('oltp', 8)
const open = () => openPool({ url, connections: 8, use: 'oltp', log })
/** Each stands for a gateway process. */
const pools = [first, open()]
closing({ close: () => pools[1]!.close() })

const now = 1_700_000_000_000
const minute = 60_000
const use = async (merchantId: bigint, nonce: string, { at = now, timestamp = now, pool = pools[0]! } = {}) => {
  const [isNew] = await useNonces(pool, [{ merchantId, nonce, timestampSeconds: timestamp / 1000, now: at }])
  return isNew
}
const count = statement<{ n: bigint }>(`select count(*) as n from nonce`)

const opened = (pool: Pool): Nonces => openNonces({ use: (uses) => useNonces(pool, uses), clock: systemClock, log })

test('of fifty simultaneous requests with one nonce, at two gateways, one gets it', async () => {
  const gateways = pools.map(opened)
  const timestamp = systemClock.now() / 1000
  for (let round = 0; round < 5; round++) {
    const [nonce, other] = [randomUUID(), randomUUID()]
    const all = Array.from({ length: 50 }, (_, i) => gateways[i % 2]!.use(1n, nonce, timestamp))
    const others = Array.from({ length: 50 }, (_, i) => gateways[i % 2]!.use(1n, `${i} ${other}`, timestamp))
    assert.equal((await Promise.all(all)).filter(Boolean).length, 1)
    assert.ok((await Promise.all(others)).every(Boolean))
    assert.equal(await use(1n, nonce), false)
  }
})

test('requests that come together share a commit', async () => {
  const sizes: number[] = []
  const counted = openNonces({
    use: (uses) => {
      sizes.push(uses.length)
      return useNonces(pools[0]!, uses)
    },
    clock: systemClock,
    log,
  })
  const all = Array.from({ length: 100 }, () => counted.use(1n, randomUUID(), systemClock.now() / 1000))
  assert.ok((await Promise.all(all)).every(Boolean))
  assert.deepEqual(sizes, [100])
})

test('a nonce whose commit may be lost is not tried again', async () => {
  const pool = open()
  let tries = 0
  const broken = openNonces({
    use: async (uses) => {
      tries++
      await useNonces(pool, uses)
      throw Object.assign(new Error('the line broke after the commit'), { code: 'ECONNRESET' })
    },
    clock: systemClock,
    log,
  })
  await assert.rejects(broken.use(1n, 'lost', systemClock.now() / 1000), /line broke/)
  await pool.close()
  assert.equal(tries, 1)
})

test('a nonce is used up also for a gateway that starts later', async () => {
  assert.equal(await use(1n, 'before the restart'), true)
  await pools[1]!.close()
  pools[1] = open()
  assert.equal(await use(1n, 'before the restart', { pool: pools[1] }), false)
})

test('the same nonce of another merchant, another nonce and one in other letters are good', async () => {
  assert.equal(await use(2n, 'shared'), true)
  assert.equal(await use(3n, 'shared'), true)
  assert.equal(await use(2n, 'Shared'), true)
  assert.equal(await use(2n, 'shared '), true)
  assert.equal(await use(2n, "sha'red"), true)
})

//   signed at, from now     kept for
const spans: readonly (readonly [signedMs: number, keptMs: number])[] = [
  [0, 10 * minute],
  [-5 * minute, 10 * minute],
  [5 * minute, 15 * minute],
]

test('a nonce is kept until ten minutes after its use or its time stamp', async () => {
  for (const [signedMs, keptMs] of spans) {
    const nonce = `signed ${signedMs}`
    const again = (at: number) => use(4n, nonce, { at, timestamp: now + signedMs })
    assert.equal(await again(now), true)
    await forgetNonces(pools[0]!, now + keptMs - 1)
    assert.equal(await again(now + keptMs - 1), false, 'kept until then')
    await forgetNonces(pools[0]!, now + keptMs)
    assert.equal(await again(now + keptMs), true, 'forgotten then')
  }
})

test('until it is forgotten a nonce does not become good by time', async () => {
  assert.equal(await use(5n, 'old'), true)
  assert.equal(await use(5n, 'old', { at: now + 60 * minute, timestamp: now + 60 * minute }), false)
})

test('two gateways together remove expired nonces, and no others', async () => {
  await pools[0]!.run(statement(`truncate nonce`))
  await pools[0]!.run(
    statement(
      `insert into nonce select 6, 'n' || i, to_timestamp(${now / 1000}) + i * interval '1 ms' from generate_series(1, 12000) i`,
    ),
  )
  await Promise.all(pools.map((pool) => forgetNonces(pool, now + 11_000)))
  // Each leaves to the other the rows that it has in hand; both together forget all.
  assert.equal((await pools[0]!.run(count))[0]!.n, 1_000n)
  assert.equal(await use(6n, 'n11000'), true)
  assert.equal(await use(6n, 'n11001'), false)
})
