import assert from 'node:assert/strict'
import { constants, createHash, createPublicKey, generateKeyPairSync, privateEncrypt, sign, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { systemRandom } from '../../src/base/random.ts'
import {
  baseStrings,
  readAuthorization,
  signatureHolds,
  timestampHolds,
  type Authorization,
  type SignedRequest,
} from '../../src/merchant/oauth.ts'
import { deniedPage } from '../../src/pages/denied.ts'
import { readForm } from '../../src/spec/form.ts'

// A request that a client of another's making signed. Its private key is not here.
const signature = [
  'iREtHnAYh9H9Ss5g5QvyROrPvKMCM4R/GPsxMA83fV/g4Z7RC9d3St1IcLeAUBgxWNnzPalnId426iaZACqXzs8wjLAZKh1IXn5jc3w0GGJI',
  'JYbpbD07TFIHR730CyHIx+0nKlA5Te6yOi56t17PqxhfoBqCIn+P8uO913j7FyNil+DlvWGOgoQf2OKxAZ6wOrQT3Zcv+CPf9zthV5A4TeNG',
  'Rf35nCioATfXkbFygCoqhYDNCYcMcJaWBNF/9+XkZlRzflpIRVa2xHyH36rPoAjpIQ6WsBcO5rHdpEeF7Pp2mpiE0up6mVr1GQmKW5R9eGRo',
  '+wNwIk5Tm8+DyuMq/w==',
].join('')
const publicKey = createPublicKey(`-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyc1FZ6kIQ1hdh6cQDHMq
O3/rnCBCUtwEBxtBE/3cSdKrLBspiI3c3pSd1yPqE6tsvU04pkI7bo6Hoes5eOFq
1wmySwlA1rDY5Ye4ZgaK6VOrSVYcNeOuggMZJLTyR5DKiWBdHn3oCHzsFKLU88GO
LRpTeolitGjCeWVoVqWQ24Gqe9r60VynwjevyXk1HbDiOzwHmcNJntOI2fC6L2vR
VSG1cziWhRsElK6DL13ryAfKzg+e3N1Qi08RN2hjTM/vQy5ehgpvFmdVEh5oh8m6
oLxi8kLMATxXFcxYHewaYGbPiQM2A4fGRgDb4wORfbtG+mJ29zKZt/vUZQrb0sSs
KQIDAQAB
-----END PUBLIC KEY-----`)
const url = 'https://gateway.example/paynet/api/v4/create-card-ref/1144'
const body = 'client_orderid=902B4FF5&orderid=4444444'
const signedText =
  'POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fcreate-card-ref%2F1144&client_orderid%3D902B4FF5%26oauth_consumer_key%3Dtest-merchant' +
  '%26oauth_nonce%3Dabcdef0123456789%26oauth_signature_method%3DRSA-SHA256%26oauth_timestamp%3D1700000000%26oauth_version%3D1.0%26orderid%3D4444444'

type Params = Record<string, string>
const usual: Params = {
  oauth_consumer_key: 'test-merchant',
  oauth_nonce: 'abcdef0123456789',
  oauth_signature: signature,
  oauth_signature_method: 'RSA-SHA256',
  oauth_timestamp: '1700000000',
  oauth_version: '1.0',
}
const headerOf = (params: Params) =>
  `OAuth ${Object.entries(params)
    .map(([name, value]) => `${name}="${encodeURIComponent(value)}"`)
    .join(', ')}`

function read(header: string): Authorization {
  const answer = readAuthorization(header)
  assert.ok(answer.is === 'read', answer.is === 'refused' ? `${answer.why}: ${header}` : '')
  return answer.params
}

const pairs = (form: string) => readForm(Buffer.from(form))!
const asked = (changes: Partial<SignedRequest> = {}): SignedRequest => ({
  urls: [url],
  params: read(headerOf(usual)),
  bodyPairs: pairs(body),
  ...changes,
})
const holds = (request: SignedRequest, keys: readonly KeyObject[] = [publicKey]) =>
  signatureHolds(baseStrings(request), request.params.signature, keys)

/** The parameters of a request whose body has one pair, as it stands in what is signed. */
const normalisedOf = (...bodyPairs: [string, string][]) =>
  baseStrings({ urls: [], params: { ...read(headerOf(usual)), signed: [] }, bodyPairs })[0]!

test('the request that another client signed holds, by the text that it signed', () => {
  assert.equal(baseStrings(asked())[0], signedText)
  assert.ok(holds(asked()))
  assert.ok(!holds(asked(), []))
})

// oxfmt-ignore
const encodings: readonly (readonly [text: string, encoded: string])[] = [
  ["!'()*",         '%21%27%28%29%2A'],
  ['John Smith',    'John%20Smith'],
  ['a+b',           'a%2Bb'],
  ['abcXYZ019-._~', 'abcXYZ019-._~'],
  ['é',             '%C3%A9'],
]

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
  })
  const parameters = 'amount%3D1.00%26client_orderid%3Dhf-1%26oauth_consumer_key%3Dmerchant'
  assert.equal(text, `POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fsale%2F123&${parameters}`)
  assert.equal(alone, decodeURIComponent(parameters))
})

test('parameters are sorted by name and then by value, both encoded; what is given twice is signed twice, and space around it too', () => {
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

test('a signature over the base string with any public name of the gateway holds, and so does one over the parameters alone', () => {
  const texts = baseStrings(asked({ urls: local }))
  assert.equal(texts.length, 3)
  for (const text of texts) {
    assert.ok(signatureHolds(texts, signed(text), [pair.publicKey]))
    assert.ok(!signatureHolds(texts, signed(text), [other.publicKey]))
    assert.ok(signatureHolds(texts, signed(text), [other.publicKey, pair.publicKey]))
  }
  const elsewhere = baseStrings(asked({ urls: ['http://localhost:8081/gateway/api/v4/create-card-ref/1'] }))
  assert.ok(!signatureHolds(texts, signed(elsewhere[0]!), [pair.publicKey]))
  assert.equal(baseStrings(asked({ urls: [local[0]!, `${local[0]}?x=1`] })).length, 2)
})

test('any changed byte of any parameter breaks the signature; only the order of the parameters does not matter', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 6 })
  const form = fc.uniqueArray(fc.tuple(word, word), { minLength: 1, maxLength: 4, selector: ([name]) => name })
  fc.assert(
    fc.property(form, fc.nat(), fc.nat(), (bodyPairs, which, how) => {
      const request = asked({ urls: local, bodyPairs })
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
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String()), (text) => !signatureHolds(texts, text, [publicKey])),
    { numRuns: 50 },
  )
})

test('a key of fewer bits, with a small exponent or of another algorithm signs for nobody', () => {
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

// oxfmt-ignore
const readable: readonly (readonly [what: string, header: string])[] = [
  ['any case of the scheme',                   headerOf(usual).replace('OAuth', 'oAUTH')],
  ['bare values',                              headerOf(usual).replaceAll('"', '')],
  ['no space after commas',                    headerOf(usual).replaceAll(', ', ',')],
  ['space around everything',                  headerOf(usual).replaceAll(', ', ' \t,\t ').replaceAll('="', ' = "')],
  ['a comma at the end',                       `${headerOf(usual)}, `],
  ['lower-case hexadecimal digits',            headerOf(usual).replace(/%../g, (sign) => sign.toLowerCase())],
  ['a signature that is not encoded',          headerOf(usual).replace(/oauth_signature="[^"]*"/, `oauth_signature="${signature}"`)],
  ['an encoded name',                          headerOf(usual).replace('oauth_nonce', 'oauth%5Fnonce')],
  ['a realm, which is not signed',             headerOf(usual).replace('OAuth ', 'OAuth Realm="a, \\"b\\" %zz",')],
  ['another order',                            headerOf(Object.fromEntries(Object.entries(usual).toReversed()))],
]

for (const [what, header] of readable)
  test(`${what} in the header says the same`, () => {
    const params = read(header)
    assert.deepEqual([params.login, params.nonce, params.timestampSeconds], ['test-merchant', 'abcdef0123456789', 1_700_000_000])
    assert.ok(holds(asked({ params })))
  })

test('no version is a good one, and a parameter that means nothing here is signed with the rest', () => {
  const { oauth_version: _, ...versionless } = usual
  assert.ok(!read(headerOf(versionless)).signed.some(([name]) => name === 'oauth_version'))
  const params = read(headerOf({ ...usual, oauth_token: '', oauth_body_hash: 'a=b' }))
  const text = baseStrings(asked({ params, bodyPairs: [['realm', 'r']] })).at(-1)!
  assert.match(text, /^oauth_body_hash=a%3Db&oauth_consumer_key=.*&oauth_token=&oauth_version=1.0&realm=r$/)
  assert.ok(!text.includes('oauth_signature='))
  assert.ok(!holds(asked({ params })))
})

const without = (name: string) => headerOf(Object.fromEntries(Object.entries(usual).filter(([n]) => n !== name)))
const withParam = (name: string, value: string) => headerOf({ ...usual, [name]: value })
const raw = (name: string, text: string) => headerOf(usual).replace(new RegExp(`${name}="[^"]*"`), text)

// oxfmt-ignore
const refusals: readonly (readonly [header: string | readonly string[] | undefined, why: RegExp])[] = [
  [undefined,                                                  /no Authorization/],
  [[headerOf(usual), headerOf(usual)],                         /several/],
  ['',                                                         /scheme/],
  ['Basic dXNlcjp3b3Jk',                                       /scheme/],
  [headerOf(usual).replace('OAuth ', 'OAuth2 '),               /scheme/],
  ['OAuth',                                                    /scheme/],
  ['OAuth ',                                                   /consumer_key is missing/],
  ['OAuth realm="x"',                                          /consumer_key is missing/],
  ...Object.keys(usual).filter((name) => name !== 'oauth_version').flatMap((name): [string, RegExp][] => [
    [without(name),                                            new RegExp(`${name} is missing`)],
    [withParam(name, ''),                                      new RegExp(`${name} is missing`)],
  ]),
  [`${headerOf(usual)}, oauth_nonce="other"`,                  /oauth_nonce is given twice/],
  [`${headerOf(usual)}, oauth%5Fnonce="other"`,                /oauth_nonce is given twice/],
  [headerOf(usual).replace('OAuth ', 'OAuth realm="a",realm="b",'), /realm is given twice/],
  [`${headerOf(usual)}, amount="1.00"`,                        /amount is not a parameter of OAuth/],
  [`${headerOf(usual)}, OAUTH_TOKEN="x"`,                      /OAUTH_TOKEN is not a parameter/],
  [headerOf({ ...usual, ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`oauth_x${i}`, ''])) }), /too many/],
  [withParam('oauth_signature_method', 'HMAC-SHA1'),           /method is not RSA-SHA256/],
  [withParam('oauth_signature_method', 'RSA-SHA1'),            /method is not RSA-SHA256/],
  [withParam('oauth_signature_method', 'rsa-sha256'),          /method is not RSA-SHA256/],
  [withParam('oauth_signature_method', 'PLAINTEXT'),           /method is not RSA-SHA256/],
  [withParam('oauth_version', '2.0'),                          /version is not 1.0/],
  [withParam('oauth_version', ''),                             /version is not 1.0/],
  ...['0', '-1', '1.5', '01700000000', '1e9', '0x10', ' 1700000000', '1700000000 ', '1700000000000', '١٧٠'].map((text): [string, RegExp] =>
    [withParam('oauth_timestamp', text),                       /timestamp is not a whole number/]),
  ...['a b', 'a\n', '\u00e9', 'x'.repeat(65), '\u0000', '\u007f'].map((text): [string, RegExp] =>
    [withParam('oauth_nonce', text),                           /nonce is not one to 64/]),
  [raw('oauth_nonce', 'oauth_nonce="a%"'),                     /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="a%2"'),                    /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="a%zz"'),                   /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="%ff"'),                    /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="%c0%af"'),                 /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="a\\"b"'),                  /not percent-encoded/],
  [raw('oauth_nonce', 'oauth_nonce="abc'),                     /not a list/],
  [raw('oauth_nonce', 'oauth_nonce'),                          /not a list/],
  [raw('oauth_nonce', 'oauth_nonce="a" "b"'),                  /not a list/],
  [raw('oauth_nonce', 'oauth_nonce=a b'),                      /not a list/],
  [raw('oauth_nonce', 'oauth_nonce=a"b"'),                     /not a list/],
  [raw('oauth_nonce', ''),                                     /not a list/],
  [raw('oauth_nonce', 'oauth_nonce="\u00e9"'),                 /not printable ASCII/],
  [raw('oauth_nonce', 'oauth_nonce="a\u0000"'),                /not printable ASCII/],
]

test('what is missing, unknown, given twice or out of form in the header is refused', () => {
  for (const [header, why] of refusals) {
    const answer = readAuthorization(header)
    assert.ok(answer.is === 'refused', `taken: ${String(header)}`)
    assert.match(answer.why, why, String(header))
  }
  for (const nonce of ['!', '~'.repeat(64), 'a+b/c==']) assert.equal(read(withParam('oauth_nonce', nonce)).nonce, nonce)
})

test('a header of any shape is an answer, and a damaged one is refused or signs something else', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => readAuthorization(`OAuth ${text}`).is === 'refused'))
  const good = headerOf(usual)
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }), (at, sign) => {
      if (at < 6 || sign.trim() === '' || good[at]!.trim() === '' || decoded(good[at]!) === decoded(sign)) return
      const answer = readAuthorization(good.slice(0, at) + sign + good.slice(at + 1))
      if (answer.is === 'read') assert.ok(!holds(asked({ params: answer.params })), sign)
    }),
    { numRuns: 500 },
  )
})

/** Hexadecimal digits of an encoded character may be of either case. */
const decoded = (sign: string) => (/[a-f]/i.test(sign) ? sign.toLowerCase() : sign)

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
  const { status, type, body: page } = deniedPage(systemRandom)
  assert.deepEqual([status, type], [403, 'text/html;charset=utf-8'])
  const text = String(page)
    .replace(/<(style|title)[^>]*>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, '')
  assert.equal(text.trim(), 'Access is denied')
})
