import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { ledger, newOrderId, nextYear, statusOf as orderStatus, notEmpty, type Fields } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { allEntries } from './mobile-books.ts'
import { at, changed, hmac, ok, textAt, waits, type Behaviour, type Call, type Json, type Kind } from './mobile-merchant.ts'
import { begin, ends, newToken, openMobile, orderOf, rested, type Accepted } from './mobile.ts'

/** Check: what the merchant's server is asked, and what its answers do. Choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
const gatewayOrder = (told: Json): Promise<Fields> =>
  orderStatus(world, { orderid: orderOf(told), client_orderid: textAt(told, 'invoiceId'), serial: '' })

/** The one check of a transaction that has ended, or `count` of them. */
function checksOf({ invoiceId }: Accepted, count = 1): Call {
  const calls = mobile.shop.checks(invoiceId)
  assert.equal(calls.length, count, `${count} checks of ${invoiceId}`)
  return calls.at(-1)!
}
/** Nothing was sent to an acquirer. */
async function nothingCharged(told: Json): Promise<void> {
  const entries = /^[0-9]+$/.test(orderOf(told)) ? await ledger(world, orderOf(told)) : []
  assert.deepEqual(entries, [], JSON.stringify(told))
}

describe('the request to the merchant’s server', { concurrency: 4 }, () => {
  const everything: Json = {
    'consumer.birthDay': '10121815',
    'consumer.device.imei': '490154203237518',
    'consumer.ipAddresses': ['203.0.113.7'],
    location: { lat: 52.52, lng: 13.4 },
    billing: { phone: '+4912345', address: { city: 'London', country: 'GBR', postcodeZip: 'W1', street: 'A 1', street2: 'B' } },
    order: { description: 'd', siteUrl: 'https://shop.example', purpose: 'p' },
  }
  for (const kind of kinds) {
    for (const [what, changes] of [
      ['the least', {}],
      ['everything', everything],
    ] as const) {
      it(`${kind} with ${what}: device, access token, nonce, signature and session token, and nothing else`, async () => {
        const { made, told } = await ends(mobile, 'APPROVED', kind, changes)
        const { method, path, contentType, body } = checksOf(made)
        assert.deepEqual([method, path], ['POST', `${new URL(mobile.shop.url).pathname}/${kind}/${made.invoiceId}/check`])
        assert.match(contentType, /^application\/json\b/)
        const { accessToken, nonce, signature } = made.body.session as Json
        const session = { accessToken, nonce, signature, token: at(told, 'session.token') }
        assert.deepEqual(body, { consumer: { device: { serialNumber: at(made.body, 'consumer.device.serialNumber') } }, session })
      })
    }
  }
  it('the merchant’s server never gets card data', async () => {
    const { made } = await ends(mobile, 'APPROVED', 'sale', { 'sourceOfFunds.card.securityCode': '1234' })
    const { text } = checksOf(made)
    for (const secret of ['4111111111111111', '"1234"', 'LOVELACE']) assert.ok(!text.includes(secret), secret)
  })
  it('device numbers and nonces arrive letter by letter', async () => {
    const serialNumber = ' é😀"\\/<b>\u2028 '
    const nonce = `^$ %41+&=é😀"\\${newToken(40)}`
    const changes = { 'consumer.device.serialNumber': serialNumber, 'session.nonce': nonce }
    const { made } = await ends(mobile, 'APPROVED', 'sale', changes)
    const { body } = checksOf(made)
    assert.deepEqual([at(body, 'consumer.device.serialNumber'), at(body, 'session.nonce')], [serialNumber, nonce])
  })
})

describe('an answer that confirms the transaction is accepted', { concurrency: 8 }, () => {
  const signed = (honest: Json): string => textAt(honest, 'session.checkSignature')
  // oxfmt-ignore
  const good: [string, Behaviour][] = [
    ['the least there is',                          (honest) => ok(honest)],
    ['a checkSignature in lower case',              (honest) => ok(changed(honest, { 'session.checkSignature': signed(honest).toLowerCase() }))],
    ['the currency of the request',                 (honest) => ok(changed(honest, { 'transaction.currency': 'USD' }))],
    ['randomSumCentis of 100',                      (honest) => ok(changed(honest, { 'transaction.randomSumCentis': 100 }))],
    ['randomSumCentis of 999',                      (honest) => ok(changed(honest, { 'transaction.randomSumCentis': 999 }))],
    ['members that the table does not name',        (honest) => ok(changed(honest, { 'session.extra': [1], extra: { a: null }, 'transaction.amountCentis': 1 }))],
    ['no content type',                             (honest) => ({ status: 200, body: JSON.stringify(honest), headers: { 'content-type': '' } })],
    ['a byte order mark before it',                 (honest) => ok(`\ufeff${JSON.stringify(honest)}\r\n`)],
    ['blanks and line breaks',                      (honest) => ok(`\r\n ${JSON.stringify(honest, null, 4)}\n`)],
  ]
  for (const kind of kinds) {
    for (const [what, check] of good) {
      it(`${kind}: ${what}`, async () => {
        const { made } = await ends(mobile, 'APPROVED', kind, {}, { check })
        checksOf(made)
      })
    }
  }
})

const error = (cause: string, invoiceId: unknown): string =>
  JSON.stringify({ error: { cause, code: newOrderId(), message: 'the merchant says so' }, invoiceId })

describe('a refusal declines the order, at the first try', { concurrency: 8 }, () => {
  // oxfmt-ignore
  const refusals: [string, Behaviour][] = [
    ['403 with an empty body',          () => ({ status: 403, body: '' })],
    ['403 with an error',               ({ invoiceId }) => ({ status: 403, body: error('INVALID_REQUEST', invoiceId) })],
    ['400 FILTERED',                    ({ invoiceId }) => ({ status: 400, body: error('FILTERED', invoiceId) })],
    ['400 INVALID_REQUEST',             ({ invoiceId }) => ({ status: 400, body: error('INVALID_REQUEST', invoiceId) })],
    ['400 with an empty body',          () => ({ status: 400, body: '' })],
    ['401',                             () => ({ status: 401, body: 'who are you' })],
    ['404 with a page',                 () => ({ status: 404, body: '<html>', headers: { 'content-type': 'text/html' } })],
    ['403 with an answer that is good', (honest) => ({ status: 403, body: JSON.stringify(honest) })],
  ]
  for (const kind of kinds) {
    for (const [what, check] of refusals) {
      it(`${kind}: ${what}`, async () => {
        const { made, told } = await ends(mobile, 'DECLINED', kind, {}, { check })
        checksOf(made)
        await nothingCharged(told)
        assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
      })
    }
  }
})

describe('an answer that does not fit declines the order', { concurrency: 8 }, () => {
  const change =
    (changes: (honest: Json) => Json): Behaviour =>
    (honest) =>
      ok(changed(honest, changes(honest)))
  const key = (): string => world.merchant.controlKey
  const token = (): string => newToken(36)
  // oxfmt-ignore
  const wrong: [string, Behaviour][] = [
    ['a wrong checkSignature',               change(() => ({ 'session.checkSignature': '0'.repeat(40) }))],
    ['no checkSignature',                    change(() => ({ 'session.checkSignature': undefined }))],
    ['checkSignature null',                  change(() => ({ 'session.checkSignature': null }))],
    ['an empty checkSignature',              change(() => ({ 'session.checkSignature': '' }))],
    ['a checkSignature in a list',           change(({ session }) => ({ 'session.checkSignature': [at(session, 'checkSignature')] }))],
    ['checkSignature true',                  change(() => ({ 'session.checkSignature': true }))],
    ['half a checkSignature',                change(({ session }) => ({ 'session.checkSignature': textAt(session, 'checkSignature').slice(0, 20) }))],
    ['a checkSignature and more',            change(({ session }) => ({ 'session.checkSignature': `${textAt(session, 'checkSignature')}00` }))],
    ['session.signature as checkSignature',  (honest, _earlier, { body }) => ok(changed(honest, { 'session.checkSignature': at(body, 'session.signature') }))],
    ['another nonce',                        change(() => ({ 'session.nonce': newToken(40) }))],
    ['no nonce',                             change(() => ({ 'session.nonce': undefined }))],
    ['the nonce in capital letters',         change(({ session }) => ({ 'session.nonce': textAt(session, 'nonce').toUpperCase() }))],
    ['another token',                        change(() => ({ 'session.token': token() }))],
    ['no token',                             change(() => ({ 'session.token': undefined }))],
    ['another invoice',                      change(() => ({ invoiceId: newOrderId() }))],
    ['no invoice',                           change(() => ({ invoiceId: undefined }))],
    ['an invoice that is a list',            change(({ invoiceId }) => ({ invoiceId: [invoiceId] }))],
    ['no session',                           change(() => ({ session: undefined }))],
    ['a session that is a text',             change(() => ({ session: 'good' }))],
    ['another currency',                     change(() => ({ 'transaction.currency': 'EUR' }))],
    ['a currency in small letters',          change(() => ({ 'transaction.currency': 'usd' }))],
    ['no JSON',                              () => ok('good')],
    ['half of JSON',                         (honest) => ok(JSON.stringify(honest).slice(0, -1))],
    ['nothing',                              () => ok('')],
    ['null',                                 () => ok('null')],
    ['a list with the answer',               (honest) => ok(JSON.stringify([honest]))],
    ['201 and nothing',                      () => ({ status: 201, body: '' })],
    ['204',                                  () => ({ status: 204, body: '' })],
    ['an error with status 200',             ({ invoiceId }) => ok(error('FILTERED', invoiceId))],
    ['100,000 nested lists',                 () => ok('['.repeat(100_000) + ']'.repeat(100_000))],
    ['the good members below __proto__',     (honest) => ok(`{"__proto__":${JSON.stringify(honest)}}`)],
  ]
  for (const kind of kinds) {
    for (const [what, check] of wrong) {
      it(`${kind}: ${what}`, async () => {
        const { told } = await ends(mobile, 'DECLINED', kind, {}, { check })
        await nothingCharged(told)
        assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
      })
    }
    // oxfmt-ignore
    const strings: [string, (made: Record<'device' | 'nonce' | 'invoiceId', string>) => string][] = [
      ['under the other merchant’s key',  ({ device, nonce, invoiceId }) => hmac(world.other.controlKey, device, nonce, world.endpoints.plain, invoiceId)],
      ['for another endpoint',            ({ device, nonce, invoiceId }) => hmac(key(), device, nonce, world.endpoints.mobile, invoiceId)],
      ['without the device',              ({ nonce, invoiceId }) => hmac(key(), nonce, world.endpoints.plain, invoiceId)],
      ['of another device',               ({ nonce, invoiceId }) => hmac(key(), 'x', nonce, world.endpoints.plain, invoiceId)],
      ['of another invoice',              ({ device, nonce }) => hmac(key(), device, nonce, world.endpoints.plain, newOrderId())],
      ['in another order',                ({ device, nonce, invoiceId }) => hmac(key(), nonce, device, world.endpoints.plain, invoiceId)],
    ]
    for (const [what, sign] of strings) {
      it(`${kind}: a checkSignature ${what}`, async () => {
        const check: Behaviour = (honest, _earlier, { body }) => {
          const device = textAt(body, 'consumer.device.serialNumber')
          const parts = { device, nonce: textAt(body, 'session.nonce'), invoiceId: textAt(honest, 'invoiceId') }
          return ok(changed(honest, { 'session.checkSignature': sign(parts) }))
        }
        await nothingCharged((await ends(mobile, 'DECLINED', kind, {}, { check })).told)
      })
    }
  }
  it('an answer for another transaction is rejected', async () => {
    let first: Json | undefined
    const check: Behaviour = (honest) => {
      first ??= honest
      return ok(first)
    }
    await ends(mobile, 'APPROVED', 'sale', {}, { check })
    await nothingCharged((await ends(mobile, 'DECLINED', 'sale', {}, { check })).told)
  })
})

describe('data of the consumer in a good answer is used', { concurrency: 4 }, () => {
  const address = {
    city: 'Boston',
    country: 'USA',
    postcodeZip: '02110',
    state: 'MA',
    street: '1 Main Street',
    street2: 'Floor 2',
  }
  const answered: Json = {
    'consumer.email': 'grace@example.com',
    'consumer.birthDay': '09121906',
    'consumer.ipAddresses': ['198.51.100.9'],
    billing: { phone: '+16175550100', address },
  }
  it('verification: billing and e-mail address', async () => {
    const check: Behaviour = (honest) => ok(changed(honest, answered))
    const { told } = await ends(mobile, 'APPROVED', 'verification', {}, { check })
    const { email, phone, country, state, city, zip_code, address1 = '' } = await gatewayOrder(told)
    assert.deepEqual(
      [email, phone, country, state, city, zip_code],
      ['grace@example.com', '+16175550100', 'US', 'MA', 'Boston', '02110'],
    )
    assert.ok(address1.startsWith('1 Main Street'), address1)
  })
  it('sale: the e-mail address', async () => {
    const check: Behaviour = (honest) => ok(changed(honest, { 'consumer.email': 'grace@example.com' }))
    const { told } = await ends(mobile, 'APPROVED', 'sale', {}, { check })
    assert.equal((await gatewayOrder(told)).email, 'grace@example.com')
  })
  it('an answer that does not fit changes nothing', async () => {
    const check: Behaviour = (honest) => ok(changed(honest, { ...answered, 'session.nonce': newToken(40) }))
    await ends(mobile, 'DECLINED', 'verification', {}, { check })
  })
  it('without it what the app said is kept', async () => {
    const billing = { phone: '+4412345', address: { city: 'London', country: 'GBR', postcodeZip: 'W1A', street: '12 St James' } }
    const names = { holder: { firstName: 'Ada', lastName: 'Lovelace' }, number: '4111111111111111', securityCode: '123' }
    const card = { ...names, expiry: { month: 2, year: nextYear } }
    const { told } = await ends(mobile, 'APPROVED', 'sale', { billing, 'sourceOfFunds.card': card })
    const seen = await gatewayOrder(told)
    const { email, phone, country, city, zip_code, address1, name } = seen
    assert.deepEqual(
      [email, phone, country, city, zip_code, address1, name],
      ['ada@example.com', '+4412345', 'GB', 'London', 'W1A', '12 St James', 'Ada Lovelace'],
    )
    assert.deepEqual([seen['card-exp-month'], seen['card-exp-year']?.length], ['2', 4])
  })
})

describe('until the merchant’s server has answered', { concurrency: 4 }, () => {
  it('perform answers before anything is charged', async () => {
    const books = async () => (await allEntries(world)).filter(({ amountMinor }) => amountMinor === '7654321')
    const { check, letGo } = waits()
    const made = await begin(mobile, 'sale', { 'transaction.amountCentis': 7_654_321 }, { check })
    await until(() => mobile.shop.checks(made.invoiceId), notEmpty)
    assert.deepEqual(await books(), [])
    letGo()
    assert.equal((await rested(mobile, made)).state, 'APPROVED')
    assert.equal((await books()).length, 1)
  })
})

describe('when all of this is over', () => {
  it('the merchant’s server was asked about nothing that it did not initiate', () => {
    assert.deepEqual(mobile.shop.strays, [])
  })
})
