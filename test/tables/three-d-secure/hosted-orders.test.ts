import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { secret } from '../../../src/base/secret.ts'
import type { Merchant } from '../../../src/merchant/merchant.ts'
import type { Order, State, Transaction } from '../../../src/order/decide/order.ts'
import { hostedOrders, type HostedWorld } from '../../../src/pages/three-d-secure-order.ts'
import { now, orderIn } from '../order/decide-orders.ts'

/** The hosted page of a payment that is over, as time passes and money is returned. */

const personal = {
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  phone: '+491701234567',
  redirectUrl: 'https://shop.example/back',
  redirectSuccessUrl: 'https://shop.example/thanks',
}
const words = Object.values(personal).slice(0, 4).concat('1111', '411111', 'Call us', 'control', 'token')

interface Shown {
  order: Order
  at: number
}

/** What the page shows of an order at a time. */
async function shownOf({ order, at }: Shown) {
  const merchant: Partial<Merchant> = {
    name: 'Acme Toys',
    login: 'acme',
    controlKeys: [secret('8b9f4f3e-1c1b-4a53-9f7a-6a1d3b2c4e5f')],
    signingSecret: secret(Buffer.alloc(32, 7)),
  }
  const world: Partial<HostedWorld> = {
    locate: () => Promise.resolve({ merchantId: 1n, orderId: order.orderId }),
    order: () => Promise.resolve(order),
    merchant: () => merchant as Merchant,
    clock: { ...systemClock, now: () => at },
  }
  const shown = await hostedOrders(world as HostedWorld).find('A'.repeat(22))
  assert.ok(shown && (shown.is === 'over' || shown.is === 'working'))
  const back = shown.is === 'over' ? shown.back : shown.later
  const fields = Object.fromEntries(back?.pairs ?? [])
  const claims = Buffer.from(fields.token?.split('.')[1] ?? '', 'base64url').toString()
  return {
    status: shown.is === 'over' ? shown.status : shown.is,
    url: back?.url,
    says: fields.status,
    proves: claims === '' ? undefined : (JSON.parse(claims) as { status: string }).status,
    text: JSON.stringify(shown),
  }
}

function paid(state: State, ...later: Partial<Transaction>[]): Order {
  const { request, ...order } = orderIn(state)
  const [payment] = order.transactions
  const { authentication, ...plain } = payment!
  const said = { ...plain, authentication: { ...authentication!, cardholderInfo: 'Call us' } }
  const follow = later.map((one, i): Transaction => ({ ...plain, no: i + 2, parentNo: 1, ...one }))
  return { ...order, request: { ...request, ...personal }, transactions: [said, ...follow] }
}

const thanks = personal.redirectSuccessUrl
const back = personal.redirectUrl

test('once money was returned or released, or a return was requested, neither form nor token say approved', async () => {
  // oxfmt-ignore
  const rows: [what: string, follow: Partial<Transaction>, status: string, url: string, says: string][] = [
    ['a return',                    { kind: 'return', state: 'approved' },    'given back', back,   'processing'],
    ['a return of a part',          { kind: 'return', state: 'approved', amountMinor: 1n }, 'given back', back, 'processing'],
    ['a return under way',          { kind: 'return', state: 'authorising' }, 'given back', back,   'processing'],
    ['a return without an answer',  { kind: 'return', state: 'unknown' },     'given back', back,   'processing'],
    ['a void',                      { kind: 'void', state: 'approved' },      'given back', back,   'processing'],
    ['a void under way',            { kind: 'void', state: 'reversing' },     'given back', back,   'processing'],
    ['a preauthorisation let go',   { kind: 'cancel', state: 'approved' },    'given back', back,   'processing'],
    ['a return that was refused',   { kind: 'return', state: 'declined' },    'approved',   thanks, 'approved'],
    ['a void that failed',          { kind: 'void', state: 'error' },         'approved',   thanks, 'approved'],
    ['a capture',                   { kind: 'capture', state: 'approved' },   'approved',   thanks, 'approved'],
  ]
  for (const [what, follow, status, url, says] of rows) {
    const shown = await shownOf({ order: paid('approved', follow), at: now })
    assert.deepEqual([shown.status, shown.url, shown.says, shown.proves], [status, url, says, says], what)
    assert.equal(shown.text.includes('"approved"'), says === 'approved', what)
  }
})

test('an hour after the outcome, or after the request without one, the page has no personal data', async () => {
  const [minute, hour] = [60_000, 3_600_000]
  // oxfmt-ignore
  const rows: [state: State, since: number, status: string][] = [
    ['approved',  now - 1_000, 'approved'],
    ['declined',  now - 1_000, 'declined'],
    ['error',     now - 1_000, 'error'],
    ['unknown',   now - 5_000, 'working'],
    ['ready',     now - 5_000, 'working'],
  ]
  for (const [state, since, status] of rows) {
    const young = await shownOf({ order: paid(state), at: since + hour })
    assert.deepEqual([young.status, young.url === undefined], [status, false], state)
    for (const word of words) assert.ok(young.text.includes(word), `${state}: ${word} is there before`)
    for (const at of [since + hour + 1, since + 100 * hour, since + hour + minute]) {
      const old = await shownOf({ order: paid(state), at })
      assert.deepEqual([old.status, old.url], [status, undefined], state)
      for (const word of words) assert.ok(!old.text.includes(word), `${state}: ${word}`)
    }
  }
  const returned = await shownOf({ order: paid('approved', { kind: 'return', state: 'approved' }), at: now + hour })
  assert.deepEqual([returned.status, returned.url], ['given back', undefined])
})
