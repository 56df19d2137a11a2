import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { newOrderId } from '../conformance/client.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { openApp, type Json } from './mobile-app.ts'

/** What an app is refused, by which field and which cause. */

const world = await openWorld()
const app = await openApp(world)
closing(app.merchant)

describe('refusals', () => {
  const without = (path: string) => (body: Json) => {
    const names = path.split('.')
    const last = names.pop()!
    delete names.reduce<Json>((value, name) => value[name] as Json, body)[last]
  }
  const put = (path: string, value: unknown) => (body: Json) => {
    const names = path.split('.')
    const last = names.pop()!
    names.reduce<Json>((at, name) => (at[name] ??= {}) as Json, body)[last] = value
  }
  // oxfmt-ignore
  const mandatory = [
    'consumer.device.serialNumber', 'session.accessToken', 'session.nonce',
    'session.signature', 'transaction.currency',
  ] as const
  for (const path of [
    ...mandatory,
    'consumer.email',
    'sourceCard.number',
    'sourceCard.expiry.month',
    'sourceCard.expiry.year',
    'sourceCard.securityCode',
  ])
    test(`verification without ${path}`, () =>
      app.refused(
        app.begin('verification', { change: without(path) }),
        'INVALID_REQUEST',
        new RegExp(`^${path} may not be empty$`),
      ))
  for (const path of [...mandatory, 'transaction.amountCentis', 'sourceOfFunds.card'])
    test(`sale without ${path}`, () =>
      app.refused(app.begin('sale', { change: without(path) }), 'INVALID_REQUEST', new RegExp(`^${path} may not be empty$`)))
  // oxfmt-ignore
  const unfit: readonly (readonly [string, unknown])[] = [
    ['consumer.device.serialNumber', 'x'.repeat(51)], ['consumer.device.imei', '1'.repeat(13)], ['consumer.email', 'ab'], ['consumer.birthDay', '31022000'], ['consumer.birthDay', '2000-01-01'],
    ['consumer.ipAddresses', '1.2.3.4'], ['consumer.ipAddresses', ['1.2.3']], ['session.nonce', 'short'], ['session.accessToken', 'x'.repeat(129)], ['location.lat', 90.1], ['location.lng', -180.1], ['location.lat', '1'],
    ['transaction.amountCentis', '1050'], ['transaction.amountCentis', 10.5], ['transaction.amountCentis', 0], ['transaction.amountCentis', -1], ['transaction.currency', 'usd'], ['transaction.currency', 'XXQ'],
    ['sourceOfFunds.card.number', '4111111111111112'], ['sourceOfFunds.card.number', 4111111111111111], ['sourceOfFunds.card.expiry.month', 13], ['sourceOfFunds.card.expiry.month', '12'], ['sourceOfFunds.card.expiry.year', 99],
    ['sourceOfFunds.card.securityCode', '12'], ['billing.phone', ''.padEnd(21, '1')], ['billing.address.country', 'DE'], ['billing.address.postcodeZip', '12345678901'], ['billing.address.street', 'x'.repeat(51)], ['order.description', 'x'.repeat(129)],
    ['order.siteUrl', 7], ['order.purpose', 'a\0b'], ['order.purpose', 'a\ud800b'], ['consumer.email', 'ada\0@example.com'], ['consumer.email', 'ada\ud800@example.com'], ['billing.address.city', '\udc00'],
  ]
  for (const [path, value] of unfit)
    test(`${path} ${JSON.stringify(value).slice(0, 30)}`, () =>
      app.refused(app.begin('sale', { change: put(path, value) }), 'INVALID_REQUEST', new RegExp(`^${path} `)))
  test('card and reference together, a holder without a last name, a wrong signature, a foreign key', async () => {
    await app.refused(
      app.begin('sale', { change: put('sourceOfFunds.reference', { clientCardId: 'x' }) }),
      'INVALID_REQUEST',
      /reference/,
    )
    await app.refused(
      app.begin('verification', { change: put('sourceCard.holder', { firstName: 'Ada' }) }),
      'INVALID_REQUEST',
      /holder\.lastName may not be empty/,
    )
    await app.refused(app.begin('sale', { change: put('transaction.amountCentis', 1) }), 'INVALID_REQUEST', /signature/)
    await app.refused(app.begin('sale', { currency: 'EUR' }), 'INVALID_REQUEST', /currency/)
    await app.refused(
      app.begin('sale', { endpoint: world.endpoints.yen, amountCentis: 1_050 }),
      'INVALID_REQUEST',
      /cannot be expressed in JPY/,
    )
  })
  test('unknown endpoints, endpoints without a merchant server, bodies that are no JSON', async () => {
    await app.refused(app.begin('sale', { endpoint: 999_999 }), 'INVALID_CONFIGURATION', /endpointId/, 500)
    await app.refused(app.begin('sale', { endpoint: world.endpoints.strict }), 'INVALID_CONFIGURATION', /merchant server/, 500)
    for (const body of ['{', '[]', '"x"', 'null', ''])
      assert.equal(
        ((await app.post(`sale/${world.endpoints.plain}/${newOrderId()}`, body)).body.error as Json)['cause'],
        'INVALID_REQUEST',
      )
    assert.equal((await app.post(`sale/${world.endpoints.plain}/${'x'.repeat(129)}`, app.begin('sale').body)).status, 400)
  })
  test('status of an unknown invoice, by a foreign token, or by the other kind is not found', async () => {
    const one = app.begin('sale')
    const token = await app.accepted(one)
    const foreign = [
      await app.status({ ...one, invoiceId: randomUUID() }, token),
      await app.status({ ...one, invoiceId: '%00' }, token),
      await app.status({ ...one, accessToken: randomUUID() + randomUUID() }, token),
      await app.status(one, randomUUID()),
      await app.status({ ...one, kind: 'verification' }, token),
      await app.status({ ...one, endpoint: world.endpoints.secure }, token),
      await app.status({ ...one, endpoint: world.other.endpoint }, token),
    ]
    for (const { status: http, body } of foreign)
      assert.deepEqual(
        [http, (body.error as Json)['cause'], (body.error as Json)['message']],
        [400, 'ORDER_NOT_FOUND', 'invoiceId is not known'],
      )
    const { status: http, body } = await app.complete({ ...one, invoiceId: '%00' }, token, 'a')
    assert.deepEqual([http, (body.error as Json)['cause']], [400, 'INVALID_REQUEST'])
    assert.equal(
      ((await app.post(`sale/${one.endpoint}/${one.invoiceId}/status`, {})).body.error as Json)['cause'],
      'INVALID_REQUEST',
    )
    await app.ended(one, token)
  })
})
