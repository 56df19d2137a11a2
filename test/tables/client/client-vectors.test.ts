import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCallback } from '../../../client/callback.ts'
import { readPairs } from '../../../client/form.ts'
import { baseString, percentEncoded } from '../../../client/oauth.ts'
import { controlOf, signedParts, type Operation } from '../../../client/operations.ts'
import { acceptance, readReply } from '../../../client/replies.ts'
import { sha1Hex } from '../../../src/base/digest.ts'
import { secret } from '../../../src/base/secret.ts'
import { controlHolds } from '../../../src/merchant/control.ts'
import { encodings, pairs, signedText, usual } from '../contract/oauth-request.ts'

/**
 * Checksums, signatures and bodies that were published, or that other clients made: client and
 * gateway agree with all of them.
 */

const documented = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const library = 'D5F82EC1-8575-4482-AD89-97X6X0X20X22'
const hosted = 'test-merchant-control'
const invoice = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'

const smith = { client_orderid: '902B4FF5', currency: 'USD', email: 'john.smith@gmail.com' }
const pupkin = { client_orderid: 'CLIENT-112233', currency: 'USD', email: 'vass.pupkin@example.com' }
const order = { client_orderid: 'CLIENT-112233', orderid: '6768788' }

// oxfmt-ignore
const controls: readonly (readonly [operation: Operation, id: string, fields: Record<string, string>, key: string, control: string])[] = [
  ['sale',                     '1111', { ...smith, amount: '10.42' },  documented, 'c6bdd88a78834ef4b863b088827a459f039e8257'],
  ['preauth',                  '1',    { ...smith, amount: '10.42' },  documented, '768eb8162fc361a3e14150ec46e9a6dd8fbfa483'],
  ['sale',                     '789',  { ...pupkin, amount: '0.94' },  library,    'ccbe33bde29728126b8e622b7644f99210432eda'],
  ['sale',                     '789',  { ...pupkin, amount: '10.15' }, library,    'b98a16cc21c6633cc4a450ada82c8ed0d6e09d7a'],
  ['sale',                     '789',  { ...pupkin, amount: '0.57' },  library,    '065da24fc00fb885e019282d2c556285d4721169'],
  ['sale',                     '789',  { ...pupkin, amount: '10.5' },  library,    'b3c1d792fb18de6ffe8fba62e2be4429f42d11b9'],
  ['upload-method-url-result', '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['upload-cres-result',       '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['upload-pares-result',      '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['return',                   '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['capture',                  '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['void',                     '789',  order,                          library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['status',                   '789',  { client_orderid: 'CLIENT-112233' }, library, 'bcaf34dae08a70997c4d5a01032e68a620632883'],
]

test('a request gets the published signature', () => {
  for (const [operation, id, fields, key, control] of controls) {
    const parts = signedParts(operation, new Map(Object.entries(fields)), { id, login: 'test-login', minorUnits: 'iso4217' })
    assert.equal(controlOf(parts, key), control, `${operation} ${JSON.stringify(fields)}`)
    assert.ok(controlHolds(control, [parts], [secret(key)], secret('decoy')))
  }
})

test('a recurrent payment is signed without its endpoint; the gateway takes either', () => {
  const fields = { client_orderid: 'CLIENT-112233', cardrefid: '5588943', amount: '0.99', currency: 'USD' }
  const signing = { id: '789', login: 'test-login', minorUnits: 'iso4217' } as const
  for (const operation of ['make-rebill', 'make-rebill-sale', 'make-rebill-preauth'] as const) {
    const parts = signedParts(operation, new Map(Object.entries(fields)), signing)
    assert.deepEqual(parts, ['test-login', 'CLIENT-112233', '5588943', '99', 'USD'])
    assert.equal(controlOf(['789', ...parts], library), '4a3cae463ad60e8d7c95cdd42fa5d663e3a3ff6d')
  }
})

test('the example of a plain checksum holds', () => {
  const text = 'test string to sha1'
  assert.equal(controlOf([text], ''), 'bd4c24bb656d161a66d89a45f50bf52cb7134851')
  assert.equal(sha1Hex(text), 'bd4c24bb656d161a66d89a45f50bf52cb7134851')
})

// oxfmt-ignore
const callbacks: readonly (readonly [status: string, orderid: string, name: string, key: string, control: string])[] = [
  ['approved', '1234567', 'hf-abc',    hosted,  '652ace404c4dfe8bba069ecee594ec23a89340e1'],
  ['approved', '123',     'invoice-1', invoice, '5bc8ee48f9ba37c0fd1e0b052a9bc105c6df87e1'],
]

test('a published callback is accepted; one without any value is not, although its checksum is right', () => {
  for (const [status, orderid, name, key, control] of callbacks) {
    const text = `status=${status}&orderid=${orderid}&client_orderid=${name}&control=${control}`
    const expected = { client_orderid: name, orderid }
    const read = readCallback(text, key, expected)
    assert.ok(read.is === 'callback' && read.status === status && read.order.orderid === orderid)
    assert.equal(readCallback(text.replace(orderid, '99'), key, expected).is, 'not genuine')
  }
  const empty = '1a66987ac24e927ff2979f83a41cb818936a9e62'
  assert.equal(controlOf(['', '', ''], hosted), empty)
  assert.deepEqual(readCallback(`control=${empty}`, hosted, { client_orderid: '', orderid: '' }), {
    is: 'not genuine',
    why: 'its status is ""',
  })
})

test('OAuth: texts are percent-encoded as published, and so are the texts that are signed', () => {
  for (const [text, encoded] of encodings) assert.equal(percentEncoded(text), encoded)
  const sale = baseString('https://gateway.example/paynet/api/v4/sale/123', [
    ['oauth_consumer_key', 'merchant'],
    ['amount', '1.00'],
    ['client_orderid', 'hf-1'],
  ])
  // By name and then by value, both encoded: the hyphen is before the equals sign.
  const sorted = baseString('https://gateway.example/x', [
    ['a-b', '1'],
    ['a', '2'],
    ['a', '10'],
  ])
  assert.equal(decodeURIComponent(sorted.split('&')[2]!), 'a=10&a=2&a-b=1')
  const parameters = 'amount%3D1.00%26client_orderid%3Dhf-1%26oauth_consumer_key%3Dmerchant'
  assert.equal(sale, `POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fsale%2F123&${parameters}`)
})

test('OAuth: this client signs the same text as another client for its request', () => {
  const { oauth_signature: _signature, ...signed } = usual
  const url = 'https://gateway.example/paynet/api/v4/create-card-ref/1144'
  const body = pairs('client_orderid=902B4FF5&orderid=4444444')
  assert.equal(baseString(url, [...Object.entries(signed), ...body]), signedText)
})

test('a reply with a line break after each value is read as if there were none', () => {
  const body =
    'type=validation-error\n&serial-number=00000000-0000-0000-0000-000002231f99\n&merchant-order-id=2121\n' +
    '&error-message=Parameter+credit_card_number+is+required\n&error-code=1'
  const fields = {
    type: 'validation-error',
    'serial-number': '00000000-0000-0000-0000-000002231f99',
    'merchant-order-id': '2121',
    'error-message': 'Parameter credit_card_number is required',
    'error-code': '1',
  }
  const read = readPairs(body)!
  assert.deepEqual(Object.fromEntries(read), fields)
  const about = { operation: 'sale', client_orderid: '2121' } as const
  const { code, message, type } = readReply(read, about, acceptance) as Extract<ReturnType<typeof readReply>, { is: 'refused' }>
  assert.deepEqual([type, code, message], ['validation-error', 1, 'Parameter credit_card_number is required'])
})
