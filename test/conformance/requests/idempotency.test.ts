import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  encodePairs,
  ledger,
  newOrderId,
  order,
  postSale,
  readReply,
  refused,
  sale,
  saleUrl,
  send,
  settled,
} from './client.ts'
import { signedSale, status, type Changes, type Fields, type Path } from './client.ts'
import { until } from '../../harness/clock/until.ts'

/** Per merchant, at most one order of a client_orderid is processing, approved or unknown. */

const world = await openWorld()

const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))
const but = (reply: Fields, name: string): Fields => Object.fromEntries(Object.entries(reply).filter(([one]) => one !== name))
const inUse = (reply: Fields): void => refused(reply, 11, 'client_orderid is already in use')
const group = (): Path => `group/${world.groups.multi}`

describe('the same request again answers with the order that it made', { concurrency: 4 }, () => {
  it('100 simultaneous requests make one order and one message to the acquirer; only serial numbers differ', async () => {
    const fields = signedSale(world)
    const replies = await times(100, () => postSale(world, fields))
    const [first = {}] = replies
    const made = accepted(first)
    for (const reply of replies) assert.deepEqual(but(reply, 'serial-number'), but(first, 'serial-number'))
    assert.equal(new Set(replies.map((reply) => reply['serial-number'])).size, 100)
    assert.equal((await settled(world, made)).status, 'approved')
    assert.equal((await status(world, { client_orderid: made.client_orderid }))['gateway-order-id'], made.orderid)
    const books = await ledger(world, made.orderid)
    assert.deepEqual(
      books.map((entry) => [entry.kind, entry.amountMinor, entry.state]),
      [['sale', '1050', 'approved']],
    )
  })
  it('50 simultaneous requests at an endpoint and 50 at its group make one order', async () => {
    const changes = { client_orderid: newOrderId() }
    const replies = await times(100, (at) => sale(world, changes, at % 2 === 0 ? {} : { path: group() }))
    const made = replies.filter((reply) => reply.type === 'async-response').map(accepted)
    assert.equal(new Set(made.map((one) => one.orderid)).size, 1)
    for (const reply of replies) if (reply.type !== 'async-response') inUse(reply)
    const [one] = made
    assert.ok(one)
    assert.equal((await settled(world, one)).status, 'approved')
    assert.equal((await ledger(world, one.orderid)).length, 1)
  })
  it('of 20 simultaneous different requests with one client_orderid, one is accepted', async () => {
    const client_orderid = newOrderId()
    const replies = await times(20, (at) => sale(world, { client_orderid, amount: `${at + 1}.00` }))
    const taken = replies.filter((reply) => reply.type === 'async-response')
    assert.equal(taken.length, 1)
    for (const reply of replies) if (reply.type !== 'async-response') inUse(reply)
    const made = accepted(taken[0] ?? {})
    await settled(world, made)
    assert.equal((await ledger(world, made.orderid)).length, 1)
  })
  it('later, when it is approved: the same order, a fresh serial number, nothing charged', async () => {
    const fields = signedSale(world)
    const first = accepted(await postSale(world, fields))
    assert.equal((await settled(world, first)).status, 'approved')
    for (let round = 0; round < 3; round += 1) {
      const again = accepted(await postSale(world, fields))
      assert.equal(again.orderid, first.orderid)
      assert.notEqual(again.serial, first.serial)
    }
    assert.equal((await ledger(world, first.orderid)).length, 1)
  })
  // oxfmt-ignore
  const same: [string, Changes, Changes][] = [
    ['with another cvv2',                     {},                                        { cvv2: '116' }],
    ['with cardNumber for credit_card_number', {},                                       { credit_card_number: undefined, cardNumber: '4111111111111111' }],
    ['with empty optional fields',            {},                                        { phone: '', comment: '' }],
    ['with merchant_data and the like again', { merchant_data: ' x ', first_name: 'A' }, { merchant_data: ' x ', first_name: 'A' }],
  ]
  for (const [what, once, changes] of same) {
    it(`${what}: the same request`, async () => {
      const client_orderid = newOrderId()
      const first = await order(world, { ...once, client_orderid })
      assert.equal((await order(world, { ...once, client_orderid, ...changes })).orderid, first.orderid)
      assert.equal((await settled(world, first)).status, 'approved')
      assert.equal((await ledger(world, first.orderid)).length, 1)
    })
  }
  it('with its control in capitals and its fields in another order: the same request', async () => {
    const fields = signedSale(world)
    const first = accepted(await postSale(world, fields))
    const turned = Object.entries({ ...fields, control: (fields.control ?? '').toUpperCase() }).toReversed()
    assert.equal(accepted(readReply(await send('POST', saleUrl(world), encodePairs(turned)))).orderid, first.orderid)
  })
  it('a repeat that is refused for another reason is refused: the checks come first', async () => {
    const fields = signedSale(world)
    accepted(await postSale(world, fields))
    refused(await postSale(world, { ...fields, control: 'x' }), 2)
    refused(await postSale(world, { ...fields, cvv2: 'x' }), 3)
  })
})

describe('a different request meanwhile is refused', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const different: [string, Changes][] = [
    ['another amount',          { amount: '10.51' }],
    ['another description',     { order_desc: 'Three tickets' }],
    ['another card',            { credit_card_number: '5555555555554444' }],
    ['another expiry',          { expire_year: '2099' }],
    ['another printed name',    { card_printed_name: 'CHARLES BABBAGE' }],
    ['another e-mail',          { email: 'eve@example.com' }],
    ['another address',         { ipaddress: '203.0.113.8' }],
    ['another callback',        { server_callback_url: 'http://127.0.0.1:9/' }],
    ['merchant_data',           { merchant_data: 'x' }],
    ['a field that was absent', { phone: '123' }],
  ]
  for (const [what, changes] of different) {
    it(`${what}: 11`, async () => {
      const client_orderid = newOrderId()
      const first = await order(world, { client_orderid })
      inUse(await sale(world, { client_orderid, ...changes }))
      assert.equal((await settled(world, first)).status, 'approved')
      inUse(await sale(world, { client_orderid, ...changes }))
      assert.equal((await status(world, { client_orderid }))['gateway-order-id'], first.orderid)
      assert.equal((await ledger(world, first.orderid)).length, 1)
    })
  }
  it('per merchant, whatever endpoint or group the path names', async () => {
    const client_orderid = newOrderId()
    await order(world, { client_orderid })
    inUse(await sale(world, { client_orderid, currency: 'EUR' }, { path: world.endpoints.euro }))
    inUse(await sale(world, { client_orderid, currency: 'EUR' }, { path: group() }))
    inUse(await sale(world, { client_orderid, amount: '11' }, { path: group() }))
  })
  it('another merchant uses the same client_orderid for an order of its own', async () => {
    const client_orderid = newOrderId()
    const way = { as: world.other, path: world.other.endpoint }
    const mine = await order(world, { client_orderid })
    const theirs = await order(world, { client_orderid }, way)
    assert.notEqual(theirs.orderid, mine.orderid)
    assert.equal((await settled(world, theirs, way)).status, 'approved')
  })
  it('an order without an answer of the acquirer holds its client_orderid', async () => {
    const client_orderid = newOrderId()
    const first = await order(world, { client_orderid, cvv2: '217' })
    const held = await until(
      async () => {
        inUse(await sale(world, { client_orderid, amount: '20' }))
        assert.equal((await order(world, { client_orderid, cvv2: '217' })).orderid, first.orderid)
        return status(world, { client_orderid })
      },
      (seen) => seen.status === 'unknown',
    )
    assert.equal(held.status, 'unknown')
    assert.equal((await ledger(world, first.orderid)).filter((entry) => entry.kind === 'sale').length, 1)
  })
})

describe('after a decline', { concurrency: 4 }, () => {
  it('a different request makes a new order', async () => {
    const client_orderid = newOrderId()
    const first = await order(world, { client_orderid, cvv2: '116' })
    assert.equal((await settled(world, first)).status, 'declined')
    const second = await order(world, { client_orderid, amount: '10.00' })
    assert.notEqual(second.orderid, first.orderid)
    assert.equal((await settled(world, second)).status, 'approved')
    inUse(await sale(world, { client_orderid, amount: '9.00' }))
  })
  it('20 simultaneous different requests make one new order', async () => {
    const client_orderid = newOrderId()
    await settled(world, await order(world, { client_orderid, cvv2: '116' }))
    const replies = await times(20, (at) => sale(world, { client_orderid, amount: `${at + 1}.00` }))
    assert.equal(replies.filter((reply) => reply.type === 'async-response').length, 1)
    for (const reply of replies) if (reply.type !== 'async-response') inUse(reply)
  })
  it('the same request answers with the same order for 10 s, and then makes a new one', async () => {
    const fields = signedSale(world, { cvv2: '116' })
    const start = performance.now()
    const first = accepted(await postSale(world, fields))
    assert.equal((await settled(world, first)).status, 'declined')
    const again = await until(
      () => postSale(world, fields).then(accepted),
      (made) => made.orderid !== first.orderid,
    )
    assert.notEqual(again.orderid, first.orderid, 'a new order after 10 s')
    assert.ok(performance.now() - start > 9_900, 'not before 10 s have passed')
    assert.equal((await settled(world, again)).status, 'declined')
    assert.equal((await ledger(world, first.orderid)).length, 1)
  })
})
