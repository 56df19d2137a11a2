import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, newOrderId, refused, settled, status, statusOf, type Changes, type Fields, type Order } from './client.ts'
import { approved, begin, booked, follow, followed, keyed, times, type FollowUp, type Initial } from '../operations/operations.ts'

/**
 * Idempotency-Key of payments, docs/choices.md, "Idempotency": for a day it names one request of
 * the merchant, over all operations that move money.
 */

const world = await openWorld()

const inUse = (reply: Fields, key: string): void => refused(reply, 11, `Idempotency-Key ${key} is already in use`)
const sale = (changes: Changes, key?: string): Promise<Fields> =>
  begin(world, 'sale', changes, key === undefined ? {} : keyed(key))
const fresh = () => ({ client_orderid: newOrderId(), key: randomUUID() })

describe('the same request under its key answers with the first one’s order', { concurrency: 4 }, () => {
  for (const operation of ['sale', 'preauth', 'account-verification'] as const satisfies readonly Initial[])
    it(`${operation}: one repeat, and 20 simultaneous ones`, async () => {
      const { client_orderid, key } = fresh()
      const replies = await times(20, () => begin(world, operation, { client_orderid }, keyed(key)))
      replies.push(await begin(world, operation, { client_orderid }, keyed(key)))
      const orders = new Set(replies.map((reply) => accepted(reply).orderid))
      assert.equal(orders.size, 1)
      assert.equal(new Set(replies.map((reply) => reply['serial-number'])).size, 21)
    })
  it('each serial number leads to it', async () => {
    const { client_orderid, key } = fresh()
    const [first, second] = [accepted(await sale({ client_orderid }, key)), accepted(await sale({ client_orderid }, key))]
    await settled(world, first)
    for (const { serial } of [first, second])
      assert.equal((await status(world, { client_orderid, orderid: first.orderid, 'by-request-sn': serial })).status, 'approved')
  })
  it('with another cvv2', async () => {
    const { client_orderid, key } = fresh()
    const first = accepted(await sale({ client_orderid, cvv2: '123' }, key))
    assert.equal(accepted(await sale({ client_orderid, cvv2: '1234' }, key)).orderid, first.orderid)
  })
  it('though a newer order has its client_orderid', async () => {
    const { client_orderid, key } = fresh()
    const first = accepted(await sale({ client_orderid, cvv2: '116' }, key))
    assert.equal((await settled(world, first)).status, 'declined')
    const second = accepted(await sale({ client_orderid, amount: '7.00' }))
    assert.notEqual(second.orderid, first.orderid)
    assert.equal(accepted(await sale({ client_orderid, cvv2: '116' }, key)).orderid, first.orderid)
  })
})

describe('a key added, dropped or changed', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const ways: [what: string, first: string | undefined, second: string | undefined][] = [
    ['added',   undefined, 'b'],
    ['dropped', 'a',       undefined],
    ['changed', 'a',       'b'],
  ]
  for (const [what, first, second] of ways)
    it(`${what}: the same client_orderid is answered with the same order, and each key means it from then on`, async () => {
      const { client_orderid, key } = fresh()
      const under = (one: string | undefined, changes: Changes = {}) =>
        sale({ client_orderid, ...changes }, one === undefined ? undefined : key + one)
      const made = accepted(await under(first))
      for (let round = 0; round < 2; round += 1) {
        assert.equal(accepted(await under(second)).orderid, made.orderid)
        assert.equal((await settled(world, made)).status, 'approved')
      }
      for (const one of [first, second].filter((name) => name !== undefined)) {
        assert.equal(accepted(await under(one)).orderid, made.orderid)
        inUse(await under(one, { client_orderid: newOrderId() }), key + one)
      }
      assert.equal((await booked(world, made)).length, 1)
    })
  it('does not make another request of the same client_orderid a repeat: 11, and the key stays free', async () => {
    const { client_orderid, key } = fresh()
    accepted(await sale({ client_orderid }))
    refused(await sale({ client_orderid, amount: '9.00' }, key), 11, 'client_orderid is already in use')
    accepted(await sale({}, key))
  })
})

describe('another request under a key is refused with 11 by its name', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const others: [what: string, operation: Initial, changes: Changes][] = [
    ['another client_orderid', 'sale',    { client_orderid: 'another' }],
    ['another amount',         'sale',    { amount: '9.00' }],
    ['another description',    'sale',    { order_desc: 'another' }],
    ['another card',           'sale',    { credit_card_number: '5555555555554444' }],
    ['a field more',           'sale',    { phone: '123' }],
    ['another operation',      'preauth', {}],
    ['another operation',      'account-verification', {}],
  ]
  for (const [what, operation, changes] of others)
    it(`${what}, ${operation}: nothing is stored`, async () => {
      const { client_orderid, key } = fresh()
      const name = changes.client_orderid === undefined ? client_orderid : newOrderId()
      const first = accepted(await sale({ client_orderid }, key))
      await settled(world, first)
      inUse(await begin(world, operation, { ...changes, client_orderid: name }, keyed(key)), key)
      if (name !== client_orderid) refused(await status(world, { client_orderid: name }), 6)
      assert.equal((await statusOf(world, first)).status, 'approved')
    })
  for (const operation of ['capture', 'return', 'void'] as const satisfies readonly FollowUp[])
    it(`a ${operation} under the key of its own payment, and a payment under the key of a ${operation}`, async () => {
      const made = await approved(world, operation === 'capture' ? 'preauth' : 'sale', {}, keyed(`p-${operation}`))
      inUse(await follow(world, operation, made, {}, keyed(`p-${operation}`)), `p-${operation}`)
      await followed(world, operation, made, {}, keyed(`f-${operation}`))
      inUse(await sale({}, `f-${operation}`), `f-${operation}`)
    })
  it('of 20 simultaneous different requests, one is accepted', async () => {
    const key = randomUUID()
    const replies = await times(20, () => sale({ client_orderid: newOrderId() }, key))
    assert.equal(replies.filter(({ type }) => type === 'async-response').length, 1)
    for (const reply of replies) if (reply.type !== 'async-response') inUse(reply, key)
  })
  it('keys are compared exactly', async () => {
    const key = `Key-${randomUUID()}`
    const [first, second] = [accepted(await sale({}, key)), accepted(await sale({}, key.toUpperCase()))]
    assert.notEqual(first.orderid, second.orderid)
  })
})

describe('a header that is no valid key', { concurrency: 4 }, () => {
  const longest = '!~'.repeat(64)
  // oxfmt-ignore
  const bad: [what: string, key: string][] = [
    ['129 characters', `${longest}x`],
    ['no character',   ''],
    ['a space',        'one two'],
    ['a tab',          'one\ttwo'],
    ['é',              'caf\u00e9'],
  ]
  const invalid = /^Parameter Idempotency-Key is invalid: /
  for (const [what, key] of bad)
    it(`${what}: code 3 where money moves, whatever else is sent, and no matter elsewhere`, async () => {
      const made: Order = await approved(world, 'preauth')
      for (const operation of ['sale', 'preauth', 'account-verification'] as const)
        refused(await begin(world, operation, {}, keyed(key)), 3, invalid)
      for (const operation of ['capture', 'return', 'void'] as const)
        refused(await follow(world, operation, made, {}, keyed(key)), 3, invalid)
      assert.equal((await statusOf(world, made)).status, 'approved')
    })
  it('128 visible characters are a key', async () => {
    const { client_orderid } = fresh()
    const key = randomUUID() + longest.slice(0, 92)
    const first = accepted(await sale({ client_orderid }, key))
    assert.equal(accepted(await sale({ client_orderid }, key)).orderid, first.orderid)
    inUse(await sale({}, key), key)
  })
})
