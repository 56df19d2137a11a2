import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { signatureHolds } from '../../../src/merchant/oauth.ts'
import { watchRegistry } from '../../../src/merchant/live.ts'
import { registryReads } from '../../../src/merchant/rows.ts'
import { addMerchantKey } from '../../../src/operator/configuration/merchant-key-rows.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, run, words } from './cli-run.ts'

// Public keys of merchants by the command line, the sandbox's own pair, and what a running process
// knows of both.

const world = await openWorld({ own: true })
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 8, use: 'search', log }))
const kek = secret(Buffer.from(readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8'), 'base64'))
const ring = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
const registry = closing(await watchRegistry(registryReads(pool, ring), systemClock, log, () => {}))

const { tell, json, refuse } = cliOf(() => world)

interface Key {
  key_no: number
  name: string
  bits: number
  sha256: string
  created_at: string
  retired_at: string | null
}

const pemOf = (key: KeyObject, type: 'spki' | 'pkcs1' | 'pkcs8') => key.export({ type, format: 'pem' }).toString()
const made = generateKeyPairSync('rsa', { modulusLength: 2048 })
const next = generateKeyPairSync('rsa', { modulusLength: 3072 })
const fileOf = (name: string, text: string) => {
  const file = join(world.directory, name)
  writeFileSync(file, text)
  return file
}

/** Whether a running process accepts what the key signed, asked until the answer is as expected. */
const believes = (login: string, key: KeyObject, expected: boolean) =>
  until(
    () => {
      const signature = sign('sha256', Buffer.from('text'), key).toString('base64')
      return Promise.resolve(signatureHolds(['text'], signature, registry.current().merchantByLogin(login)?.publicKeys ?? []))
    },
    (holds) => holds === expected,
  )

test('an added key signs within seconds beside the others, and a retired key signs no longer', async () => {
  await json('merchant', 'add', '--login', 'signing')
  assert.deepEqual(await json('merchant', 'key', 'list', 'signing'), { login: 'signing', keys: [] })
  assert.match(await tell(['merchant', 'key', 'list', 'signing']), /No public keys/)
  const first = await json<Key>(...words`merchant key add signing --file ${fileOf('first.pem', pemOf(made.publicKey, 'pkcs1'))}`)
  assert.deepEqual([first.key_no, first.name, first.bits, first.retired_at], [1, 'key 1', 2048, null])
  assert.ok(await believes('signing', made.privateKey, true))
  const told = await tell(['merchant', 'key', 'add', 'signing', '--name', 'second centre'], pemOf(next.publicKey, 'spki'))
  assert.match(told, /Number +2\n.*Name +second centre\n.*Type +RSA, 3072 bits\n.*SHA-256 +[0-9a-f]{64}/)
  assert.ok(await believes('signing', next.privateKey, true))
  assert.ok(await believes('signing', made.privateKey, true))
  assert.ok((await json<Key>('merchant', 'key', 'retire', 'signing', '1')).retired_at)
  assert.ok(!(await believes('signing', made.privateKey, false)))
  assert.ok(await believes('signing', next.privateKey, true))
  const { keys } = await json<{ keys: Key[] }>('merchant', 'key', 'list', 'signing')
  assert.deepEqual(
    keys.map((key) => [key.key_no, key.name, key.retired_at === null]),
    [
      [1, 'key 1', false],
      [2, 'second centre', true],
    ],
  )
  assert.match(
    await tell(['merchant', 'key', 'list', 'signing']),
    /1 +key 1 +RSA +2048 +retired .*\n.*2 +second centre +RSA +3072 +on /,
  )
  assert.match(await tell(['merchant', 'show', 'signing']), /Public keys +2 \(second centre\)\n/)
  assert.match(await tell(['merchant', 'key', 'retire', 'signing', '2']), /no RSA key left/)
})

test('a key is registered once with a merchant, never again once it was retired, and with another merchant at will', async () => {
  for (const login of ['twice', 'neighbour']) await json('merchant', 'add', '--login', login)
  const file = fileOf('twice.pem', pemOf(made.publicKey, 'spki'))
  const sameKey = fileOf('twice-pkcs1.pem', pemOf(made.publicKey, 'pkcs1'))
  await json('merchant', 'key', 'add', 'twice', '--file', file)
  await json('merchant', 'key', 'add', 'neighbour', '--file', file)
  assert.match(await refuse(1, 'merchant', 'key', 'add', 'twice', '--file', sameKey), /key 1 of twice already/)
  await json('merchant', 'key', 'retire', 'twice', '1')
  assert.match(await refuse(1, 'merchant', 'key', 'add', 'twice', '--file', sameKey), /was retired.*make a new pair/)
  assert.match(await refuse(1, 'merchant', 'key', 'retire', 'twice', '1'), /retired already/)
  assert.match(await refuse(1, 'merchant', 'key', 'retire', 'twice', '2'), /no key 2/)
  assert.match(await refuse(1, 'merchant', 'key', 'add', 'nobody', '--file', file), /no merchant nobody/)
  assert.ok(await believes('neighbour', made.privateKey, true))
})

test('keys of one merchant that are added at once all have numbers of their own', async () => {
  await json('merchant', 'add', '--login', 'busy')
  // Processes would start one after the other, and seldom meet.
  const desk = { pool, clock: systemClock, random: systemRandom, who: 'tests' }
  const pairs = Array.from({ length: 6 }, () => generateKeyPairSync('rsa', { modulusLength: 2048 }))
  await Promise.all(pairs.map(({ publicKey }) => addMerchantKey(desk, 'busy', publicKey)))
  const { keys } = await json<{ keys: Key[] }>('merchant', 'key', 'list', 'busy')
  assert.deepEqual(
    keys.map((key) => key.key_no),
    [1, 2, 3, 4, 5, 6],
  )
})

test('a certificate serves for its key, and what is no usable key is refused', async () => {
  await json('merchant', 'add', '--login', 'certified')
  const certificate = join(world.directory, 'certificates', 'pares-visa-root.pem')
  const added = await json<Key>('merchant', 'key', 'add', 'certified', '--file', certificate)
  assert.equal(added.bits, new X509Certificate(readFileSync(certificate)).publicKey.asymmetricKeyDetails?.modulusLength)
  const add = (file: string) => refuse(2, 'merchant', 'key', 'add', 'certified', '--file', file)
  assert.match(await add(join(world.directory, 'certificates', 'acs.pem')), /a key for ec/)
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  assert.match(await add(fileOf('small.pem', pemOf(small.publicKey, 'spki'))), /1024 bits/)
  assert.match(await add(fileOf('large.pem', 'x'.repeat(70_000))), /too large/)
  assert.match(await add('/nowhere/key.pem'), /cannot be read.*ENOENT/)
  assert.match(await add(world.directory), /cannot be read/)
  assert.match(await refuse(2, 'merchant', 'key', 'add', 'certified'), /not PEM/)
})

test('a private key is refused with a warning, and nothing of it is stored or printed', async () => {
  const text = pemOf(made.privateKey, 'pkcs1')
  const file = fileOf('private.pem', text)
  const said = await refuse(2, 'merchant', 'key', 'add', 'sandbox', '--file', file)
  assert.match(said, /must not be given to anybody, and not to us/)
  const piped = await run({ TOLLGATE_DIR: world.directory }, ['merchant', 'key', 'add', 'sandbox'], text)
  assert.equal(piped.code, 2)
  for (const line of text.split('\n').slice(1, -2)) assert.ok(!(said + piped.err + piped.out).includes(line))
})

test('every change of keys is in the audit trail with the fingerprint', async () => {
  await json('merchant', 'add', '--login', 'key-audit')
  const added = await json<Key>('merchant', 'key', 'add', 'key-audit', '--file', fileOf('a.pem', pemOf(made.publicKey, 'spki')))
  await json('merchant', 'key', 'retire', 'key-audit', '1')
  const { entries } = await json<{ entries: { action: string; details: { key_no: number; sha256: string } }[] }>(
    'audit',
    'list',
    '--about',
    'merchant key-audit',
  )
  assert.deepEqual(
    entries.slice(0, 2).map(({ action, details }) => [action, details.key_no, details.sha256]),
    [
      ['merchant key retire', 1, added.sha256],
      ['merchant key add', 1, added.sha256],
    ],
  )
})

test('the help of the keys says how a pair is made', async () => {
  for (const verb of [[], ['add']]) {
    const help = await tell(['merchant', 'key', ...verb, '--help'])
    assert.match(help, /openssl genrsa .*\n.*openssl genpkey -algorithm ed25519 .*\n.*openssl pkey .*-pubout/)
    assert.match(help, /\nExamples\n {2}npx tollgate merchant key add/)
  }
  for (const verb of ['list', 'retire']) assert.match(await tell(['merchant', 'key', verb, '--help']), /\nExamples\n/)
})

interface SandboxFile {
  merchant: { oauth_private_key_file: string }
}
const keyFile = () =>
  (JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as SandboxFile).merchant.oauth_private_key_file
const ownKey = () => createPrivateKey(readFileSync(keyFile(), 'utf8'))
const fingerprints = async () => (await json<{ keys: Key[] }>('merchant', 'key', 'list', 'sandbox')).keys.map((key) => key.sha256)

test('the sandbox has a PKCS#1 pair of its own in a file that only its user reads, and its merchant signs with it', async () => {
  assert.ok(isAbsolute(keyFile()))
  assert.equal(keyFile(), join(world.directory, 'keys', 'oauth-private.pem'))
  assert.equal(statSync(keyFile()).mode & 0o777, 0o600)
  assert.match(readFileSync(keyFile(), 'utf8'), /^-----BEGIN RSA PRIVATE KEY-----\n/)
  assert.equal(createPublicKey(ownKey()).asymmetricKeyDetails?.modulusLength, 2048)
  assert.ok(await believes('sandbox', ownKey(), true))
  assert.ok(!(await believes('sandbox', made.privateKey, false)))
})

test('the pair is the same after a restart, and a sandbox of an older version gains one', async () => {
  const first = await fingerprints()
  const text = readFileSync(keyFile(), 'utf8')
  await world.crash()
  assert.deepEqual([await fingerprints(), readFileSync(keyFile(), 'utf8')], [first, text])
  await world.crash(async () => {
    await pool.run(
      statement(`delete from merchant_key where merchant_id = (select merchant_id from merchant where login = 'sandbox')`),
    )
    rmSync(keyFile())
  })
  const gained = await fingerprints()
  assert.equal(gained.length, 1)
  assert.notDeepEqual(gained, first)
  assert.ok(await believes('sandbox', ownKey(), true))
})
