import assert from 'node:assert/strict'
import { createPublicKey, createVerify } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { nowhere, notRegistered, rebillOrder, refOf, register, registered } from '../cards/card.ts'
import { encodePairs, invalid, newOrderId, order, readReply, refused, required, settled, statusOf } from './client.ts'
import { until } from '../../harness/clock/until.ts'
import { status, type Changes, type Fields, type Order } from './client.ts'
import { ask, baseString, header, normalised, nowSeconds, parametersOf, percent, post, v4, v4Url, type Pairs } from './oauth.ts'

/** Version 4: card registration and status with OAuth 1.0a in place of login and control. */

const world = await openWorld()
const first = await registered(world)
const named = { client_orderid: first.made.client_orderid, orderid: first.made.orderid }

const lasting = ({ 'serial-number': _serial, 'end-point-id': _endpoint, ...rest }: Fields): Fields => rest
const ids = ['card-ref-id', 'recurring-payment-id', 'dst-card-ref-id', 'dst-recurring-payment-id']

describe('the published results hold', () => {
  const encodings: [string, string][] = [
    ["!'()*", '%21%27%28%29%2A'],
    ['John Smith', 'John%20Smith'],
    ['a+b', 'a%2Bb'],
    ['abcXYZ019-._~', 'abcXYZ019-._~'],
    ['é', '%C3%A9'],
  ]
  for (const [text, published] of encodings) it(`${text} is ${published}`, () => assert.equal(percent(text), published))
  it('a base string, and the signature over it', () => {
    const pairs: Pairs = [
      ['client_orderid', '902B4FF5'],
      ['orderid', '4444444'],
      ['oauth_consumer_key', 'test-merchant'],
      ['oauth_nonce', 'abcdef0123456789'],
      ['oauth_signature_method', 'RSA-SHA256'],
      ['oauth_timestamp', '1700000000'],
      ['oauth_version', '1.0'],
    ]
    const text = baseString('POST', 'https://gateway.example/paynet/api/v4/create-card-ref/1144', pairs)
    const published =
      'POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fcreate-card-ref%2F1144&client_orderid%3D902B4FF5%26oauth_consumer_key%3Dtest-merchant%26oauth_nonce%3Dabcdef0123456789%26oauth_signature_method%3DRSA-SHA256%26oauth_timestamp%3D1700000000%26oauth_version%3D1.0%26orderid%3D4444444'
    assert.equal(text, published)
    const der =
      'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyc1FZ6kIQ1hdh6cQDHMqO3/rnCBCUtwEBxtBE/3cSdKrLBspiI3c3pSd1yPqE6tsvU04pkI7bo6Hoes5eOFq1wmySwlA1rDY5Ye4ZgaK6VOrSVYcNeOuggMZJLTyR5DKiWBdHn3oCHzsFKLU88GOLRpTeolitGjCeWVoVqWQ24Gqe9r60VynwjevyXk1HbDiOzwHmcNJntOI2fC6L2vRVSG1cziWhRsElK6DL13ryAfKzg+e3N1Qi08RN2hjTM/vQy5ehgpvFmdVEh5oh8m6oLxi8kLMATxXFcxYHewaYGbPiQM2A4fGRgDb4wORfbtG+mJ29zKZt/vUZQrb0sSsKQIDAQAB'
    const key = createPublicKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'spki' })
    const signature =
      'iREtHnAYh9H9Ss5g5QvyROrPvKMCM4R/GPsxMA83fV/g4Z7RC9d3St1IcLeAUBgxWNnzPalnId426iaZACqXzs8wjLAZKh1IXn5jc3w0GGJIJYbpbD07TFIHR730CyHIx+0nKlA5Te6yOi56t17PqxhfoBqCIn+P8uO913j7FyNil+DlvWGOgoQf2OKxAZ6wOrQT3Zcv+CPf9zthV5A4TeNGRf35nCioATfXkbFygCoqhYDNCYcMcJaWBNF/9+XkZlRzflpIRVa2xHyH36rPoAjpIQ6WsBcO5rHdpEeF7Pp2mpiE0up6mVr1GQmKW5R9eGRo+wNwIk5Tm8+DyuMq/w=='
    assert.ok(createVerify('RSA-SHA256').update(text, 'utf8').verify(key, signature, 'base64'))
  })
  it('parameters are sorted by name and then by value, as encoded', () => {
    assert.equal(
      normalised([
        ['b', '2'],
        ['a', 'ü'],
        ['a', '1'],
        ['a b', ''],
      ]),
      'a=%C3%BC&a=1&a%20b=&b=2',
    )
  })
})

describe('card registration v4', { concurrency: 4 }, () => {
  it('type, status, and the four ids of v4, each another; no unq-card-ref-id', async () => {
    const reply = await v4(world, 'create-card-ref', named)
    assert.equal(refOf(reply), first.ref, 'the same card-ref-id as v2')
    const known = new Set(['type', 'status', 'serial-number', 'merchant-order-id', 'end-point-id', ...ids])
    assert.deepEqual(
      Object.keys(reply).filter((name) => !known.has(name)),
      [],
    )
    assert.equal(reply['merchant-order-id'], first.made.client_orderid)
    assert.equal(new Set(ids.map((name) => reply[name])).size, 4)
    for (const name of ids) assert.match(reply[name] ?? '', /^\S+$/, name)
  })
  it('20 simultaneous first calls get the same ids and 20 serial numbers', async () => {
    const made = await order(world)
    await settled(world, made)
    const body = { client_orderid: made.client_orderid, orderid: made.orderid }
    const replies = await Promise.all(Array.from({ length: 20 }, () => v4(world, 'create-card-ref', body)))
    for (const reply of replies) assert.deepEqual(lasting(reply), lasting(replies[0] ?? {}))
    assert.equal(new Set(replies.map((reply) => reply['serial-number'])).size, 20)
  })
  it('through a group: the same ids', async () => {
    const reply = await v4(world, 'create-card-ref', named, {}, `group/${world.groups.multi}`)
    assert.deepEqual(lasting(reply), lasting(await v4(world, 'create-card-ref', named)))
  })
  it('a declined payment has status declined, an unfinished one error; both have code 9', async () => {
    const declined = await order(world, { cvv2: '116' })
    await settled(world, declined)
    const open = await order(world, { cvv2: '217' })
    for (const [made, outcome] of [
      [declined, 'declined'],
      [open, 'error'],
    ] as const)
      notRegistered(
        await v4(world, 'create-card-ref', { client_orderid: made.client_orderid, orderid: made.orderid }),
        outcome,
        made,
      )
  })
  const refuses = (what: string, body: () => Fields, code: number, message: string | RegExp, path?: number | string): void => {
    it(`${what}: ${code}`, async () => {
      refused(await v4(world, 'create-card-ref', body(), {}, path), code, message)
    })
  }
  refuses('no field at all', () => ({}), 1, required('client_orderid'))
  refuses('no client_orderid', () => ({ orderid: '1' }), 1, required('client_orderid'))
  refuses('no orderid', () => ({ client_orderid: 'x'.repeat(129), orderid: '' }), 1, required('orderid'))
  refuses('a client_orderid of 129', () => ({ ...named, client_orderid: 'x'.repeat(129) }), 3, invalid('client_orderid'))
  refuses('an unknown order', () => ({ ...named, orderid: '999999999' }), 6, 'Order not found')
  refuses('another client_orderid', () => ({ ...named, client_orderid: newOrderId() }), 6, 'Order not found')
  refuses('an unknown endpoint, duly signed', () => named, 4, 'Endpoint not found', nowhere)
  refuses('an unknown group, duly signed', () => named, 4, 'Endpoint not found', `group/${nowhere}`)
  it('an order of another merchant: 6', async () => {
    const made = await order(world, {}, { as: world.other, path: world.other.endpoint })
    refused(
      await v4(world, 'create-card-ref', { client_orderid: made.client_orderid, orderid: made.orderid }),
      6,
      'Order not found',
    )
  })
  it('login and control are unknown fields here, and ignored', async () => {
    assert.equal(refOf(await v4(world, 'create-card-ref', { ...named, login: 'nobody', control: 'x' })), first.ref)
  })
  it('a field given twice, duly signed: 3', async () => {
    const answer = await ask(world, 'create-card-ref', [...Object.entries(named), ['orderid', first.made.orderid]])
    refused(readReply(answer), 3, invalid('orderid'))
  })
  it('get-card-info, sale and recurrent payments do not exist in v4: 404', async () => {
    for (const operation of ['get-card-info', 'sale', 'make-rebill', 'make-rebill-sale', 'make-rebill-preauth']) {
      const url = v4Url(world, 'status').replace('/status/', `/${operation}/`)
      assert.equal((await post(url, [], header(parametersOf(world, url, [])))).httpStatus, 404, operation)
    }
  })
})

describe('status v4', { concurrency: 4 }, () => {
  const both = async (made: Pick<Order, 'client_orderid'>, changes: Changes, path?: string | number): Promise<void> => {
    const fields = { client_orderid: made.client_orderid, ...changes }
    const given = Object.fromEntries(Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined))
    const old = await status(world, given, path === undefined ? {} : { path })
    const reply = await v4(world, 'status', given, {}, path)
    assert.equal(reply.type, 'status-response')
    assert.deepEqual({ ...reply, 'serial-number': '' }, { ...old, 'serial-number': '' })
    assert.notEqual(reply['serial-number'], old['serial-number'])
  }
  it('says what v2 says: approved, declined, recurrent; with orderid and without; at an endpoint and at a group', async () => {
    const declined = await order(world, { cvv2: '119', merchant_data: ' a=b ' })
    const again = await rebillOrder(
      world,
      first.ref,
      { amount: '5000', enumerate_amounts: '3000,900' },
      { operation: 'make-rebill-preauth' },
    )
    for (const made of [first.made, declined, again]) {
      await settled(world, made)
      await both(made, { orderid: made.orderid })
      await both(made, {})
      await both(made, { orderid: made.orderid }, `group/${world.groups.multi}`)
      await both(made, { orderid: made.orderid }, world.endpoints.euro)
    }
  })
  it('by-request-sn is echoed', async () => {
    const { orderid, serial } = first.made
    await both(first.made, { orderid, 'by-request-sn': serial })
    const reply = await v4(world, 'status', { ...named, 'by-request-sn': serial })
    assert.equal(reply['by-request-sn'], serial)
  })
  it('the form that a cardholder needs is there too', async () => {
    const path = world.endpoints.secure
    const made = await order(world, { cvv2: '321', redirect_url: 'https://shop.example/back' }, { path })
    const ready = (seen: Fields): boolean => seen['tds-status'] !== undefined
    assert.ok(ready(await until(() => statusOf(world, made, { path }), ready)))
    const reply = await v4(world, 'status', { client_orderid: made.client_orderid, orderid: made.orderid }, {}, path)
    assert.equal(reply['tds-status'], 'MethodUrlFrame')
    assert.ok(reply.html && reply['redirect-to'])
  })
  const refuses = (what: string, body: () => Fields, code: number, message: string | RegExp, path?: number): void => {
    it(`${what}: ${code}`, async () => {
      refused(await v4(world, 'status', body(), {}, path), code, message)
    })
  }
  refuses('no client_orderid', () => ({ orderid: '1' }), 1, required('client_orderid'))
  refuses('a client_orderid of 129', () => ({ client_orderid: 'x'.repeat(129) }), 3, invalid('client_orderid'))
  refuses('an unknown order', () => ({ client_orderid: newOrderId() }), 6, 'Order not found')
  refuses(
    'an unknown by-request-sn',
    () => ({ ...named, 'by-request-sn': '00000000-0000-4000-8000-000000000000' }),
    6,
    'Order not found',
  )
  refuses('an unknown endpoint, duly signed', () => named, 4, 'Endpoint not found', nowhere)
})

describe('the signed parameters, and spellings of the header', { concurrency: 4 }, () => {
  const other = (url: string): string =>
    url.includes('127.0.0.1') ? url.replace('127.0.0.1', 'localhost') : url.replace('localhost', '127.0.0.1')
  for (const operation of ['create-card-ref', 'status'] as const) {
    for (const text of ['base string', 'parameters'] as const) {
      it(`${operation}: the ${text}, at an endpoint as it is made`, async () => {
        assert.notEqual((await v4(world, operation, named, { text })).type, 'validation-error')
      })
    }
    it(`${operation}: either loopback name, whichever is called`, async () => {
      const url = v4Url(world, operation)
      const body = Object.entries(named)
      for (const signed of [url, other(url)])
        for (const called of [url, other(url)])
          assert.match(
            readReply(await post(called, body, header(parametersOf(world, url, body, { url: signed })))).type ?? '',
            /response$/,
          )
    })
  }
  it('body values are signed unchanged: spaces, plus, UTF-8, reserved characters, an empty value', async () => {
    for (const text of ['base string', 'parameters'] as const) {
      const fields = {
        ...named,
        client_orderid: `  ${named.client_orderid} `,
        'x y': "é + & = % ~ * ' ( ) ! 😀",
        empty: '',
        z: 'b',
        Z: 'a',
      }
      assert.equal(refOf(await v4(world, 'create-card-ref', fields, { text })), first.ref)
    }
  })
  it('a repeated unknown name is sorted by its values', async () => {
    const body: Pairs = [...Object.entries(named), ['x', 'b'], ['x', 'a'], ['x', 'é']]
    assert.equal(refOf(readReply(await ask(world, 'create-card-ref', body))), first.ref)
  })
  it('parameters of the header in any order, without spaces after the commas, with a realm that is not signed', async () => {
    const url = v4Url(world, 'create-card-ref')
    const body = Object.entries(named)
    const turned = Object.fromEntries(Object.entries(parametersOf(world, url, body)).toReversed())
    assert.equal(refOf(readReply(await post(url, body, header(turned)))), first.ref)
    assert.equal(refOf(readReply(await post(url, body, header(parametersOf(world, url, body), 'OAuth', ',')))), first.ref)
    const realm = { realm: 'gateway', ...parametersOf(world, url, body) }
    assert.equal(refOf(readReply(await post(url, body, header(realm)))), first.ref)
  })
  // oxfmt-ignore
  const broken: readonly (readonly [where: string, spell: (base64: string) => string])[] = [
    ['every 76 characters',            (text) => text.replace(/.{76}/g, '$&\n')],
    ['every 60 characters, one last',  (text) => `${text.replace(/.{60}/g, '$&\n')}\n`],
    ['CR LF every 76 characters',      (text) => text.replace(/.{76}/g, '$&\r\n')],
    ['one at the end',                 (text) => `${text}\n`],
    ['blanks and tabs between',        (text) => text.replace(/.{40}/g, '$& \t')],
  ]
  for (const [where, spell] of broken)
    it(`line ends within the base64 of a signature are ignored: ${where}`, async () => {
      const url = v4Url(world, 'create-card-ref')
      const body = Object.entries(named)
      const signed = parametersOf(world, url, body)
      const answer = await post(url, body, header({ ...signed, oauth_signature: spell(signed.oauth_signature ?? '') }))
      assert.equal(refOf(readReply(answer)), first.ref)
    })
  it('a time stamp within five minutes, early or late', async () => {
    for (const seconds of [-240, 285]) {
      const oauth = { oauth_timestamp: String(nowSeconds() + seconds) }
      assert.equal(refOf(await v4(world, 'create-card-ref', named, { oauth })), first.ref)
    }
  })
  it('as JSON: an object of strings; a refusal is HTTP 404 or 400', async () => {
    const accept = 'application/vnd.pay+json'
    const cases: [Fields, number, string][] = [
      [named, 200, 'status-response'],
      [{ client_orderid: 'x' }, 404, 'validation-error'],
      [{}, 400, 'validation-error'],
    ]
    for (const [fields, httpStatus, type] of cases) {
      const url = v4Url(world, 'status')
      const body = Object.entries(fields)
      const answer = await post(url, body, header(parametersOf(world, url, body)), { accept })
      const read: Fields = JSON.parse(answer.body)
      assert.deepEqual([answer.httpStatus, read.type], [httpStatus, type], encodePairs(body))
      for (const value of Object.values(read)) assert.equal(typeof value, 'string')
    }
  })
  it('v2 registration of the same order has no id of v4', async () => {
    const reply = await register(world, first.made)
    for (const name of ids.slice(1)) assert.equal(reply[name], undefined, name)
  })
})
