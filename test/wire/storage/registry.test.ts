import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openBins, replaceBins } from '../../../src/card/bin-rows.ts'
import { insertEndpoint, insertMerchant, loadRegistry, touchConfig } from '../../../src/merchant/rows.ts'
import { openPool, type Pool, type Runner, type Statement } from '../../../src/storage/pool.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { configurationFacts } from '../../../src/operator/doctor/rows.ts'
import { endpointFields } from '../../../src/merchant/fields/endpoint.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })
const database = closing(await migratedDatabase())
const pool = closing(openPool({ url: database.url, connections: 3, use: 'admin', log }))
const keys = await openKeyRing(pool, fixedKek(secret(Buffer.alloc(32, 1)), systemRandom), systemClock, systemRandom)

/** Adds a merchant with an endpoint, in one commit. */
const add = (merchantId: bigint): Promise<void> =>
  transaction(pool, async (runner) => {
    const at = systemClock.now()
    const merchant = { merchantId, login: `shop${merchantId}`, name: 'Shop', controlKey: secret('a key of the merchant') }
    await insertMerchant(runner, merchant, keys, systemRandom, at)
    const endpoint = { endpointId: merchantId * 10n, merchantId, name: 'plain', enabled: true, currency: 'USD', gateIds: [] }
    await insertEndpoint(runner, { ...endpoint, settings: endpointFields.whole({}) }, at)
    await touchConfig(runner)
  })

/** A pool that runs `between` after the merchants were read, before any other statement is sent. */
function interrupted(between: () => Promise<void>): Pool {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (runner: Runner) => ({
    run<Row>(sql: Statement<Row>, values?: readonly unknown[]): Promise<Row[]> {
      const rows = last.then(() => runner.run(sql, values))
      last = rows.then(() => (/\bfrom merchant\b/.test(sql.text) ? between() : undefined))
      return rows
    },
  })
  return {
    ...pool,
    ...inTurn(pool),
    async connect() {
      const connection = await pool.connect()
      return { ...connection, ...inTurn(connection) }
    },
  }
}

test('the configuration is read as of one moment, with any additions meanwhile', async () => {
  await add(1n)
  const before = await loadRegistry(pool, keys, systemClock.now())
  const during = await loadRegistry(
    interrupted(() => add(2n)),
    keys,
    systemClock.now(),
  )
  assert.equal(during.version, before.version)
  assert.deepEqual([during.merchant(1n)?.login, during.entry(10n, false)?.pathId], ['shop1', 10n])
  assert.deepEqual([during.merchant(2n), during.entry(20n, false)], [undefined, undefined])
  const after = await loadRegistry(pool, keys, systemClock.now())
  assert.deepEqual([after.merchant(2n)?.login, after.entry(20n, false)?.pathId], ['shop2', 20n])
  assert.ok(after.version > before.version)
})

test('without a BIN table a number of a known network has an issuer, and the doctor reports the missing table', async () => {
  const bins = await openBins(pool)
  const isIssued = (pan: string) => bins.issuerOf(pan) !== undefined
  assert.deepEqual([isIssued('4111111111111111'), isIssued('9000000000000001')], [true, false])
  assert.equal((await configurationFacts(pool)).hasBins, false)
  await transaction(pool, (runner) => replaceBins(runner, [{ first: 51_000_000_000, last: 51_999_999_999, country: 'SE' }]))
  await bins.refresh()
  assert.equal(bins.issuerOf('5100000000000008')?.country, 'SE')
  assert.equal(isIssued('4111111111111111'), false)
  assert.equal((await configurationFacts(pool)).hasBins, true)
})
