import assert from 'node:assert/strict'
import { createHash, createHmac, createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { signatureHeaders } from '../../../client/message-signature.ts'
import { secret } from '../../../src/base/secret.ts'
import {
  hasSignature,
  judgeSignature,
  signatureBase,
  type SignedMessage,
  type Signer,
} from '../../../src/merchant/message-signature.ts'

/** Signatures of requests, by the vectors of RFC 9421 and RFC 9530, and as the client makes. */

// RFC 9421, B.1.5 and B.2.5.
const sharedSecret = 'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=='
const published: Omit<SignedMessage, 'body'> = {
  method: 'POST',
  path: '/foo',
  headers: { host: 'Example.com', date: 'Tue, 20 Apr 2021 02:07:55 GMT', 'content-type': 'application/json' },
}

test('the base that RFC 9421 signs by HMAC in B.2.5 has the published signature', () => {
  const signed = '("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"'
  const base = signatureBase(['date', '@authority', 'content-type'], signed, published)!
  const signature = createHmac('sha256', Buffer.from(sharedSecret, 'base64')).update(base).digest('base64')
  assert.equal(signature, 'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=')
  assert.match(
    signatureBase(['@method', '@path'], signed, published)!,
    /^"@method": POST\n"@path": \/foo\n"@signature-params": \(/,
  )
  assert.equal(signatureBase(['date', 'absent'], signed, published), undefined)
})

test('the base that RFC 9421 signs by Ed25519 in B.2.6 has the published signature', () => {
  const list = ['date', '@method', '@path', '@authority', 'content-type', 'content-length']
  const signed = `(${list.map((name) => `"${name}"`).join(' ')});created=1618884473;keyid="test-key-ed25519"`
  const base = signatureBase(list, signed, { ...published, headers: { ...published.headers, 'content-length': '18' } })!
  const x = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs'
  const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
  const signature = 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=='
  assert.ok(verify(null, Buffer.from(base), publicKey, Buffer.from(signature, 'base64')))
})

const url = 'https://pay.example/gateway/api/v2/return/101?x=1'
const now = 1_700_000_000
const key = secret(Buffer.alloc(32, 5))
const signingSecret = `whsec_${key.reveal().toString('base64')}`
const [pair, older, rsa] = [
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('rsa', { modulusLength: 2048 }),
]
const signer: Signer = { keyid: 'shop', secret: key, publicKeys: [rsa.publicKey, older.publicKey, pair.publicKey] }

function made(
  body = 'a=1&b=2',
  headers: Record<string, string> = {},
  login = 'shop',
  by: string | KeyObject = signingSecret,
): SignedMessage {
  const nonce = 'n-1'
  const more = signatureHeaders({ method: 'POST', url, body, headers, login, key: by, nonce, timestampSeconds: now })
  return { method: 'POST', path: '/gateway/api/v2/return/101', headers: { ...headers, ...more }, body: Buffer.from(body) }
}
const judge = (message: SignedMessage, by: Partial<Signer> = {}) =>
  judgeSignature(message, { ...signer, ...by }, (created) => Math.abs(created - now) <= 300)

/** Signs by hand, so that each part can be another. */
function byHand(
  parts: { list?: string; parameters?: string; input?: string; header?: string; more?: Record<string, string> } = {},
): SignedMessage {
  const body = 'a=1'
  const headers = {
    'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
    ...parts.more,
  } as Record<string, string>
  const list = parts.list ?? '"@method" "@path" "content-digest"'
  const signed = `(${list})${parts.parameters ?? `;created=${now};nonce="n";keyid="shop";alg="hmac-sha256"`}`
  const target = { method: 'POST', path: '/p', headers }
  const names = [...list.matchAll(/"([^"]*)"/g)].map(([, name]) => name!)
  const base = signatureBase(names, signed, target) ?? ''
  const signature = createHmac('sha256', key.reveal()).update(base).digest('base64')
  const input = { 'signature-input': parts.input ?? `x=${signed}`, signature: parts.header ?? `x=:${signature}:` }
  return { ...target, headers: { ...headers, ...input }, body: Buffer.from(body) }
}

test('a signature of the client is valid, also with an empty body and an Idempotency-Key', () => {
  for (const message of [made(), made(''), made('x=%C3%BC', { 'idempotency-key': 'k-1' })]) {
    assert.ok(hasSignature(message))
    assert.deepEqual(judge(message), { is: 'signed', nonce: 'n-1', createdSeconds: now })
  }
  assert.equal(judge(byHand()).is, 'signed')
  assert.equal(judge(byHand({ list: '"content-digest" "@path" "x-shop" "@method"', more: { 'x-shop': ' 7 ' } })).is, 'signed')
  // As RFC 9530 publishes it.
  const hello = made('{"hello": "world"}\n').headers['content-digest']
  assert.equal(hello, 'sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:')
})

test('any changed part makes it wrong', () => {
  const good = made('a=1&b=2', { 'idempotency-key': 'k-1' })
  const { signature, 'signature-input': input, ...unsigned } = good.headers
  assert.ok(!hasSignature({ headers: unsigned }))
  const parameters = (changes: Record<string, string>) =>
    Object.values({
      created: `;created=${now}`,
      nonce: ';nonce="n"',
      keyid: ';keyid="shop"',
      alg: ';alg="hmac-sha256"',
      ...changes,
    }).join('')
  // oxfmt-ignore
  const cases: [why: RegExp, message: SignedMessage][] = [
    [/match/,            { ...good, method: 'PUT' }],
    [/match/,            { ...good, path: '/gateway/api/v2/status/101' }],
    [/sha-256/,          { ...good, body: Buffer.from('a=1&b=3') }],
    [/match/,            { ...good, headers: { ...good.headers, 'content-digest': made('a=2').headers['content-digest'] } }],
    [/match/,            { ...good, headers: { ...good.headers, 'idempotency-key': 'k-2' } }],
    [/absent/,           { ...good, headers: { ...unsigned, signature, 'signature-input': input, 'idempotency-key': undefined } }],
    [/idempotency-key/,  { ...made(), headers: { ...made().headers, 'idempotency-key': 'k-1' } }],
    [/one signature/,    { ...good, headers: { ...unsigned, signature } }],
    [/one signature/,    { ...good, headers: { ...unsigned, 'signature-input': input } }],
    [/one signature/,    byHand({ header: 'y=:AAAA:' })],
    [/one signature/,    byHand({ header: 'x=AAAA' })],
    [/one signature/,    byHand({ input: 'nonsense' })],
    [/match/,            byHand({ header: 'x=:AAAA:' })],
    [/login/,            made('a=1', {}, 'other')],
    [/@method/,          byHand({ list: '"@path" "content-digest"' })],
    [/@path/,            byHand({ list: '"@method" "content-digest"' })],
    [/content-digest/,   byHand({ list: '"@method" "@path"' })],
    [/twice/,            byHand({ list: '"@method" "@path" "content-digest" "@path"' })],
    [/unknown here/,     byHand({ list: '"@method" "@path" "content-digest" "@query"' })],
    [/five minutes/,     byHand({ parameters: parameters({ created: `;created=${now - 301}` }) })],
    [/five minutes/,     byHand({ parameters: parameters({ created: ';created="x"' }) })],
    [/parameters/,       byHand({ parameters: parameters({ created: '' }) })],
    [/parameters/,       byHand({ parameters: parameters({ nonce: '' }) })],
    [/parameters/,       byHand({ parameters: parameters({ more: ';expires=1' }) })],
    [/parameters/,       byHand({ parameters: parameters({ more: ';nonce="m"' }) })],
    [/nonce/,            byHand({ parameters: parameters({ nonce: ';nonce=""' }) })],
    [/match/,            byHand({ parameters: parameters({ alg: ';alg="ed25519"' }) })],
    [/alg/,              byHand({ parameters: parameters({ alg: ';alg="rsa-v1_5-sha256"' }) })],
    [/alg/,              byHand({ parameters: parameters({ alg: ';alg="constructor"' }) })],
    [/sha-256/,          byHand({ more: { 'content-digest': 'sha-512=:AAAA:' } })],
  ]
  for (const [why, message] of cases) {
    const judged = judge(message)
    assert.ok(judged.is === 'wrong' && why.test(judged.why), `${why} ${JSON.stringify(judged)}`)
  }
})

test('an Ed25519 key signs in place of the secret, and each key that the gateway has holds', () => {
  const message = made('a=1', { 'idempotency-key': 'k-1' }, 'shop', pair.privateKey)
  assert.deepEqual(judge(message), { is: 'signed', nonce: 'n-1', createdSeconds: now })
  assert.equal(judge(message, { secret: undefined }).is, 'signed')
  assert.equal(judge(made('a=1', {}, 'shop', older.privateKey)).is, 'signed')
  assert.equal(judge({ ...message, path: '/gateway/api/v2/status/101' }).is, 'wrong')
  assert.equal(judge(message, { publicKeys: [older.publicKey, rsa.publicKey] }).is, 'wrong')
  assert.equal(judge(made(), { secret: undefined }).is, 'wrong')
})
