import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  encodePairs,
  invalid,
  newOrderId,
  order,
  readReply,
  refused,
  required,
  saleFields,
  send,
} from '../requests/client.ts'
import { settled, statusOf, type Changes, type Fields, type Order } from '../requests/client.ts'
import { approved, begin, booked, follow, followUpFields, moved, part, post, url, verificationFields } from './operations.ts'
import type { Asked, FollowUp, Initial } from './operations.ts'

/** Fields and refusals of each operation; the JSON form and the paths of groups. */

const world = await openWorld()
const paid = await approved(world, 'sale')
const held = await approved(world, 'preauth')

const followUps = ['capture', 'return', 'void'] as const
const initials = ['preauth', 'account-verification'] as const
/** An order that the operation may be asked for. */
const target = (operation: FollowUp): Order => (operation === 'capture' ? held : paid)
const nowhere = 999_999_999
const wrong = '0123456789012345678901234567890123456789'
const group = () => `group/${world.groups.multi}`
const texts = (reply: Fields) => ({ ...reply, 'serial-number': '', 'merchant-order-id': '' })

describe('the fields of preauth and account verification are those of a sale', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const mandatory = [
    'client_orderid', 'order_desc', 'ipaddress', 'email', 'credit_card_number',
    'card_printed_name', 'expire_month', 'expire_year', 'cvv2', 'control',
  ]
  const bad: [string, string][] = [
    ['client_orderid', 'x'.repeat(129)],
    ['order_desc', 'x'.repeat(65_537)],
    ['ipaddress', 'x'.repeat(46)],
    ['email', `${'a'.repeat(39)}@example.com`],
    ['credit_card_number', '4111111111111112'],
    ['card_printed_name', 'x'.repeat(129)],
    ['expire_month', '13'],
    ['expire_year', '203'],
    ['cvv2', '12'],
    ['phone', '1'.repeat(16)],
    ['country', 'ZZ'],
    ['comment', 'x'.repeat(51)],
    ['merchant_data', 'x'.repeat(65_537)],
    ['notify_url', 'ftp://shop.example/'],
    ['server_callback_url', 'shop.example'],
    ['redirect_url', `https://shop.example/${'x'.repeat(1024)}`],
  ]
  for (const operation of initials) {
    for (const name of mandatory) {
      it(`${operation} without ${name}: 1`, async () => {
        refused(await begin(world, operation, { [name]: undefined }), 1, required(name))
        refused(await begin(world, operation, { [name]: '' }), 1, required(name))
      })
    }
    for (const [name, value] of bad) {
      it(`${operation} with a bad ${name}: 3`, async () => {
        refused(await begin(world, operation, { [name]: value }), 3, invalid(name))
      })
    }
    it(`${operation}: US needs a state, the endpoint may need a phone number, 3-D Secure needs redirect_url`, async () => {
      refused(await begin(world, operation, { country: 'US' }), 1, required('state'))
      refused(await begin(world, operation, {}, { path: world.endpoints.strict }), 1, required('phone'))
      refused(await begin(world, operation, {}, { path: world.endpoints.secure }), 1, required('redirect_url'))
    })
    it(`${operation}: unknown endpoint 4, wrong control 2, switched off 5, in this order`, async () => {
      refused(await begin(world, operation, { cvv2: undefined, control: wrong }, { path: nowhere }), 4, 'Endpoint not found')
      refused(await begin(world, operation, { cvv2: 'x', control: wrong }), 3, invalid('cvv2'))
      refused(await begin(world, operation, { control: wrong }, { path: world.endpoints.disabled }), 2, 'INVALID_CONTROL_CODE')
      refused(await begin(world, operation, {}, { path: world.endpoints.disabled }), 5)
    })
    it(`${operation} with a client_orderid of another order: 11, and of the same one: that order`, async () => {
      const { client_orderid } = paid
      refused(await begin(world, operation, { client_orderid }), 11, 'client_orderid is already in use')
      const fields = { client_orderid: newOrderId() }
      const first = accepted(await begin(world, operation, fields))
      const again = accepted(await begin(world, operation, fields))
      assert.equal(again.orderid, first.orderid)
      assert.notEqual(again.serial, first.serial)
      assert.equal((await settled(world, first)).status, 'approved')
      assert.equal((await booked(world, first)).length, 1)
    })
  }
  it('a preauth wants amount and currency, and the currency of its endpoint', async () => {
    refused(await begin(world, 'preauth', { amount: undefined }), 1, required('amount'))
    refused(await begin(world, 'preauth', { currency: undefined }), 1, required('currency'))
    refused(await begin(world, 'preauth', { amount: '0' }), 3, invalid('amount'))
    refused(await begin(world, 'preauth', { currency: 'EUR' }), 8, 'Currency is not supported')
  })
  it('an account verification wants neither at an endpoint; at a group it wants the currency', async () => {
    accepted(await begin(world, 'account-verification'))
    refused(await begin(world, 'account-verification', {}, { path: group() }), 1, required('currency'))
    refused(await begin(world, 'account-verification', { currency: 'GBP' }, { path: group() }), 8)
    const made = accepted(await begin(world, 'account-verification', { currency: 'EUR' }, { path: group() }))
    const seen = await settled(world, made)
    assert.deepEqual([seen.status, seen.currency], ['approved', 'EUR'])
  })
})

describe('the fields of capture, return and void', { concurrency: 4 }, () => {
  const inOrder = ['login', 'client_orderid', 'orderid', 'control']
  const bad: [string, string][] = [
    ['login', 'l'.repeat(21)],
    ['client_orderid', 'x'.repeat(129)],
    ['comment', 'x'.repeat(51)],
  ]
  // oxfmt-ignore
  const badMoney: [string, Changes][] = [
    ['amount', part('0')],        ['amount', part('0.00')],       ['amount', part('-1')],         ['amount', part('+1')],         ['amount', part('1,5')],
    ['amount', part('1.')],       ['amount', part('.5')],         ['amount', part('1e1')],        ['amount', part('x')],          ['amount', part('1.001')],
    ['amount', part('12345678901')], ['currency', { amount: '1', currency: 'US' }], ['currency', { amount: '1', currency: 'USDX' }], ['currency', { amount: '1', currency: '840' }],
  ]
  for (const operation of followUps) {
    for (const [at, name] of inOrder.entries()) {
      it(`${operation} without ${name}, and without anything from ${name} on: 1`, async () => {
        const absent = Object.fromEntries(inOrder.slice(at).map((one) => [one, undefined]))
        refused(await follow(world, operation, target(operation), { [name]: undefined }), 1, required(name))
        refused(await follow(world, operation, target(operation), { [name]: ' ' }), 1, required(name))
        refused(await follow(world, operation, target(operation), absent), 1, required(name))
      })
    }
    for (const [name, value] of bad) {
      it(`${operation} with a ${name} too long: 3`, async () => {
        refused(await follow(world, operation, target(operation), { [name]: value }), 3, invalid(name))
      })
    }
    for (const orderid of ['abc', '-1', '0', '1.5', '9'.repeat(40)]) {
      it(`${operation} with an orderid ${orderid.slice(0, 5)} that no order can have: 3 or 6`, async () => {
        const reply = await follow(world, operation, target(operation), { orderid })
        refused(reply, reply['error-code'] === '3' ? 3 : 6)
      })
    }
    it(`${operation} with a field given twice: 3`, async () => {
      for (const name of ['orderid', 'comment', 'login']) {
        const fields = followUpFields(world, operation, target(operation), { comment: 'x' })
        const body = encodePairs([...Object.entries(fields), [name, 'another']])
        refused(readReply(await send('POST', url(world, operation), body)), 3, invalid(name))
      }
    })
    it(`${operation} with a body that is no form: 3; by GET: 405`, async () => {
      refused(readReply(await send('POST', url(world, operation), 'login=%')), 3, /^Parameter body is invalid/)
      assert.equal((await send('GET', url(world, operation))).httpStatus, 405)
      assert.equal((await send('GET', url(world, operation, group()))).httpStatus, 405)
    })
    it(`${operation}: client-order-id is another spelling, and values are trimmed`, async () => {
      const made = await approved(world, operation === 'capture' ? 'preauth' : 'sale')
      const { client_orderid, ...rest } = followUpFields(world, operation, made)
      const spelled = {
        ...rest,
        'client-order-id': ` ${client_orderid}  `,
        orderid: ` ${made.orderid} `,
        comment: '😀'.repeat(50),
      }
      assert.equal(accepted(await post(world, operation, spelled)).orderid, made.orderid)
    })
  }
  for (const operation of ['capture', 'return'] as const) {
    for (const [name, changes] of badMoney) {
      it(`${operation} of ${changes.amount} ${changes.currency}: 3, ${name}`, async () => {
        refused(await follow(world, operation, target(operation), changes), 3, invalid(name))
      })
    }
    it(`${operation} with an amount and no currency: 1`, async () => {
      refused(await follow(world, operation, target(operation), { amount: '1' }), 1, required('currency'))
    })
  }
})

describe('several faults: the refusal is the first in the list', { concurrency: 4 }, () => {
  const unknownOrder = (): Changes => ({ orderid: '999999999' })
  const euro = { amount: '1', currency: 'EUR' }
  // oxfmt-ignore
  const cases: [string, number, () => Changes, () => Asked, string | RegExp][] = [
    ['unknown endpoint, all else missing',       4,  () => ({ login: undefined, orderid: undefined, control: undefined }), () => ({ path: nowhere }), 'Endpoint not found'],
    ['unknown endpoint, bad comment',            4,  () => ({ comment: 'x'.repeat(51) }),                        () => ({ path: nowhere }),                  'Endpoint not found'],
    ['no orderid, bad comment',                  1,  () => ({ orderid: undefined, comment: 'x'.repeat(51) }),    () => ({}),                                 required('orderid')],
    ['no control, unknown order',                1,  () => ({ ...unknownOrder(), control: undefined }),          () => ({}),                                 required('control')],
    ['bad comment, wrong control',               3,  () => ({ comment: 'x'.repeat(51), control: wrong }),        () => ({}),                                 invalid('comment')],
    ['wrong control, switched off',              2,  () => ({ control: wrong }),                                 () => ({ path: world.endpoints.disabled }), 'INVALID_CONTROL_CODE'],
    ['wrong control, unknown order',             2,  () => ({ ...unknownOrder(), control: wrong }),              () => ({}),                                 'INVALID_CONTROL_CODE'],
    ['switched off, unknown order',              5,  unknownOrder,                                               () => ({ path: world.endpoints.disabled }), 'Operation is not enabled for this endpoint'],
    ['unknown order',                            6,  unknownOrder,                                               () => ({}),                                 'Order not found'],
    ['another client_orderid for the order',     6,  () => ({ client_orderid: newOrderId() }),                   () => ({}),                                 'Order not found'],
  ]
  for (const operation of followUps) {
    for (const [what, code, changes, way, message] of cases) {
      it(`${operation}: ${what}: ${code}`, async () => {
        const sent = changes()
        const reply = await follow(world, operation, target(operation), sent, way())
        refused(reply, code, message)
        const named = sent.client_orderid ?? target(operation).client_orderid
        if (code !== 4) assert.equal(reply['merchant-order-id'], named)
      })
    }
  }
  for (const operation of followUps) {
    it(`${operation} at an endpoint that is switched off: 5, and nothing moves`, async () => {
      const made = await approved(world, operation === 'capture' ? 'preauth' : 'sale')
      const way = { path: world.endpoints.disabled }
      refused(await follow(world, operation, made, {}, way), 5, 'Operation is not enabled for this endpoint')
      assert.equal((await booked(world, made)).length, 1)
    })
  }
  for (const operation of ['capture', 'return'] as const) {
    it(`${operation}: order 6, currency 8, state 9, amount 10, in this order`, async () => {
      const voided = await approved(world, operation === 'capture' ? 'preauth' : 'sale')
      accepted(await follow(world, 'void', voided))
      await settled(world, voided)
      refused(await follow(world, operation, voided, { ...euro, ...unknownOrder() }), 6)
      refused(await follow(world, operation, voided, euro), 8, 'Currency is not supported')
      refused(await follow(world, operation, voided, part('99.00')), 9)
      refused(await follow(world, operation, target(operation), part('99.00')), 10)
      refused(await follow(world, operation, target(operation), euro, { path: group() }), 8)
    })
  }
})

describe('the owner of the order', { concurrency: 4 }, () => {
  const nobodys = (): Asked[] => [
    { as: { login: 'nobody', controlKey: randomUUID() } },
    { as: { login: world.merchant.login, controlKey: randomUUID() } },
    { as: world.other },
    { path: world.other.endpoint },
  ]
  for (const operation of followUps) {
    it(`${operation}: another merchant’s order: 6, and nothing happens to it`, async () => {
      const way = { as: world.other, path: world.other.endpoint }
      refused(await follow(world, operation, target(operation), {}, way), 6, 'Order not found')
      const theirs = await order(world, {}, way)
      refused(await follow(world, operation, theirs), 6, 'Order not found')
      assert.equal((await booked(world, target(operation))).length, 1)
    })
    it(`${operation}: an unknown login, a wrong key and a foreign endpoint get the same reply: 2`, async () => {
      const answers: Fields[] = []
      for (const way of nobodys()) answers.push(await follow(world, operation, target(operation), {}, way))
      for (const answer of answers) {
        refused(answer, 2, 'INVALID_CONTROL_CODE')
        assert.deepEqual(texts(answer), texts(answers[0] ?? {}))
      }
    })
    it(`${operation}: an order is found through any endpoint or group of its merchant`, async () => {
      const made = await approved(world, operation === 'capture' ? 'preauth' : 'sale')
      assert.equal(accepted(await follow(world, operation, made, {}, { path: group() })).orderid, made.orderid)
      assert.equal((await settled(world, made)).status, 'approved')
    })
  }
  it('an order of a group is captured and returned through the group, in its own currency', async () => {
    const made = await approved(world, 'preauth', { currency: 'EUR' }, { path: group() })
    const euros = { amount: '3.00', currency: 'EUR' }
    for (const operation of ['capture', 'return'] as const) {
      accepted(await follow(world, operation, made, euros, { path: group() }))
      assert.equal((await settled(world, made)).currency, 'EUR')
    }
    assert.deepEqual(await moved(world, made), { charged: 300, returned: 300, held: 1050 })
  })
})

describe('with Accept: application/vnd.pay+json', { concurrency: 4 }, () => {
  async function json(operation: string, fields: Fields, path?: number): Promise<[number, Fields]> {
    const headers = { accept: 'application/vnd.pay+json' }
    const answer = await send('POST', url(world, operation, path), encodePairs(Object.entries(fields)), headers)
    assert.match(answer.contentType, /^application\/([a-z.]+\+)?json\b/)
    const reply: Fields = JSON.parse(answer.body)
    for (const [name, value] of Object.entries(reply)) assert.ok(typeof value === 'string' && value !== '', name)
    return [answer.httpStatus, reply]
  }
  const begins: Record<FollowUp, Initial> = { capture: 'preauth', return: 'sale', void: 'sale' }
  for (const operation of followUps) {
    it(`${operation}: 200 when accepted, 400, 403 and 404 when refused`, async () => {
      const made = await approved(world, begins[operation])
      const ask = (changes: Changes, path?: number) => json(operation, followUpFields(world, operation, made, changes), path)
      const cases: [number, number, Changes, number?][] = [
        [1, 400, { orderid: undefined }],
        [3, 400, { comment: 'x'.repeat(51) }],
        [2, 403, { control: wrong }],
        [4, 404, {}, nowhere],
        [6, 404, { orderid: '999999999' }],
      ]
      for (const [code, httpStatus, changes, path] of cases) {
        const [seen, reply] = await ask(changes, path)
        refused(reply, code)
        assert.equal(seen, httpStatus, `code ${code}`)
      }
      const [httpStatus, reply] = await ask({})
      assert.equal(httpStatus, 200)
      assert.equal(accepted(reply).orderid, made.orderid)
      await settled(world, made)
      const [repeated, repeat] = await ask({})
      assert.deepEqual([repeated, accepted(repeat).orderid], [200, made.orderid])
      const [again, refusal] = await ask({ comment: 'another one' })
      refused(refusal, 9)
      assert.equal(again, 400)
    })
  }
  it('preauth and account verification: 200 when accepted, 400 when refused', async () => {
    const [made, answer] = await json('account-verification', verificationFields(world))
    assert.equal(made, 200)
    assert.equal((await statusOf(world, accepted(answer))).type, 'status-response')
    const [httpStatus, reply] = await json('preauth', saleFields({ cvv2: undefined }))
    assert.equal(httpStatus, 400)
    refused(reply, 1)
  })
})
