import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  encodePairs,
  invalid,
  newOrderId,
  readReply,
  refused,
  required,
  send,
  sha1,
  statusOf,
} from '../requests/client.ts'
import type { Changes, Fields, Way } from '../requests/client.ts'
import { atPares, paresFields, paresUrl, passPares, uploadPares } from './pares.ts'
import { approvedOnce, lasting } from './shopper.ts'

/** upload-pares-result: fields, checksum and order of refusals. None of them changes the order. */

const world = await openWorld()
const { made, seen } = await atPares(world)
const signed = await passPares(seen)

const wrong = '0123456789012345678901234567890123456789'
const nowhere = 999_999_999
const theirs = (): Way => ({ as: world.other, path: world.other.endpoint })
const ask = (changes: Changes, way: Way = {}): Promise<Fields> => uploadPares(world, made, signed, changes, way)

describe('control is SHA-1 of login + client-order-id + orderid + merchant_control', { concurrency: 4 }, () => {
  type Parts = (login: string, client: string, orderid: string, key: string) => string[]
  // oxfmt-ignore
  const wrongs: [string, Parts][] = [
    ['no login',                   (_login, client, orderid, key) => [client, orderid, key]],
    ['no client-order-id',         (login, _client, orderid, key) => [login, orderid, key]],
    ['no orderid',                 (login, client, _orderid, key) => [login, client, key]],
    ['another order of the parts', (login, client, orderid, key) => [login, orderid, client, key]],
    ['the endpoint in front',      (login, client, orderid, key) => [String(world.endpoints.secure), login, client, orderid, key]],
    ['paRes and md besides',       (login, client, orderid, key) => [login, client, orderid, signed.paRes, signed.md, key]],
    ['the key of another',         (login, client, orderid) => [login, client, orderid, world.other.controlKey]],
  ]
  for (const [what, parts] of wrongs) {
    it(`signed over ${what}: 2`, async () => {
      const { login, controlKey } = world.merchant
      const control = sha1(...parts(login, made.client_orderid, made.orderid, controlKey))
      refused(await ask({ control }), 2, 'INVALID_CONTROL_CODE')
    })
  }
  it('an unknown login, another merchant’s login and another merchant’s endpoint: all the same 2', async () => {
    const replies = [
      await ask({ login: 'nobody' }),
      await ask({ login: world.other.login }),
      await ask({}, { path: world.other.endpoint }),
      await ask({ control: wrong }),
    ]
    for (const reply of replies) {
      refused(reply, 2, 'INVALID_CONTROL_CODE')
      assert.deepEqual(lasting(reply), lasting(replies[0] ?? {}))
    }
  })
})

describe('mandatory are login, client-order-id, orderid, control, paRes and md', { concurrency: 4 }, () => {
  for (const name of ['login', 'client-order-id', 'orderid', 'control', 'paRes', 'md']) {
    for (const value of [undefined, '', '  ']) {
      it(`${name} ${value === undefined ? 'absent' : `"${value}"`}: Parameter ${name} is required`, async () => {
        refused(await ask({ [name]: value }), 1, required(name))
      })
    }
  }
  it('an empty form, and one without all but the names of the order: a field is named', async () => {
    refused(readReply(await send('POST', paresUrl(world), '')), 1, /^Parameter (login|paRes) is required$/)
    refused(await ask({ paRes: undefined, md: undefined }), 1, required('paRes'))
  })
})

describe('fields that do not fit: 3', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const bad: [string, () => string][] = [
    ['login',           () => 'l'.repeat(21)],
    ['client-order-id', () => 'c'.repeat(129)],
    ['paRes',           () => '%%%'],
    ['paRes',           () => 'not base64!'],
    ['paRes',           () => Buffer.from('<ThreeDSecure/>').toString('base64')],
    ['paRes',           () => signed.paRes.slice(0, 400)],
    ['paRes',           () => signed.paRes.padEnd(10_241, 'A')],
  ]
  for (const [at, [name, value]] of bad.entries()) {
    it(`${name}, no. ${at + 1}: Parameter ${name} is invalid`, async () => {
      refused(await ask({ [name]: value() }), 3, invalid(name))
    })
  }
  for (const name of ['orderid', 'paRes', 'md']) {
    it(`${name} given twice, though with the same value`, async () => {
      const fields = paresFields(world, made, signed)
      const body = encodePairs([...Object.entries(fields), [name, fields[name] ?? '']])
      refused(readReply(await send('POST', paresUrl(world), body)), 3, invalid(name))
    })
  }
  it('both spellings of client-order-id with different values', async () => {
    const reply = await ask({ client_orderid: newOrderId() })
    assert.deepEqual([reply.type, reply['error-code']], ['validation-error', '3'])
  })
  it('a body that is no form', async () => {
    const json = await send('POST', paresUrl(world), '{}', { 'content-type': 'application/json' })
    refused(readReply(json), 3, /^Parameter body is invalid/)
  })
  it('an orderid that no order can have: 3 or 6', async () => {
    for (const orderid of ['abc', '-1', '1.5', '9223372036854775808']) {
      const reply = await ask({ orderid })
      refused(reply, reply['error-code'] === '3' ? 3 : 6)
    }
  })
})

describe('the order of refusals is that of the list', { concurrency: 4 }, () => {
  const unknown = (): Changes => ({ 'client-order-id': newOrderId() })
  // oxfmt-ignore
  const cases: [string, () => Changes, number, (() => Way)?][] = [
    ['an unknown endpoint and nothing else right',  () => ({ login: undefined, paRes: '%', control: wrong }),  4, () => ({ path: nowhere })],
    ['an unknown group',                            () => ({}),                                                4, () => ({ path: `group/${nowhere}` })],
    ['a missing md and an unreadable paRes',        () => ({ md: undefined, paRes: '%%%' }),                   1],
    ['a missing paRes and a wrong control',         () => ({ paRes: undefined, control: wrong }),              1],
    ['an unreadable paRes and a wrong control',     () => ({ paRes: '%%%', control: wrong }),                  3],
    ['an unreadable paRes of an unknown order',     () => ({ ...unknown(), paRes: '%%%' }),                    3],
    ['a wrong control and an unknown order',        () => ({ ...unknown(), control: wrong }),                  2],
    ['an unknown client-order-id',                  unknown,                                                   6],
    ['an unknown orderid',                          () => ({ orderid: '999999999' }),                          6],
    ['another merchant’s order',                    () => ({}),                                                6, theirs],
  ]
  for (const [what, changes, code, way] of cases) {
    it(`${what}: ${code}`, async () => {
      refused(await ask(changes(), way?.()), code)
    })
  }
  it('by GET: 405', async () => {
    assert.equal((await send('GET', paresUrl(world))).httpStatus, 405)
    assert.equal((await send('GET', paresUrl(world, `group/${world.groups.multi_secure}`))).httpStatus, 405)
  })
})

describe('after all of that', () => {
  it('the order waits as it did', async () => {
    assert.deepEqual(lasting(await statusOf(world, made, { path: world.endpoints.secure })), lasting(seen))
  })
  it('client_orderid for client-order-id, blanks around values, control in capitals: approved', async () => {
    const { client_orderid } = made
    const { control = '' } = paresFields(world, made, signed)
    const spelled = { 'client-order-id': undefined, client_orderid: ` ${client_orderid} `, control: control.toUpperCase() }
    accepted(await ask(spelled))
    await approvedOnce(world, made)
  })
})
