import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { inspect } from 'node:util'
import currencyCodes from 'currency-codes'
import * as fc from 'fast-check'
import { minorUnits } from '../../../client/amount.ts'
import { orderNamedIn, readCallback, readReturn } from '../../../client/callback.ts'
import { challengeForm, methodForm, payerForm, stepOf } from '../../../client/cardholder.ts'
import { openClient } from '../../../client/client.ts'
import { readPairs, writePairs } from '../../../client/form.ts'
import { authorizationOf } from '../../../client/oauth.ts'
import { controlOf } from '../../../client/operations.ts'
import { currencyOf, decimalToMinor, minorToDecimal } from '../../../src/base/money.ts'
import { baseStrings, signatureHolds } from '../../../src/merchant/oauth.ts'
import { readForm, writeForm } from '../../../src/spec/form.ts'
import { read } from '../contract/oauth-request.ts'
import { anySign } from '../contract/any-sign.ts'

const key = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const currency = fc.constantFrom(...currencyCodes.data.map(({ code }) => code))

// ---- amounts ------------------------------------------------------------------------------------

test('an amount is moved by the decimals of its currency: spelled and signed again it is the same, to the last unit', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 30n), currency, fc.nat(3), (minor, code, zeros) => {
      const { exponent } = currencyOf(code)!
      const spelled = minorToDecimal(minor, exponent)
      const longer = spelled + (zeros === 0 ? '' : (spelled.includes('.') ? '' : '.') + '0'.repeat(zeros))
      assert.equal(minorUnits(spelled, code), String(minor))
      assert.equal(minorUnits(longer, code), String(minor))
    }),
  )
})

test('a text that is not an amount of the currency is not signed; any other is signed as the gateway does', () => {
  const text = fc.oneof(fc.stringMatching(/^[0-9]{0,12}\.?[0-9]{0,5}$/), fc.string())
  fc.assert(
    fc.property(text, currency, (amount, code) => {
      const minor = decimalToMinor(amount, currencyOf(code)!.exponent)
      if (minor === undefined) assert.throws(() => minorUnits(amount, code), RangeError)
      else assert.equal(minorUnits(amount, code), String(minor))
    }),
    { numRuns: 500 },
  )
})

// oxfmt-ignore
const hundredths: readonly (readonly [amount: string, currency: string, iso4217: string, hundredths: string])[] = [
  ['0.57',   'USD', '57',   '57'],
  ['100',    'JPY', '100',  '10000'],
  ['100.00', 'JPY', '100',  '10000'],
  ['1.230',  'KWD', '1230', '123'],
  // What has no hundredths is signed as it is.
  ['1.234',  'KWD', '1234', '1234'],
]

test('an endpoint that counts hundredths has the amount times a hundred, whatever the currency', () => {
  for (const [amount, code, iso, times100] of hundredths)
    assert.deepEqual([minorUnits(amount, code), minorUnits(amount, code, 'hundredths')], [iso, times100])
})

// ---- forms --------------------------------------------------------------------------------------

const word = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: anySign }),
  fc.constantFrom('\n', '\r\n', 'a\nb', '&=+%', ' '),
)
const someNames = fc.oneof(fc.constantFrom('type', 'status'), word)
const form = fc.array(fc.tuple(someNames, word), { maxLength: 8 })

test('a written form is read back unchanged, by the client and by the gateway, also with line breaks between pairs', () => {
  fc.assert(
    fc.property(form, fc.constantFrom('', '\n', '\r\n', '\n\n'), (pairs, lineBreak) => {
      const text = writePairs(pairs)
      assert.deepEqual(readPairs(text), pairs)
      assert.deepEqual(readPairs(writeForm(pairs)), pairs)
      assert.deepEqual(readForm(Buffer.from(text)), pairs)
      assert.deepEqual(readPairs(text.replaceAll('&', `${lineBreak}&`) + lineBreak), pairs)
      assert.deepEqual(readPairs(text.replaceAll('&', `&${lineBreak}`)), pairs)
    }),
    { numRuns: 300 },
  )
})

test('a text that cannot be decoded is not a form, and reading it always ends', () => {
  for (const text of ['a=%', 'a=%4', 'a=%zz', 'a=%ff', '%c3=1']) assert.equal(readPairs(text), undefined)
  fc.assert(fc.property(fc.string({ unit: anySign }), (text) => Array.isArray(readPairs(text) ?? [])))
})

// ---- OAuth --------------------------------------------------------------------------------------

test('OAuth: the gateway accepts the signature of any request', () => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const url = 'https://Pay.Example:443/gateway/api/v4/status/101'
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word), { maxLength: 4 }), (body) => {
      const moment = { nonce: 'abc', timestampSeconds: 1_700_000_000 }
      const params = read(authorizationOf({ url, login: 'a shop', key: pair.privateKey, body, ...moment }))
      assert.deepEqual([params.login, params.nonce, params.timestampSeconds], ['a shop', 'abc', 1_700_000_000])
      assert.ok(
        signatureHolds(baseStrings({ urls: [url], params, bodyPairs: body, parametersAlone: false }), params.signature, [
          pair.publicKey,
        ]),
      )
    }),
    { numRuns: 20 },
  )
})

// ---- what the gateway tells ---------------------------------------------------------------------

const said = (changes: Record<string, string> = {}): string => {
  const fields = { status: 'approved', client_orderid: 'a b', orderid: '1000001', type: 'sale', amount: '10.42', ...changes }
  const control = controlOf([fields.status, fields.orderid, fields.client_orderid], key)
  return writePairs(Object.entries({ ...fields, control: changes.control ?? control }))
}

const mine = { client_orderid: 'a b', orderid: '1000001' }

test('a callback is read from a URL, a query or a form, after whatever the URL had of its own', () => {
  for (const text of [said(), `/callback?${said()}`, `https://shop.example/callback?shop=1&status=none&${said()}`]) {
    const heard = readCallback(text, key, mine)
    assert.deepEqual(orderNamedIn(text), mine)
    assert.ok(heard.is === 'callback', inspect(heard))
    assert.deepEqual([heard.status, heard.order, heard.type, heard.amount], ['approved', mine, 'sale', '10.42'])
  }
})

// oxfmt-ignore
const doubtful: readonly (readonly [text: string, why: string])[] = [
  [said({ control: '' }),                          'it has no control'],
  [said({ control: '0'.repeat(40) }),              'its control does not match'],
  [said({ control: 'é' }),                         'its control does not match'],
  [said().replace('approved', 'declined'),         'its control does not match'],
  [`${said()}&status=declined`,                    'its control does not match'],
  [said({ status: 'processing' }),                 'its status is "processing"'],
  ['',                                             'it has no control'],
  ['%',                                            'it cannot be decoded'],
]

test('a callback is rejected if the key did not sign it, or if it has no outcome', () => {
  for (const [text, why] of doubtful) assert.deepEqual(readCallback(text, key, mine), { is: 'not genuine', why })
  assert.equal(readCallback(said(), `${key}x`, mine).is, 'not genuine')
  assert.equal(
    readCallback(said({ control: controlOf(['approved', '1000001', 'a b'], key).toUpperCase() }), key, mine).is,
    'callback',
  )
})

const signingSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const signedAt = 1_700_000_000_000
/** As the library of Standard Webhooks signs. */
const headersFor = (payload: string, id = 'msg_1', secretText = signingSecret): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(signedAt / 1000),
  'webhook-signature': new Webhook(secretText).sign(id, new Date(signedAt), payload),
})

test('a signed callback is read where its headers sign every byte of it, within five minutes', () => {
  const text = said()
  const good = headersFor(text)
  const heard = (headers: Record<string, string>, now = signedAt, of = text) =>
    readCallback(of, key, mine, { headers, verifyWith: signingSecret, now }).is
  const two = { ...good, 'webhook-signature': `v1a,AAAA v1,AAAA ${good['webhook-signature']}` }
  for (const headers of [good, two]) assert.equal(heard(headers), 'callback')
  for (const url of [`/callback?${text}`, `https://shop.example/callback?${text}`])
    assert.equal(heard(good, signedAt, url), 'callback')
  for (const shift of [-300_000, 300_000]) assert.equal(heard(good, signedAt + shift), 'callback')
  const { 'webhook-id': _id, ...withoutId } = good
  // oxfmt-ignore
  const bad: [what: string, headers: Record<string, string>, now?: number, of?: string][] = [
    ['too old',            good, signedAt + 301_000],
    ['too new',            good, signedAt - 301_000],
    ['another amount',     good, signedAt, text.replace('10.42', '99.42')],
    ['one pair more',      good, signedAt, `${text}&shop=2`],
    ['another time',       { ...good, 'webhook-timestamp': String(signedAt / 1000 + 1) }],
    ['another id',         { ...good, 'webhook-id': 'msg_2' }],
    ['another secret',     headersFor(text, 'msg_1', `whsec_${Buffer.alloc(32, 8).toString('base64')}`)],
    ['another version',    { ...good, 'webhook-signature': good['webhook-signature']!.replace('v1,', 'v1a,') }],
    ['an empty signature', { ...good, 'webhook-signature': 'v1,' }],
    ['no id',              withoutId],
    ['no headers',         {}],
  ]
  for (const [what, headers, now, of] of bad) assert.equal(heard(headers, now, of), 'not genuine', what)
})

test('a callback with a signature by Ed25519 is verified by the public key, and by that signature alone', () => {
  const text = said()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pair = { whpk: `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64')}`, privateKey }
  const headers = headersFor(text)
  const v1a = `v1a,${sign(null, Buffer.from(`msg_1.${signedAt / 1000}.${text}`), pair.privateKey).toString('base64')}`
  const heard = (signature: string, of = text, verifyWith = pair.whpk) =>
    readCallback(of, key, mine, { headers: { ...headers, 'webhook-signature': signature }, verifyWith, now: signedAt }).is
  const v1 = headers['webhook-signature']!
  for (const both of [v1a, `${v1} ${v1a}`]) assert.equal(heard(both), 'callback')
  assert.equal(heard(`${v1} ${v1a}`, text, signingSecret), 'callback')
  for (const wrong of [v1, 'v1a,', 'v1a,AAAA', v1a.replace('v1a,', 'v1,')]) assert.equal(heard(wrong), 'not genuine', wrong)
  assert.equal(heard(v1a, text.replace('10.42', '99.42')), 'not genuine')
  assert.equal(heard(v1a, text, signingSecret), 'not genuine')
  for (const short of ['whpk_', 'whpk_AAAA']) assert.throws(() => heard(v1a, text, short), /public key/)
})

test('a good signature does not replace the comparison of the order', () => {
  const text = said()
  const signed = { headers: headersFor(text), verifyWith: signingSecret, now: signedAt }
  assert.equal(readCallback(text, key, { ...mine, orderid: '1000002' }, signed).is, 'not genuine')
})

test('a signing secret that is empty or no base64 is refused, for anybody could sign with it', () => {
  const text = said()
  for (const bad of ['', 'whsec_', 'whsec_AAAA', 'whsec_***', key])
    assert.throws(() => readCallback(text, key, mine, { headers: headersFor(text), verifyWith: bad }), /signingSecret/)
})

test('a client with a signing secret accepts no callback without the headers', () => {
  const settings = { baseUrl: 'http://127.0.0.1:1/gateway', endpoint: 1, login: 'shop', controlKey: key }
  assert.equal(openClient(settings).readCallback(said(), mine).is, 'callback')
  assert.equal(openClient({ ...settings, signingSecret }).readCallback(said(), mine).is, 'not genuine')
})

test('a callback with digits moved between the two ids is about another order, though its checksum is right', () => {
  // oxfmt-ignore
  const forged: readonly (readonly [orderid: string, clientOrderid: string])[] = [
    ['100000', '1a b'], ['1', '000001a b'],
    ['1000001a', ' b'], ['', '1000001a b'],
  ]
  const control = controlOf(['approved', '1000001', 'a b'], key)
  for (const [orderid, clientOrderid] of forged) {
    const text = said({ orderid, client_orderid: clientOrderid, control })
    const refused = { is: 'not genuine', why: 'it is about another order' }
    assert.deepEqual([readCallback(text, key, mine), readReturn(text, key, mine)], [refused, refused])
  }
  assert.equal(orderNamedIn('status=approved'), undefined)
})

test('a customer may come back before there is an outcome', () => {
  const back = readReturn(said({ status: 'processing' }), key, mine)
  assert.ok(back.is === 'return' && back.status === 'processing')
  assert.equal(readReturn(said({ status: 'unknown' }), key, mine).is, 'not genuine')
})

// ---- what the cardholder has to do --------------------------------------------------------------

test("each step has its form for the browser; an unknown step leads to the gateway's page", () => {
  const method = stepOf({
    'tds-status': 'MethodUrlFrame',
    'tds-method-url-frame-3ds-server-trans-id': 'id',
    'tds-method-url-frame-3ds-method-url': 'https://acs/method',
    html: '<p>',
    'redirect-to': 'https://g/1',
  })
  assert.ok(method?.is === 'method frame' && method.html === '<p>' && method.redirectTo === 'https://g/1')
  const { action, fields } = methodForm(method, 'https://shop/notify')
  assert.equal(action, 'https://acs/method')
  const data: unknown = JSON.parse(Buffer.from(fields.threeDSMethodData ?? '', 'base64url').toString())
  assert.deepEqual(data, { threeDSServerTransID: 'id', threeDSMethodNotificationURL: 'https://shop/notify' })

  const challenge = stepOf({ 'tds-status': 'CReqForm', 'tds-creq-form-acs-url': 'https://acs/c', 'tds-creq-form-creq': 'e30' })
  assert.ok(challenge?.is === 'challenge')
  assert.deepEqual(challengeForm(challenge), { action: 'https://acs/c', fields: { creq: 'e30' } })

  const payer = stepOf({
    'tds-status': 'PaReqForm',
    'tds-pareq-form-acs-url': 'https://acs/p',
    'tds-pareq-form-pareq': 'eJw',
    'tds-pareq-form-md': '7',
  })
  assert.ok(payer?.is === 'payer authentication')
  assert.deepEqual(payerForm(payer, 'https://shop/term').fields, { PaReq: 'eJw', TermUrl: 'https://shop/term', MD: '7' })

  assert.deepEqual(stepOf({ 'tds-status': 'Other', 'redirect-to': 'https://g/2' }), { is: 'redirect', redirectTo: 'https://g/2' })
  assert.equal(stepOf({ 'order-stage': 'sale_processing' }), undefined)
})

// ---- the keys -----------------------------------------------------------------------------------

test('nothing that prints a client shows its keys', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = String(privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const client = openClient({ baseUrl: 'http://127.0.0.1:1', login: 'shop', controlKey: key, endpoint: 1, oauthKey: pem })
  const shown = [
    inspect(client, { showHidden: true, depth: Infinity }),
    JSON.stringify(client),
    JSON.stringify(Object.entries(client)),
  ]
  for (const text of shown) assert.ok(!text.includes(key) && !text.includes('PRIVATE') && !text.includes(pem.slice(40, 80)), text)
})
