import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  encode,
  encodePairs,
  newOrderId,
  order,
  readReply,
  refused,
  sale,
  saleUrl,
  send,
  serialShape,
} from './client.ts'
import {
  settled,
  signedSale,
  signedStatus,
  status,
  statusOf,
  statusUrl,
  type Answer,
  type Changes,
  type Fields,
  type Path,
} from './client.ts'

/** The form of replies, choices.md "Wire". The client's reader checks most of it on every reply. */

const world = await openWorld()

const rawSale = (changes: Changes = {}, path?: Path): Promise<Answer> =>
  send('POST', saleUrl(world, path), encodePairs(Object.entries(signedSale(world, changes, path === undefined ? {} : { path }))))
const rawStatus = (changes: Changes): Promise<Answer> =>
  send('POST', statusUrl(world), encodePairs(Object.entries(signedStatus(world, changes))))

describe(
  'a reply is name=value pairs joined by & with URL-encoded values, HTTP 200, text/html;charset=utf-8',
  { concurrency: 4 },
  () => {
    // oxfmt-ignore
    const replies: [string, () => Promise<Answer>, string][] = [
    ['an accepted sale',     () => rawSale(),                                     'async-response'],
    ['a sale of a group',    () => rawSale({}, `group/${world.groups.multi}`),    'async-response'],
    ['a missing field',      () => rawSale({ cvv2: undefined }),                  'validation-error'],
    ['a bad field',          () => rawSale({ cvv2: 'x' }),                        'validation-error'],
    ['a wrong control',      () => rawSale({ control: 'x' }),                     'validation-error'],
    ['an unknown endpoint',  () => rawSale({}, 999_999_999),                      'validation-error'],
    ['another currency',     () => rawSale({ currency: 'EUR' }),                  'validation-error'],
    ['an empty form',        () => send('POST', saleUrl(world), ''),              'validation-error'],
    ['a body of rubbish',    () => send('POST', saleUrl(world), '%'),             'validation-error'],
    ['an unknown order',     () => rawStatus({ client_orderid: newOrderId() }),   'validation-error'],
  ]
    for (const [what, ask, type] of replies) {
      it(`${what}: ${type}`, async () => {
        const answer = await ask()
        assert.equal(readReply(answer).type, type)
        assert.doesNotMatch(answer.body, /[\r\n ]/, 'no line feed and no blank')
        assert.doesNotMatch(answer.body, /^&|&&|&$|=(&|$)/, 'nothing but pairs that have a value')
      })
    }
    it('the status of an order', async () => {
      const made = await order(world)
      const answer = await rawStatus({ client_orderid: made.client_orderid, orderid: made.orderid })
      assert.equal(readReply(answer).type, 'status-response')
      assert.doesNotMatch(answer.body, /[\r\n ]/)
    })
    it('the words of a message are joined by +', async () => {
      assert.match(
        (await rawSale({ card_printed_name: undefined })).body,
        /(^|&)error-message=Parameter\+card_printed_name\+is\+required(&|$)/,
      )
    })
    it('every special character of a form comes back encoded', async () => {
      const merchant_data = 'a b+c&d=e%f#g;h"<é😀\r\n'
      const made = await order(world, { merchant_data })
      const { body } = await rawStatus({ client_orderid: made.client_orderid })
      const pair = body.split('&').find((one) => one.startsWith('merchantdata=')) ?? ''
      assert.equal(pair.toUpperCase(), `merchantdata=${encode(merchant_data)}`.toUpperCase())
    })
    it('fields without a value are not in the reply', async () => {
      const seen = await settled(world, await order(world))
      for (const name of [
        'phone',
        'first-name',
        'last-name',
        'name',
        'country',
        'state',
        'city',
        'zip_code',
        'address1',
        'merchantdata',
      ]) {
        assert.equal(seen[name], undefined, name)
      }
      for (const name of ['error-code', 'error-message', 'by-request-sn', 'html', 'redirect-to', 'tds-status', 'eci'])
        assert.equal(seen[name], undefined, name)
    })
    it('names of the prototype of objects are names like others', async () => {
      refused(await sale(world, { client_orderid: 'constructor', cvv2: undefined }), 1)
    })
  },
)

describe('serial-number is unique per request, eight-four-four-four-twelve hexadecimal digits', { concurrency: 4 }, () => {
  it('no two sales, refusals or status replies share it', async () => {
    const client_orderid = newOrderId()
    const replies: Fields[] = []
    for (let round = 0; round < 10; round += 1) {
      replies.push(
        ...(await Promise.all([
          sale(world, { client_orderid }),
          sale(world),
          sale(world, { cvv2: undefined }),
          sale(world, { control: 'x' }),
          sale(world, {}, { path: 999_999_999 }),
          status(world, { client_orderid }),
          status(world, { client_orderid: newOrderId() }),
        ])),
      )
    }
    for (const reply of replies) assert.match(reply['serial-number'] ?? '', serialShape)
    assert.equal(new Set(replies.map((reply) => reply['serial-number'])).size, 70)
  })
})

describe('merchant-order-id is in every reply where it is known, refusals too', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, number, (client_orderid: string) => Promise<Fields>][] = [
    ['another field is missing',     1,  (client_orderid) => sale(world, { client_orderid, cvv2: undefined })],
    ['the control is wrong',         2,  (client_orderid) => sale(world, { client_orderid, control: 'x' })],
    ['another field does not fit',   3,  (client_orderid) => sale(world, { client_orderid, cvv2: 'x' })],
    ['the endpoint is unknown',      4,  (client_orderid) => sale(world, { client_orderid }, { path: 999_999_999 })],
    ['the order is unknown',         6,  (client_orderid) => status(world, { client_orderid })],
    ['the currency is unsupported',  8,  (client_orderid) => sale(world, { client_orderid, currency: 'EUR' })],
    ['it is in use',                 11, async (client_orderid) => order(world, { client_orderid }).then(() => sale(world, { client_orderid, order_desc: 'another' }))],
    ['it came as client-order-id',   1,  (client_orderid) => sale(world, { client_orderid: undefined, 'client-order-id': client_orderid, cvv2: undefined })],
  ]
  for (const [what, code, ask] of cases) {
    it(`${what}: ${code}`, async () => {
      const client_orderid = newOrderId()
      const reply = await ask(client_orderid)
      refused(reply, code)
      assert.equal(reply['merchant-order-id'], client_orderid)
    })
  }
  it('it is trimmed, and comes back with its own letters', async () => {
    const client_orderid = `${newOrderId()} é&=+ 😀`
    assert.equal((await order(world, { client_orderid })).client_orderid, client_orderid)
    const made = await order(world, { client_orderid: `  ${client_orderid}!  ` })
    assert.equal(made.client_orderid, `${client_orderid}!`)
  })
  it('it is not in a reply to a request that has none', async () => {
    assert.equal((await sale(world, { client_orderid: undefined }))['merchant-order-id'], undefined)
  })
})

describe('the fields of a reply', { concurrency: 4 }, () => {
  const asyncFields = ['end-point-id', 'gateway-order-id', 'merchant-order-id', 'serial-number', 'type']
  it('an async-response carries its identifiers and nothing else', async () => {
    const reply = await sale(world)
    accepted(reply)
    assert.deepEqual(Object.keys(reply).sort(), asyncFields)
  })
  it('a validation-error carries type, serial-number, merchant-order-id, error-message and error-code', async () => {
    const reply = await sale(world, { cvv2: undefined })
    for (const name of ['type', 'serial-number', 'merchant-order-id', 'error-message', 'error-code']) assert.ok(reply[name], name)
  })
  it('end-point-id is the endpoint of the path', async () => {
    assert.equal((await sale(world))['end-point-id'], String(world.endpoints.plain))
  })
  it('end-point-id of a group’s sale is the endpoint that serves the currency', async () => {
    const path = `group/${world.groups.multi}`
    assert.equal((await sale(world, { currency: 'USD' }, { path }))['end-point-id'], String(world.endpoints.plain))
    assert.equal((await sale(world, { currency: 'EUR' }, { path }))['end-point-id'], String(world.endpoints.euro))
  })
  it('order ids are positive integers above 1,000,000 and below 2^31', async () => {
    const ids = (await Promise.all(Array.from({ length: 20 }, () => order(world)))).map((made) => Number(made.orderid))
    for (const id of ids) assert.ok(id > 1_000_000 && id < 2 ** 31, String(id))
    assert.equal(new Set(ids).size, 20)
  })
  it('a status reply names the order by both of its ids', async () => {
    const made = await order(world)
    const seen = await statusOf(world, made)
    assert.deepEqual([seen['gateway-order-id'], seen['merchant-order-id']], [made.orderid, made.client_orderid])
    assert.notEqual(seen['serial-number'], made.serial)
  })
})
