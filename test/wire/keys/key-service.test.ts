import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startKeyService, type KeyService } from '../../../simulators/key-service/server.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { listKeys, rewrapKeys, rotateKeyOf } from '../../../src/operator/keys/versions.ts'
import { fixedKek, kekId, WrongKek } from '../../../src/keys/encryption.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { keyServiceKek, KeyServiceFailed } from '../../../src/keys/service.ts'
import { keyServiceHours } from '../../../src/keys/service-hours.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { run } from '../operator/cli-run.ts'

// The key-encryption key in a key service: a simulated one, asked over HTTP.

const log = openLog({ level: 'fatal', destination: process.stderr })
const local = secret(Buffer.from(Array.from({ length: 32 }, (_, i) => i)))
const folder = openDirectory('key-service')
const tokenFile = join(folder, 'token')

const service = closing(await startKeyService({ random: systemRandom }))
service.rotate('tollgate')
writeFileSync(tokenFile, `${service.token}\n`, { mode: 0o600 })

const settingsOf = ({ url, token }: Pick<KeyService, 'url' | 'token'>, timeoutMs = 20_000) => ({
  url,
  key: 'tollgate',
  token: () => secret(token),
  timeoutMs,
})
const byService = keyServiceKek(settingsOf(service), fixedKek(local, systemRandom))

async function openInstallation() {
  const database = closing(await migratedDatabase())
  const pool = closing(openPool({ url: database.url, connections: 4, use: 'oltp', log }))
  const desk = {
    pool,
    cells: async () => [{ cellNo: 0, pool }],
    clock: systemClock,
    random: systemRandom,
    who: 'a test',
    action: 'a test',
  }
  const wrappers = async () => [...new Set((await listKeys(desk)).map(({ kek }) => kek))]
  const ring = (kek = byService) => openKeyRing(pool, kek, systemClock, systemRandom)
  return { database, pool, desk, wrappers, ring }
}
const { database, pool, desk, wrappers, ring } = await openInstallation()

test('keys that a file wraps are brought under the service, and then the file opens nothing', async () => {
  const before = await ring(fixedKek(local, systemRandom))
  assert.deepEqual(await wrappers(), [kekId(local)])
  const { version, key } = before.current('pan')
  assert.equal(await rewrapKeys(desk, byService), 7)
  assert.deepEqual(await wrappers(), ['transit/tollgate/v1'])
  assert.deepEqual((await ring()).version('pan', version)?.reveal(), key.reveal())
  await assert.rejects(ring(fixedKek(local, systemRandom)), WrongKek)
  assert.equal(await rewrapKeys(desk, byService), 0, 'nothing is under another one')
})

test('after the service replaced its key, rewrap brings the keys under the new version', async () => {
  service.rotate('tollgate')
  assert.equal(await rewrapKeys(desk, byService), 7)
  assert.deepEqual(await wrappers(), ['transit/tollgate/v2'])
})

test('a data key opens under its own name alone', async () => {
  const wrapped = await byService.wrap(Buffer.alloc(32, 7), 'key:pan:1')
  assert.deepEqual(await byService.unwrap(wrapped, 'key:pan:1'), Buffer.alloc(32, 7))
  await assert.rejects(byService.unwrap(wrapped, 'key:control:1'), WrongKek)
})

test('the service is never asked while rows are locked', async () => {
  const locks = statement<{ n: bigint }>(
    // Every copy of a database has the table under one number; autovacuum may clean it at any time.
    `select count(*) as n from pg_locks where relation = 'key_version'::regclass
     and database = (select oid from pg_database where datname = current_database())
     and mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock')`,
  )
  const seen: bigint[] = []
  service.before = async () => void seen.push((await pool.run(locks))[0]!.n)
  await rotateKeyOf(desk, byService, 'control')
  service.rotate('tollgate')
  await rewrapKeys(desk, byService)
  service.before = () => undefined
  assert.ok(seen.length > 10)
  assert.ok(seen.every((n) => n === 0n))
})

test('while the service is away a ring goes on with what it has, and reads new versions when it is back', async () => {
  const running = await ring()
  const { version } = running.current('digest')
  await rotateKeyOf(desk, byService, 'digest')
  const { token } = service
  service.token = 'another'
  service.before = () => undefined
  await assert.rejects(running.refresh(), KeyServiceFailed)
  assert.ok(running.current('digest').key && running.version('digest', version))
  assert.equal(running.version('digest', version + 1n), undefined)
  service.token = token
  await running.refresh()
  assert.ok(running.version('digest', version + 1n))
})

test('a ring does not ask the service again for keys it has', async () => {
  const running = await ring()
  service.calls.length = 0
  await running.refresh()
  await running.turn()
  running.current('pan')
  assert.deepEqual(service.calls, [])
})

test('a service that is away, silent, or refuses is said at the start', async () => {
  const gone = await startKeyService({ random: systemRandom })
  await gone.stop()
  const silent = closing(await startKeyService({ random: systemRandom }))
  silent.before = () => new Promise(() => undefined)
  const foreign = { url: service.url, token: 'foreign' }
  const other = closing(await startKeyService({ random: systemRandom }))
  // oxfmt-ignore
  const cases: [string, Parameters<typeof settingsOf>, RegExp][] = [
    ['away',             [gone],         /^the key service at http:\/\/127\.0\.0\.1:\d+ does not answer: /],
    ['silent',           [silent, 200],  /does not answer: Headers Timeout Error/],
    ['a foreign token',  [foreign],      /refuses POST transit\/decrypt\/tollgate with 403: its token is not allowed to/],
    ['without the key',  [other],        /with 404: it has no such key/],
  ]
  for (const [name, settings, message] of cases)
    await assert.rejects(ring(keyServiceKek(settingsOf(...settings), fixedKek(local, systemRandom))), { message }, name)
  other.rotate('tollgate')
  await assert.rejects(ring(keyServiceKek(settingsOf(other), fixedKek(local, systemRandom))), WrongKek)
})

test('commands and serve take the service from the environment, and end with 1 when it is away', async () => {
  const env = { DATABASE_URL: database.url, TOLLGATE_KMS_URL: service.url, TOLLGATE_KMS_TOKEN_FILE: tokenFile }
  const rewrapped = await run(env, ['keys', 'rewrap', '--json'])
  assert.equal(rewrapped.code, 0, rewrapped.err)
  const gone = await startKeyService({ random: systemRandom })
  await gone.stop()
  const away = { ...env, TOLLGATE_KMS_URL: gone.url }
  for (const args of [['keys', 'rewrap'], ['keys', 'rotate', 'pan'], ['serve']]) {
    const { code, err } = await run({ ...away, ALLOW_DATABASE_OWNER: 'on' }, args)
    assert.equal(code, 1, args.join(' '))
    assert.match(err, /^(The|the) key service at http:\/\/127\.0\.0\.1:\d+ does not answer: /, args.join(' '))
  }
  const doctor = await run(away, ['doctor'])
  assert.match(doctor.out, /problem +keys +the key service at .* does not answer/)
})

test('machines share the hourly keys of CVV2 values by the service, which deletes them after 20 hours', async () => {
  const hourMs = 3_600_000
  let now = Date.parse('2026-02-03T04:05:06Z')
  const machine = () => keyServiceHours(settingsOf(service), { now: () => now })
  const named = () => service.keys().filter((name) => name.includes('-cvv2-')).length
  const [one, other] = [machine(), machine()]
  await Promise.all([one.turn(), other.turn()])
  const first = one.current()
  assert.deepEqual(other.version(first.version)?.reveal(), first.key.reveal())
  assert.equal(first.key.reveal().length, 32)

  now += hourMs
  assert.notEqual(one.current().version, first.version)
  await one.turn()
  const late = machine()
  await late.turn()
  assert.deepEqual(late.version(first.version)?.reveal(), first.key.reveal(), 'a machine that starts later')
  service.calls.length = 0
  assert.ok(one.current() && late.current())
  assert.deepEqual(service.calls, [], 'a sale does not call the service')

  const { token } = service
  service.token = 'another'
  now += 3 * hourMs
  await assert.rejects(one.turn(), KeyServiceFailed)
  const meanwhile = one.current()
  assert.ok(one.version(meanwhile.version), 'the last key goes on sealing')
  service.token = token
  await one.turn()
  assert.notEqual(one.current().version, meanwhile.version)

  now += 17 * hourMs
  await Promise.all([one, other, late].map((each) => each.turn()))
  for (const each of [one, other, late]) assert.equal(each.version(first.version), undefined)
  const left = named()
  now += 40 * hourMs
  await one.turn()
  assert.ok(left > 2 && named() <= 3, `${left}, then ${named()}`)
})
