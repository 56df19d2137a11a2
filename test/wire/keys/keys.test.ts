import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { fixedKek, readKeks } from '../../../src/keys/encryption.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { cardInfo, rebillOrder, registered } from '../../conformance/cards/card.ts'
import { accepted, newOrderId, order, postSale, refused, sale, settled, signedSale } from '../../conformance/requests/client.ts'
import { approved, booked, followed, keyed, part } from '../../conformance/operations/operations.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../operator/cli-run.ts'

// Keys replaced while the gateway runs: what was sealed opens, and what is repeated is recognised.

const world = await openWorld({ own: true })
const { tell, json, refuse } = cliOf(() => world)
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 2, use: 'search', log }))
const kekFile = join(world.directory, 'keys', 'master.key')

interface Key {
  key: string
  version: string
  state: 'coming' | 'current' | 'older'
  key_encryption_key: string | null
}
const keys = async () => (await json<{ keys: Key[] }>('keys', 'list')).keys
const current = async (name: string) => (await keys()).find(({ key, state }) => key === name && state === 'current')!.version

async function rotate(...names: string[]): Promise<void> {
  for (const name of names) await tell(['keys', 'rotate', name])
  await until(keys, (all) => all.every(({ state }) => state !== 'coming'))
}

const versionsOf = async (table: string, column: string) =>
  (
    await pool.run(
      statement<{ v: bigint }>(`select distinct ${column} as v from ${table} where ${column} is not null order by 1`),
    )
  ).map(({ v }) => v)

test('a sale, a keyed return, a limit and a card reference are the same after every key was rotated', async () => {
  const fields = signedSale(world)
  const made = accepted(await postSale(world, fields))
  await settled(world, made)
  const limited = await limitedEndpoint()
  const counted = () => sale(world, { email: 'limited@example.com' }, { path: limited })
  assert.equal((await settled(world, accepted(await counted()))).status, 'approved')
  const returned = await approved(world, 'sale')
  const key = keyed(randomUUID())
  await followed(world, 'return', returned, part('1.00'), key)
  const { ref } = await registered(world)
  const { 'card-hash-id': hash, 'unq-card-ref-id': unique } = await cardInfo(world, ref)
  const before = await current('digest')

  await rotate('pan', 'control', 'digest', 'fingerprint', 'receipt')

  assert.ok(BigInt(await current('digest')) > BigInt(before))
  assert.equal(accepted(await postSale(world, fields)).orderid, made.orderid)
  await followed(world, 'return', returned, part('1.00'), key)
  assert.equal((await booked(world, returned)).length, 2)
  assert.equal((await settled(world, accepted(await counted()))).status, 'filtered')
  const info = await cardInfo(world, ref)
  assert.deepEqual([info['card-hash-id'], info['unq-card-ref-id']], [hash, unique])
  assert.equal((await settled(world, await rebillOrder(world, ref))).status, 'approved')
  refused(await sale(world, { client_orderid: fields.client_orderid!, amount: '9.99' }), 11)
})

/** An endpoint at which an e-mail address may pay once a day. */
async function limitedEndpoint(): Promise<number> {
  const { login } = world.merchant
  const add = ['endpoint', 'add', '--merchant', login, '--currency', 'USD', '--gate', '1', '--name', newOrderId()]
  const { endpoint_id: id } = await json<{ endpoint_id: number }>(...add)
  const limit = ['--limit', '1', '--per', 'email', '--within', '24h']
  await tell(['filter', 'add', 'velocity', '--merchant', login, '--endpoint', String(id), ...limit])
  await configurationRead(world)
  return id
}

interface Resealing {
  table: string
  version: string
  ended_at: string | null
}

test('after a rotation the gateway seals every stored number again, and rewrap the control keys', async () => {
  const { ref } = await registered(world)
  const bought = await order(world)
  await settled(world, bought)
  await rotate('pan', 'control')
  const [pan, control] = [await current('pan'), await current('control')]
  const resealing = async () => (await json<{ resealing: Resealing[] }>('keys', 'list')).resealing
  await until(resealing, (all) => all.length > 0 && all.every((one) => one.version === pan && one.ended_at !== null))
  const told = await json<{ tables: { table: string; rows: number }[] }>('keys', 'rewrap', '--rest', '0', '--batch', '3')
  assert.ok(told.tables.some(({ table, rows }) => table === 'merchant' && rows > 0))
  assert.deepEqual(await versionsOf('order_facts', 'pan_key'), [BigInt(pan)])
  assert.deepEqual(await versionsOf('card_reference', 'pan_key'), [BigInt(pan)])
  assert.deepEqual(await versionsOf('merchant', 'control_key_version'), [BigInt(control)])
  for (const column of ['secrets_key', 'mac_key_version']) assert.deepEqual(await versionsOf('gate', column), [BigInt(control)])
  assert.equal((await settled(world, await rebillOrder(world, ref))).status, 'approved')
  const again = await json<{ tables: { rows: number }[] }>('keys', 'rewrap')
  assert.ok(again.tables.every(({ rows }) => rows === 0))
  // The new endpoint has the gateway read all keys of merchants and gates again.
  const path = await limitedEndpoint()
  assert.equal((await settled(world, accepted(await sale(world, {}, { path })))).status, 'approved')
})

test('the key-encryption key is replaced by its file, without a restart', async () => {
  const [old] = readKeks(kekFile, readFileSync(kekFile, 'utf8'))
  const fresh = randomBytes(32).toString('base64')
  writeFileSync(kekFile, `# the new one\n${fresh}\n${old!.reveal().toString('base64')}\n`)
  await tell(['keys', 'rewrap'])
  const wrapped = new Set((await keys()).map((one) => one.key_encryption_key))
  assert.equal(wrapped.size, 1)
  writeFileSync(kekFile, `${fresh}\n`)
  await rotate('pan')
  assert.equal((await settled(world, await order(world))).status, 'approved')
  const ring = (kek: ReturnType<typeof secret<Buffer>>) =>
    openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
  await ring(secret(Buffer.from(fresh, 'base64')))
  await assert.rejects(ring(old!), /the key-encryption key does not open this database/)
})

test('a version is destroyed only when nothing needs it', async () => {
  const newest = await current('pan')
  assert.match(await refuse(1, 'keys', 'retire', 'pan', newest), /it is the newest/)
  assert.match(await refuse(1, 'keys', 'retire', 'pan', '1'), /superseded|until/)
  assert.match(await refuse(1, 'keys', 'retire', 'receipt', '1'), /published receipt ids/)
  assert.match(await refuse(1, 'keys', 'retire', 'pan', '999'), /There is no version 999/)
  await tell(['keys', 'rotate', 'control'])
  assert.match(await refuse(1, 'keys', 'rotate', 'control'), /was added already/)
})
