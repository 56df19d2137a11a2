import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  endingMonth,
  ledger,
  newOrderId,
  nextYear,
  order,
  refused,
  sale,
  send,
  serialShape,
  settled,
  status,
} from '../requests/client.ts'
import { statusOf, statusUrl, type Changes, type Order } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'

/** A sale without 3-D Secure in every state: specification A5, choices.md sections 3, 5 and 9. */

// oxfmt-ignore
const customer: Changes = {
  amount: '10.5', phone: '+4912345678', first_name: 'Ada', last_name: 'Lovelace', country: 'US', state: 'NY', city: 'New York', zip_code: '10001',
  address1: '5 Main Street', email: 'ada@example.com', card_printed_name: 'A LOVELACE', expire_month: '7', expire_year: String(nextYear % 100), merchant_data: ' my = data ',
}

const world = await openWorld()
const paid = await order(world, customer)
const denied = await order(world, { ...customer, cvv2: '116' })
const approved = await settled(world, paid)
const declined = await settled(world, denied)

describe('the CVV2 decides what the acquirer says', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, string, string | undefined][] = [
    // cvv2    status       error-code
    ['123',    'approved',  undefined],
    ['1234',   'approved',  undefined],
    ['111',    'approved',  undefined],
    ['321',    'approved',  undefined],
    ['101',    'declined',  '101'],
    ['116',    'declined',  '116'],
    ['119',    'declined',  '119'],
    ['209',    'declined',  '209'],
    ['165',    'declined',  '165'],
    ['000',    'declined',  '100'],
    ['999',    'declined',  '100'],
    ['208',    'declined',  '100'],
    ['1235',   'declined',  '100'],
  ]
  for (const [cvv2, outcome, code] of cases) {
    it(`${cvv2}: ${outcome} ${code ?? ''}, stage sale_${outcome}`, async () => {
      const made = await order(world, { cvv2 })
      const seen = await settled(world, made)
      assert.deepEqual([seen.status, seen['order-stage'], seen['error-code']], [outcome, `sale_${outcome}`, code])
      assert.equal(Boolean(seen['error-message']), outcome === 'declined', 'a decline has a text, an approval none')
      const books = await ledger(world, made.orderid)
      assert.equal(books.filter((entry) => entry.state === 'approved').length, outcome === 'approved' ? 1 : 0)
    })
  }
  it('217: no answer in time, never more than unknown in the meantime', async () => {
    const made = await order(world, { cvv2: '217' })
    const seen = await until(
      async () => {
        const reply = await statusOf(world, made)
        assert.ok(reply.status === 'processing' || reply.status === 'unknown', JSON.stringify(reply))
        assert.match(reply['order-stage'] ?? '', /^sale_(filtering|processing|starting|unknown)$/)
        assert.equal(reply['approval-code'], undefined)
        assert.equal(reply['transaction-date'], undefined, 'the date of a final status')
        return reply
      },
      (reply) => reply.status === 'unknown',
    )
    assert.deepEqual([seen.status, seen['order-stage']], ['unknown', 'sale_unknown'])
  })
  it('an expiry in the past: the order is made and declined with 101', async () => {
    const seen = await settled(world, await order(world, { expire_month: '1', expire_year: '2020', cvv2: '123' }))
    assert.deepEqual([seen.status, seen['order-stage'], seen['error-code']], ['declined', 'sale_declined', '101'])
  })
  it('a card is good until the end of the month of its expiry', async () => {
    assert.equal((await settled(world, await order(world, endingMonth()))).status, 'approved')
  })
  it('the euro endpoint and the group behave the same', async () => {
    const euro = await order(world, { currency: 'EUR' }, { path: world.endpoints.euro })
    const group = await order(world, { currency: 'EUR', cvv2: '119' }, { path: `group/${world.groups.multi}` })
    assert.deepEqual([(await settled(world, euro)).status, (await settled(world, euro)).currency], ['approved', 'EUR'])
    assert.deepEqual([(await settled(world, group)).status, (await settled(world, group))['error-code']], ['declined', '119'])
  })
})

const recent = (text: string | undefined): void => {
  const [, at] = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC$/.exec(text ?? '') ?? []
  assert.ok(at, `YYYY-MM-DD HH:MM:SS UTC: ${text}`)
  assert.ok(Math.abs(Date.parse(`${at.replace(' ', 'T')}Z`) - Date.now()) < 300_000, text)
}

describe('the status of an approved sale has every field that applies, with the right value', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const values: [string, string][] = [
    ['type', 'status-response'],     ['status', 'approved'],             ['order-stage', 'sale_approved'],       ['transaction-type', 'sale'],
    ['amount', '10.5'],              ['initial-amount', '10.5'],         ['currency', 'USD'],                    ['email', 'ada@example.com'],
    ['phone', '+4912345678'],        ['first-name', 'Ada'],              ['last-name', 'Lovelace'],              ['name', 'Ada Lovelace'],
    ['cardholder-name', 'A LOVELACE'], ['country', 'US'],                ['state', 'NY'],                        ['city', 'New York'],
    ['zip_code', '10001'],           ['address1', '5 Main Street'],      ['bin', '411111'],                      ['last-four-digits', '1111'],
    ['card-exp-year', String(nextYear)], ['merchantdata', ' my = data '], ['gate-partial-reversal', 'enabled'],  ['gate-partial-capture', 'enabled'],
    ['verified-3d-status', 'UNKNOWN'],
  ]
  for (const [name, value] of values) it(`${name} is ${value}`, () => assert.equal(approved[name], value))
  // oxfmt-ignore
  const shapes: [string, RegExp][] = [
    ['serial-number', serialShape],  ['card-exp-month', /^0?7$/],        ['card-type', /visa/i],                 ['card-hash-id', /^\S{22,}$/],
    ['processor-rrn', /^\S+$/],      ['approval-code', /^[A-Z0-9]{6}$/i], ['terminal-id', /\S/],                 ['receipt-id', serialShape],
    ['descriptor', /\S/],            ['bank-name', /\S/],                ['card-country-alpha-three-code', /^[A-Z]{3}$/],
    ['ips-src-payment-product-code', /\S/], ['ips-src-payment-product-name', /\S/], ['ips-src-payment-type-code', /\S/], ['ips-src-payment-type-name', /\S/],
  ]
  for (const [name, shape] of shapes) it(`${name} has the shape ${shape}`, () => assert.match(approved[name] ?? '', shape))
  it('processor-tx-id is SIM-<orderid>', () => assert.equal(approved['processor-tx-id'], `SIM-${paid.orderid}`))
  it('the reply has both ids of the order', () => {
    assert.deepEqual([approved['gateway-order-id'], approved['merchant-order-id']], [paid.orderid, paid.client_orderid])
  })
  for (const name of ['gateway-processing-date', 'transaction-date'])
    it(`${name} is of now, in UTC`, () => recent(approved[name]))
  for (const name of [
    'error-code',
    'error-message',
    'motivational-message',
    'by-request-sn',
    'html',
    'redirect-to',
    'tds-status',
    'eci',
  ]) {
    it(`${name} does not apply`, () => assert.equal(approved[name], undefined))
  }
  it('no field shows the card number or the CVV2', async () => {
    const seen = await settled(world, await order(world, { credit_card_number: '5555555555554444', cvv2: '1234' }))
    for (const [name, value] of Object.entries(seen)) assert.ok(!value.includes('5555555555554444') && value !== '1234', name)
  })
  for (const amount of ['7', '7.0', '0007.5', '10.500', '1234567.89']) {
    it(`an amount of ${amount} keeps its spelling`, async () => {
      const seen = await settled(world, await order(world, { amount }))
      assert.deepEqual([seen.amount, seen['initial-amount'], seen.status], [amount, amount, 'approved'])
    })
  }
  for (const [year, written] of [
    [nextYear % 100, nextYear],
    [nextYear, nextYear],
  ]) {
    it(`a year of ${year} is written ${written}`, async () => {
      assert.equal((await statusOf(world, await order(world, { expire_year: String(year) })))['card-exp-year'], String(written))
    })
  }
  const networks: [string, RegExp][] = [
    ['4000000000000002', /visa/i],
    ['5555555555554444', /master/i],
    ['2223000048400011', /master/i],
    ['378282246310005', /amex|american/i],
    ['6521500000000006', /rupay/i],
    ['9000000000000001', /^UNKNOWN$/],
  ]
  for (const [credit_card_number, network] of networks) {
    it(`card-type of ${credit_card_number} names its network ${network}`, async () => {
      const seen = await settled(world, await order(world, { credit_card_number }))
      assert.match(seen['card-type'] ?? '', network)
      assert.deepEqual([seen.bin, seen['last-four-digits']], [credit_card_number.slice(0, 6), credit_card_number.slice(-4)])
    })
  }
  it('card-hash-id is one per merchant and card whatever the expiry, and no plain hash of the number', async () => {
    const hash = async (changes: Changes, as = world.merchant, path = world.endpoints.plain) =>
      (await settled(world, await order(world, changes, { as, path }), { as, path }))['card-hash-id']
    assert.equal(await hash({ expire_month: '1', card_printed_name: 'ANOTHER NAME' }), approved['card-hash-id'])
    assert.notEqual(await hash({ credit_card_number: '5555555555554444' }), approved['card-hash-id'])
    assert.notEqual(await hash({}, world.other, world.other.endpoint), approved['card-hash-id'])
    for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512']) {
      const plainHash = createHash(algorithm).update('4111111111111111').digest('hex')
      assert.ok(!plainHash.startsWith((approved['card-hash-id'] ?? '').toLowerCase()), algorithm)
    }
  })
})

describe('the status of a declined sale', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const values: [string, string | undefined][] = [
    ['status', 'declined'],          ['order-stage', 'sale_declined'],   ['transaction-type', 'sale'],           ['error-code', '116'],
    ['amount', '10.5'],              ['initial-amount', '10.5'],         ['currency', 'USD'],                    ['name', 'Ada Lovelace'],
    ['bin', '411111'],               ['last-four-digits', '1111'],       ['merchantdata', ' my = data '],        ['approval-code', undefined],
  ]
  for (const [name, value] of values) it(`${name} is ${value ?? 'left out'}`, () => assert.equal(declined[name], value))
  it('error-message says why', () => assert.match(declined['error-message'] ?? '', /[a-z]{3}/i))
  it('motivational-message comes from the simulated acquirer', () => assert.match(declined['motivational-message'] ?? '', /\S/))
  it('transaction-date is that of the final status', () => recent(declined['transaction-date']))
  it('both orders of one card have the same card-hash-id', () => assert.equal(declined['card-hash-id'], approved['card-hash-id']))
})

const bySerial = (made: Order, serial: string, way = {}) =>
  status(world, { client_orderid: made.client_orderid, orderid: made.orderid, 'by-request-sn': serial }, way)

describe('how a status request names its order and request', { concurrency: 4 }, () => {
  it('without orderid the newest order of that client_orderid', async () => {
    const client_orderid = newOrderId()
    const first = await order(world, { client_orderid, cvv2: '116' })
    assert.equal((await settled(world, first)).status, 'declined')
    const second = await order(world, { client_orderid, amount: '20' })
    assert.notEqual(second.orderid, first.orderid)
    assert.equal((await status(world, { client_orderid }))['gateway-order-id'], second.orderid)
    assert.equal((await statusOf(world, first))['gateway-order-id'], first.orderid)
    assert.equal((await statusOf(world, first)).amount, '10.50')
  })
  it('an order is found through any endpoint or group of its merchant', async () => {
    for (const path of [world.endpoints.euro, `group/${world.groups.multi}`]) {
      assert.equal((await statusOf(world, paid, { path }))['gateway-order-id'], paid.orderid)
      assert.equal((await status(world, { client_orderid: paid.client_orderid }, { path }))['gateway-order-id'], paid.orderid)
    }
  })
  it('another merchant does not find it', async () => {
    const way = { as: world.other, path: world.other.endpoint }
    refused(await statusOf(world, paid, way), 6, 'Order not found')
    refused(await status(world, { client_orderid: paid.client_orderid }, way), 6, 'Order not found')
  })
  it('by-request-sn of the sale describes the sale, and is echoed', async () => {
    const seen = await bySerial(paid, paid.serial)
    assert.deepEqual(
      [seen['by-request-sn'], seen.status, seen['transaction-type'], seen.amount],
      [paid.serial, 'approved', 'sale', '10.5'],
    )
  })
  it('by-request-sn is found in capitals, and returned as it was sent', async () => {
    const seen = await bySerial(paid, ` ${paid.serial.toUpperCase()}`)
    assert.deepEqual([seen['by-request-sn'], seen.status], [paid.serial.toUpperCase(), 'approved'])
  })
  it('by-request-sn works without orderid', async () => {
    const seen = await status(world, { client_orderid: paid.client_orderid, 'by-request-sn': paid.serial })
    assert.deepEqual([seen['gateway-order-id'], seen['by-request-sn']], [paid.orderid, paid.serial])
  })
  it('by-request-sn of a repeat means the sale that it repeats', async () => {
    const client_orderid = newOrderId()
    const first = await order(world, { client_orderid })
    const repeat = await order(world, { client_orderid })
    assert.equal(repeat.orderid, first.orderid)
    const seen = await bySerial(first, repeat.serial)
    assert.deepEqual(
      [seen['gateway-order-id'], seen['by-request-sn'], seen['transaction-type']],
      [first.orderid, repeat.serial, 'sale'],
    )
  })
  it('by-request-sn of another order, of a refusal, of a status request or of nothing: 6', async () => {
    const refusal = await sale(world, { client_orderid: paid.client_orderid, order_desc: 'another' })
    for (const serial of [denied.serial, refusal['serial-number'] ?? '', approved['serial-number'] ?? '', randomUUID()]) {
      refused(await bySerial(paid, serial), 6, 'Order not found')
    }
  })
  it('a by-request-sn that no request can have: 3 or 6', async () => {
    for (const serial of ['x', '1', 'g'.repeat(36), 'a'.repeat(5000), '\u0000']) {
      const reply = await bySerial(paid, serial)
      refused(reply, reply['error-code'] === '3' ? 3 : 6)
    }
  })
  it('an empty by-request-sn counts as absent', async () => {
    const reply = await bySerial(paid, ' ')
    assert.deepEqual([reply['gateway-order-id'], reply['by-request-sn']], [paid.orderid, undefined])
  })
  it('by-request-sn of another merchant’s order: 6', async () => {
    const way = { as: world.other, path: world.other.endpoint }
    const foreign = await order(world, {}, way)
    refused(await bySerial(paid, foreign.serial), 6, 'Order not found')
    refused(await bySerial(foreign, paid.serial, way), 6, 'Order not found')
  })
})

const receipt = (id: string) => send('GET', `${world.baseUrl}/view-receipt/${world.endpoints.plain}/${id}/`)

describe('the receipt', { concurrency: 4 }, () => {
  it('{base_url}/view-receipt/{endpoint_id}/<receipt-id>/ is a page that shows no more of the card than its mask', async () => {
    const page = await receipt(approved['receipt-id'] ?? '')
    assert.equal(page.httpStatus, 200)
    assert.match(page.contentType, /^text\/html\b/)
    assert.match(page.body, /10[.,]50?/)
    assert.match(page.body, /USD|\$/)
    assert.match(page.body, /1111/)
    assert.doesNotMatch(page.body.replaceAll(/[\s-]|&nbsp;|<[^>]*>/g, ''), /4111111111111111/)
    assert.doesNotMatch(page.body, /<script/i)
  })
  it('it cannot be guessed', async () => {
    for (const id of [randomUUID(), paid.orderid, '1', 'x', '%00', '..%2f..'])
      assert.equal((await receipt(id)).httpStatus, 404, id)
  })
  it('it shows the fields of the sale as text, not as markup', async () => {
    const nasty = '<script>alert(1)</script>'
    const changes = {
      order_desc: nasty,
      first_name: nasty,
      last_name: nasty,
      card_printed_name: nasty,
      city: nasty,
      client_orderid: `${nasty}${randomUUID()}`,
    }
    const page = await receipt((await settled(world, await order(world, changes)))['receipt-id'] ?? '')
    assert.equal(page.httpStatus, 200)
    assert.doesNotMatch(page.body, /<script/i)
  })
  it('status is asked by POST alone', async () => {
    assert.equal((await send('GET', statusUrl(world))).httpStatus, 405)
  })
})
