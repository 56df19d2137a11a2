import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, invalid, newOrderId, order, refused, required, sale, signedSale, signedStatus, status } from './client.ts'
import type { Changes, Order } from './client.ts'

/** The order of refusals, docs/choices.md: requests with one, two and three faults together. */

const world = await openWorld()
const paid = await order(world)

const nowhere = 999_999_999
const texts = (reply: Record<string, string>) => ({ ...reply, 'serial-number': '' })
const wrong = '0123456789012345678901234567890123456789'
const messages: Record<number, string> = { 2: 'INVALID_CONTROL_CODE', 4: 'Endpoint not found', 6: 'Order not found' }
Object.assign(messages, { 5: 'Operation is not enabled for this endpoint', 8: 'Currency is not supported' })
messages[11] = 'client_orderid is already in use'

describe('several faults of a sale: the refusal is the first in the list', { concurrency: 4 }, () => {
  // Each fault alone. The control covers what is sent, unless it is itself the fault.
  const faults: Record<string, () => Changes> = {
    'missing email': () => ({ email: undefined }),
    'missing cvv2': () => ({ cvv2: undefined }),
    'bad amount': () => ({ amount: '1.2.3' }),
    'bad cvv2': () => ({ cvv2: 'x' }),
    'wrong control': () => ({ control: wrong }),
    'unsupported currency': () => ({ currency: 'EUR' }),
    'client_orderid in use': () => ({ client_orderid: paid.client_orderid, order_desc: 'another' }),
  }
  // oxfmt-ignore
  const cases: [string[], number, string | RegExp | undefined][] = [
    [['unknown endpoint'],                                                        4,  messages[4]],
    [['unknown endpoint', 'missing email'],                                       4,  messages[4]],
    [['unknown endpoint', 'bad amount'],                                          4,  messages[4]],
    [['unknown endpoint', 'wrong control'],                                       4,  messages[4]],
    [['unknown endpoint', 'client_orderid in use'],                               4,  messages[4]],
    [['unknown endpoint', 'missing email', 'bad amount'],                         4,  messages[4]],
    [['unknown endpoint', 'wrong control', 'unsupported currency'],               4,  messages[4]],
    [['missing email', 'bad amount'],                                             1,  required('email')],
    [['missing cvv2', 'bad amount'],                                              1,  required('cvv2')],
    [['missing cvv2', 'wrong control'],                                           1,  required('cvv2')],
    [['missing cvv2', 'unsupported currency'],                                    1,  required('cvv2')],
    [['missing cvv2', 'client_orderid in use'],                                   1,  required('cvv2')],
    [['missing cvv2', 'bad amount', 'wrong control'],                             1,  required('cvv2')],
    [['bad cvv2', 'wrong control'],                                               3,  invalid('cvv2')],
    [['bad cvv2', 'unsupported currency'],                                        3,  invalid('cvv2')],
    [['bad cvv2', 'client_orderid in use'],                                       3,  invalid('cvv2')],
    [['bad amount', 'wrong control', 'unsupported currency'],                     3,  invalid('amount')],
    [['wrong control', 'unsupported currency'],                                   2,  messages[2]],
    [['wrong control', 'client_orderid in use'],                                  2,  messages[2]],
    [['wrong control', 'unsupported currency', 'client_orderid in use'],          2,  messages[2]],
    [['unsupported currency'],                                                    8,  messages[8]],
    [['unsupported currency', 'client_orderid in use'],                           8,  messages[8]],
    [['client_orderid in use'],                                                   11, messages[11]],
  ]
  for (const [names, code, message] of cases) {
    it(`${names.join(' and ')}: ${code} ${message}`, async () => {
      const changes: Changes = Object.assign({}, ...names.map((name) => faults[name]?.() ?? {}))
      refused(await sale(world, changes, names.includes('unknown endpoint') ? { path: nowhere } : {}), code, message)
    })
  }
})

describe('the first missing field in the order of the specification is named', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const inOrder = [
    'client_orderid', 'order_desc', 'amount', 'currency', 'control', 'ipaddress', 'email',
    'credit_card_number', 'card_printed_name', 'expire_month', 'expire_year', 'cvv2',
  ]
  for (const [at, name] of inOrder.entries()) {
    it(`everything from ${name} on is missing: ${name}`, async () => {
      const absent = Object.fromEntries(inOrder.slice(at).map((field) => [field, undefined]))
      refused(await sale(world, absent), 1, required(name))
    })
  }
  for (const [at, name] of ['login', 'client_orderid', 'control'].entries()) {
    it(`status with everything from ${name} on missing: ${name}`, async () => {
      const absent = Object.fromEntries(['login', 'client_orderid', 'control'].slice(at).map((field) => [field, undefined]))
      refused(await status(world, { client_orderid: 'x', control: wrong, ...absent }), 1, required(name))
    })
  }
  const bad: Changes = {
    order_desc: 'x'.repeat(65_537),
    amount: '0',
    currency: 'US',
    ipaddress: 'x'.repeat(46),
    email: 'x'.repeat(51),
  }
  Object.assign(bad, {
    credit_card_number: '1',
    card_printed_name: 'x'.repeat(129),
    expire_month: '13',
    expire_year: '1',
    cvv2: '1',
  })
  for (const [at, name] of Object.keys(bad).entries()) {
    it(`everything from ${name} on does not fit: ${name}`, async () => {
      refused(await sale(world, Object.fromEntries(Object.entries(bad).slice(at))), 3, invalid(name))
    })
  }
})

const otherLogin = (): Changes => ({ login: world.other.login })
const keyOf = ({ client_orderid, orderid }: Order): Changes => ({ client_orderid, orderid })

describe('several faults of a status request: the refusal is the first in the list', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, () => Changes, number, string | RegExp | undefined, boolean?][] = [
    ['unknown endpoint',                              () => ({ client_orderid: 'x' }),                                       4, messages[4], true],
    ['unknown endpoint and no login',                 () => ({ client_orderid: 'x', login: undefined }),                     4, messages[4], true],
    ['unknown endpoint and wrong control',            () => ({ client_orderid: 'x', control: wrong }),                       4, messages[4], true],
    ['no login and a client_orderid too long',        () => ({ client_orderid: 'x'.repeat(129), login: undefined }),         1, required('login')],
    ['no control and a login too long',               () => ({ client_orderid: 'x', login: 'l'.repeat(21), control: '' }),   1, required('control')],
    ['no control and an unknown order',               () => ({ client_orderid: 'x', control: undefined }),                   1, required('control')],
    ['a login too long and a wrong control',          () => ({ client_orderid: 'x', login: 'l'.repeat(21), control: wrong }), 3, invalid('login')],
    ['a client_orderid too long and a wrong control', () => ({ client_orderid: 'x'.repeat(129), control: wrong }),           3, invalid('client_orderid')],
    ['a wrong control and an unknown order',          () => ({ client_orderid: 'x', control: wrong }),                       2, messages[2]],
    ['another login and an unknown order',            () => ({ client_orderid: 'x', ...otherLogin() }),                           2, messages[2]],
    ['an unknown client_orderid',                     () => ({ client_orderid: newOrderId() }),                              6, messages[6]],
    ['an unknown orderid',                            () => ({ client_orderid: paid.client_orderid, orderid: '999999999' }), 6, messages[6]],
    ['an orderid of another client_orderid',          () => ({ client_orderid: newOrderId(), orderid: paid.orderid }),       6, messages[6]],
    ['an unknown by-request-sn',                      () => ({ ...keyOf(paid), 'by-request-sn': randomUUID() }),               6, messages[6]],
  ]
  for (const [what, changes, code, message, unknownEndpoint] of cases) {
    it(`${what}: ${code} ${message}`, async () => {
      refused(await status(world, changes(), unknownEndpoint ? { path: nowhere } : {}), code, message)
    })
  }
  for (const orderid of ['abc', '-1', '0', '1.5', '9'.repeat(40), '9223372036854775808']) {
    it(`an orderid ${orderid} that no order can have is refused, with code 3 or 6`, async () => {
      const reply = await status(world, { client_orderid: paid.client_orderid, orderid })
      refused(reply, reply['error-code'] === '3' ? 3 : 6)
    })
  }
})

describe(
  'an unknown login, an endpoint that is not this merchant’s and a wrong checksum are indistinguishable',
  { concurrency: 4 },
  () => {
    const mine = { client_orderid: 'same' }
    it('in a status request', async () => {
      const answers = [
        await status(world, { ...mine, control: wrong }),
        await status(world, { ...mine, login: 'nobody' }),
        await status(world, { ...mine, login: world.other.login }),
        await status(world, mine, { path: world.other.endpoint }),
        await status(world, mine, { as: world.other }),
        await status(world, mine, { as: { login: world.merchant.login, controlKey: randomUUID() } }),
      ]
      for (const answer of answers) {
        refused(answer, 2, messages[2])
        assert.deepEqual(texts(answer), texts(answers[0] ?? {}))
      }
    })
    it('in a sale', async () => {
      const client_orderid = newOrderId()
      const foreign = await sale(world, { client_orderid }, { path: world.other.endpoint })
      const wrongKey = await sale(world, { client_orderid }, { as: world.other })
      for (const answer of [foreign, wrongKey]) refused(answer, 2, messages[2])
      assert.deepEqual(texts(foreign), texts(wrongKey))
    })
    for (const control of ['0', 'x'.repeat(41), 'z'.repeat(40), 'é', 'a'.repeat(5000), wrong]) {
      it(`a control that does not match, of whatever shape (${control.slice(0, 6)}, ${control.length}): 2`, async () => {
        refused(await sale(world, { control }), 2, messages[2])
      })
    }
    it('the control is compared without regard to case', async () => {
      const fields = signedSale(world)
      accepted(await sale(world, { ...fields, control: (fields.control ?? '').toUpperCase() }))
      const asked = signedStatus(world, { client_orderid: paid.client_orderid })
      assert.equal((await status(world, { ...asked, control: (asked.control ?? '').toUpperCase() })).type, 'status-response')
    })
  },
)

describe('endpoints, groups and currencies', { concurrency: 4 }, () => {
  it('a group serves each of its currencies', async () => {
    for (const currency of ['USD', 'EUR']) accepted(await sale(world, { currency }, { path: `group/${world.groups.multi}` }))
  })
  it('a currency that a group does not have: 8', async () => {
    refused(await sale(world, { currency: 'GBP' }, { path: `group/${world.groups.multi}` }), 8, messages[8])
  })
  it('a currency that an endpoint does not have: 8', async () => {
    refused(await sale(world, { currency: 'USD' }, { path: world.endpoints.euro }), 8, messages[8])
  })
  it('an endpoint where a group is asked for, and the other way round: 4', async () => {
    refused(await sale(world, {}, { path: `group/${world.endpoints.plain}` }), 4, messages[4])
    refused(await sale(world, {}, { path: world.groups.multi }), 4, messages[4])
  })
  for (const path of ['0', '99999999999999999999999999', 'group/0', 'group/99999999999999999999']) {
    it(`the path ${path} names no endpoint or group: 4`, async () => {
      refused(await sale(world, {}, { path }), 4, messages[4])
    })
  }
  it('an operation that is not enabled for the endpoint: 5, after the control and before the currency', async () => {
    const path = world.endpoints.disabled
    refused(await sale(world, {}, { path }), 5, messages[5])
    refused(await sale(world, { currency: 'GBP' }, { path }), 5, messages[5])
    refused(await sale(world, { control: wrong }, { path }), 2, messages[2])
  })
})
