import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { rebill, register, registered } from '../cards/card.ts'
import { accepted as acceptedOrder, ledger, settled, statusOf as orderStatus, notEmpty } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, changed, checkSignature, ok, textAt, type Behaviour, type Json } from './mobile-merchant.ts'
import { ends, openMobile, orderOf, type Way } from './mobile.ts'
import { v4 } from '../requests/oauth.ts'

/** Repeat sale: clientCardId from the app, serverCardId from the merchant. Choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.other.endpoint])
closing(mobile.shop)
/** A card that was reported to this merchant, and one that was reported to the other. */
const mine = await mapped()
const theirs = await mapped({}, { endpoint: world.other.endpoint, as: world.other })

/** The serverCardId of a card that has paid. */
async function mapped(changes: Json = {}, way: Way = {}): Promise<string> {
  const { made } = await ends(mobile, 'APPROVED', 'sale', changes, way)
  const [call] = await until(() => mobile.shop.notifications(made.invoiceId), notEmpty)
  const id = at(call?.body, 'sourceCard.reference.serverCardId')
  assert.ok(typeof id === 'string', JSON.stringify(call?.body))
  return id
}
const byReference = (more: Json = {}): Json => ({ sourceOfFunds: { reference: { clientCardId: 'my card, 1' } }, ...more })
const pays = (source: string, changes: Json = {}, way: Way = {}) =>
  ends(mobile, 'APPROVED', 'sale', byReference(changes), { source, ...way })
async function declines(changes: Json, way: Way): Promise<Json> {
  const { told } = await ends(mobile, 'DECLINED', 'sale', changes, way)
  assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
  const books = /^[0-9]+$/.test(orderOf(told)) ? await ledger(world, orderOf(told)) : []
  assert.deepEqual(books, [], 'nothing was charged')
  return told
}

describe('a sale by reference charges the card that the merchant’s server names', { concurrency: 4 }, () => {
  it('check gets the clientCardId, and otherwise the usual fields', async () => {
    const { made } = await pays(mine)
    const [call] = mobile.shop.checks(made.invoiceId)
    const { session, sourceOfFunds, ...rest } = call?.body ?? {}
    assert.deepEqual(sourceOfFunds, { reference: { clientCardId: 'my card, 1' } })
    assert.deepEqual(rest, { consumer: { device: at(made.body, 'consumer.device') } })
    assert.deepEqual(Object.keys(session as Json).sort(), ['accessToken', 'nonce', 'signature', 'token'])
  })
  it('its card, its holder and its expiry', async () => {
    const { told } = await pays(mine)
    const seen = await orderStatus(world, { orderid: orderOf(told), client_orderid: textAt(told, 'invoiceId'), serial: '' })
    assert.deepEqual(
      [seen.status, seen.bin, seen['last-four-digits'], seen['cardholder-name'], seen['card-exp-month']],
      ['approved', '411111', '1111', 'ADA LOVELACE', '12'],
    )
    const books = await ledger(world, orderOf(told))
    assert.deepEqual([books.length, books[0]?.amountMinor, books[0]?.card], [1, '1050', '411111******1111'])
  })
  it('again and again', async () => {
    for (let times = 0; times < 3; times += 1) await pays(mine)
  })
  it('a security code may be given, and counts', async () => {
    const reference = { clientCardId: 'c', securityCode: '123' }
    await pays(mine, { sourceOfFunds: { reference } })
    const changes = { sourceOfFunds: { reference: { ...reference, securityCode: '116' } } }
    const { told } = await ends(mobile, 'DECLINED', 'sale', changes, { source: mine })
    assert.equal(told.errorCode, 116)
  })
  it('without one the sandbox approves up to 1,000.00', async () => {
    await pays(mine, { 'transaction.amountCentis': 100_000 })
    const changes = byReference({ 'transaction.amountCentis': 100_001 })
    const { told } = await ends(mobile, 'DECLINED', 'sale', changes, { source: mine })
    assert.equal(told.errorCode, 116)
  })
  it('the card-ref-id of an order of the gateway API is one', async () => {
    await pays((await registered(world)).ref)
  })
  it('and a serverCardId is a card-ref-id of the gateway API', async () => {
    const seen = await settled(world, acceptedOrder(await rebill(world, mine)))
    assert.equal(seen.status, 'approved')
  })
  it('a verified card too', async () => {
    const { made } = await ends(mobile, 'APPROVED', 'verification')
    const [call] = await until(() => mobile.shop.notifications(made.invoiceId), notEmpty)
    await pays(textAt(call?.body, 'reference.serverCardId'))
  })
})

describe('a serverCardId that does not fit declines', { concurrency: 8 }, () => {
  it('an id that was not requested', async () => {
    await declines({}, { source: mine })
  })
  it('an id that a verification did not request', async () => {
    const check: Behaviour = (honest) => ok(changed(honest, { 'sourceOfFunds.reference.serverCardId': mine }))
    await ends(mobile, 'DECLINED', 'verification', {}, { check })
  })
  it('none when it was asked for', async () => {
    await declines(byReference(), {})
  })
  it('one of another merchant', async () => {
    await declines(byReference(), { source: theirs })
  })
  for (const id of [
    '0',
    '1',
    '999999999999999999',
    '99999999999999999999',
    '184467440737095516151844',
    'x',
    '-1',
    '1e3',
    "1' or '1'='1",
    ' ',
  ]) {
    it(`an unknown id, ${JSON.stringify(id)}`, async () => {
      await declines(byReference(), { source: id })
    })
  }
  it('the card’s own with a blank or a zero before it', async () => {
    for (const id of [` ${mine}`, `0${mine}`, `${mine}.0`, `+${mine}`]) await declines(byReference(), { source: id })
  })
  const kinds: [string, (id: string) => unknown][] = [
    ['in a list', (id) => [id]],
    ['in an object', (id) => ({ id })],
    ['true', () => true],
    ['null', () => null],
    ['of 65 letters', (id) => id.padStart(65, '0')],
  ]
  for (const [what, make] of kinds) {
    it(`an id that is ${what}`, async () => {
      const check: Behaviour = (honest) => ok(changed(honest, { 'sourceOfFunds.reference.serverCardId': make(mine) }))
      await declines(byReference(), { check, source: mine })
    })
  }
  it('an id for destinations only, and an id of no card', async () => {
    const { client_orderid, orderid } = (await registered(world)).made
    const reply = await v4(world, 'create-card-ref', { client_orderid, orderid })
    const { 'unq-card-ref-id': unique } = await register(world, { client_orderid, orderid })
    const ids = [reply['dst-card-ref-id'], reply['dst-recurring-payment-id'], unique]
    for (const source of ids) {
      assert.ok(source, JSON.stringify(reply))
      await declines(byReference(), { source })
    }
  })
})

describe('serverCardId is part of checkSignature', { concurrency: 4 }, () => {
  const signing =
    (of: (parts: { invoiceId: string; nonce: string; device: string }) => string): Behaviour =>
    (honest, _earlier, { body }) => {
      const parts = {
        invoiceId: textAt(honest, 'invoiceId'),
        nonce: textAt(honest, 'session.nonce'),
        device: textAt(body, 'consumer.device.serialNumber'),
      }
      return ok(changed(honest, { 'session.checkSignature': of(parts) }))
    }
  const usual = () => ({
    kind: 'sale' as const,
    endpoint: world.endpoints.plain,
    accessToken: '',
    controlKey: world.merchant.controlKey,
  })
  it('one without it is wrong', async () => {
    await declines(byReference(), { source: mine, check: signing((parts) => checkSignature({ ...usual(), ...parts })) })
  })
  it('one over another card is wrong', async () => {
    await declines(byReference(), { source: mine, check: signing((parts) => checkSignature({ ...usual(), ...parts }, theirs)) })
  })
  it('one over this card is right', async () => {
    await pays(mine, {}, { check: signing((parts) => checkSignature({ ...usual(), ...parts }, mine)) })
  })
})

describe('an e-mail address given at mapping must come again unchanged', { concurrency: 4 }, () => {
  it('the same: approved', async () => {
    const source = await mapped({ 'consumer.email': 'grace@example.com' })
    await pays(source, { 'consumer.email': 'grace@example.com' })
  })
  it('another: declined', async () => {
    const source = await mapped({ 'consumer.email': 'grace@example.com' })
    await declines(byReference({ 'consumer.email': 'ada@example.com' }), { source })
  })
  it('none: declined', async () => {
    const source = await mapped({ 'consumer.email': 'grace@example.com' })
    await declines(byReference({ 'consumer.email': undefined }), { source })
  })
  it('none was given at mapping: any will do, and none', async () => {
    const source = await mapped({ 'consumer.email': undefined })
    await pays(source, { 'consumer.email': undefined })
    await pays(source, { 'consumer.email': 'grace@example.com' })
  })
  const names =
    (email: string): Behaviour =>
    (honest) =>
      ok(changed(honest, { 'consumer.email': email }))
  it('whatever the merchant’s server names', async () => {
    const check = names('merchant@example.com')
    const source = await mapped({ 'consumer.email': 'grace@example.com' }, { check })
    await pays(source, { 'consumer.email': 'grace@example.com' }, { check })
    await declines(byReference({ 'consumer.email': 'merchant@example.com' }), { source, check })
  })
  it('where the app gave none, that which the merchant’s server named', async () => {
    const check = names('merchant@example.com')
    const source = await mapped({ 'consumer.email': undefined }, { check })
    await pays(source, { 'consumer.email': undefined }, { check })
    await pays(source, { 'consumer.email': 'grace@example.com' }, { check })
    await pays(source, { 'consumer.email': 'merchant@example.com' })
    await declines(byReference({ 'consumer.email': 'grace@example.com' }), { source })
  })
})
