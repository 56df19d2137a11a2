import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { baseStrings, readAuthorization } from '../../../src/merchant/oauth.ts'
import { asked, headerOf, holds, read, signature, usual } from './oauth-request.ts'
import { anySign } from './any-sign.ts'

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
  const text = baseStrings(asked({ params, bodyPairs: [['realm', 'r']], parametersAlone: true })).at(-1)!
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

test('a missing, unknown, repeated or malformed parameter in the header is refused', () => {
  for (const [header, why] of refusals) {
    const answer = readAuthorization(header)
    assert.ok(answer.is === 'refused', `taken: ${String(header)}`)
    assert.match(answer.why, why, String(header))
  }
  for (const nonce of ['!', '~'.repeat(64), 'a+b/c==']) assert.equal(read(withParam('oauth_nonce', nonce)).nonce, nonce)
})

test('a header of any shape gets a verdict, and a damaged one is refused or signs something else', () => {
  fc.assert(fc.property(fc.string({ unit: anySign }), (text) => readAuthorization(`OAuth ${text}`).is === 'refused'))
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
