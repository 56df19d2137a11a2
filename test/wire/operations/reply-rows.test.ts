import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callbackParams } from '../../../src/spec/gateway/callback.ts'
import { operationNames, operationRow, type Operation } from '../../../src/spec/gateway/operations.ts'
import { refusalFields } from '../../../src/spec/gateway/reply.ts'
import {
  encodePairs,
  order,
  readReply,
  sale,
  send,
  settled,
  status,
  statusOf,
  notEmpty,
  type Fields,
} from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { cardInfo, rebill, register, registered, type Rebill } from '../../conformance/cards/card.ts'
import { v4 } from '../../conformance/requests/oauth.ts'
import { approved, begin, follow } from '../../conformance/operations/operations.ts'
import {
  atChallenge,
  atMethod,
  passChallenge,
  secureOrder,
  signedUpload,
  uploadCres,
  uploadMethod,
  whatNow,
} from '../../conformance/three-d-secure/shopper.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Every reply and callback on the wire has only fields that the rows of the reference list. */

const world = await openWorld()
const receiver = closing(await openReceiver(() => 200))

function listed(reply: Fields, names: object, what: string): Fields {
  const others = Object.keys(reply).filter((name) => !(name in names))
  assert.deepEqual(others, [], `${what} has fields that the rows do not list: ${JSON.stringify(reply)}`)
  return reply
}

/** A reply that is no refusal, with the fields of its operation alone and of its type. */
function of(operation: Operation, reply: Fields): Fields {
  const { type } = operationRow(operation).reply
  assert.equal(`always ${reply.type}`, type?.means, JSON.stringify(reply))
  return listed(reply, operationRow(operation).reply, operation)
}

/** Everything that a payer may say. */
const talkative = () => ({
  credit_card_number: '4242424242424242',
  first_name: 'Ada',
  last_name: 'Lovelace',
  phone: '+44 1',
  cell_phone: '+44 2',
  country: 'US',
  state: 'CA',
  city: 'Town',
  zip_code: '1',
  address1: 'Road 1',
  comment: 'a comment',
  merchant_data: ' data ',
  birthday: '18151210',
  site_url: 'https://shop.example',
  purpose: 'tickets',
})

test('sale, its status and its callback', async () => {
  const server_callback_url = `${receiver.origin}/told`
  const reply = of('sale', await sale(world, { ...talkative(), server_callback_url }))
  const made = {
    orderid: reply['gateway-order-id']!,
    client_orderid: reply['merchant-order-id']!,
    serial: reply['serial-number']!,
  }
  const seen = of('status', await settled(world, made))
  assert.ok(seen['loyalty-program'] && seen.merchantdata, JSON.stringify(seen))
  const ids = { client_orderid: made.client_orderid, orderid: made.orderid }
  of('status', await status(world, { ...ids, 'by-request-sn': made.serial }))
  of('status-v4', await v4(world, 'status', ids))
  const [call] = await until(() => receiver.calls('/told'), notEmpty)
  assert.ok(call, 'the callback came')
  const told = listed(Object.fromEntries(call.query), callbackParams, 'the callback')
  const always = Object.entries(callbackParams).filter(([, row]) => 'always' in row)
  for (const [name] of always) assert.ok(told[name], `${name} is always there`)
})

test('replies about a declined payment and an expired one have the fields of the rows', async () => {
  for (const changes of [{ cvv2: '116' }, { expire_year: '2020' }]) {
    const seen = of('status', await settled(world, await order(world, changes)))
    assert.equal(seen.status, 'declined')
  }
})

test('preauth, account verification, capture, return and void', async () => {
  const preauth = await approved(world, 'preauth')
  of('capture', await follow(world, 'capture', preauth))
  of('status', await settled(world, preauth))
  of('return', await follow(world, 'return', await approved(world, 'sale')))
  of('void', await follow(world, 'void', await approved(world, 'sale')))
  of('preauth', await begin(world, 'preauth', talkative()))
  of('account-verification', await begin(world, 'account-verification'))
})

test('card references, of either version and of a payment that was declined', async () => {
  const { made, ref } = await registered(world)
  of('create-card-ref', await register(world, made))
  of('create-card-ref-v4', await v4(world, 'create-card-ref', { client_orderid: made.client_orderid, orderid: made.orderid }))
  of('get-card-info', await cardInfo(world, ref))
  for (const operation of ['make-rebill-sale', 'make-rebill-preauth', 'make-rebill'] satisfies Rebill[])
    of(operation, await rebill(world, ref, { amount: operation === 'make-rebill' ? '7' : '8' }, { operation }))
  const declined = await order(world, { cvv2: '116' })
  await settled(world, declined)
  const refused = of('create-card-ref', await register(world, declined))
  assert.equal(refused.status, 'declined')
})

test('3-D Secure: the method, the challenge, and the uploads', async () => {
  const { made, seen } = await atMethod(world, 'challenge')
  assert.ok(of('status', seen)['tds-method-url-frame-3ds-method-url'])
  of('upload-method-url-result', await uploadMethod(world, made, seen))
  const challenge = await atChallenge(world)
  assert.ok(of('status', challenge.seen)['tds-creq-form-creq'])
  const { cres } = await passChallenge(challenge.seen, 'hint')
  of('upload-cres-result', await uploadCres(world, challenge.made, cres))
  of('status', await settled(world, challenge.made))
})

test('3-D Secure 1.0.2: the payer form and the upload', async () => {
  const cards: { number: string; scenario: string }[] = JSON.parse((await send('GET', `${world.acsUrl}/test-cards.json`)).body)
  const card = cards.find(({ scenario }) => scenario === '1.0.2')
  const made = await secureOrder(world, card!.number)
  const seen = of('status', await whatNow(world, made))
  assert.ok(seen['tds-pareq-form-pareq'], JSON.stringify(seen))
  const fields = signedUpload(world, made, { paRes: seen['tds-pareq-form-pareq'], md: seen['tds-pareq-form-md'] })
  const url = `${world.baseUrl}/api/3ds/v1/upload-pares-result/${world.endpoints.secure}`
  of('upload-pares-result', readReply(await send('POST', url, encodePairs(Object.entries(fields)))))
  of('status', await statusOf(world, made))
})

for (const operation of operationNames.filter((name) => operationRow(name).signed !== 'OAuth'))
  test(`${operation}: a refusal has the fields of a refusal alone`, async () => {
    const at = `${world.baseUrl}${operationRow(operation).path}`
    for (const [id, body] of [
      [999_999_999, ''],
      [world.endpoints.plain, 'client_orderid=a'],
      [world.endpoints.plain, '%'],
    ] as const) {
      const reply = readReply(await send('POST', `${at}/${id}`, body))
      assert.equal(reply.type, 'validation-error')
      listed(reply, refusalFields, operation)
    }
  })
