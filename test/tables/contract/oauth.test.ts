import assert from 'node:assert/strict'
import { constants, createHash, generateKeyPairSync, privateEncrypt, sign } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { systemRandom } from '../../../src/base/random.ts'
import { baseStrings, signatureHolds, timestampHolds } from '../../../src/merchant/oauth.ts'
import { deniedPage } from '../../../src/pages/denied.ts'
import { asked, encodings, headerOf, holds, pairs, publicKey, read, signedText, usual } from './oauth-request.ts'
import { anySign } from './any-sign.ts'

/** The parameters of a request whose body has one pair, as it stands in what is signed. */
const normalisedOf = (...bodyPairs: [string, string][]) =>
  baseStrings({ urls: [], params: { ...read(headerOf(usual)), signed: [] }, bodyPairs, parametersAlone: true })[0]!

test('the request that another client signed verifies, with the same signed text', () => {
  assert.equal(baseStrings(asked())[0], signedText)
  assert.ok(holds(asked()))
  assert.ok(!holds(asked(), []))
})

test('names and values are percent-encoded as RFC 3986 has it, and decoding gives them back', () => {
  for (const [text, encoded] of encodings) assert.equal(normalisedOf(['x', text]), `x=${encoded}`)
  const word = fc.string({ unit: 'grapheme', maxLength: 20 })
  fc.assert(
    fc.property(word, word, (name, value) => {
      const encoded = normalisedOf([name, value])
      assert.match(encoded, /^(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*=(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*$/)
      assert.deepEqual(encoded.split('=').map(decodeURIComponent), [name, value])
    }),
  )
})

test('the base string of a request without most parameters is the published one', () => {
  const params = { ...read(headerOf(usual)), signed: [['oauth_consumer_key', 'merchant']] as const }
  const [text, alone] = baseStrings({
    urls: ['https://gateway.example/paynet/api/v4/sale/123'],
    params,
    bodyPairs: pairs('amount=1.00&client_orderid=hf-1'),
    parametersAlone: true,
  })
  const parameters = 'amount%3D1.00%26client_orderid%3Dhf-1%26oauth_consumer_key%3Dmerchant'
  assert.equal(text, `POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fsale%2F123&${parameters}`)
  assert.equal(alone, decodeURIComponent(parameters))
})

test('parameters are sorted by encoded name, then value; one given twice is signed twice, with the space around it', () => {
  // By `name=value` as one text `a-b` would come first: the hyphen is before the equals sign.
  assert.equal(normalisedOf(['a-b', '1'], ['a', '2']), 'a=2&a-b=1')
  assert.equal(normalisedOf(['a', '2'], ['a', '10'], ['a', '2']), 'a=10&a=2&a=2')
  // U+FF01 is before U+1F600 as bytes, and after it as UTF-16.
  assert.equal(normalisedOf(['\u{1F600}', ''], ['\uFF01', '']), '%EF%BC%81=&%F0%9F%98%80=')
  assert.equal(normalisedOf(['a', ' x '], ['B', '']), 'B=&a=%20x%20')
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), { maxLength: 8 }),
      fc.nat(),
      (all, at) => {
        const cut = at % (all.length + 1)
        assert.equal(normalisedOf(...all), normalisedOf(...all.slice(cut), ...all.slice(0, cut).reverse()))
      },
    ),
  )
})

//   address                                       as it is signed
// oxfmt-ignore
const addresses: readonly (readonly [sent: string, signed: string])[] = [
  ['HTTPS://Pay.Example:443/Gateway/Api/v4/X/1?a=b', 'https://pay.example/Gateway/Api/v4/X/1'],
  ['http://127.0.0.1:80/gateway/x',                  'http://127.0.0.1/gateway/x'],
  ['http://localhost:8080/gateway/x',                'http://localhost:8080/gateway/x'],
  ['https://pay.example:80/',                        'https://pay.example:80/'],
  ['https://user:word@pay.example/x#part',           'https://pay.example/x'],
]

test('an address is signed with scheme and host in lower case, without its default port and without a query', () => {
  for (const [sent, signed] of addresses)
    assert.equal(decodeURIComponent(baseStrings(asked({ urls: [sent] }))[0]!.split('&')[1]!), signed)
})

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
const signed = (text: string, key = pair.privateKey) => sign('sha256', Buffer.from(text), key).toString('base64')
const local = ['http://127.0.0.1:8080/gateway/api/v4/create-card-ref/1', 'http://localhost:8080/gateway/api/v4/create-card-ref/1']

test('a signature holds over the base string with any public name, and over the parameters alone where they are allowed', () => {
  const texts = baseStrings(asked({ urls: local, parametersAlone: true }))
  const usualTexts = baseStrings(asked({ urls: local }))
  assert.deepEqual(usualTexts, texts.slice(0, 2))
  assert.ok(!signatureHolds(usualTexts, signed(texts[2]!), [pair.publicKey]))
  assert.equal(texts.length, 3)
  for (const text of texts) {
    assert.ok(signatureHolds(texts, signed(text), [pair.publicKey]))
    assert.ok(!signatureHolds(texts, signed(text), [other.publicKey]))
    assert.ok(signatureHolds(texts, signed(text), [other.publicKey, pair.publicKey]))
  }
  const elsewhere = baseStrings(asked({ urls: ['http://localhost:8081/gateway/api/v4/create-card-ref/1'] }))
  assert.ok(!signatureHolds(texts, signed(elsewhere[0]!), [pair.publicKey]))
  assert.equal(baseStrings(asked({ urls: [local[0]!, `${local[0]}?x=1`] })).length, 1)
})

test('any changed byte of any parameter breaks the signature; only the order of the parameters does not matter', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 6 })
  const form = fc.uniqueArray(fc.tuple(word, word), { minLength: 1, maxLength: 4, selector: ([name]) => name })
  fc.assert(
    fc.property(form, fc.nat(), fc.nat(), (bodyPairs, which, how) => {
      const request = asked({ urls: local, bodyPairs, parametersAlone: true })
      const texts = baseStrings(request)
      const made = texts.slice(1).map((text) => signed(text))
      const kept = baseStrings({
        ...request,
        bodyPairs: bodyPairs.toReversed(),
        params: { ...request.params, signed: request.params.signed.toReversed() },
      })
      const all = [...request.params.signed, ...bodyPairs]
      const changed = all.map((one, i) => (i === which % all.length ? damaged(one, how) : one))
      const broken = baseStrings({ ...request, params: { ...request.params, signed: [] }, bodyPairs: changed })
      for (const one of made) {
        assert.ok(signatureHolds(kept, one, [pair.publicKey]))
        assert.ok(!signatureHolds(broken, one, [pair.publicKey]))
      }
    }),
    { numRuns: 60 },
  )
})

/** One character more or another, or cut off behind it, in the name or the value. */
function damaged([name, value]: readonly [string, string], how: number): readonly [string, string] {
  const part = Array.from(how % 2 === 0 ? name : value)
  const at = Math.floor(how / 8) % (part.length + 1)
  const rest = [part.slice(at), part.slice(at + 1), [], part.slice(at)][Math.floor(how / 2) % 4]!
  const after = [...part.slice(0, at), part[at] === 'x' ? 'y' : 'x', ...rest].join('')
  return how % 2 === 0 ? [after, value] : [name, after]
}

test('a signature of another kind, form or length does not hold, and a text of any shape is an answer', () => {
  const texts = baseStrings(asked())
  const good = signed(texts[0]!)
  assert.ok(signatureHolds(texts, good, [pair.publicKey]))
  const bytes = Buffer.from(texts[0]!)
  const pss = { key: pair.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING }
  const digest = createHash('sha256').update(bytes).digest()
  const wrong = [
    sign('sha1', bytes, pair.privateKey).toString('base64'),
    sign('sha512', bytes, pair.privateKey).toString('base64'),
    sign('sha256', bytes, pss).toString('base64'),
    // The digest without its algorithm.
    privateEncrypt({ key: pair.privateKey, padding: constants.RSA_PKCS1_PADDING }, digest).toString('base64'),
    Buffer.from(good, 'base64').toString('base64url'),
    Buffer.from(good, 'base64').toString('hex'),
    good.replace(/=+$/, ''),
    `${good}\n`,
    ` ${good}`,
    good.replace(/^(.{64})/, '$1\n'),
    `${good}=`,
    Buffer.concat([Buffer.from(good, 'base64'), Buffer.alloc(1)]).toString('base64'),
    Buffer.concat([Buffer.alloc(1), Buffer.from(good, 'base64')]).toString('base64'),
    Buffer.alloc(256).toString('base64'),
    Buffer.alloc(256, 0xff).toString('base64'),
    '',
  ]
  for (const one of wrong) assert.ok(!signatureHolds(texts, one, [pair.publicKey]), one)
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: anySign }), fc.base64String()), (text) => !signatureHolds(texts, text, [publicKey])),
    { numRuns: 50 },
  )
})

test('a key of fewer bits, with a small exponent or of another algorithm verifies no signature', () => {
  const texts = baseStrings(asked())
  const weak = [
    generateKeyPairSync('rsa', { modulusLength: 1024 }),
    generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ]
  for (const { privateKey, publicKey: key } of weak) {
    assert.ok(!signatureHolds(texts, signed(texts[0]!, privateKey), [key]))
    assert.ok(signatureHolds(texts, signed(texts[0]!), [key, pair.publicKey]))
  }
})

test('a time stamp is good for five minutes before and after it, to the millisecond', () => {
  const at = 1_700_000_000
  for (const [offsetMs, good] of [
    [0, true],
    [300_000, true],
    [-300_000, true],
    [300_001, false],
    [-300_001, false],
  ] as const)
    assert.equal(timestampHolds(at, at * 1000 + offsetMs), good)
  assert.ok(!timestampHolds(at * 1000, at * 1000))
})

test('the page of a refusal says that access is denied, and nothing else', () => {
  const { status, type, body: page } = deniedPage(systemRandom, { headers: {} })
  assert.deepEqual([status, type], [403, 'text/html;charset=utf-8'])
  const text = String(page)
    .replace(/<(style|title)[^>]*>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, '')
  assert.equal(text.trim(), 'Access is denied')
})
