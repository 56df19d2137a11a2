import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, encodePairs, invalid, newOrderId, order, readReply, refused, required, send } from '../requests/client.ts'
import { settled, sha1, statusOf, type Changes, type Fields, type Order, type Way } from '../requests/client.ts'
import { altered, atChallenge, atMethod, base64url, browser, methodFields, notNow, passChallenge } from './shopper.ts'
import { post, signedUpload, uploadCres, uploadMethod, uploadUrl } from './shopper.ts'
import type { Upload } from './shopper.ts'

/** Uploads: checksum, fields, formats, order of refusals. No refusal here changes the order. */

const world = await openWorld()
/** Waits at MethodUrlFrame throughout. */
const framed = await atMethod(world, 'frictionless')
const challenged = await atChallenge(world)
/** Past its challenge. Requests that are refused before the order is read ignore the outcome. */
const passed = { made: challenged.made, cres: (await passChallenge(challenged.seen)).cres }

const wrong = '0123456789012345678901234567890123456789'
const nowhere = 999_999_999
const other = (): Way => ({ as: world.other, path: world.other.endpoint })

/** Both uploads of a good order, with a few changes. */
const ask: Record<Upload, (changes: Changes, way?: Way) => Promise<Fields>> = {
  'method-url': (changes, way) => uploadMethod(world, framed.made, framed.seen, changes, way),
  cres: (changes, way) => uploadCres(world, passed.made, passed.cres, changes, way),
}
const kinds: Upload[] = ['method-url', 'cres']
const madeOf = (kind: Upload): Order => (kind === 'cres' ? passed.made : framed.made)

describe('control is SHA-1 of login + client-order-id + orderid + merchant_control', { concurrency: 4 }, () => {
  it('the published result holds', () => {
    const key = 'D5F82EC1-8575-4482-AD89-97X6X0X20X22'
    assert.equal(sha1('test-login', 'CLIENT-112233', '6768788', key), '92facd9ee636a8d495eedca346cfddbe5694dfaf')
  })
  it('in capitals, and over values signed raw or trimmed: accepted', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const { login, controlKey } = world.merchant
    const control = sha1(login, made.client_orderid, made.orderid, controlKey)
    const [padded, orderid] = [` ${made.client_orderid} `, `${made.orderid} `]
    accepted(await uploadMethod(world, made, seen, { control: control.toUpperCase() }))
    accepted(await uploadMethod(world, made, seen, { 'client-order-id': padded, orderid, control }))
    const raw = sha1(login, padded, orderid, controlKey)
    accepted(await uploadMethod(world, made, seen, { 'client-order-id': padded, orderid, control: raw }))
  })
  type Signed = (login: string, client: string, orderid: string, key: string) => string
  // oxfmt-ignore
  const wrongs: [string, Signed][] = [
    ['no login',                   (_login, client, orderid, key) => sha1(client, orderid, key)],
    ['no orderid',                 (login, client, _orderid, key) => sha1(login, client, key)],
    ['no client-order-id',         (login, _client, orderid, key) => sha1(login, orderid, key)],
    ['another order of the parts', (login, client, orderid, key) => sha1(login, orderid, client, key)],
    ['the endpoint in front',      (login, client, orderid, key) => sha1(String(world.endpoints.secure), login, client, orderid, key)],
    ['another orderid',            (login, client, _orderid, key) => sha1(login, client, '999999999', key)],
    ['another key',                (login, client, orderid) => sha1(login, client, orderid, world.other.controlKey)],
    ['separators',                 (login, client, orderid, key) => sha1([login, client, orderid, key].join('&'))],
    ['nothing at all',             () => 'x'],
    ['no hexadecimal digits',      () => 'g'.repeat(40)],
    ['forty digits',               () => wrong],
    ['a digit more',               (login, client, orderid, key) => `${sha1(login, client, orderid, key)}0`],
  ]
  for (const kind of kinds) {
    for (const [what, signed] of wrongs) {
      it(`${kind}, ${what}: 2`, async () => {
        const { client_orderid, orderid } = madeOf(kind)
        const control = signed(world.merchant.login, client_orderid, orderid, world.merchant.controlKey)
        refused(await ask[kind]({ control }), 2, 'INVALID_CONTROL_CODE')
      })
    }
    it(`${kind}, an unknown login, another merchant's login and another merchant's endpoint: all the same 2`, async () => {
      const { login, controlKey } = world.other
      for (const changes of [{ login: 'nobody' }, { login }]) refused(await ask[kind](changes), 2, 'INVALID_CONTROL_CODE')
      const { client_orderid, orderid } = madeOf(kind)
      const control = sha1(login, client_orderid, orderid, controlKey)
      refused(await ask[kind]({ login, control }), 2, 'INVALID_CONTROL_CODE')
      refused(await ask[kind]({}, { path: world.other.endpoint }), 2, 'INVALID_CONTROL_CODE')
    })
  }
})

const shared = ['login', 'client-order-id', 'orderid', 'control']
// oxfmt-ignore
const mandatory: Record<Upload, string[]> = {
  'method-url': [...shared, 'threeDSServerTransID', 'threeDSCompInd'],
  cres:         [...shared, 'cres'],
}
const either = (names: string[], found: RegExp): RegExp => new RegExp(`^Parameter (${names.join('|')}) ${found.source}`)

describe('mandatory fields', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    for (const name of mandatory[kind]) {
      for (const value of [undefined, '', '  ']) {
        it(`${kind} with ${name} ${value === undefined ? 'absent' : `"${value}"`}: Parameter ${name} is required`, async () => {
          refused(await ask[kind]({ [name]: value }), 1, required(name))
        })
      }
    }
    it(`${kind}, an empty form: its first field is named`, async () => {
      const reply = readReply(await send('POST', uploadUrl(world, kind), ''))
      refused(reply, 1, either(['login', 'cres'], /is required$/))
    })
  }
  // The names whose order the documents give in the same way.
  // oxfmt-ignore
  const firsts: [Upload, string[], string[]][] = [
    ['method-url', ['login', 'control'],                        ['login']],
    ['method-url', ['login', 'orderid', 'threeDSCompInd'],      ['login']],
    ['method-url', ['orderid', 'client-order-id', 'control'],   ['orderid', 'client-order-id']],
    ['method-url', ['control', 'threeDSServerTransID'],         ['control']],
    ['method-url', ['threeDSServerTransID', 'threeDSCompInd'],  ['threeDSServerTransID']],
    ['method-url', ['threeDSCompInd', ...Object.keys(browser)], ['threeDSCompInd']],
    ['cres',       ['login', 'control'],                        ['login']],
    ['cres',       ['orderid', 'client-order-id', 'control'],   ['orderid', 'client-order-id']],
  ]
  for (const [kind, absent, named] of firsts) {
    it(`${kind} without ${absent.join(', ')}: ${named.join(' or ')} is named`, async () => {
      const changes = Object.fromEntries(absent.map((name) => [name, undefined]))
      refused(await ask[kind](changes), 1, either(named, /is required$/))
    })
  }
})

const longCres = base64url(JSON.stringify({ messageType: 'CRes', x: 'x'.repeat(4096) }))

describe('fields that do not fit: 3', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const bad: [Upload, string, string[]][] = [
    ['method-url', 'login',                    ['l'.repeat(21)]],
    ['method-url', 'client-order-id',          ['c'.repeat(129)]],
    ['method-url', 'threeDSServerTransID',     ['a'.repeat(37)]],
    ['method-url', 'threeDSCompInd',           ['X', '1', 'YES', 'YN']],
    ['method-url', 'notificationURL',          ['/done', 'shop', 'ftp://shop.example/', 'javascript:alert(1)', 'data:text/html,x', 'https://u:p@shop.example/', `https://shop.example/${'a'.repeat(236)}`, 'https://shop.example/back/{42}', 'https://shop.example/?x=a|b', 'https://shop.example/zurück', 'https://zurück.example/']],
    ['method-url', 'browserColorDepth',        ['0', 'x', '-24']],
    ['method-url', 'browserJavaEnabled',       ['yes', '1', 'x']],
    ['method-url', 'browserJavascriptEnabled', ['yes', '0', 'x']],
    ['method-url', 'browserIP',                ['x'.repeat(46), 'here', '203.0.113.256']],
    ['method-url', 'browserTZ',                ['12345', 'UTC', '1.5']],
    ['method-url', 'browserScreenHeight',      ['1000000', '-1', '10.5', 'x']],
    ['method-url', 'browserScreenWidth',       ['1000000', '-1', '10.5', 'x']],
    ['cres',       'login',                    ['l'.repeat(21)]],
    ['cres',       'client-order-id',          ['c'.repeat(129)]],
    ['cres',       'cres',                     ['%%%', 'not base64!', '====', 'bnVsbA', base64url('hello'), base64url('{'), base64url('[]'), base64url('"CRes"'), base64url('{}'), longCres]],
  ]
  for (const [kind, name, values] of bad) {
    for (const value of values) {
      it(`${kind}, ${name} ${value.slice(0, 30)} of ${value.length}`, async () => {
        refused(await ask[kind]({ [name]: value }), 3, invalid(name))
      })
    }
  }
  it('a message that is no CRes', async () => {
    for (const changes of [{ messageType: 'ARes' }, { messageType: undefined }]) {
      refused(await ask.cres({ cres: altered(passed.cres, changes) }), 3, invalid('cres'))
    }
  })
  it('a field given twice, though with the same value', async () => {
    const fields = signedUpload(world, framed.made, methodFields(framed.seen))
    for (const name of ['orderid', 'threeDSCompInd', 'browserTZ']) {
      const body = encodePairs([...Object.entries(fields), [name, fields[name] ?? '']])
      refused(readReply(await send('POST', uploadUrl(world, 'method-url'), body)), 3, invalid(name))
    }
  })
  it('an orderid that no order can have: 3 or 6', async () => {
    for (const orderid of ['abc', '-1', '1.5', '9223372036854775808']) {
      const reply = await ask.cres({ orderid })
      refused(reply, reply['error-code'] === '3' ? 3 : 6)
    }
  })
  it('a transaction id that is no UUID: 3 or 9', async () => {
    const reply = await ask['method-url']({ threeDSServerTransID: 'x' })
    refused(reply, reply['error-code'] === '3' ? 3 : 9)
  })
})

describe('values at the edge are accepted', { concurrency: 4 }, () => {
  const prefix = 'https://shop.example/'
  // oxfmt-ignore
  const good: [string, string[]][] = [
    ['threeDSCompInd',      ['Y', 'N', 'U']],
    ['notificationURL',     [prefix + 'a'.repeat(256 - prefix.length), 'http://127.0.0.1:9/cres', 'https://shop.example/back/%7B42%7D?x=[1]&y=~!$(*)#z']],
    ['browserLanguage',     ['en', 'de-1996x']],
    ['browserColorDepth',   ['1', '48', '30']],
    ['browserTZ',           ['0', '+60', '-840', '9999']],
    ['browserScreenWidth',  ['0', '999999']],
    ['browserIP',           ['203.0.113.7', '2001:db8::7']],
    ['browserUserAgent',    ['x'.repeat(2048), 'x'.repeat(2049), 'x'.repeat(9_000)]],
    ['browserAcceptHeader', ['*/*', 'x'.repeat(2048), 'x'.repeat(2113)]],
  ]
  for (const [name, values] of good) {
    for (const value of values) {
      it(`${name} ${value.slice(0, 20)} of ${value.length}: accepted, and the order goes on`, async () => {
        const { made, seen } = await atMethod(world, 'frictionless')
        accepted(await uploadMethod(world, made, seen, { [name]: value }))
        assert.equal((await settled(world, made)).status, 'approved')
      })
    }
  }
})

describe('the order of refusals is that of the list', { concurrency: 4 }, () => {
  const cut = (fields: Changes) => () => fields
  const unknown = () => ({ 'client-order-id': newOrderId() })
  // oxfmt-ignore
  const cases: [string, Upload, () => Changes, number, Way?][] = [
    ['unknown endpoint',                                    'method-url', cut({}),                                               4, { path: nowhere }],
    ['unknown endpoint',                                    'cres',       cut({}),                                               4, { path: nowhere }],
    ['unknown group',                                       'cres',       cut({}),                                               4, { path: `group/${nowhere}` }],
    ['unknown endpoint and a missing field',                'cres',       cut({ login: undefined }),                             4, { path: nowhere }],
    ['unknown endpoint and a wrong control',                'method-url', cut({ control: wrong }),                               4, { path: nowhere }],
    ['a missing field and a bad one',                       'method-url', cut({ threeDSCompInd: undefined, browserTZ: 'x' }),    1],
    ['a missing field and a bad one before it',             'method-url', cut({ login: 'l'.repeat(21), threeDSCompInd: '' }),    1],
    ['a missing field and a wrong control',                 'cres',       cut({ cres: undefined, control: wrong }),              1],
    ['a missing control and an unreadable cres',            'cres',       cut({ cres: '%%%', control: undefined }),              1],
    ['a bad field and a wrong control',                     'method-url', cut({ threeDSCompInd: 'X', control: wrong }),          3],
    ['an unreadable cres and a wrong control',              'cres',       cut({ cres: '%%%', control: wrong }),                  3],
    ['an unreadable cres of an unknown order',              'cres',       () => ({ ...unknown(), cres: '%%%' }),                 3],
    ['a wrong control and an unknown order',                'cres',       () => ({ ...unknown(), control: wrong }),              2],
    ['a wrong control and a wrong threeDSServerTransID',    'method-url', cut({ control: wrong, threeDSServerTransID: crypto.randomUUID() }), 2],
    ['an unknown client-order-id',                          'method-url', unknown,                                               6],
    ['an unknown client-order-id',                          'cres',       unknown,                                               6],
    ['an unknown orderid',                                  'cres',       cut({ orderid: '999999999' }),                         6],
    ['an unknown order and a wrong threeDSServerTransID',   'method-url', () => ({ ...unknown(), threeDSServerTransID: crypto.randomUUID() }), 6],
    ['the orderid of another order',                        'cres',       () => ({ orderid: framed.made.orderid }),              6],
    ['another merchant’s order',                            'method-url', cut({}),                                               6, { path: 'other' }],
    ['another merchant’s order',                            'cres',       cut({}),                                               6, { path: 'other' }],
    ['another merchant’s order, wrong threeDSServerTransID', 'method-url', cut({ threeDSServerTransID: crypto.randomUUID() }),   6, { path: 'other' }],
    ['a wrong threeDSServerTransID',                        'method-url', cut({ threeDSServerTransID: crypto.randomUUID() }),    9],
  ]
  for (const [what, kind, changes, code, way] of cases) {
    it(`${kind}, ${what}: ${code}`, async () => {
      const reply = await ask[kind](changes(), way?.path === 'other' ? other() : way)
      if (code === 9) notNow(reply, madeOf(kind))
      else refused(reply, code)
      if (code === 6) assert.equal(reply['error-message'], 'Order not found')
      if (code === 4) assert.equal(reply['error-message'], 'Endpoint not found')
    })
  }
  it('a cres before its step: 9', async () => {
    const threeDSServerTransID = framed.seen['tds-method-url-frame-3ds-server-trans-id']
    notNow(await uploadCres(world, framed.made, altered(passed.cres, { threeDSServerTransID })), framed.made)
  })
  it('the transaction id of another order: 9', async () => {
    const foreign = await atMethod(world, 'frictionless')
    const transId = foreign.seen['tds-method-url-frame-3ds-server-trans-id']
    notNow(await ask['method-url']({ threeDSServerTransID: transId }), framed.made)
  })
  it('a method result for an order without 3-D Secure: 9', async () => {
    const made = await order(world)
    notNow(await uploadMethod(world, made, framed.seen), made)
  })
  for (const kind of kinds) {
    it(`${kind} by GET: 405`, async () => {
      assert.equal((await send('GET', uploadUrl(world, kind))).httpStatus, 405)
    })
    it(`${kind}, a body that is no form: 3 Parameter body is invalid`, async () => {
      const answer = await send('POST', uploadUrl(world, kind), '{}', { 'content-type': 'application/json' })
      refused(readReply(answer), 3, /^Parameter body is invalid/)
    })
  }
})

describe('both spellings of a field are accepted, both with different values are refused', { concurrency: 4 }, () => {
  it('client_orderid for client-order-id, alone and beside it', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const client_orderid = made.client_orderid
    accepted(await uploadMethod(world, made, seen, { 'client-order-id': undefined, client_orderid }))
    accepted(await uploadMethod(world, made, seen, { client_orderid }))
    const reply = await uploadMethod(world, made, seen, { client_orderid: 'another' })
    refused(reply, 3, either(['client-order-id', 'client_orderid'], /is invalid: \S/))
  })
  it('cRes for cres, alone and beside it', async () => {
    const { made, seen } = await atChallenge(world)
    const { cres } = await passChallenge(seen)
    const reply = await uploadCres(world, made, cres, { cRes: altered(cres, { transStatus: 'N' }) })
    refused(reply, 3, either(['cres', 'cRes'], /is invalid: \S/))
    accepted(await post(world, 'cres', signedUpload(world, made, { cRes: cres })))
    accepted(await post(world, 'cres', signedUpload(world, made, { cres, cRes: cres })))
    assert.equal((await settled(world, made)).status, 'approved')
  })
})

describe('when all of this is over', () => {
  it('no refused upload moved the order', async () => {
    const seen = await statusOf(world, framed.made, { path: world.endpoints.secure })
    assert.deepEqual([seen.status, seen['tds-status']], ['processing', 'MethodUrlFrame'])
    accepted(await uploadMethod(world, framed.made, framed.seen))
    assert.equal((await settled(world, framed.made)).status, 'approved')
  })
})
