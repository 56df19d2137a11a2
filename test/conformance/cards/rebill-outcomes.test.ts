import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { call, rebill, rebillOrder, refOf, register, registered, signedRebill, type Rebill } from './card.ts'
import {
  accepted,
  callbackControl,
  endingMonth,
  ledger,
  newOrderId,
  nextYear,
  order,
  refused,
  sale,
  settled,
  status,
  notEmpty,
} from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Changes, Fields, Order, Path } from '../requests/client.ts'

/** What becomes of recurrent payments: status, callbacks, and that none is charged twice. */

// oxfmt-ignore
const customer: Changes = {
  phone: '+4912345678', first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', card_printed_name: 'A LOVELACE',
  country: 'US', state: 'CA', city: 'San José', zip_code: '94016', address1: '1 Engine Road', expire_month: '07', expire_year: String(nextYear),
  comment: 'the first', merchant_data: 'the first',
}

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const first = await registered(world, customer)
const firstSeen = await settled(world, first.made)

const group = (): Path => `group/${world.groups.multi}`
const inUse = (reply: Fields): void => refused(reply, 11, 'client_orderid is already in use')
const charged = async ({ orderid }: Order): Promise<string[]> =>
  (await ledger(world, orderid)).map((entry) => `${entry.kind} ${entry.amountMinor} ${entry.state}`)

// oxfmt-ignore
const kinds: [Rebill, string, string, string][] = [
  // operation            transaction  stage            at the acquirer
  ['make-rebill-sale',    'sale',      'sale_approved', 'sale'],
  ['make-rebill',         'sale',      'sale_approved', 'sale'],
  ['make-rebill-preauth', 'preauth',   'auth_approved', 'preauth'],
]

describe('the reply accepts the request', { concurrency: 4 }, () => {
  for (const [operation] of kinds) {
    it(`${operation}: async-response with the identifiers, at an endpoint and at a group`, async () => {
      for (const path of [world.endpoints.plain, group()]) {
        const client_orderid = newOrderId()
        const reply = await rebill(world, first.ref, { client_orderid }, { operation, path })
        const made = accepted(reply)
        assert.equal(made.client_orderid, client_orderid)
        assert.notEqual(made.orderid, first.made.orderid)
        const known = new Set(['type', 'serial-number', 'merchant-order-id', 'gateway-order-id', 'end-point-id'])
        assert.deepEqual(
          Object.keys(reply).filter((name) => !known.has(name)),
          [],
        )
      }
    })
  }
})

describe('the status of a recurrent payment', { concurrency: 4 }, () => {
  for (const [operation, transaction, stage, kind] of kinds) {
    it(`${operation} is a ${transaction} of the card, name and address of the first payment`, async () => {
      const changes = { amount: '7.5', merchant_data: ' my=data & é😀 ', comment: 'the second' }
      const made = await rebillOrder(world, first.ref, changes, { operation })
      const seen = await settled(world, made)
      // oxfmt-ignore
      const values: Fields = {
        status: 'approved', 'order-stage': stage, 'transaction-type': transaction, amount: '7.5', 'initial-amount': '7.5', currency: 'USD',
        'gateway-order-id': made.orderid, 'merchant-order-id': made.client_orderid,
        name: 'Ada Lovelace', 'first-name': 'Ada', 'last-name': 'Lovelace', 'cardholder-name': 'A LOVELACE',
        email: 'ada@example.com', phone: '+4912345678', country: 'US', state: 'CA', city: 'San José', zip_code: '94016', address1: '1 Engine Road',
        bin: '411111', 'last-four-digits': '1111', 'card-exp-year': String(nextYear), merchantdata: ' my=data & é😀 ',
        'processor-tx-id': `SIM-${made.orderid}`, 'verified-3d-status': 'UNKNOWN',
      }
      for (const [name, value] of Object.entries(values)) assert.equal(seen[name], value, name)
      for (const name of ['card-exp-month', 'card-type', 'bank-name', 'card-hash-id', 'descriptor'])
        assert.equal(seen[name], firstSeen[name], name)
      for (const name of ['processor-rrn', 'approval-code', 'receipt-id', 'transaction-date']) assert.ok(seen[name], name)
      assert.notEqual(seen['receipt-id'], firstSeen['receipt-id'])
      assert.deepEqual(await charged(made), [`${kind} 750 approved`])
      const bySerial = await status(world, {
        client_orderid: made.client_orderid,
        orderid: made.orderid,
        'by-request-sn': made.serial,
      })
      assert.deepEqual([bySerial['by-request-sn'], bySerial['transaction-type']], [made.serial, transaction])
    })
  }
  it('fields of a sale that a recurrent payment does not have are ignored: the customer stays the first payment’s', async () => {
    const changes = { email: 'eve@example.com', first_name: 'Eve', phone: '1', credit_card_number: '5555555555554444' }
    const seen = await settled(world, await rebillOrder(world, first.ref, changes))
    assert.deepEqual([seen.email, seen.name, seen.phone, seen.bin], ['ada@example.com', 'Ada Lovelace', '+4912345678', '411111'])
  })
  it('merchant_data comes from this request only', async () => {
    const seen = await settled(world, await rebillOrder(world, first.ref))
    assert.equal(seen.merchantdata, undefined)
  })
  it('the first payment does not change', async () => {
    await settled(world, await rebillOrder(world, first.ref, { amount: '3' }))
    const { 'serial-number': _one, ...now } = await settled(world, first.made)
    const { 'serial-number': _other, ...then } = firstSeen
    assert.deepEqual(now, then)
  })
  it('a reference of a recurrent payment charges the same customer', async () => {
    const made = await rebillOrder(world, first.ref)
    await settled(world, made)
    const ref = refOf(await register(world, made))
    const seen = await settled(world, await rebillOrder(world, ref))
    assert.deepEqual([seen.status, seen.name, seen.email], ['approved', 'Ada Lovelace', 'ada@example.com'])
  })
  it('another currency than the first payment’s, at an endpoint and at a group', async () => {
    for (const path of [world.endpoints.euro, group()]) {
      const seen = await settled(world, await rebillOrder(world, first.ref, { currency: 'EUR' }, { path }), { path })
      assert.deepEqual([seen.status, seen.currency], ['approved', 'EUR'])
    }
  })
})

describe('the acquirer decides', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Changes, string, string | undefined][] = [
    ['no cvv2, 1000.00',       { amount: '1000.00' },               'approved', undefined],
    ['no cvv2, 1000.01',       { amount: '1000.01' },               'declined', '116'],
    ['an empty cvv2, 1000',    { amount: '1000', cvv2: '' },        'approved', undefined],
    ['an empty cvv2, 1001',    { amount: '1001', cvv2: '' },        'declined', '116'],
    ['cvv2 123, 5000',         { amount: '5000', cvv2: '123' },     'approved', undefined],
    ['cvv2 1234',              { cvv2: '1234' },                    'approved', undefined],
    ['cvv2 101',               { cvv2: '101' },                     'declined', '101'],
    ['cvv2 116',               { cvv2: '116' },                     'declined', '116'],
    ['cvv2 119',               { cvv2: '119' },                     'declined', '119'],
    ['cvv2 209',               { cvv2: '209' },                     'declined', '209'],
    ['cvv2 165',               { cvv2: '165' },                     'declined', '165'],
    ['cvv2 555',               { cvv2: '555' },                     'declined', '100'],
    ['cvv2 111',               { cvv2: '111' },                     'approved', undefined],
    ['IRREGULAR',              { recurrent_scenario: 'IRREGULAR' }, 'approved', undefined],
    ['REGULAR',                { recurrent_scenario: 'REGULAR' },   'approved', undefined],
    ['MERCHANT',               { recurrent_initiator: 'MERCHANT' }, 'approved', undefined],
    ['CARDHOLDER',             { recurrent_initiator: 'CARDHOLDER' }, 'approved', undefined],
  ]
  for (const [what, changes, outcome, code] of cases) {
    it(`${what}: ${outcome} ${code ?? ''}`, async () => {
      for (const [operation, , stage] of kinds) {
        const seen = await settled(world, await rebillOrder(world, first.ref, changes, { operation }))
        assert.deepEqual([seen.status, seen['error-code']], [outcome, code])
        assert.equal(seen['order-stage'], stage.replace('approved', outcome))
        assert.equal(seen['error-message'] !== undefined, code !== undefined)
      }
    })
  }
  it('a card is good until the end of its month', async () => {
    const { ref } = await registered(world, endingMonth())
    assert.equal((await settled(world, await rebillOrder(world, ref))).status, 'approved')
  })
})

describe('callbacks of a recurrent payment', { concurrency: 4 }, () => {
  let paths = 0
  const told = async (path: string): Promise<Fields> => {
    const calls = await until(() => shop.calls(path), notEmpty)
    const [one] = calls
    assert.ok(one, `called at ${path} within 60 s`)
    assert.equal(one.method, 'GET')
    return Object.fromEntries(one.query)
  }
  for (const [operation, type] of kinds) {
    for (const outcome of ['approved', 'declined']) {
      it(`${operation}, ${outcome}: type ${type}, to server_callback_url and to notify_url`, async () => {
        const urls = [`/c${(paths += 1)}`, `/n${paths}`]
        const [server_callback_url, notify_url] = urls.map((path) => `${shop.origin}${path}`)
        const changes = { server_callback_url, notify_url, merchant_data: ' a=b&c ', comment: 'June', amount: '8.10' }
        const decline = outcome === 'declined' ? { cvv2: '119' } : {}
        const made = await rebillOrder(world, first.ref, { ...changes, ...decline }, { operation })
        const seen = await settled(world, made)
        for (const path of urls) {
          const fields = await told(path)
          // oxfmt-ignore
          const values: Changes = {
            status: outcome, type, amount: '8.10', currency: 'USD', merchant_order: made.client_orderid, client_orderid: made.client_orderid, orderid: made.orderid,
            merchantdata: ' a=b&c ', comment: 'June', name: 'Ada Lovelace', 'card-holder-name': 'A LOVELACE', email: 'ada@example.com', phone: '+4912345678',
            bin: '411111', 'last-four-digits': '1111', 'card-type': seen['card-type'], 'processor-tx-id': seen['processor-tx-id'],
            error_code: outcome === 'declined' ? '119' : undefined, error_message: seen['error-message'], 'approval-code': seen['approval-code'],
            control: callbackControl(outcome, made.orderid, made.client_orderid, world.merchant.controlKey),
          }
          for (const [name, value] of Object.entries(values)) assert.equal(fields[name], value, `${path} ${name}`)
          for (const value of Object.values(fields)) assert.ok(!value.includes('4111111111111111'))
        }
        for (const path of urls) assert.equal(shop.calls(path).length, 1, 'each once')
      })
    }
  }
})

describe('no recurrent payment is made twice', { concurrency: 4 }, () => {
  for (const [operation, , , kind] of kinds) {
    it(`20 simultaneous ${operation} requests make one order and one charge`, async () => {
      const fields = signedRebill(world, first.ref)
      const replies = await Promise.all(Array.from({ length: 20 }, () => call(world, operation, fields)))
      const made = replies.map(accepted)
      assert.equal(new Set(made.map(({ orderid }) => orderid)).size, 1)
      assert.equal(new Set(made.map(({ serial }) => serial)).size, 20)
      const [one] = made
      assert.ok(one)
      assert.equal((await settled(world, one)).status, 'approved')
      assert.equal(accepted(await call(world, operation, fields)).orderid, one.orderid)
      assert.deepEqual(await charged(one), [`${kind} 1050 approved`])
    })
  }
  it('the other order of the checksum, and another cvv2: the same request', async () => {
    const client_orderid = newOrderId()
    const made = await rebillOrder(world, first.ref, { client_orderid })
    assert.equal((await rebillOrder(world, first.ref, { client_orderid, cvv2: '116' })).orderid, made.orderid)
    assert.equal((await settled(world, made)).status, 'approved')
    assert.deepEqual(await charged(made), ['sale 1050 approved'])
  })
  it('make-rebill is an alias: after make-rebill-sale it is the same request', async () => {
    const fields = signedRebill(world, first.ref)
    const made = accepted(await call(world, 'make-rebill-sale', fields))
    assert.equal(accepted(await call(world, 'make-rebill', fields)).orderid, made.orderid)
    await settled(world, made)
    assert.deepEqual(await charged(made), ['sale 1050 approved'])
  })
  // oxfmt-ignore
  const different: [string, Changes][] = [
    ['amount', { amount: '10.51' }], ['order_desc', { order_desc: 'x' }], ['enumerate_amounts', { enumerate_amounts: '5' }], ['ipaddress', { ipaddress: '203.0.113.8' }],
    ['comment', { comment: 'x' }], ['purpose', { purpose: 'x' }], ['merchant_data', { merchant_data: 'x' }], ['recurrent_scenario', { recurrent_scenario: 'IRREGULAR' }],
    ['recurrent_initiator', { recurrent_initiator: 'CARDHOLDER' }], ['server_callback_url', { server_callback_url: 'http://127.0.0.1:9/' }],
  ]
  for (const [what, changes] of different) {
    it(`another ${what}: 11`, async () => {
      const client_orderid = newOrderId()
      const made = await rebillOrder(world, first.ref, { client_orderid })
      inUse(await rebill(world, first.ref, { client_orderid, ...changes }))
      assert.equal((await settled(world, made)).status, 'approved')
      inUse(await rebill(world, first.ref, { client_orderid, ...changes }))
      assert.deepEqual(await charged(made), ['sale 1050 approved'])
    })
  }
  it('another card, a preauth for a sale, an order of a sale and a sale for a recurrent payment: 11', async () => {
    const client_orderid = newOrderId()
    const other = await registered(world, { credit_card_number: '5555555555554444' })
    const made = await rebillOrder(world, first.ref, { client_orderid })
    inUse(await rebill(world, other.ref, { client_orderid }))
    inUse(await rebill(world, first.ref, { client_orderid }, { operation: 'make-rebill-preauth' }))
    inUse(await sale(world, { client_orderid }))
    inUse(await rebill(world, first.ref, { client_orderid: first.made.client_orderid }))
    await settled(world, made)
    assert.deepEqual(await charged(made), ['sale 1050 approved'])
  })
  it('of 20 simultaneous different requests with one client_orderid, one is accepted', async () => {
    const client_orderid = newOrderId()
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => rebill(world, first.ref, { client_orderid, amount: `${at + 1}` })),
    )
    assert.equal(replies.filter(({ type }) => type === 'async-response').length, 1)
    for (const reply of replies) if (reply.type !== 'async-response') inUse(reply)
  })
  it('after a decline a different one makes a new order', async () => {
    const client_orderid = newOrderId()
    const made = await rebillOrder(world, first.ref, { client_orderid, cvv2: '116' })
    assert.equal((await settled(world, made)).status, 'declined')
    const again = await rebillOrder(world, first.ref, { client_orderid, amount: '9' })
    assert.notEqual(again.orderid, made.orderid)
    assert.equal((await settled(world, again)).status, 'approved')
  })
  it('another merchant’s client_orderid is no hindrance', async () => {
    const way = { as: world.other, path: world.other.endpoint }
    const theirs = await registered(world, {}, way)
    const client_orderid = newOrderId()
    await order(world, { client_orderid })
    assert.equal((await settled(world, await rebillOrder(world, theirs.ref, { client_orderid }, way), way)).status, 'approved')
  })
})
