import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cardInfo, notRegistered, register, registered, type Named } from '../cards/card.ts'
import { notEmpty } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { booksOf, legsOf, masked, newCard } from './mobile-books.ts'
import { at, changed, checkSignature, ok, textAt, type Behaviour, type Call, type Invoice, type Json } from './mobile-merchant.ts'
import { ends, newToken, openMobile, orderOf, type Accepted, type Way } from './mobile.ts'
import { v4 } from '../requests/oauth.ts'

/** Repeat transfers by references; check and notification of both cards. Choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.other.endpoint])
closing(mobile.shop)

/** Invoices of which there must be no notification; looked at when all else is over. */
const never: string[] = []
async function notified({ invoiceId }: Accepted): Promise<Call> {
  const calls = await until(() => mobile.shop.notifications(invoiceId), notEmpty)
  assert.equal(calls.length, 1, `notifications of ${invoiceId}`)
  return calls[0]!
}
interface Mapped {
  source: string
  destination: string
  sourceCard: string
  destinationCard: string
  body: Json
}
/** A transfer between new cards, and the ids that the merchant's server received for them. */
async function mapped(way: Way = {}, more: Json = {}): Promise<Mapped> {
  const [sourceCard, destinationCard] = [newCard('411111'), newCard('555555')]
  const changes = { 'sourceOfFunds.card.number': sourceCard, 'destinationOfFunds.card.number': destinationCard, ...more }
  const { made } = await ends(mobile, 'APPROVED', 'transfer', changes, way)
  const { body } = await notified(made)
  const idOf = (name: string): string => textAt(body, `${name}.reference.serverCardId`)
  return { source: idOf('sourceCard'), destination: idOf('destinationCard'), sourceCard, destinationCard, body }
}
const from: Json = { sourceOfFunds: { reference: { clientCardId: 'my card' } } }
const to: Json = { destinationOfFunds: { reference: { clientCardId: 'her card' } } }
async function declines(changes: Json, way: Way): Promise<void> {
  const { told } = await ends(mobile, 'DECLINED', 'transfer', changes, way)
  assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
  assert.deepEqual(await legsOf(world, told), [])
}
async function destinationIds({ client_orderid, orderid }: Named): Promise<string[]> {
  const reply = await v4(world, 'create-card-ref', { client_orderid, orderid })
  const ids = [reply['dst-card-ref-id'], reply['dst-recurring-payment-id']].filter((id) => id !== undefined)
  assert.equal(ids.length, 2, JSON.stringify(reply))
  return ids
}
const legs = (one: Mapped): string[] => [
  `debit ${masked(one.sourceCard)} 1050 approved`,
  `credit ${masked(one.destinationCard)} 1050 approved`,
]

it('create-card-ref takes no transfer, whatever became of it', async () => {
  const { made, told } = await ends(mobile, 'APPROVED', 'transfer', { 'sourceOfFunds.card.number': newCard('411111') })
  const named = { client_orderid: made.invoiceId, orderid: orderOf(told) }
  notRegistered(await register(world, named), 'declined', named)
})

describe('the notification of a transfer', { concurrency: 4 }, () => {
  it('reports both cards, and nothing else', async () => {
    const changes = { 'sourceOfFunds.card.number': newCard('411111'), 'destinationOfFunds.card.number': newCard('555555') }
    const { made } = await ends(mobile, 'APPROVED', 'transfer', changes)
    const { body, path } = await notified(made)
    assert.ok(path.endsWith('/transfer/notification'), path)
    const { sourceCard, destinationCard, ...rest } = body
    assert.deepEqual(rest, { consumer: { device: at(made.body, 'consumer.device') }, session: made.session })
    for (const [card, bin] of [
      [sourceCard, 411111],
      [destinationCard, 555555],
    ] as const) {
      const { serverCardId, uniqueReferenceCardId } = at(card, 'reference') as Json
      assert.deepEqual(card, { bin, reference: { serverCardId, uniqueReferenceCardId } })
      assert.ok(typeof serverCardId === 'string' && /^[0-9]{1,20}$/.test(serverCardId), JSON.stringify(card))
      assert.ok(Number.isSafeInteger(uniqueReferenceCardId), JSON.stringify(card))
    }
    assert.notEqual(at(sourceCard, 'reference.serverCardId'), at(destinationCard, 'reference.serverCardId'))
  })
  it('the source’s id is a card-ref-id of the gateway API', async () => {
    const one = await mapped()
    const info = await cardInfo(world, one.source)
    assert.equal(info['last-four-digits'], one.sourceCard.slice(-4))
  })
  it('a card has the same unique id as source and as destination', async () => {
    const one = await mapped()
    const back = { 'sourceOfFunds.card.number': one.destinationCard, 'destinationOfFunds.card.number': one.sourceCard }
    const { made } = await ends(mobile, 'APPROVED', 'transfer', back)
    const { body } = await notified(made)
    const id = (json: unknown, name: string): unknown => at(json, `${name}.reference.uniqueReferenceCardId`)
    assert.equal(id(body, 'sourceCard'), id(one.body, 'destinationCard'))
    assert.equal(id(body, 'destinationCard'), id(one.body, 'sourceCard'))
  })
  it('with a source by reference only the destination', async () => {
    const { source } = await mapped()
    const { made } = await ends(
      mobile,
      'APPROVED',
      'transfer',
      { ...from, 'destinationOfFunds.card.number': newCard('555555') },
      { source },
    )
    const { body } = await notified(made)
    assert.deepEqual([body.sourceCard, at(body, 'destinationCard.bin')], [undefined, 555555])
  })
  it('with a destination by reference only the source', async () => {
    const { destination } = await mapped()
    const { made } = await ends(
      mobile,
      'APPROVED',
      'transfer',
      { ...to, 'sourceOfFunds.card.number': newCard('411111') },
      { destination },
    )
    const { body } = await notified(made)
    assert.deepEqual([at(body, 'sourceCard.bin'), body.destinationCard], [411111, undefined])
  })
  it('none of two references, and none of a decline', async () => {
    const { source, destination } = await mapped()
    never.push((await ends(mobile, 'APPROVED', 'transfer', { ...from, ...to }, { source, destination })).made.invoiceId)
    never.push((await ends(mobile, 'DECLINED', 'transfer', { 'sourceOfFunds.card.securityCode': '116' })).made.invoiceId)
  })
})

describe('a transfer by references', { concurrency: 4 }, () => {
  it('check gets both clientCardIds', async () => {
    const { source, destination } = await mapped()
    const { made } = await ends(mobile, 'APPROVED', 'transfer', { ...from, ...to }, { source, destination })
    const { body } = mobile.shop.checks(made.invoiceId)[0]!
    assert.deepEqual([body.sourceOfFunds, body.destinationOfFunds], [from.sourceOfFunds, to.destinationOfFunds])
    assert.deepEqual(Object.keys(body).sort(), ['consumer', 'destinationOfFunds', 'session', 'sourceOfFunds'])
  })
  it('with one reference check gets that one', async () => {
    const { source, destination } = await mapped()
    for (const [changes, way, name] of [
      [from, { source }, 'sourceOfFunds'],
      [to, { destination }, 'destinationOfFunds'],
    ] as const) {
      const { made } = await ends(mobile, 'APPROVED', 'transfer', changes, way)
      assert.deepEqual(Object.keys(mobile.shop.checks(made.invoiceId)[0]!.body).sort(), ['consumer', name, 'session'].sort())
    }
  })
  it('both cards are the ones the merchant’s server names', async () => {
    const one = await mapped()
    const { told } = await ends(mobile, 'APPROVED', 'transfer', { ...from, ...to }, one)
    assert.deepEqual(await legsOf(world, told), legs(one))
  })
  it('a card that has paid may be credited, and so may the ids that serve as a destination alone', async () => {
    const { ref, made } = await registered(world)
    for (const destination of [ref, ...(await destinationIds(made))]) {
      const { told } = await ends(mobile, 'APPROVED', 'transfer', to, { destination })
      assert.match((await legsOf(world, told))[1] ?? '', /^credit 411111\*{6}1111 1050 approved$/)
    }
  })
  it('destination ids cannot be debited', async () => {
    const { made } = await registered(world)
    for (const source of await destinationIds(made)) await declines(from, { source })
  })
  it('the e-mail address given at mapping must come again', async () => {
    const one = await mapped({}, { 'consumer.email': 'grace@example.com' })
    await declines({ ...from, ...to, 'consumer.email': 'ada@example.com' }, one)
    await ends(mobile, 'APPROVED', 'transfer', { ...from, ...to, 'consumer.email': 'grace@example.com' }, one)
  })
})

describe('a serverCardId that does not fit declines', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const cases: [string, Json, (mine: Mapped, theirs: Mapped) => Way][] = [
    ['none for the source',                   { ...from, ...to }, ({ destination }) => ({ destination })],
    ['none for the destination',              { ...from, ...to }, ({ source }) => ({ source })],
    ['none for either',                       { ...from, ...to }, () => ({})],
    ['one for a source that is a card',       to,                 ({ source, destination }) => ({ source, destination })],
    ['one for a destination that is a card',  from,               ({ source, destination }) => ({ source, destination })],
    ['both for two cards',                    {},                 ({ source, destination }) => ({ source, destination })],
    ['another merchant’s source',             { ...from, ...to }, ({ destination }, { source }) => ({ source, destination })],
    ['another merchant’s destination',        { ...from, ...to }, ({ source }, { destination }) => ({ source, destination })],
    ['an unknown source',                     { ...from, ...to }, ({ destination }) => ({ source: '999999999999999999', destination })],
    ['an unknown destination',                { ...from, ...to }, ({ source }) => ({ source, destination: '999999999999999999' })],
  ]
  for (const [what, changes, way] of cases) {
    it(what, async () => {
      const theirs = { endpoint: world.other.endpoint, as: world.other }
      await declines(changes, way(await mapped(), await mapped(theirs)))
    })
  }
})

describe('checkSignature of a transfer', { concurrency: 4 }, () => {
  const signing =
    (sign: (invoice: Invoice) => string): Behaviour =>
    (honest, _earlier, { body }) => {
      const [nonce, device] = [textAt(honest, 'session.nonce'), textAt(body, 'consumer.device.serialNumber')]
      const { controlKey } = world.merchant
      const known = {
        kind: 'transfer' as const,
        endpoint: world.endpoints.plain,
        invoiceId: textAt(honest, 'invoiceId'),
        nonce,
        device,
        controlKey,
      }
      return ok(changed(honest, { 'session.checkSignature': sign({ ...known, accessToken: newToken() }) }))
    }
  it('has the destination’s id before the endpoint and the source’s at the end', async () => {
    const { source, destination } = await mapped()
    const check = signing((invoice) => checkSignature(invoice, source, destination))
    await ends(mobile, 'APPROVED', 'transfer', { ...from, ...to }, { source, destination, check })
  })
  // oxfmt-ignore
  const wrong: [string, (invoice: Invoice, source: string, destination: string) => string][] = [
    ['the two ids changed about', (invoice, source, destination) => checkSignature(invoice, destination, source)],
    ['both ids at the end',       (invoice, source, destination) => checkSignature(invoice, destination + source)],
    ['no id of the destination',  (invoice, source) => checkSignature(invoice, source)],
    ['no id of the source',       (invoice, _source, destination) => checkSignature(invoice, '', destination)],
    ['no ids',                    (invoice) => checkSignature(invoice)],
  ]
  for (const [what, sign] of wrong) {
    it(`with ${what} it is wrong`, async () => {
      const { source, destination } = await mapped()
      await declines({ ...from, ...to }, { source, destination, check: signing((invoice) => sign(invoice, source, destination)) })
    })
  }
})

describe('when all of this is over', () => {
  it('no other card was notified, and refused cards moved no money', async () => {
    assert.ok(never.length >= 2)
    for (const invoiceId of never) assert.deepEqual(mobile.shop.notifications(invoiceId), [], invoiceId)
    assert.deepEqual(mobile.shop.strays, [])
    assert.deepEqual(await booksOf(world, newCard()), [])
  })
})
