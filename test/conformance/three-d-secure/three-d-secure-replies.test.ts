import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openReceiver, type Call } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  callbackControl,
  encodePairs,
  refused,
  send,
  signedStatus,
  status,
  statusUrl,
  type Changes,
  type Fields,
  type Order,
} from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import {
  approvedOnce,
  atMethod,
  cardOf,
  carryThrough,
  lasting,
  methodFields,
  openMethod,
  passChallenge,
  signedUpload,
} from './shopper.ts'
import { uploadCres, uploadMethod, uploadUrl, waitsFor } from './shopper.ts'

/** Status by the serial of an upload, callback, and JSON form of a sale with 3-D Secure. */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()

describe('by-request-sn with the serial of an upload describes the sale that it moved', { concurrency: 4 }, () => {
  const bySerial = ({ client_orderid, orderid }: Order, serial: string) =>
    status(world, { client_orderid, orderid, 'by-request-sn': serial }, { path: world.endpoints.secure })
  it('method result, its repeat, CRes and late CRes', async () => {
    const { made, seen } = await atMethod(world, 'challenge')
    const serials = [made.serial]
    for (let time = 0; time < 2; time += 1) serials.push(accepted(await uploadMethod(world, made, seen)).serial)
    const { cres } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
    serials.push(accepted(await uploadCres(world, made, cres)).serial)
    await approvedOnce(world, made)
    serials.push(accepted(await uploadCres(world, made, cres)).serial)
    for (const serial of serials) {
      const reply = await bySerial(made, serial)
      assert.deepEqual([reply['by-request-sn'], reply['gateway-order-id']], [serial, made.orderid])
      assert.deepEqual([reply.status, reply['transaction-type'], reply.amount], ['approved', 'sale', '10.50'])
    }
  })
  it('the serial of a refused upload, or of another order’s: 6', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const other = await atMethod(world, 'frictionless')
    const refusal = await uploadMethod(world, made, seen, { threeDSServerTransID: randomUUID() })
    const foreign = accepted(await uploadMethod(world, other.made, other.seen))
    for (const serial of [refusal['serial-number'] ?? '', foreign.serial]) refused(await bySerial(made, serial), 6)
  })
})

describe('the callback comes once, when 3-D Secure and the sale are over', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Changes, string, RegExp | undefined][] = [
    ['frictionless',         {},              'approved', undefined],
    ['challenge',            {},              'approved', undefined],
    ['challenge',            { cvv2: '116' }, 'declined', /^116$/],
    ['frictionless-denied',  {},              'declined', /^2[0-9]{3}$/],
    ['challenge-failed',     {},              'declined', /^2[0-9]{3}$/],
  ]
  for (const [scenario, changes, outcome, code] of cases) {
    it(`${scenario} ${changes.cvv2 ?? ''}: ${outcome}`, async () => {
      const path = `/callback/${randomUUID()}`
      const { made, seen } = await atMethod(world, scenario, { ...changes, server_callback_url: `${shop.origin}${path}` })
      assert.deepEqual([seen['tds-status'], shop.calls(path)], ['MethodUrlFrame', []])
      const { final } = await carryThrough(world, made)
      const calls = await until<Call[]>(
        () => shop.calls(path),
        ({ length }) => length > 0,
      )
      const told = Object.fromEntries(calls[0]?.query ?? [])
      assert.deepEqual([told.status, told.type, told.orderid, told.amount], [outcome, 'sale', made.orderid, '10.50'])
      assert.deepEqual([final.status, told.error_code], [outcome, final['error-code']])
      if (code) assert.match(told.error_code ?? '', code)
      assert.equal(told.control, callbackControl(outcome, made.orderid, made.client_orderid, world.merchant.controlKey))
      const number = await cardOf(world, scenario)
      for (const value of Object.values(told)) assert.ok(!value.includes(number))
      assert.equal(calls.length, 1)
    })
  }
  it('the method and notification URLs of the merchant are never called by the gateway', async () => {
    const [one, two] = [`/method/${randomUUID()}`, `/cres/${randomUUID()}`]
    const { made, seen } = await atMethod(world, 'challenge')
    await openMethod(seen, `${shop.origin}${one}`)
    accepted(await uploadMethod(world, made, seen, { notificationURL: `${shop.origin}${two}` }))
    const { cres, action } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
    assert.equal(action, `${shop.origin}${two}`)
    accepted(await uploadCres(world, made, cres))
    await approvedOnce(world, made)
    assert.deepEqual([shop.calls(one), shop.calls(two)], [[], []])
  })
})

describe('with Accept: application/vnd.pay+json the replies are JSON objects of strings', { concurrency: 4 }, () => {
  const json = async (url: string, fields: Fields): Promise<[number, Fields]> => {
    const answer = await send('POST', url, encodePairs(Object.entries(fields)), { accept: 'application/vnd.pay+json' })
    assert.match(answer.contentType, /^application\/([a-z.]+\+)?json\b/)
    const entries = Object.entries<unknown>(JSON.parse(answer.body))
    return [answer.httpStatus, Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'string' ? value : '']))]
  }
  it('a status at each step is the same, html and all', async () => {
    const { made, seen } = await atMethod(world, 'challenge')
    const { client_orderid, orderid } = made
    const url = statusUrl(world, world.endpoints.secure)
    const [first, method] = await json(url, signedStatus(world, { client_orderid, orderid }))
    assert.deepEqual([first, lasting(method)], [200, lasting(seen)])
    accepted(await uploadMethod(world, made, seen))
    const challenge = await waitsFor(world, made, 'CReqForm')
    const [second, creq] = await json(url, signedStatus(world, { client_orderid, orderid }))
    assert.deepEqual([second, lasting(creq)], [200, lasting(challenge)])
  })
  it('uploads and their refusals', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const url = uploadUrl(world, 'method-url')
    // oxfmt-ignore
    const refusals: [Changes, string, number, number][] = [
      [{ threeDSCompInd: undefined },            url,                                                1, 400],
      [{ threeDSCompInd: 'X' },                  url,                                                3, 400],
      [{ control: 'x' },                         url,                                                2, 403],
      [{},                                       uploadUrl(world, 'method-url', 999_999_999),        4, 404],
      [{ 'client-order-id': 'an unknown name' }, url,                                                6, 404],
      [{ threeDSServerTransID: randomUUID() },   url,                                                9, 400],
    ]
    for (const [changes, to, code, httpStatus] of refusals) {
      const [answered, reply] = await json(to, signedUpload(world, made, methodFields(seen, changes)))
      refused(reply, code)
      assert.equal(answered, httpStatus)
    }
    const [answered, reply] = await json(url, signedUpload(world, made, methodFields(seen)))
    assert.equal(answered, 200)
    assert.equal(accepted(reply).orderid, made.orderid)
    await approvedOnce(world, made)
  })
})
