import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { readPublicKey } from '../../../src/operator/configuration/public-key.ts'

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const text = (key: KeyObject, type: 'spki' | 'pkcs1' | 'pkcs8') => key.export({ type, format: 'pem' }).toString()
const spki = text(pair.publicKey, 'spki')
const pkcs1 = text(pair.publicKey, 'pkcs1')

test('a public key in either container, with text around it or other line ends, is the same key', () => {
  for (const given of [spki, pkcs1, `of the shop\n${spki}`, spki.replaceAll('\n', '\r\n'), spki.trim()]) {
    const key = readPublicKey(given)
    assert.ok(typeof key !== 'string', 'it is refused')
    assert.ok(key.equals(pair.publicKey))
  }
})

const weak = (options: { modulusLength: number; publicExponent?: number }) =>
  text(generateKeyPairSync('rsa', options).publicKey, 'spki')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })

test('an Ed25519 key is accepted unchanged', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = readPublicKey(text(publicKey, 'spki'))
  assert.ok(typeof key !== 'string' && key.asymmetricKeyType === 'ed25519')
  const refused = readPublicKey(text(privateKey, 'pkcs8'))
  assert.ok(typeof refused === 'string')
  assert.match(refused, /Do not give it to anyone/)
})

test('a key of another kind, too small or damaged, and a file with several keys, are refused with the reason', () => {
  const cases: [string, RegExp][] = [
    ['', /not PEM/],
    ['ssh-rsa AAAAB3NzaC1yc2E', /not PEM/],
    [spki + pkcs1, /more than one key/],
    [weak({ modulusLength: 1024 }), /1024 bits, and at least 2048/],
    [weak({ modulusLength: 2047 }), /2047 bits/],
    [weak({ modulusLength: 2048, publicExponent: 3 }), /exponent is 3/],
    [text(ec.publicKey, 'spki'), /a key for ec/],
    [text(pss.publicKey, 'spki'), /a key for rsa-pss/],
    [spki.replace('MIIB', 'MIIC'), /damaged/],
    [spki.slice(0, 200), /damaged/],
    ['-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----', /CERTIFICATE REQUEST/],
  ]
  for (const [given, why] of cases) {
    const complaint = readPublicKey(given)
    assert.ok(typeof complaint === 'string', `taken: ${given}`)
    assert.match(complaint, why)
  }
})

test('a private key is refused in any container, with the warning to keep it secret', () => {
  const locked = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'word' } as const
  const given = [
    text(pair.privateKey, 'pkcs8'),
    text(pair.privateKey, 'pkcs1'),
    pair.privateKey.export(locked).toString(),
    text(ec.privateKey, 'pkcs8'),
    `${spki}${text(pair.privateKey, 'pkcs1')}`,
  ]
  for (const one of given) {
    const complaint = readPublicKey(one)
    assert.ok(typeof complaint === 'string')
    assert.match(complaint, /Do not give it to anyone, not even to us/)
  }
})
