import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { call, nowhere, rebill, rebillControl, rebillOrder, registered, signedRebill, urlOf, wrongControl } from './card.ts'
import type { Rebill, RebillWay } from './card.ts'
import { accepted, encodePairs, invalid, newOrderId, readReply, refused, required, send, settled } from '../requests/client.ts'
import { sha1, statusOf, type Changes, type Fields, type Path } from '../requests/client.ts'

/** The fields of a recurrent payment, its checksum in both orders, and its order of refusals. */

const world = await openWorld()
const ref = (await registered(world)).ref
const used = (await rebillOrder(world, ref)).client_orderid

const takes = (what: string, changes: Changes): void => {
  it(`${what}: accepted`, async () => {
    accepted(await rebill(world, ref, changes))
  })
}
const refuses = (what: string, name: string, changes: Changes): void => {
  it(`${what}: refused, Parameter ${name} is invalid`, async () => {
    refused(await rebill(world, ref, changes), 3, invalid(name))
  })
}
const long = (length: number, letter: string): string => {
  const head = newOrderId().slice(0, length - 1)
  return head + letter.repeat(length - head.length)
}
const link = (length: number): string => `http://127.0.0.1:9/${'a'.repeat(length - 19)}`
const operations: Rebill[] = ['make-rebill-sale', 'make-rebill-preauth', 'make-rebill']
const texts = (reply: Fields): Fields => ({ ...reply, 'serial-number': '' })

describe('lengths count Unicode code points, and hold at both ends', { concurrency: 4 }, () => {
  const lengths: [string, number][] = [
    ['client_orderid', 128],
    ['order_desc', 65_536],
    ['comment', 50],
    ['purpose', 128],
    ['merchant_data', 65_536],
  ]
  for (const [name, max] of lengths) {
    takes(`${name} of ${max} letters`, { [name]: long(max, 'x') })
    takes(`${name} of ${max} code points of two UTF-16 units each`, { [name]: long(max, '😀') })
    refuses(`${name} of ${max + 1} letters`, name, { [name]: long(max + 1, 'x') })
  }
  for (const name of ['redirect_url', 'redirect_success_url', 'redirect_fail_url', 'server_callback_url', 'notify_url']) {
    takes(`${name} of 1024`, { [name]: link(1024) })
    refuses(`${name} of 1025`, name, { [name]: link(1025) })
    refuses(`${name} of another scheme`, name, { [name]: 'ftp://shop.example/' })
    refuses(`${name} with credentials`, name, { [name]: 'https://user:word@shop.example/' })
    refuses(`${name} that is not absolute`, name, { [name]: '/back' })
  }
  refuses('login of 21', 'login', { login: 'l'.repeat(21) })
  refuses('cardrefid of 21', 'cardrefid', { cardrefid: '1'.repeat(21) })
  takes('an ipaddress of 45', { ipaddress: '0000:0000:0000:0000:0000:ffff:203.100.113.227' })
  refuses('an ipaddress of 47', 'ipaddress', { ipaddress: '00000:0000:0000:0000:0000:ffff:203.100.113.227' })
})

describe('values that fit and values that do not', { concurrency: 4 }, () => {
  for (const amount of ['0.01', '1', '10.5', '10.500', '0010.50', '900.000000']) takes(`amount ${amount}`, { amount })
  for (const amount of [
    '0',
    '0.00',
    '-1',
    '+1',
    '1,5',
    '1e3',
    '.5',
    '5.',
    '1.001',
    '0x10',
    'ten',
    '1.2.3',
    '900.0000000',
    '１０',
  ])
    refuses(`amount ${amount}`, 'amount', { amount })
  for (const currency of ['US', 'USDX', '1$2']) refuses(`currency ${currency}`, 'currency', { currency })
  for (const cvv2 of ['123', '1234', '', ' ', undefined]) takes(`cvv2 ${cvv2 === undefined ? 'absent' : `"${cvv2}"`}`, { cvv2 })
  for (const cvv2 of ['12', '12345', '12a', '1.2', '１２３']) refuses(`cvv2 ${cvv2}`, 'cvv2', { cvv2 })
  for (const ipaddress of ['203.0.113.7', '2001:db8::1']) takes(`ipaddress ${ipaddress}`, { ipaddress })
  for (const ipaddress of ['here', '203.0.113.256', '1.2.3', '2001:db8::1::2'])
    refuses(`ipaddress ${ipaddress}`, 'ipaddress', { ipaddress })
  for (const recurrent_scenario of ['REGULAR', 'IRREGULAR', '', undefined])
    takes(`recurrent_scenario ${recurrent_scenario}`, { recurrent_scenario })
  for (const recurrent_initiator of ['CARDHOLDER', 'MERCHANT', '', undefined])
    takes(`recurrent_initiator ${recurrent_initiator}`, { recurrent_initiator })
  for (const other of ['SOMETIMES', 'MERCHANT', 'REGULAR ONE', 'R'.repeat(51)])
    refuses(`recurrent_scenario ${other}`, 'recurrent_scenario', { recurrent_scenario: other })
  for (const other of ['SHOP', 'REGULAR', 'MERCHANTS', 'M'.repeat(51)])
    refuses(`recurrent_initiator ${other}`, 'recurrent_initiator', { recurrent_initiator: other })
  takes('a field that no operation has', { shoe_size: '44' })
  it('a field given twice: refused', async () => {
    const pairs: [string, string][] = [...Object.entries(signedRebill(world, ref)), ['cardrefid', ref]]
    refused(readReply(await send('POST', urlOf(world, 'make-rebill'), encodePairs(pairs))), 3, invalid('cardrefid'))
  })
  it('both spellings of client_orderid: equal taken, different refused', async () => {
    const client_orderid = newOrderId()
    const made = accepted(await rebill(world, ref, { client_orderid, 'client-order-id': client_orderid }))
    assert.equal(made.client_orderid, client_orderid)
    const reply = await rebill(world, ref, { 'client-order-id': newOrderId() })
    assert.deepEqual([reply.type, reply['error-code']], ['validation-error', '3'])
  })
})

describe('only the first eight fields of the table are mandatory', { concurrency: 4 }, () => {
  const names = ['client_orderid', 'login', 'cardrefid', 'order_desc', 'amount', 'currency', 'ipaddress', 'control']
  for (const operation of operations) {
    for (const [at, name] of names.entries()) {
      it(`${operation} without ${names.slice(at).join(', ')}: Parameter ${name} is required`, async () => {
        const changes = Object.fromEntries(names.slice(at).map((one) => [one, undefined]))
        refused(await rebill(world, ref, changes, { operation }), 1, required(name))
        refused(await rebill(world, ref, { [name]: ' ' }, { operation }), 1, required(name))
      })
    }
  }
  it('an endpoint that wants a phone number of a sale wants none here', async () => {
    accepted(await rebill(world, ref, {}, { path: world.endpoints.strict }))
  })
})

describe('the checksum', { concurrency: 4 }, () => {
  it('with the endpoint in front: the published result', () => {
    const fields = { login: 'test-login', client_orderid: 'CLIENT-112233', cardrefid: '558894', currency: 'USD' }
    const key = 'D5F82EC1-8575-4482-AD89-97X6X0X20X22'
    assert.equal(rebillControl(fields, '399', key, '789'), '4a3cae463ad60e8d7c95cdd42fa5d663e3a3ff6d')
    assert.equal(rebillControl(fields, '399', key), sha1('test-loginCLIENT-112233558894399USD', key))
  })
  const signed = (changes: Changes, minor: string, first: string): Fields => {
    const fields = signedRebill(world, ref, changes)
    return { ...fields, control: rebillControl(fields, minor, world.merchant.controlKey, first) }
  }
  const where: [string, () => Path, () => number][] = [
    ['an endpoint', () => world.endpoints.plain, () => world.endpoints.plain],
    ['a group', () => `group/${world.groups.multi}`, () => world.groups.multi],
  ]
  for (const operation of operations)
    for (const [what, path, id] of where)
      it(`${operation} of ${what}: from the login on, or with its id in front; with no other in front`, async () => {
        accepted(await call(world, operation, signed({}, '1050', ''), path()))
        accepted(await call(world, operation, signed({}, '1050', String(id())), path()))
        for (const other of [world.endpoints.euro, `group/${id()}`, `${id()}0`, id() + 100])
          refused(await call(world, operation, signed({}, '1050', String(other)), path()), 2, 'INVALID_CONTROL_CODE')
      })
  // oxfmt-ignore
  const amounts: [string, string, string][] = [
    ['0.94',   '94',   '93'],
    ['10.15',  '1015', '1014'],
    ['0.57',   '57',   '56'],
    ['10.5',   '1050', '105'],
    ['10',     '1000', '10'],
    ['0.07',   '7',    '007'],
    ['10.500', '1050', '10500'],
  ]
  for (const [amount, minor, not] of amounts) {
    it(`${amount} USD counts as ${minor}, never as ${not}`, async () => {
      refused(await call(world, 'make-rebill', signed({ amount }, not, '')), 2, 'INVALID_CONTROL_CODE')
      for (const first of ['', String(world.endpoints.plain)])
        accepted(await call(world, 'make-rebill', signed({ amount }, minor, first)))
    })
  }
  const yen: [string, 'yen' | 'hundredths', string, string][] = [
    ['100', 'yen', '100', '10000'],
    ['100.00', 'yen', '100', '10000'],
    ['100', 'hundredths', '10000', '100'],
    ['100.00', 'hundredths', '10000', '1000000'],
  ]
  for (const [amount, name, minor, not] of yen) {
    it(`${amount} JPY at the endpoint ${name} counts as ${minor}, never as ${not}`, async () => {
      const path = world.endpoints[name]
      const changes = { amount, currency: 'JPY' }
      refused(await call(world, 'make-rebill', signed(changes, not, ''), path), 2, 'INVALID_CONTROL_CODE')
      for (const first of ['', String(path)]) {
        const made = accepted(await call(world, 'make-rebill', signed(changes, minor, first), path))
        const seen = await settled(world, made, { path })
        assert.deepEqual([seen.status, seen.amount, seen.currency], ['approved', amount, 'JPY'])
      }
    })
  }
  it('yen have no hundredths: amount is invalid', async () => {
    refused(await rebill(world, ref, { amount: '1.5', currency: 'JPY' }, { path: world.endpoints.yen }), 3, invalid('amount'))
  })
  it('without regard to case; over raw values and over trimmed ones', async () => {
    const fields = signedRebill(world, ref)
    accepted(await call(world, 'make-rebill', { ...fields, control: (fields.control ?? '').toUpperCase() }))
    const raw = { client_orderid: ` ${newOrderId()} `, cardrefid: ` ${ref}` }
    accepted(await rebill(world, ref, raw))
    const trimmed = signedRebill(world, ref, { client_orderid: newOrderId() })
    accepted(
      await call(world, 'make-rebill', { ...trimmed, client_orderid: ` ${trimmed.client_orderid} `, cardrefid: ` ${ref} ` }),
    )
  })
  it('an unknown login, another merchant’s endpoint, key or login, and a wrong control are indistinguishable', async () => {
    const same = { client_orderid: 'same' }
    const answers = [
      await rebill(world, ref, { ...same, control: wrongControl }),
      await rebill(world, ref, { ...same, control: 'é' }),
      await rebill(world, ref, { ...same, login: 'nobody' }),
      await rebill(world, ref, { ...same, login: world.other.login }),
      await rebill(world, ref, same, { path: world.other.endpoint }),
      await rebill(world, ref, same, { as: world.other }),
    ]
    for (const answer of answers) {
      refused(answer, 2, 'INVALID_CONTROL_CODE')
      assert.deepEqual(texts(answer), texts(answers[0] ?? {}))
    }
  })
  it('no signed field can change under a signature', async () => {
    const fields = signedRebill(world, ref)
    for (const changes of [{ amount: '10.51' }, { currency: 'EUR' }, { cardrefid: '1' }, { client_orderid: newOrderId() }])
      refused(await call(world, 'make-rebill-sale', { ...fields, ...changes }), 2, 'INVALID_CONTROL_CODE')
  })
})

describe('several faults: the refusal is the first in the list', { concurrency: 4 }, () => {
  const faults: Record<string, () => Changes> = {
    'missing ipaddress': () => ({ ipaddress: undefined }),
    'bad cvv2': () => ({ cvv2: 'x' }),
    'wrong control': () => ({ control: wrongControl }),
    'unknown reference': () => ({ cardrefid: '1' }),
    'unsupported currency': () => ({ currency: 'GBP' }),
    'client_orderid in use': () => ({ client_orderid: used, order_desc: 'another' }),
  }
  // oxfmt-ignore
  const told: Record<string, [number, string | RegExp]> = {
    'missing ipaddress': [1, required('ipaddress')], 'bad cvv2': [3, invalid('cvv2')], 'wrong control': [2, 'INVALID_CONTROL_CODE'],
    'unknown reference': [7, 'Card reference not found'], 'unsupported currency': [8, 'Currency is not supported'],
    'client_orderid in use': [11, 'client_orderid is already in use'],
  }
  const names = Object.keys(faults)
  const both = (way: RebillWay, changes: Changes) =>
    Promise.all([rebill(world, ref, changes, way), rebill(world, ref, changes, { ...way, operation: 'make-rebill-preauth' })])
  for (const [at, name] of names.entries()) {
    for (const other of ['', ...names.slice(at + 1)]) {
      it(`${name}${other && ` and ${other}`}: ${told[name]?.[0]}`, async () => {
        const [code, message] = told[name] ?? [0, '']
        for (const reply of await both({}, { ...faults[other]?.(), ...faults[name]?.() })) refused(reply, code, message)
      })
    }
    it(`unknown endpoint and ${name}: 4`, async () => {
      for (const path of [nowhere, `group/${nowhere}`, world.groups.multi, `group/${world.endpoints.plain}`])
        for (const reply of await both({ path }, faults[name]?.() ?? {})) refused(reply, 4, 'Endpoint not found')
    })
  }
  it('with all faults together, the missing field is named', async () => {
    const changes: Changes = Object.assign({}, ...names.toReversed().map((name) => faults[name]?.()))
    for (const reply of await both({}, changes)) refused(reply, 1, required('ipaddress'))
  })
  it('an endpoint that is switched off: 5, after the control and before the reference', async () => {
    const way = { path: world.endpoints.disabled }
    const message = 'Operation is not enabled for this endpoint'
    for (const changes of [{}, { cardrefid: '1' }, { currency: 'GBP' }])
      for (const reply of await both(way, changes)) refused(reply, 5, message)
    for (const reply of await both(way, { control: wrongControl })) refused(reply, 2, 'INVALID_CONTROL_CODE')
  })
  it('the currency of an endpoint and of a group: others are 8', async () => {
    refused(await rebill(world, ref, { currency: 'EUR' }), 8, 'Currency is not supported')
    const path = `group/${world.groups.multi}`
    for (const currency of ['USD', 'EUR']) accepted(await rebill(world, ref, { currency }, { path }))
    refused(await rebill(world, ref, { currency: 'JPY', amount: '100' }, { path }), 8, 'Currency is not supported')
  })
  it('a refusal stores nothing: the order does not exist', async () => {
    const client_orderid = newOrderId()
    const reply = await rebill(world, ref, { client_orderid, cardrefid: '1' })
    assert.equal(reply['merchant-order-id'], client_orderid)
    refused(await statusOf(world, { client_orderid, orderid: '', serial: '' }), 6, 'Order not found')
  })
})
