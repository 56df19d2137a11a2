import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { ledger, nextYear } from '../requests/client.ts'
import { at, changed, type Json, type Kind } from './mobile-merchant.ts'
import { accepted, begin, cardAt, ends, initiate, mastercard, newInvoiceId, newToken, openMobile, orderOf } from './mobile.ts'
import { perform, post, refused, rested, signature, urlOf, type Accepted, type Made } from './mobile.ts'

/** An invoice and a nonce are good once; the same content gets the same answer. Choices.md 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile])
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
/** The same request with changes, correctly signed. */
function anew(made: Made, changes: Json, way: Partial<Made> = {}): Made {
  const next = { ...made, ...way, body: changed(made.body, changes) }
  const text = signature(next.kind, next.endpoint, next.invoiceId, next.body, world.merchant.controlKey)
  return { ...next, body: changed(next.body, { 'session.signature': text }) }
}
const refuses = async (made: Made): Promise<void> => {
  refused(await perform(mobile, made), 'INVALID_REQUEST', /\S/, made.invoiceId)
}
/** One check, and one entry in the acquirer's books. */
async function once(made: Accepted, state = 'APPROVED'): Promise<void> {
  const told = await rested(mobile, made)
  assert.equal(told.state, state, JSON.stringify(told))
  assert.equal(mobile.shop.checks(made.invoiceId).length, 1, 'one check')
  const messages = made.kind === 'transfer' && state === 'APPROVED' ? 2 : 1
  assert.equal((await ledger(world, orderOf(told))).length, messages, 'messages to the acquirer')
}

describe('the same content again answers the same', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: during the transaction and after it`, async () => {
      const made = await begin(mobile, kind)
      for (let times = 0; times < 3; times += 1) assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      await rested(mobile, made)
      assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      await once(made)
    })
    it(`${kind}: ten at the same time`, async () => {
      const made = initiate(mobile, kind)
      const told = await Promise.all(Array.from({ length: 10 }, () => perform(mobile, made)))
      const tokens = new Set(told.map((one) => accepted(one, made)))
      assert.equal(tokens.size, 1, 'one session token')
      const [token] = tokens
      await once({ ...made, session: { accessToken: at(made.body, 'session.accessToken'), token } })
    })
    it(`${kind}: members in another order, and blanks between them`, async () => {
      const made = await begin(mobile, kind)
      const turned = Object.fromEntries(Object.entries(made.body).reverse())
      const told = await post(urlOf(mobile, made), JSON.stringify(turned, null, 4))
      assert.equal(accepted(told, made), made.session.token)
    })
    it(`${kind}: after a decline too, and it is not tried again`, async () => {
      const changes = { [`${cardAt(kind)}.securityCode`]: '116' }
      const { made } = await ends(mobile, 'DECLINED', kind, changes)
      assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      await once(made, 'DECLINED')
    })
  }
})

describe('other content is refused, and changes nothing', { concurrency: 8 }, () => {
  for (const kind of kinds) {
    const source = cardAt(kind)
    // oxfmt-ignore
    const others: [string, () => Json][] = [
      ['another card',           () => ({ [`${source}.number`]: mastercard })],
      ['another expiry',         () => ({ [`${source}.expiry.year`]: nextYear + 1 })],
      ['another holder',         () => ({ [`${source}.holder.printedName`]: 'CHARLES BABBAGE' })],
      ['another e-mail address', () => ({ 'consumer.email': 'charles@example.com' })],
      ['another device',         () => ({ 'consumer.device.serialNumber': 'another' })],
      ['a billing address',      () => ({ 'billing.address.city': 'London' })],
      ['an order',               () => ({ 'order.purpose': 'rent' })],
      ['another nonce',          () => ({ 'session.nonce': newToken(40) })],
      ['another access token',   () => ({ 'session.accessToken': newToken() })],
      ...(kind !== 'verification' ? [['another amount', () => ({ 'transaction.amountCentis': 2100 })] satisfies [string, () => Json]] : []),
    ]
    for (const [what, changes] of others) {
      it(`${kind}: ${what}`, async () => {
        const made = await begin(mobile, kind)
        await refuses(anew(made, changes()))
        await once(made)
        await refuses(anew(made, changes()))
        assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      })
    }
    it(`${kind}: ten at the same time, of which one is accepted`, async () => {
      const first = initiate(mobile, kind)
      const all = Array.from({ length: 10 }, (_, index) => anew(first, { 'order.purpose': `purpose ${index}` }))
      const told = await Promise.all(all.map((made) => perform(mobile, made)))
      const good = told.filter(({ httpStatus }) => httpStatus === 200)
      assert.equal(good.length, 1, JSON.stringify(told))
      for (const one of told) if (one !== good[0]) refused(one, 'INVALID_REQUEST', /\S/, first.invoiceId)
      const token = accepted(good[0]!, first)
      await once({ ...first, session: { accessToken: at(first.body, 'session.accessToken'), token } })
    })
    it(`${kind}: a nonce is good for one invoice`, async () => {
      const made = await begin(mobile, kind)
      const invoiceId = newInvoiceId()
      await refuses(anew(made, {}, { invoiceId }))
      await refuses(anew(made, { 'session.accessToken': newToken() }, { invoiceId }))
      await once(made)
    })
    it(`${kind}: an invoice is good at one endpoint`, async () => {
      const made = await begin(mobile, kind)
      await refuses(anew(made, { 'session.nonce': newToken(40) }, { endpoint: world.endpoints.mobile }))
      await once(made)
    })
  }
  it('a nonce of a verification is rejected for a sale', async () => {
    const made = await begin(mobile, 'verification')
    await refuses(initiate(mobile, 'sale', { 'session.nonce': at(made.body, 'session.nonce') }))
  })
  it('an invoice of a verification is rejected for a sale', async () => {
    const made = await begin(mobile, 'verification')
    const { body } = initiate(mobile, 'sale')
    await refuses(anew({ ...made, kind: 'sale', body }, {}))
    await once(made)
  })
})

describe('a whole request elsewhere is refused', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    const other = kind === 'sale' ? 'verification' : 'sale'
    const replays: [string, () => Partial<Made>][] = [
      ['under another invoice', () => ({ invoiceId: newInvoiceId() })],
      ['at another endpoint', () => ({ endpoint: world.endpoints.mobile })],
      [`as a ${other}`, () => ({ kind: other })],
    ]
    for (const [what, way] of replays) {
      it(`${kind}: ${what}`, async () => {
        const made = await begin(mobile, kind)
        await refuses({ ...made, ...way() })
        await once(made)
      })
    }
  }
})
