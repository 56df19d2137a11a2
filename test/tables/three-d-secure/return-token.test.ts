import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { readReturn } from '../../../client/callback.ts'
import { openClient } from '../../../client/client.ts'
import { writePairs } from '../../../client/form.ts'
import { controlOf } from '../../../client/operations.ts'
import { secret } from '../../../src/base/secret.ts'
import { returnToken } from '../../../src/merchant/return-token.ts'

/** The token of a returning cardholder: made by the gateway, and believed by the client. */

const controlKey = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const mine = { client_orderid: 'a-1', orderid: '1000001' }
const claims = { status: 'approved', ...mine, type: 'sale', amount: '10.42', currency: 'USD' }
const key = secret(Buffer.alloc(32, 7))
const now = 1_700_000_000_000
const judge = { login: 'shop', signingSecret: `whsec_${key.reveal().toString('base64')}`, now }
const good = returnToken(claims, { login: 'shop', key }, now)

/** The form of a return, with the control that its status and ids have. */
function form(changes: Record<string, string> = {}, token = good): string {
  const fields = { ...claims, ...changes }
  const control = controlOf([fields.status, fields.orderid, fields.client_orderid], controlKey)
  return writePairs(Object.entries({ ...fields, control, token }))
}
const read = (text: string, by = judge, expected = mine) => readReturn(text, controlKey, expected, by)

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const byHand = (header: object, payload: object, bytes = key.reveal()) => {
  const signed = `${encoded(header)}.${encoded(payload)}`
  return `${signed}.${createHmac('sha256', bytes).update(signed).digest('base64url')}`
}

test('a return is read where the token says what its fields say, for an hour', () => {
  for (const at of [now, now + 3_600_000, now - 60_000]) assert.equal(read(form(), { ...judge, now: at }).is, 'return')
  const processing = { ...claims, status: 'processing' }
  const text = form({ status: 'processing' }, returnToken(processing, { login: 'shop', key }, now))
  assert.equal(read(text).is, 'return')
})

test('a token that was changed, or is for another payment, is not genuine', () => {
  const none = good.split('.').slice(0, 2).join('.')
  const unsigned = `${encoded({ alg: 'none', typ: 'JWT' })}.${none.split('.')[1]}.`
  const moved = { client_orderid: '1', orderid: '1000001a-' }
  // oxfmt-ignore
  const cases: [why: RegExp, text: string, by?: typeof judge, expected?: typeof mine][] = [
    [/no token/,           form({}, '')],
    [/amount/,             form({ amount: '99.42' })],
    [/currency/,           form({ currency: 'EUR' })],
    [/type/,               form({ type: 'preauth' })],
    [/status/,             form({ status: 'declined' })],
    [/orderid/,            form(moved), judge, moved],
    [/not signed/,         form({}, `${good}x`)],
    [/not signed/,         form({}, none)],
    [/not signed/,         form({}, unsigned)],
    [/not signed/,         form({}, `${good}.`)],
    [/not signed/,         form({}, byHand({ alg: 'HS256' }, { aud: 'shop', ...claims }, Buffer.alloc(32, 8)))],
    [/another merchant/,   form({}, returnToken(claims, { login: 'other', key }, now))],
    [/too old/,            form(), { ...judge, now: now + 3_901_000 }],
    [/too old/,            form({}, byHand({ alg: 'HS256' }, { aud: 'shop', ...claims }))],
    [/another order/,      form(), judge, { ...mine, orderid: '1000002' }],
  ]
  for (const [why, text, by, expected] of cases) {
    const said = read(text, by, expected)
    assert.ok(said.is === 'not genuine' && why.test(said.why), `${why} ${JSON.stringify(said)}`)
  }
})

test('a client with a signing secret accepts no return without a token', () => {
  const settings = { baseUrl: 'http://127.0.0.1:1', endpoint: 1, login: 'shop', controlKey }
  assert.equal(openClient(settings).readReturn(form({}, ''), mine).is, 'return')
  assert.equal(openClient({ ...settings, signingSecret: judge.signingSecret }).readReturn(form({}, ''), mine).is, 'not genuine')
})
