import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { keyComplaint, newControlKey, servesMobile } from '../../../src/operator/configuration/control-key.ts'

const projectRoot = join(import.meta.dirname, '../../../..')

test('a generated control key serves both APIs; a given one must be random', async () => {
  const made = newControlKey(systemRandom)
  assert.match(made.reveal(), /^[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/)
  assert.ok(servesMobile(made))
  assert.equal(await keyComplaint(made, 'production'), undefined)
  // oxfmt-ignore
  const keys = [
    ['7C1A5D0E-93B4-4F62-8A7D-2E60B9C4F138',   undefined,                  true],
    ['7c1a5d0e93b44f628a7d2e60b9c4f138',       undefined,                  true],
    ['qV7-x2LmPz0RfYc9TgWbNe',                 undefined,                  false],
    ['$kT}9v>Qw2!mZr8#Lp@5xB',                 undefined,                  false],
    ['7c1a5d0e93b44f628a7d2e60b9c4f13',        undefined,                  false],
    ['qV7-x2LmPz0RfYc9TgWbN',                  /at least 22 random/,       false],
    ['Password12345678',                       /at least 22 random/,       false],
    ['a-key-of-a-shop-that-came',              /weak: it is made of words/, false],
    ['MerchantControlKey2026!xyz',             /weak: it is made of words/, false],
    ['tollgate-production-control-key',        /weak: it is made of words/, false],
    ['qwertyuiopasdfghjklzxcvbnm',             /weak: it is made of words/, false],
    ['abcdefghijklmnopqrstuvwxyz',             /weak: it is made of words/, false],
    ['00000000-0000-0000-0000-000000000000',   /too few different/,        true],
    ['AAAA1111-2222-3333-4444-555555555555',   /too few different/,        true],
    ['12345678-1234-1234-1234-123456789abc',   /runs, sequences or/,       true],
    ['123456789ABCDEF0123456789ABCDEF0',       /runs, sequences or/,       true],
    ['fedcba98-7654-3210-fedc-ba9876543210',   /runs, sequences or/,       true],
    ['12345678901234567890123456789012',       /runs, sequences or/,       true],
    ['98765432-1098-7654-3210-987654321098',   /runs, sequences or/,       true],
    ['deadbeef-cafe-babe-dead-beefcafebabe',   /too few different/,        true],
    ['00112233-4455-6677-8899-aabbccddeeff',   /runs, sequences or/,       true],
    ['a1b2c3d4-e5f6-7890-abcd-ef1234567890',   /runs, sequences or/,       true],
    ['aaaabbbb-cccc-dddd-eeee-ffff00001111',   /runs, sequences or/,       true],
    ['7c1a5d0e-7c1a-5d0e-7c1a-5d0e7c1a5d0e',   /runs, sequences or/,       true],
    ['7c1a5d0e-93b4-4f62-8a7d-2e6012345678',   undefined,                  true],
    ['aBaBaBaBaBaBaBaBaBaBaBaB',               /too few different/,        false],
    ['a key with a space in',                  /no spaces/,                false],
    ['schlüssel-0123456789',                   /printable ASCII/,          false],
    ['0123456789abcdef'.repeat(9),             /at most 128/,              false],
  ] as const
  for (const [key, complaint, mobile] of keys) {
    assert.equal(servesMobile(secret(key)), mobile, key)
    const said = await keyComplaint(secret(key), 'production')
    if (complaint === undefined) assert.equal(said, undefined, key)
    else assert.match(said ?? '', complaint, key)
  }
})

test('the keys of the documents are refused outside the sandbox, in any spelling', async () => {
  const documents = [
    'docs/install.md',
    'docs/run.md',
    'docs/reference/README.md',
    'README.md',
    'client/README.md',
    'examples/README.md',
  ]
  const printed = documents.flatMap((file) => [
    ...readFileSync(join(projectRoot, file), 'utf8').matchAll(/[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/g),
  ])
  assert.ok(printed.length >= 3)
  for (const [key] of printed)
    for (const spelled of [key, key.toLowerCase(), key.replaceAll('-', '')]) {
      assert.match((await keyComplaint(secret(spelled), 'production')) ?? '', /public documents/, spelled)
      assert.equal(await keyComplaint(secret(spelled), 'sandbox'), undefined, spelled)
    }
})

test('every random UUID and every 32 random hex digits are taken', async () => {
  const hex = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('hex'))
  const seen = fc.noBias(hex)
  await fc.assert(
    fc.asyncProperty(seen, async (key) => assert.equal(await keyComplaint(secret(key), 'production'), undefined)),
    { numRuns: 1_000 },
  )
  for (let i = 0; i < 1_000; i++) {
    const made = newControlKey(systemRandom)
    assert.equal(await keyComplaint(made, 'production'), undefined, made.reveal())
  }
})
