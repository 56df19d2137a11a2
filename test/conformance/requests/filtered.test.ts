import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { notRegistered, rebillOrder, register, registered } from '../cards/card.ts'
import { accepted, callbackControl, ledger, order, postSale, refused, sale, settled, signedSale } from './client.ts'
import { until } from '../../harness/clock/until.ts'
import { status, statusOf, type Changes, type Fields, type Order } from './client.ts'
import { filteredOrder, newEmail, openFilters } from './filters.ts'
import { begin, follow, line, notAllowed } from '../operations/operations.ts'
import { v4 } from './oauth.ts'
import { atMethod, cardOf, lasting, methodFields, post, secureOrder, signedUpload } from '../three-d-secure/shopper.ts'

/** Orders that a filter stops: specification, "Errors" and "States", choices.md sections 3 to 6. */

const listed = newEmail()
const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const filters = openFilters(world)
await filters.add('black', '--of', 'email', '--value', listed, '--code', '3077')
const { made: stopped, seen } = await filteredOrder(world, listed, { amount: '10.5', merchant_data: ' my = data ' })

/** Insists on an order that a filter stopped, and that no other party was asked about. */
async function wasStopped(reply: Fields, stage: string, orderid: string): Promise<void> {
  assert.deepEqual([reply.type, reply.status, reply['order-stage']], ['status-response', 'filtered', stage])
  assert.match(reply['error-code'] ?? '', /^3[0-9]{3}$/)
  assert.match(reply['error-message'] ?? '', /[a-z]{3}/i)
  assert.deepEqual(await ledger(world, orderid), [], 'the acquirer was never asked')
}

describe('status filtered', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const values: [string, string | undefined][] = [
    ['status', 'filtered'],          ['order-stage', 'sale_filtered'],   ['transaction-type', 'sale'],           ['error-code', '3077'],
    ['amount', '10.5'],              ['initial-amount', '10.5'],         ['currency', 'USD'],                    ['email', listed],
    ['merchantdata', ' my = data '], ['bin', '411111'],                  ['last-four-digits', '1111'],           ['verified-3d-status', 'UNKNOWN'],
    ['approval-code', undefined],    ['processor-rrn', undefined],       ['processor-tx-id', undefined],         ['gateway-processing-date', undefined],
    ['html', undefined],             ['redirect-to', undefined],         ['tds-status', undefined],              ['eci', undefined],
  ]
  for (const [name, value] of values) it(`${name} is ${value ?? 'left out'}`, () => assert.equal(seen[name], value))
  it('error-message says why, and the acquirer was never asked', async () => {
    await wasStopped(seen, 'sale_filtered', stopped.orderid)
  })
  it('transaction-date is that of the final status', () => {
    const at = Date.parse(`${(seen['transaction-date'] ?? '').slice(0, 19).replace(' ', 'T')}Z`)
    assert.ok(Math.abs(at - Date.now()) < 300_000, seen['transaction-date'])
  })
  it('the sale itself is accepted: async-response, and its serial is found later', async () => {
    const made = accepted(await sale(world, { email: listed }))
    await settled(world, made)
    const { client_orderid, orderid, serial } = made
    const reply = await status(world, { client_orderid, orderid, 'by-request-sn': serial })
    assert.deepEqual([line(reply), reply['by-request-sn']], ['filtered sale_filtered sale', serial])
  })
  it('it is final: polled again it says the same', async () => {
    assert.deepEqual(lasting(await statusOf(world, stopped)), lasting(seen))
  })
  it('v4 says the same', async () => {
    const { client_orderid, orderid } = stopped
    const reply = await v4(world, 'status', { client_orderid, orderid })
    assert.deepEqual([line(reply), reply['error-code']], ['filtered sale_filtered sale', '3077'])
  })
  it('filters come first: a payment that would be declined is filtered', async () => {
    for (const changes of [{ cvv2: '116' }, { cvv2: '217' }]) {
      const { made, seen: reply } = await filteredOrder(world, listed, changes)
      await wasStopped(reply, 'sale_filtered', made.orderid)
    }
  })
  it('at every endpoint and group of the merchant, and at none of another', async () => {
    for (const path of [world.endpoints.euro, `group/${world.groups.multi}`]) {
      const { made, seen: reply } = await filteredOrder(world, listed, { currency: 'EUR' }, { path })
      await wasStopped(reply, 'sale_filtered', made.orderid)
    }
    const theirs = { as: world.other, path: world.other.endpoint }
    assert.equal((await filteredOrder(world, listed, {}, theirs)).seen.status, 'approved')
  })
  it('another customer is not met by it', async () => {
    assert.equal((await settled(world, await order(world, { email: newEmail() }))).status, 'approved')
  })
})

describe('each operation that begins an order has its own stage', { concurrency: 4 }, () => {
  for (const [operation, stage] of [
    ['preauth', 'auth_filtered'],
    ['account-verification', 'av_filtered'],
  ] as const) {
    it(`${operation}: ${stage}`, async () => {
      const made = accepted(await begin(world, operation, { email: listed }))
      const reply = await settled(world, made)
      await wasStopped(reply, stage, made.orderid)
      assert.equal(reply['transaction-type'], operation)
    })
  }
  it('with 3-D Secure: filtered, and the cardholder has nothing to do', async () => {
    const made = await secureOrder(world, await cardOf(world, 'challenge'), { email: listed })
    const reply = await settled(world, made, { path: world.endpoints.secure })
    await wasStopped(reply, 'sale_filtered', made.orderid)
    for (const name of Object.keys(reply)) assert.doesNotMatch(name, /^(html|redirect-to|tds-.*)$/)
  })
  it('recurrent payments: sale_filtered, auth_filtered; a list is ended before its first entry', async () => {
    const email = newEmail()
    const { ref } = await registered(world, { email })
    await filters.add('black', '--of', 'email', '--value', email)
    for (const [operation, stage, changes] of [
      ['make-rebill-sale', 'sale_filtered', {}],
      ['make-rebill', 'sale_filtered', { enumerate_amounts: '5,4' }],
      ['make-rebill-preauth', 'auth_filtered', {}],
    ] as const) {
      const made = await rebillOrder(world, ref, changes, { operation })
      const reply = await settled(world, made)
      await wasStopped(reply, stage, made.orderid)
      assert.equal(reply['initial-amount'], '10.50')
    }
  })
})

describe('the callback of a filtered order', { concurrency: 4 }, () => {
  let paths = 0
  async function told(begun: (urls: Changes) => Promise<Fields>): Promise<[Order, Fields[]]> {
    const [server, notify] = [`/server/${(paths += 1)}`, `/notify/${paths}`]
    const urls = { server_callback_url: `${shop.origin}${server}`, notify_url: `${shop.origin}${notify}?shop=7` }
    const made = accepted(await begun(urls))
    const calls = await until(
      () => [...shop.calls(server), ...shop.calls(notify)],
      (all) => all.length >= 2,
    )
    assert.deepEqual(
      calls.map(({ method, path }) => `${method} ${path}`),
      [`GET ${server}`, `GET ${notify}`],
    )
    return [made, calls.map(({ query }) => Object.fromEntries(query))]
  }
  const begins: ['sale' | 'preauth' | 'account-verification', Changes][] = [
    ['sale', { amount: '10.5' }],
    ['preauth', { amount: '10.5' }],
    ['account-verification', {}],
  ]
  for (const [type, changes] of begins) {
    it(`${type}: status filtered with its code and text, to both URLs, once`, async () => {
      const mine = { ...changes, email: listed, comment: 'as agreed', merchant_data: ' my = data ' }
      const [made, calls] = await told((urls) => begin(world, type, { ...mine, ...urls }))
      const reply = await settled(world, made)
      for (const fields of calls) {
        assert.deepEqual([fields.status, fields.type, fields.error_code], ['filtered', type, '3077'])
        assert.equal(fields.error_message, reply['error-message'])
        assert.deepEqual(
          [fields.orderid, fields.client_orderid, fields.merchant_order],
          [made.orderid, made.client_orderid, made.client_orderid],
        )
        assert.deepEqual([fields.comment, fields.merchantdata, fields.email], ['as agreed', ' my = data ', listed])
        if (changes.amount) assert.deepEqual([fields.amount, fields.currency], ['10.5', 'USD'])
        const control = callbackControl('filtered', made.orderid, made.client_orderid, world.merchant.controlKey)
        assert.equal(fields.control, control)
        for (const name of ['approval-code', 'processor-rrn', 'processor-tx-id']) assert.equal(fields[name], undefined, name)
      }
    })
  }
})

describe('after filtered a new order may be made', { concurrency: 4 }, () => {
  it('a different request makes a new order', async () => {
    const { made } = await filteredOrder(world, listed)
    const second = await order(world, { client_orderid: made.client_orderid, email: newEmail() })
    assert.notEqual(second.orderid, made.orderid)
    assert.equal((await settled(world, second)).status, 'approved')
    refused(await sale(world, { client_orderid: made.client_orderid }), 11, 'client_orderid is already in use')
    assert.equal((await status(world, { client_orderid: made.client_orderid }))['gateway-order-id'], second.orderid)
    assert.equal((await statusOf(world, made)).status, 'filtered')
  })
  it('20 simultaneous different requests make one order', async () => {
    const { made } = await filteredOrder(world, listed)
    const { client_orderid } = made
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => sale(world, { client_orderid, amount: `${at + 1}.00` })),
    )
    assert.equal(replies.filter(({ type }) => type === 'async-response').length, 1)
    for (const reply of replies) if (reply.type !== 'async-response') refused(reply, 11, 'client_orderid is already in use')
  })
  it('the same request answers with the same order for 10 s, and then makes a new one', async () => {
    const fields = signedSale(world, { email: listed })
    const start = performance.now()
    const first = accepted(await postSale(world, fields))
    assert.equal((await settled(world, first)).status, 'filtered')
    const again = await until(
      () => postSale(world, fields).then(accepted),
      ({ orderid }) => orderid !== first.orderid,
    )
    assert.notEqual(again.orderid, first.orderid, 'a new order after 10 s')
    assert.ok(performance.now() - start > 9_900, 'not before 10 s have passed')
    assert.equal((await settled(world, again)).status, 'filtered')
  })
})

describe('nothing follows a filtered order', { concurrency: 4 }, () => {
  it('capture, return and void: 9', async () => {
    const held = accepted(await begin(world, 'preauth', { email: listed }))
    await settled(world, held)
    notAllowed(await follow(world, 'capture', held), 'capture', held)
    for (const made of [held, stopped])
      for (const operation of ['return', 'void'] as const) notAllowed(await follow(world, operation, made), operation, made)
  })
  it('its card is not registered: status declined, code 9, by v2 and by v4', async () => {
    notRegistered(await register(world, stopped), 'declined', stopped)
    const { client_orderid, orderid } = stopped
    notRegistered(await v4(world, 'create-card-ref', { client_orderid, orderid }), 'declined', stopped)
  })
  it('an upload of 3-D Secure comes too late or too early, and changes nothing', async () => {
    const made = await secureOrder(world, await cardOf(world, 'frictionless'), { email: listed })
    const ended = await settled(world, made)
    const frame = await atMethod(world, 'frictionless')
    const reply = await post(world, 'method-url', signedUpload(world, made, methodFields(frame.seen)))
    if (reply.type !== 'async-response') refused(reply, 9)
    assert.deepEqual(lasting(await statusOf(world, made)), lasting(ended))
    await wasStopped(ended, 'sale_filtered', made.orderid)
  })
})

describe('other filters, each with a code from 3000 up', () => {
  it('an amount above the most of an endpoint; the amount itself passes', async () => {
    const path = world.endpoints.strict
    await filters.add('amount', '--currency', 'USD', '--most', '500', '--endpoint', String(path))
    const phone = '+4912345678'
    const above = await order(world, { amount: '500.01', phone }, { path })
    await wasStopped(await settled(world, above), 'sale_filtered', above.orderid)
    assert.equal((await settled(world, await order(world, { amount: '500', phone }, { path }))).status, 'approved')
    assert.equal((await settled(world, await order(world, { amount: '500.01', phone }))).status, 'approved')
  })
  it('more payments by one address than the limit: the next is filtered', async () => {
    await filters.add(
      'velocity',
      '--per',
      'email',
      '--limit',
      '2',
      '--within',
      '1h',
      '--endpoint',
      String(world.endpoints.strict),
    )
    const [email, path, phone] = [newEmail(), world.endpoints.strict, '+4912345678']
    const ended: (string | undefined)[] = []
    for (let at = 0; at < 3; at += 1) ended.push((await settled(world, await order(world, { email, phone }, { path }))).status)
    assert.deepEqual(ended, ['approved', 'approved', 'filtered'])
  })
  it('a card that is listed by an order', async () => {
    const credit_card_number = '5105105105105100'
    const stolen = await order(world, { credit_card_number })
    assert.equal((await settled(world, stolen)).status, 'approved')
    await filters.add('black', '--of', 'card', '--card-of', stolen.orderid)
    const again = await order(world, { credit_card_number, expire_month: '1' })
    await wasStopped(await settled(world, again), 'sale_filtered', again.orderid)
  })
})
