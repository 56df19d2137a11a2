import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { ledger } from '../requests/client.ts'
import { walk } from './mobile-consumer.ts'
import { ok, textAt, type Json, type Kind } from './mobile-merchant.ts'
import { accepted, begin, cardAt, openMobile, orderOf, perform, rested, statusOf, type Accepted } from './mobile.ts'
import { cardOf, password } from '../three-d-secure/shopper.ts'

/** REDIRECT_REQUEST, the service's own page, and the status after it. Choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.mobile])
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
async function started(kind: Kind, scenario: string, more: Json = {}): Promise<{ made: Accepted; told: Json }> {
  const changes = { [`${cardAt(kind)}.number`]: await cardOf(world, scenario), ...more }
  const made = await begin(mobile, kind, changes, { endpoint: world.endpoints.mobile })
  return { made, told: await rested(mobile, made) }
}
/** Goes through the pages; what the next status says, without asking twice. */
async function after3ds(made: Accepted, told: Json, ...words: string[]): Promise<{ final: Json; asked: number; page: string }> {
  const { last, asked } = await walk(told, ...words)
  return { final: await statusOf(mobile, made), asked, page: last.body }
}
const code = (kind: Kind, securityCode: string): Json => ({ [`${cardAt(kind)}.securityCode`]: securityCode })

describe('REDIRECT_REQUEST', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: redirectUrl has at most 128 characters and leads to the service's page; no final fields`, async () => {
      const { made, told } = await started(kind, 'challenge')
      const { redirectUrl, ...rest } = told
      assert.deepEqual(rest, { invoiceId: made.invoiceId, session: { token: made.session.token }, state: 'REDIRECT_REQUEST' })
      assert.ok(typeof redirectUrl === 'string' && redirectUrl.length <= 128, String(redirectUrl))
      assert.equal(new URL(redirectUrl).origin, new URL(world.baseUrl).origin)
    })
    it(`${kind}: the address is the same at each status, and each transaction has its own`, async () => {
      const { made, told } = await started(kind, 'challenge')
      assert.equal((await statusOf(mobile, made)).redirectUrl, told.redirectUrl)
      assert.notEqual((await started(kind, 'challenge')).told.redirectUrl, told.redirectUrl)
    })
    it(`${kind}: nothing is charged before it, and the request again answers the same`, async () => {
      const { made } = await started(kind, 'challenge')
      assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      assert.deepEqual(mobile.shop.notifications(made.invoiceId), [])
    })
    it(`${kind}: a cardholder who never opened the page is not authenticated`, async () => {
      const { made } = await started(kind, 'challenge')
      assert.equal((await statusOf(mobile, made)).secure3DAuthStatus, undefined)
    })
  }
})

describe('when it ends the page shows the outcome, and the next status is final', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    // oxfmt-ignore
    const cases: [string, string, string[], string, string, RegExp][] = [
      ['a challenge with the right password',          'challenge',              [password],             'APPROVED', 'AUTHENTICATED',     /approved/i],
      ['a challenge, right at the second try',         'challenge',              ['no', password],       'APPROVED', 'AUTHENTICATED',     /approved/i],
      ['a challenge with wrong passwords',             'challenge',              ['no', 'never', 'not'], 'DECLINED', 'NOT_AUTHENTICATED', /declined/i],
      ['a challenge that fails all the same',          'challenge-failed',       [password],             'DECLINED', 'NOT_AUTHENTICATED', /declined/i],
      ['a card that is authenticated without one',     'frictionless',           [],                     'APPROVED', 'AUTHENTICATED',     /approved/i],
      ['an attempt',                                   'frictionless-attempt',   [],                     'APPROVED', 'AUTHENTICATED',     /approved/i],
      ['no method URL',                                'no-method-frictionless', [],                     'APPROVED', 'AUTHENTICATED',     /approved/i],
      ['a card that is denied',                        'frictionless-denied',    [],                     'DECLINED', 'NOT_AUTHENTICATED', /declined/i],
      ['a card that is rejected',                      'frictionless-rejected',  [],                     'DECLINED', 'NOT_AUTHENTICATED', /declined/i],
      ['an issuer that cannot tell',                   'unavailable',            [],                     'DECLINED', 'UNSUPPORTED',       /declined/i],
    ]
    for (const [what, scenario, words, state, authentication, shows] of cases) {
      it(`${kind}: ${what}`, async () => {
        const { made, told } = await started(kind, scenario)
        assert.equal(told.state, 'REDIRECT_REQUEST', JSON.stringify(told))
        const { final, asked, page } = await after3ds(made, told, ...words)
        assert.deepEqual([final.state, final.secure3DAuthStatus], [state, authentication], JSON.stringify(final))
        assert.ok(asked >= words.length, `${asked} questions`)
        assert.match(page, shows)
        assert.equal(final.redirectUrl, undefined)
        assert.ok(textAt(final, 'bankOrderId'))
        const books = await ledger(world, orderOf(final))
        assert.equal(books.length, state === 'DECLINED' ? 0 : kind === 'transfer' ? 2 : 1, JSON.stringify(books))
        if (state === 'DECLINED') assert.ok(Number.isInteger(final.errorCode), JSON.stringify(final))
      })
    }
    it(`${kind}: authenticated, and declined by the bank`, async () => {
      const { made, told } = await started(kind, 'challenge', code(kind, '116'))
      const { final, page } = await after3ds(made, told, password)
      assert.deepEqual([final.state, final.errorCode, final.secure3DAuthStatus], ['DECLINED', 116, 'AUTHENTICATED'])
      assert.match(page, /declined/i)
    })
    it(`${kind}: a card that is not enrolled is UNSUPPORTED, and needs no page`, async () => {
      const { told } = await started(kind, 'not-enrolled')
      assert.deepEqual([told.state, told.secure3DAuthStatus], ['DECLINED', 'UNSUPPORTED'], JSON.stringify(told))
    })
    it(`${kind}: security code 111 skips 3-D Secure`, async () => {
      const { told } = await started(kind, 'challenge', code(kind, '111'))
      assert.equal(told.state, 'APPROVED', JSON.stringify(told))
    })
    it(`${kind}: security code 321 wants a challenge of a card that else has none`, async () => {
      const { made, told } = await started(kind, 'frictionless', code(kind, '321'))
      const { final, asked } = await after3ds(made, told, password)
      assert.deepEqual([final.state, final.secure3DAuthStatus, asked], ['APPROVED', 'AUTHENTICATED', 1])
    })
  }
  it('the page shows the outcome again when it is opened again', async () => {
    const { made, told } = await started('sale', 'frictionless')
    await after3ds(made, told)
    assert.match((await walk(told)).last.body, /approved/i)
    assert.equal((await ledger(world, orderOf(await statusOf(mobile, made)))).length, 1)
  })
  it('no page shows a whole card number', async () => {
    const number = await cardOf(world, 'frictionless')
    const { made, told } = await started('sale', 'frictionless')
    const { page } = await after3ds(made, told)
    assert.ok(!page.includes(number))
  })
})

describe('missing data of the payer does not prevent authentication', { concurrency: 4 }, () => {
  const blank = { phone: ' ', address: { city: ' ', country: 'USA', postcodeZip: ' ', state: '  ', street: ' ', street2: ' ' } }
  for (const kind of ['sale', 'transfer'] as const) {
    // oxfmt-ignore
    const cases: [string, Json, Json?][] = [
      ['no e-mail',                                     { 'consumer.email': undefined }],
      ['a blank address',                               { billing: blank }],
      ['neither, and a blank address of the merchant', { 'consumer.email': undefined }, { billing: blank }],
    ]
    for (const [what, changes, answer] of cases) {
      it(`${kind}: ${what}`, async () => {
        const number = { [`${cardAt(kind)}.number`]: await cardOf(world, 'frictionless') }
        const check = (honest: Json) => ok({ ...honest, ...answer })
        const made = await begin(mobile, kind, { ...number, ...changes }, { endpoint: world.endpoints.mobile, check })
        const { final } = await after3ds(made, await rested(mobile, made))
        assert.deepEqual([final.state, final.secure3DAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
      })
    }
  }
})
