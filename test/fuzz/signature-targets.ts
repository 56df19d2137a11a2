import assert from 'node:assert/strict'
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { signatureHeaders } from '../../client/message-signature.ts'
import { privateKeyOf } from '../../src/base/ed25519.ts'
import { secret } from '../../src/base/secret.ts'
import { judgeSignature } from '../../src/merchant/message-signature.ts'
import { baseStrings, percentEncoded, readAuthorization, signatureBytes } from '../../src/merchant/oauth.ts'
import { readForm } from '../../src/spec/form.ts'
import type { Target } from './loop.ts'

const urls = ['https://gateway.example/gateway/api/v4/status/1144', 'http://GATEWAY.example:80/x?y']
const oauth =
  'OAuth realm="a\\"b", oauth_consumer_key="shop", oauth_nonce="abc", oauth_signature="AAAA", ' +
  'oauth_signature_method="RSA-SHA256", oauth_timestamp="1700000000", oauth_version="1.0"'

/** The header in the first line, the form below. */
export const authorizationTarget: Target = {
  seeds: [`${oauth}\nclient_orderid=902B4FF5&orderid=%E2%82%AC`, 'oauth oauth_nonce=a , oauth_token=\na=b', 'Basic eDp5\n'],
  words: [', oauth_version="', '%', '%2', '%C3%A9', '\\', '"', 'realm=', 'OAuth ', 'oauth_x='],
  run(input) {
    const end = input.indexOf('\n')
    const header = input.subarray(0, end < 0 ? input.length : end).toString('latin1')
    const read = readAuthorization(header)
    if (read.is === 'refused') return
    const { params } = read
    assert.match(params.nonce, /^[\x21-\x7e]{1,64}$/)
    assert.ok(Number.isSafeInteger(params.timestampSeconds))
    signatureBytes(params.signature)
    const bodyPairs = readForm(input.subarray(end < 0 ? input.length : end + 1))
    if (!bodyPairs) return
    const texts = baseStrings({ urls, params, bodyPairs, parametersAlone: true })
    assert.equal(texts.length, 3)
    for (const text of texts) assert.match(text, /^[A-Za-z0-9._~%&=-]*$/, 'something is not encoded')
    for (const [name] of bodyPairs) assert.ok(texts.every((text) => text.includes(percentEncoded(name)) || text.includes('%25')))
  },
}

const path = '/gateway/api/v2/return/101'
const bytes = secret(Buffer.alloc(32, 5))
const signingSecret = `whsec_${bytes.reveal().toString('base64')}`
const signingKey = privateKeyOf(bytes)
const signer = { keyid: 'shop', secret: bytes, publicKeys: [createPublicKey(signingKey)] }
const signing = {
  login: 'shop',
  nonce: 'n-1',
  timestampSeconds: 1_700_000_000,
}

/** What the client signs, a header a line, and the body below. */
function signed(body: string, headers: Record<string, string>, key: string | KeyObject = signingSecret): string {
  const more = signatureHeaders({ method: 'POST', url: `https://pay.example${path}`, body, headers, key, ...signing })
  const lines = Object.entries({ ...headers, ...more }).map(([name, value]) => `${name.toLowerCase()}: ${value}`)
  return [...lines, '', body].join('\n')
}

export const messageSignatureTarget: Target = {
  seeds: [
    signed('a=1', {}),
    signed('', { 'idempotency-key': 'k' }),
    signed('a=1', {}, signingKey),
    'signature: sig=:AAAA:\nsignature-input: sig=();created=1\n\n',
  ],
  words: ['"@authority"', '"@query"', ';alg="', ';nonce="', 'sha-256=:', 'sha-512=:AA==:', ', sig2=()', '("', '")'],
  run(input) {
    const text = input.toString('latin1')
    const end = text.indexOf('\n\n')
    const lines = text.slice(0, end < 0 ? text.length : end).split('\n')
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]!, line.slice(line.indexOf(': ') + 2)]))
    const body = Buffer.from(end < 0 ? '' : text.slice(end + 2), 'latin1')
    const judged = judgeSignature({ method: 'POST', path, headers, body }, signer, () => true)
    if (judged.is === 'wrong') return
    // Nothing here has the key, so only what the client signed can hold.
    assert.equal(judged.nonce, signing.nonce)
    const digest = createHash('sha256').update(body).digest('base64')
    assert.ok(headers['content-digest']!.includes(digest), 'another body passes')
  },
}
