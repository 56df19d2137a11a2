import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  newOrderId,
  refused,
  saleFields,
  settled,
  sha1,
  type Fields,
  type Order,
  type Path,
} from '../requests/client.ts'
import { approved, begin, booked, followUpControl, moved, part, post, type FollowUp, type Initial } from './operations.ts'

/** The parts that each operation's checksum must be made of, and those that it must not. */

const world = await openWorld()

const key = (): string => world.merchant.controlKey
const begins: Record<FollowUp, Initial> = { capture: 'preauth', return: 'sale', void: 'sale' }

/** Follows up an order with a control over parts of the test's own choice. */
function signedAs(operation: FollowUp, made: Order, fields: Fields, control: string, path?: Path): Promise<Fields> {
  const { client_orderid, orderid } = made
  const all = { login: world.merchant.login, client_orderid, orderid, ...fields, control }
  return post(world, operation, all, path === undefined ? {} : { path })
}
const signedOver = (operation: FollowUp, made: Order, fields: Fields, money: string, path?: Path): Promise<Fields> =>
  signedAs(operation, made, fields, followUpControl(world.merchant.login, made, money, key()), path)

const three = { amount: '3.00', currency: 'USD' }
const whole = { amount: '10.50', currency: 'USD' }

describe('capture and return of an order of 10.50 USD', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Fields, string, 'holds' | 'does not'][] = [
    // what is sent                            fields                                  signed over       the control
    ['nothing',                                {},                                     '',               'holds'],
    ['nothing',                                {},                                     '1050USD',        'holds'],
    ['nothing',                                {},                                     '300USD',         'does not'],
    ['nothing',                                {},                                     '1051USD',        'does not'],
    ['nothing',                                {},                                     '1050EUR',        'does not'],
    ['nothing',                                {},                                     '1050',           'does not'],
    ['nothing',                                {},                                     'USD',            'does not'],
    ['nothing',                                {},                                     '10.50USD',       'does not'],
    ['nothing',                                {},                                     '10USD',          'does not'],
    ['nothing but empty fields',               { amount: '', currency: '' },           '',               'holds'],
    ['nothing but empty fields',               { amount: ' ', currency: '' },          '1050USD',        'holds'],
    ['a part',                                 three,                                  '300USD',         'holds'],
    ['a part',                                 three,                                  '',               'does not'],
    ['a part',                                 three,                                  '1050USD',        'does not'],
    ['a part',                                 three,                                  '300',            'does not'],
    ['a part',                                 three,                                  '3.00USD',        'does not'],
    ['a part',                                 three,                                  '3USD',           'does not'],
    ['a part',                                 three,                                  '300usd',         'does not'],
    ['a part',                                 three,                                  'USD300',         'does not'],
    ['a part, spelled 3',                      { ...three, amount: '3' },              '300USD',         'holds'],
    ['a part, spelled 03.000',                 { ...three, amount: '03.000' },         '300USD',         'holds'],
    ['0.57, which a binary fraction misses',   { ...three, amount: '0.57' },           '57USD',          'holds'],
    ['0.57, which a binary fraction misses',   { ...three, amount: '0.57' },           '56USD',          'does not'],
    ['the whole amount',                       whole,                                  '1050USD',        'holds'],
    ['the whole amount',                       whole,                                  '',               'does not'],
    ['the whole amount',                       { ...whole, amount: '10.5' },           '1050USD',        'holds'],
  ]
  for (const operation of ['capture', 'return'] as const) {
    for (const [what, fields, money, verdict] of cases) {
      const sent = fields.amount?.trim() ? `${what} (${fields.amount})` : what
      it(`${operation}: ${sent} signed over "${money}" ${verdict}`, async () => {
        const made = await approved(world, begins[operation])
        const reply = await signedOver(operation, made, fields, money)
        if (verdict === 'holds') {
          accepted(reply)
          assert.equal((await settled(world, made)).status, 'approved')
          assert.equal((await booked(world, made)).length, 2)
        } else {
          refused(reply, 2, 'INVALID_CONTROL_CODE')
          assert.equal((await booked(world, made)).length, 1)
        }
      })
    }
  }
})

describe('capture, return and void: login + client_orderid + orderid + merchant_control', { concurrency: 4 }, () => {
  const { raw, merchant } = { raw: (made: Order) => [made.client_orderid, made.orderid], merchant: () => world.merchant.login }
  // oxfmt-ignore
  const wrongParts: [string, (made: Order) => string][] = [
    ['without the login',                 (made) => sha1(...raw(made), key())],
    ['with the endpoint for the login',   (made) => sha1(String(world.endpoints.plain), ...raw(made), key())],
    ['with the endpoint before it',       (made) => sha1(String(world.endpoints.plain), merchant(), ...raw(made), key())],
    ['without the orderid',               (made) => sha1(merchant(), made.client_orderid, key())],
    ['without the client_orderid',        (made) => sha1(merchant(), made.orderid, key())],
    ['with the ids changed round',        (made) => sha1(merchant(), made.orderid, made.client_orderid, key())],
    ['with separators',                   (made) => sha1([merchant(), ...raw(made), key()].join('&'))],
    ['without the key',                   (made) => sha1(merchant(), ...raw(made))],
    ['with the key in lower case',        (made) => sha1(merchant(), ...raw(made), key().toLowerCase())],
    ['of no shape at all',                () => 'x'],
  ]
  for (const operation of ['capture', 'return', 'void'] as const) {
    it(`${operation}: the control is compared without regard to case, and holds with the ids of a group’s path too`, async () => {
      const made = await approved(world, begins[operation])
      const control = followUpControl(world.merchant.login, made, '', key()).toUpperCase()
      accepted(await signedAs(operation, made, {}, control, `group/${world.groups.multi}`))
    })
    it(`${operation}: signed over other parts: 2`, async () => {
      const made = await approved(world, begins[operation])
      for (const [what, control] of wrongParts) {
        const reply = await signedAs(operation, made, {}, control(made))
        assert.equal(reply['error-code'], '2', what)
        refused(reply, 2, 'INVALID_CONTROL_CODE')
      }
      assert.equal((await booked(world, made)).length, 1)
    })
  }
  it('a void signed over an amount: 2', async () => {
    const made = await approved(world, 'sale')
    refused(await signedOver('void', made, {}, '1050USD'), 2)
    assert.deepEqual(await booked(world, made), ['sale 1050 approved'])
  })
  it('a control of a capture of one amount serves no other amount, and no other order', async () => {
    const [made, another] = [await approved(world, 'preauth'), await approved(world, 'preauth')]
    const control = followUpControl(world.merchant.login, made, '300USD', key())
    refused(await signedAs('capture', made, part('3.01') as Fields, control), 2)
    refused(await signedAs('capture', another, part('3.00') as Fields, control), 2)
    accepted(await signedAs('capture', made, part('3.00') as Fields, control))
  })
})

it('thousandths of a dinar are refused where hundredths are signed, by a payment, a capture and a return', async () => {
  const path = world.endpoints.dinars
  const why = /^Parameter amount is invalid: .*hundredths/
  const pay = (operation: 'sale' | 'preauth', amount: string, minor: string) => {
    const fields = saleFields({ amount, currency: 'KWD' })
    return post(
      world,
      operation,
      { ...fields, control: sha1(String(path), fields.client_orderid ?? '', minor, fields.email ?? '', key()) },
      { path },
    )
  }
  for (const minor of ['1234', '123', '124']) refused(await pay('sale', '1.234', minor), 3, why)
  const made = accepted(await pay('preauth', '12.340', '1234'))
  assert.equal((await settled(world, made)).status, 'approved')
  const some = { amount: '1.001', currency: 'KWD' }
  for (const operation of ['capture', 'return'] as const)
    refused(await signedOver(operation, made, some, '1001KWD', path), 3, why)
  accepted(await signedOver('capture', made, { amount: '1.01', currency: 'KWD' }, '101KWD', path))
})

describe('yen, with and without hundredths in the control', { concurrency: 4 }, () => {
  const yen = { amount: '100', currency: 'JPY' }
  const part40 = { amount: '40', currency: 'JPY' }
  async function yenOrder(path: number, minor: string, operation: 'sale' | 'preauth'): Promise<Order> {
    const fields = saleFields(yen)
    const control = sha1(String(path), fields.client_orderid ?? '', minor, fields.email ?? '', key())
    const made = accepted(await post(world, operation, { ...fields, control }, { path }))
    assert.equal((await settled(world, made)).status, 'approved')
    return made
  }
  for (const operation of ['capture', 'return'] as const) {
    const first = operation === 'capture' ? 'preauth' : 'sale'
    // oxfmt-ignore
    const places: ['yen' | 'hundredths', string, string, string, string][] = [
      // endpoint     of 100    of 40    what the other one signs
      ['yen',         '100',    '40',    '10000', '4000'],
      ['hundredths',  '10000',  '4000',  '100',   '40'],
    ]
    for (const [place, all, some, notAll, notSome] of places) {
      it(`${operation} at ${place}: 40 of 100 yen are signed as ${some}, all of them as nothing or as ${all}`, async () => {
        const path = world.endpoints[place]
        const made = await yenOrder(path, all, first)
        const another = await yenOrder(path, all, first)
        refused(await signedOver(operation, made, part40, `${notSome}JPY`, path), 2)
        refused(await signedOver(operation, another, {}, `${notAll}JPY`, path), 2)
        accepted(await signedOver(operation, made, part40, `${some}JPY`, path))
        accepted(await signedOver(operation, another, {}, `${all}JPY`, path))
        await settled(world, made)
        await settled(world, another)
        const sums = [await moved(world, made), await moved(world, another)]
        assert.deepEqual(
          sums.map((sum) => (operation === 'capture' ? sum.charged : sum.returned)),
          [40, 100],
        )
      })
    }
  }
})

describe('preauth is signed as a sale is, account verification without an amount', { concurrency: 4 }, () => {
  const email = 'ada@example.com'
  // oxfmt-ignore
  const cases: [Initial, string, (id: string) => string[], 'holds' | 'does not'][] = [
    ['preauth',              'id, order, minor units, e-mail',  (id) => [String(world.endpoints.plain), id, '1050', email], 'holds'],
    ['preauth',              'no amount',                       (id) => [String(world.endpoints.plain), id, email],         'does not'],
    ['preauth',              'the amount as sent',              (id) => [String(world.endpoints.plain), id, '10.50', email], 'does not'],
    ['preauth',              'the login for the id',            (id) => [world.merchant.login, id, '1050', email],         'does not'],
    ['account-verification', 'id, order, e-mail',               (id) => [String(world.endpoints.plain), id, email],        'holds'],
    ['account-verification', 'an amount of 0',                  (id) => [String(world.endpoints.plain), id, '0', email],   'does not'],
    ['account-verification', 'the login for the id',            (id) => [world.merchant.login, id, email],                 'does not'],
    ['account-verification', 'no e-mail',                       (id) => [String(world.endpoints.plain), id],               'does not'],
    ['account-verification', 'another endpoint',                (id) => [String(world.endpoints.euro), id, email],         'does not'],
  ]
  for (const [operation, what, parts, verdict] of cases) {
    it(`${operation} signed over ${what} ${verdict}`, async () => {
      const client_orderid = newOrderId()
      const reply = await begin(world, operation, { client_orderid, control: sha1(...parts(client_orderid), key()) })
      if (verdict === 'holds') accepted(reply)
      else refused(reply, 2, 'INVALID_CONTROL_CODE')
    })
  }
  it('a group’s are signed with the id of the group', async () => {
    for (const operation of ['preauth', 'account-verification'] as const) {
      const [client_orderid, id] = [newOrderId(), String(world.groups.multi)]
      const money = operation === 'preauth' ? ['1050'] : []
      const control = sha1(id, client_orderid, ...money, email, key())
      accepted(await begin(world, operation, { client_orderid, currency: 'USD', control }, { path: `group/${id}` }))
    }
  })
})
