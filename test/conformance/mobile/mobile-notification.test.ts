import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { ledger, nextYear } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { cardInfo, register } from '../cards/card.ts'
import { at, changed, hmac, ok, textAt, type Behaviour, type Call, type Json, type Kind } from './mobile-merchant.ts'
import { begin, cardAt, ends, mastercard, newInvoiceId, newToken, openMobile, orderOf, rested } from './mobile.ts'
import { statusOf, type Accepted } from './mobile.ts'

/** When the merchant's server is notified of a card, with what, and how often. Choices.md 8. */

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)

/** How often each invoice must be notified, perhaps never; checked after all other tests. */
const never: string[] = []
const times = new Map<string, number>()

/** The notifications to the merchant's server, once there are so many. */
async function told({ invoiceId }: Accepted, count = 1): Promise<Call[]> {
  const calls = await until(
    () => mobile.shop.notifications(invoiceId),
    ({ length }) => length >= count,
    120_000,
  )
  assert.ok(calls.length >= count, `${count} notifications, not ${calls.length}`)
  times.set(invoiceId, count)
  return calls
}
const first = async (made: Accepted): Promise<Call> => (await told(made))[0]!
const kinds: Kind[] = ['verification', 'sale']

/** A string of digits, and an integer that JSON and other languages represent exactly. */
function reference(json: unknown): { serverCardId: string; uniqueReferenceCardId: number } {
  const { serverCardId, uniqueReferenceCardId } = json as Json
  assert.ok(typeof serverCardId === 'string' && /^[0-9]{1,20}$/.test(serverCardId), JSON.stringify(json))
  assert.ok(Number.isSafeInteger(uniqueReferenceCardId) && Number(uniqueReferenceCardId) > 0, JSON.stringify(json))
  return { serverCardId, uniqueReferenceCardId: Number(uniqueReferenceCardId) }
}
/** Where a notification has the reference of the source card. */
const referenceAt = (kind: Kind): string => (kind === 'verification' ? 'reference' : 'sourceCard.reference')

describe('an approved transaction by card is notified once', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: device, access token, session token, the card's first digits and its reference, and nothing else`, async () => {
      const { made } = await ends(mobile, 'APPROVED', kind)
      const { method, path, contentType, body } = await first(made)
      assert.deepEqual([method, path], ['POST', `${new URL(mobile.shop.url).pathname}/${kind}/notification`])
      assert.match(contentType, /^application\/json\b/)
      const { serverCardId, uniqueReferenceCardId } = reference(at(body, referenceAt(kind)))
      const common = { consumer: { device: at(made.body, 'consumer.device') }, session: made.session }
      const card = { serverCardId, uniqueReferenceCardId }
      const expected =
        kind === 'verification'
          ? { ...common, reference: card, sourceCard: { bin: 411111 } }
          : { ...common, sourceCard: { bin: 411111, reference: card } }
      assert.deepEqual(body, expected)
    })
    it(`${kind}: the headers of Standard Webhooks sign its body with the merchant's signing secret`, async () => {
      const { made } = await ends(mobile, 'APPROVED', kind)
      const { text, headers } = await first(made)
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
      const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
      const verify = (body: string) => new Webhook(world.merchant.signingSecret).verify(body, signed)
      assert.deepEqual(verify(text), (await first(made)).body)
      assert.throws(() => verify(`${text} `), /No matching signature/)
    })
    it(`${kind}: the ids are those of the gateway API`, async () => {
      const { made, told: final } = await ends(mobile, 'APPROVED', kind)
      const { serverCardId, uniqueReferenceCardId } = reference(at((await first(made)).body, referenceAt(kind)))
      const info = await cardInfo(world, serverCardId)
      assert.deepEqual([info.bin, info['last-four-digits'], info['card-printed-name']], ['411111', '1111', 'ADA LOVELACE'])
      const registered = await register(world, { orderid: orderOf(final), client_orderid: made.invoiceId })
      assert.equal(registered['unq-card-ref-id'], String(uniqueReferenceCardId))
    })
    it(`${kind}: one card has one unique id, whatever the expiry, and another card has another`, async () => {
      const ids: number[] = []
      const later = { [`${cardAt(kind)}.expiry.year`]: nextYear + 2 }
      for (const changes of [{}, later, { [`${cardAt(kind)}.number`]: mastercard }]) {
        const { made } = await ends(mobile, 'APPROVED', kind, changes)
        ids.push(reference(at((await first(made)).body, referenceAt(kind))).uniqueReferenceCardId)
      }
      assert.equal(ids[0], ids[1])
      assert.notEqual(ids[0], ids[2])
    })
  }
})

describe('nothing else is notified', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    for (const securityCode of ['116', '999']) {
      it(`${kind}: a decline, ${securityCode}`, async () => {
        const { made } = await ends(mobile, 'DECLINED', kind, { [`${cardAt(kind)}.securityCode`]: securityCode })
        never.push(made.invoiceId)
      })
    }
    it(`${kind}: a refusal by the merchant's server`, async () => {
      const { made } = await ends(mobile, 'DECLINED', kind, {}, { check: () => ({ status: 403, body: '' }) })
      never.push(made.invoiceId)
    })
  }
  it('a sale whose outcome is unknown', async () => {
    const made = await begin(mobile, 'sale', { 'sourceOfFunds.card.securityCode': '217' })
    assert.equal((await statusOf(mobile, made)).state, 'PROCESSING')
    never.push(made.invoiceId)
  })
  it('a sale by reference: the card is known', async () => {
    const { made } = await ends(mobile, 'APPROVED', 'sale')
    const source = reference(at((await first(made)).body, referenceAt('sale'))).serverCardId
    const again = await ends(mobile, 'APPROVED', 'sale', { sourceOfFunds: { reference: { clientCardId: 'c' } } }, { source })
    never.push(again.made.invoiceId)
  })
})

/** Before the next ones, which take longer than a second try would let wait for it. */
describe('a 4xx ends it', { concurrency: 8 }, () => {
  for (const status of [400, 401, 403, 404, 410]) {
    it(`${status}: no second try`, async () => {
      const notification: Behaviour = () => ({ status, body: '' })
      const { made } = await ends(mobile, 'APPROVED', 'sale', {}, { notification })
      await told(made)
    })
  }
})

describe('an invalid answer is requested again, and the outcome does not wait for it', { concurrency: 20 }, () => {
  const answer =
    (changes: (honest: Json) => Json): Behaviour =>
    (honest) =>
      ok(changed(honest, changes(honest)))
  // oxfmt-ignore
  const wrong: [string, Behaviour][] = [
    ['500',                          () => ({ status: 500, body: '' })],
    ['503 with an error',            ({ invoiceId }) => ({ status: 503, body: JSON.stringify({ error: { cause: 'SERVER_UNAVAILABLE', code: 'c', message: 'm' }, invoiceId }) })],
    ['a connection cut',             () => 'cut'],
    ['silence',                      () => 'hang'],
    ['a wrong checkSignature',       answer(() => ({ 'session.checkSignature': '0'.repeat(40) }))],
    ['no checkSignature',            answer(() => ({ 'session.checkSignature': undefined }))],
    ['the checkSignature of check',  (honest, _earlier, { body }) => ok(changed(honest, { 'session.checkSignature': hmac(world.merchant.controlKey, textAt(body, 'consumer.device.serialNumber'), textAt(honest, 'session.nonce'), world.endpoints.plain, textAt(honest, 'invoiceId')) }))],
    ['another nonce',                answer(() => ({ 'session.nonce': newToken(40) }))],
    ['no nonce',                     answer(() => ({ 'session.nonce': undefined }))],
    ['another invoice',              answer(() => ({ invoiceId: newInvoiceId() }))],
    ['no invoice',                   answer(() => ({ invoiceId: undefined }))],
    ['200 and nothing',              () => ok('')],
    ['200 and no JSON',              () => ok('ok')],
  ]
  for (const [what, reply] of wrong) {
    it(`${what}, then a good answer: two identical tries, and no third`, async () => {
      const notification: Behaviour = (honest, earlier, call) => (earlier === 0 ? reply(honest, earlier, call) : ok(honest))
      // A success in between: after many failures in a row the service would pause.
      const [made] = await Promise.all([begin(mobile, 'sale', {}, { notification }), begin(mobile, 'sale')])
      const final = await rested(mobile, made)
      assert.equal(final.state, 'APPROVED', JSON.stringify(final))
      const [one, two] = await told(made, 2)
      assert.deepEqual(two?.body, one?.body)
    })
  }
  it('verification: a failure is asked for again', async () => {
    const notification: Behaviour = (honest, earlier) => (earlier === 0 ? { status: 502, body: '' } : ok(honest))
    const { made } = await ends(mobile, 'APPROVED', 'verification', {}, { notification })
    const [one, two] = await told(made, 2)
    assert.deepEqual(two?.body, one?.body)
  })
  it('the outcome is there, and charged once, while the merchant’s server is silent', async () => {
    const notification: Behaviour = (honest, earlier) => (earlier === 0 ? 'hang' : ok(honest))
    const { made, told: final } = await ends(mobile, 'APPROVED', 'sale', {}, { notification })
    assert.ok(mobile.shop.notifications(made.invoiceId).length <= 1, 'the first try has not ended')
    assert.equal((await ledger(world, orderOf(final))).length, 1)
  })
  it('a signature in lower case is good', async () => {
    const notification = answer(({ session }) => ({ 'session.checkSignature': textAt(session, 'checkSignature').toLowerCase() }))
    await told((await ends(mobile, 'APPROVED', 'sale', {}, { notification })).made)
  })
})

describe('when all of this is over', () => {
  it('each transaction was notified the right number of times, and no other was', () => {
    assert.ok(times.size >= 20 && never.length >= 8)
    for (const [invoiceId, count] of times) assert.equal(mobile.shop.notifications(invoiceId).length, count, invoiceId)
    for (const invoiceId of never) assert.deepEqual(mobile.shop.notifications(invoiceId), [], invoiceId)
    assert.deepEqual(mobile.shop.strays, [])
  })
})
