import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { signatureHolds } from '../../../src/merchant/oauth.ts'
import { watchRegistry } from '../../../src/merchant/live.ts'
import { registryReads } from '../../../src/merchant/rows.ts'
import { addMerchantKey } from '../../../src/operator/configuration/merchant-key-rows.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from './cli-run.ts'

// Public keys of merchants by the command line, and what a running process knows of them.

const world = await openWorld()
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 8, use: 'search', log }))
const kek = secret(Buffer.from(readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8'), 'base64'))
const ring = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
const registry = closing(await watchRegistry(registryReads(pool, ring), systemClock, log, () => {}))

const { tell, json, refuse } = cliOf(() => world)

/** A new merchant, of a name that no earlier file of this world has. */
async function added(name: string): Promise<string> {
  const login = `${name}-${randomBytes(3).toString('hex')}`
  await json('merchant', 'add', '--login', login)
  return login
}

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

test('an added key signs within seconds beside the others, a retired one no longer, and the trail has each change', async () => {
  const login = await added('signing')
  const key = (...args: string[]) => ['merchant', 'key', ...args]
  assert.deepEqual(await json(...key('list', login)), { login, keys: [] })
  assert.match(await tell(key('list', login)), /No public keys/)
  const first = await json<Key>(...key('add', login, '--file', fileOf('first.pem', pemOf(made.publicKey, 'pkcs1'))))
  assert.deepEqual([first.key_no, first.name, first.bits, first.retired_at], [1, 'key 1', 2048, null])
  assert.ok(await believes(login, made.privateKey, true))
  const told = await tell(key('add', login, '--name', 'second centre'), pemOf(next.publicKey, 'spki'))
  assert.match(told, /Number +2\n.*Name +second centre\n.*Type +RSA, 3072 bits\n.*SHA-256 +[0-9a-f]{64}/)
  assert.ok(await believes(login, next.privateKey, true))
  assert.ok(await believes(login, made.privateKey, true))
  assert.ok((await json<Key>(...key('retire', login, '1'))).retired_at)
  assert.ok(!(await believes(login, made.privateKey, false)))
  assert.ok(await believes(login, next.privateKey, true))
  const { keys } = await json<{ keys: Key[] }>(...key('list', login))
  assert.deepEqual(
    keys.map((one) => [one.key_no, one.name, one.retired_at === null]),
    [
      [1, 'key 1', false],
      [2, 'second centre', true],
    ],
  )
  const lines = /1 +key 1 +RSA +2048 +retired .*\n.*2 +second centre +RSA +3072 +on /
  assert.match(await tell(key('list', login)), lines)
  assert.match(await tell(['merchant', 'show', login]), /Public keys +2 \(second centre\)\n/)
  assert.match(await tell(key('retire', login, '2')), /no RSA key left/)
  type Entry = { action: string; details: { key_no?: number; sha256?: string } }
  const { entries } = await json<{ entries: Entry[] }>('audit', 'list', '--about', `merchant ${login}`)
  const changes = entries.filter(({ action }) => action.startsWith('merchant key'))
  assert.deepEqual(
    changes.map(({ action, details }) => [action, details.key_no, details.sha256]),
    [
      ['merchant key retire', 2, keys[1]!.sha256],
      ['merchant key retire', 1, first.sha256],
      ['merchant key add', 2, keys[1]!.sha256],
      ['merchant key add', 1, first.sha256],
    ],
  )
})

test('a key is registered once with a merchant, never again once it was retired, and with another merchant at will', async () => {
  const [twice, neighbour] = [await added('twice'), await added('neighbour')]
  const file = fileOf('twice.pem', pemOf(made.publicKey, 'spki'))
  const again = ['merchant', 'key', 'add', twice, '--file', fileOf('twice-pkcs1.pem', pemOf(made.publicKey, 'pkcs1'))]
  const retire = (no: string) => ['merchant', 'key', 'retire', twice, no]
  for (const login of [twice, neighbour]) await json('merchant', 'key', 'add', login, '--file', file)
  assert.match(await refuse(1, ...again), new RegExp(`already key 1 of ${twice}`))
  await json(...retire('1'))
  assert.match(await refuse(1, ...again), /was retired.*make a new pair/)
  assert.match(await refuse(1, ...retire('1')), /retired already/)
  assert.match(await refuse(1, ...retire('2')), /no key 2/)
  assert.match(await refuse(1, 'merchant', 'key', 'add', 'nobody', '--file', file), /no merchant nobody/)
  assert.ok(await believes(neighbour, made.privateKey, true))
})

test('keys of one merchant that are added together all get distinct numbers', async () => {
  const login = await added('busy')
  // Processes would start one after the other, and seldom meet.
  const desk = { pool, clock: systemClock, random: systemRandom, who: 'tests', action: 'a test' }
  const pairs = Array.from({ length: 6 }, () => generateKeyPairSync('rsa', { modulusLength: 2048 }))
  await Promise.all(pairs.map(({ publicKey }) => addMerchantKey(desk, login, publicKey)))
  const { keys } = await json<{ keys: Key[] }>('merchant', 'key', 'list', login)
  assert.deepEqual(
    keys.map((key) => key.key_no),
    [1, 2, 3, 4, 5, 6],
  )
})

test('a certificate serves for its key, and what is no usable key is refused', async () => {
  const login = await added('certified')
  const certificate = join(world.directory, 'certificates', 'pares-visa-root.pem')
  const { bits } = await json<Key>('merchant', 'key', 'add', login, '--file', certificate)
  assert.equal(bits, new X509Certificate(readFileSync(certificate)).publicKey.asymmetricKeyDetails?.modulusLength)
  const add = (file: string) => refuse(2, 'merchant', 'key', 'add', login, '--file', file)
  assert.match(await add(join(world.directory, 'certificates', 'acs.pem')), /a key for ec/)
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  assert.match(await add(fileOf('small.pem', pemOf(small.publicKey, 'spki'))), /1024 bits/)
  assert.match(await add(fileOf('large.pem', 'x'.repeat(70_000))), /too large/)
  assert.match(await add('/nowhere/key.pem'), /cannot be read.*ENOENT/)
  assert.match(await add(world.directory), /cannot be read/)
  assert.match(await refuse(2, 'merchant', 'key', 'add', login), /not PEM/)
})

test('a private key is refused with a warning, and nothing of it is stored or printed', async () => {
  const text = pemOf(made.privateKey, 'pkcs1')
  const file = fileOf('private.pem', text)
  const said = await refuse(2, 'merchant', 'key', 'add', 'sandbox', '--file', file)
  assert.match(said, /Do not give it to anyone, not even to us/)
  const piped = await run({ TOLLGATE_DIR: world.directory }, ['merchant', 'key', 'add', 'sandbox'], text)
  assert.equal(piped.code, 2)
  for (const line of text.split('\n').slice(1, -2)) assert.ok(!(said + piped.err + piped.out).includes(line))
})

test('the help of the keys says how a pair is made', async () => {
  for (const verb of [[], ['add']]) {
    const help = await tell(['merchant', 'key', ...verb, '--help'])
    assert.match(help, /openssl genrsa .*\n.*openssl genpkey -algorithm ed25519 .*\n.*openssl pkey .*-pubout/)
    assert.match(help, /\nExamples\n {2}npx tollgate merchant key add/)
  }
  for (const verb of ['list', 'retire']) assert.match(await tell(['merchant', 'key', verb, '--help']), /\nExamples\n/)
})
