import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { until } from '../../harness/clock/until.ts'
import { booksOf, booksSay, entriesOf, fault, masked, newCard } from './mobile-books.ts'
import { walk } from './mobile-consumer.ts'
import { changed, ok, textAt, type Behaviour, type Json, type Kind } from './mobile-merchant.ts'
import { accepted, begin, cardAt, ends, openMobile, perform, rested, statusOf, type Accepted } from './mobile.ts'
import { cardOf, load, submit } from '../three-d-secure/shopper.ts'

/** A small sum is held, and the consumer names it. Choices.md 8. Not tested: its 30 minutes. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile_random_sum])
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
const naming =
  (randomSumCentis: unknown): Behaviour =>
  (honest) =>
    ok(changed(honest, { 'transaction.randomSumCentis': randomSumCentis }))

interface Asked {
  made: Accepted
  told: Json
  card: string
}
/** A transaction with a new card that waits for the sum. */
async function asked(kind: Kind, sum?: number, card = newCard(), more: Json = {}): Promise<Asked> {
  const way = { endpoint: world.endpoints.mobile_random_sum, ...(sum === undefined ? {} : { check: naming(sum) }) }
  const made = await begin(mobile, kind, { [`${cardAt(kind)}.number`]: card, ...more }, way)
  const told = await rested(mobile, made)
  assert.equal(told.state, 'REDIRECT_REQUEST', JSON.stringify(told))
  return { made, told, card }
}
/** The sum that the acquirer holds, in minor units. */
async function held(card: string): Promise<number> {
  const [entry, ...more] = await entriesOf(world, card)
  assert.deepEqual([entry?.state, more.length], ['approved', 0], JSON.stringify(entry))
  return Number(entry?.amountMinor)
}
const spelled = (centis: number): string => (centis / 100).toFixed(2)
const charge: Record<Kind, string[]> = { verification: ['account-verification 0'], sale: ['sale 1050'], transfer: ['debit 1050'] }

/** What the books have of a card when all is over: the hold released, and these. */
async function booksEnd(card: string, hold: number, then: readonly string[]): Promise<void> {
  const lines = await booksSay(
    world,
    card,
    ([first = '', ...rest]) => first.endsWith(`${hold} reversed`) && rest.length === then.length,
  )
  assert.match(lines[0] ?? '', new RegExp(` ${hold} reversed$`), 'the hold is released')
  const rest = lines.slice(1).map((one) => one.replace(`${masked(card)} `, ''))
  assert.deepEqual(rest, then)
}

describe('a small sum is held, and the consumer asked for it', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: REDIRECT_REQUEST to a page of the service, before anything is charged`, async () => {
      const { made, told, card } = await asked(kind)
      const { redirectUrl, ...rest } = told
      assert.deepEqual(rest, { invoiceId: made.invoiceId, session: { token: made.session.token }, state: 'REDIRECT_REQUEST' })
      assert.ok(typeof redirectUrl === 'string' && redirectUrl.length <= 128, JSON.stringify(told))
      assert.equal(new URL(redirectUrl).origin, new URL(world.baseUrl).origin)
      const sum = await held(card)
      assert.ok(sum >= 100 && sum <= 999, String(sum))
      assert.deepEqual(mobile.shop.notifications(made.invoiceId), [])
    })
    for (const sum of [100, 543, 999]) {
      it(`${kind}: the sum of the merchant's server, ${sum}, is taken`, async () => {
        const { card } = await asked(kind, sum)
        assert.equal(await held(card), sum)
      })
    }
    it(`${kind}: a sum of 0 from the merchant's server means that it names none`, async () => {
      const { card } = await asked(kind, 0)
      const sum = await held(card)
      assert.ok(sum >= 100 && sum <= 999, String(sum))
    })
    it(`${kind}: the right sum: AUTHENTICATED, the hold released, and the transaction goes on`, async () => {
      const { made, told, card } = await asked(kind, 321)
      const { last } = await walk(told, '3.21')
      assert.match(last.body, /approved|card verified/i)
      const final = await statusOf(mobile, made)
      assert.deepEqual([final.state, final.randomSumAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
      assert.equal(final.redirectUrl, undefined)
      await booksEnd(
        card,
        321,
        charge[kind].map((one) => `${one} approved`),
      )
    })
    it(`${kind}: a wrong sum three times: DECLINED, NOT_AUTHENTICATED, the hold released, nothing charged`, async () => {
      const { made, told, card } = await asked(kind, 321)
      const { last, asked: times } = await walk(told, '3.20', '3.22', '9.99')
      assert.equal(times, 3, 'three tries')
      assert.match(last.body, /declined|not verified/i)
      const final = await statusOf(mobile, made)
      assert.deepEqual([final.state, final.randomSumAuthStatus], ['DECLINED', 'NOT_AUTHENTICATED'], JSON.stringify(final))
      assert.ok(Number.isInteger(final.errorCode) && textAt(final, 'bankOrderId'), JSON.stringify(final))
      await booksEnd(card, 321, [])
    })
    it(`${kind}: right at the third try is right`, async () => {
      const { made, told, card } = await asked(kind, 654)
      await walk(told, '1.00', '2.00', '6.54')
      const final = await statusOf(mobile, made)
      assert.deepEqual([final.state, final.randomSumAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
      await booksEnd(
        card,
        654,
        charge[kind].map((one) => `${one} approved`),
      )
    })
    it(`${kind}: right, and declined by the bank`, async () => {
      const { made, told, card } = await asked(kind, 321)
      await fault(world, card, { decline: '116' })
      await walk(told, '3.21')
      const final = await rested(mobile, made)
      assert.deepEqual([final.state, final.errorCode, final.randomSumAuthStatus], ['DECLINED', 116, 'AUTHENTICATED'])
      await booksEnd(
        card,
        321,
        charge[kind].map((one) => `${one} declined`),
      )
    })
    it(`${kind}: the request again answers the same, and holds nothing more`, async () => {
      const { made, told, card } = await asked(kind)
      assert.equal(accepted(await perform(mobile, made), made), made.session.token)
      assert.deepEqual(await statusOf(mobile, made), told)
      assert.equal((await booksOf(world, card)).length, 1)
    })
    it(`${kind}: a card on which nothing can be held is DECLINED`, async () => {
      const card = newCard()
      await fault(world, card, { decline: '116' })
      const changes = { [`${cardAt(kind)}.number`]: card }
      const { told } = await ends(mobile, 'DECLINED', kind, changes, { endpoint: world.endpoints.mobile_random_sum })
      assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
      assert.equal((await booksOf(world, card)).length, 1, 'nothing but the try to hold')
    })
  }
  it('without a sum of the merchant’s server each is a random one of 100 to 999', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => asked('sale')))
    const sums = await Promise.all(all.map(({ card }) => held(card)))
    for (const sum of sums) assert.ok(sum >= 100 && sum <= 999, String(sum))
    assert.ok(new Set(sums).size > 2, sums.join(' '))
  })
  it('the page shows neither the sum nor the card', async () => {
    const { told, card } = await asked('sale', 765)
    const url = textAt(told, 'redirectUrl')
    const { body } = await load(url)
    // Its random texts may have any digits.
    const said = body.replaceAll(/ nonce="[^"]*"/g, '').replaceAll(url.slice(url.lastIndexOf('/')), '')
    for (const text of ['7.65', '765', card]) assert.ok(!said.includes(text), text)
  })
  it('opening the page is no try', async () => {
    const { made, told, card } = await asked('sale', 321)
    for (let times = 0; times < 5; times += 1) await load(textAt(told, 'redirectUrl'))
    await walk(told, '1.00', '3.21')
    assert.equal((await statusOf(mobile, made)).state, 'APPROVED')
    await booksEnd(card, 321, ['sale 1050 approved'])
  })
  it('a hundred guesses at the same time are no more than three tries', async () => {
    const { made, told, card } = await asked('sale', 321)
    const page = await load(textAt(told, 'redirectUrl'))
    const form = page.forms.find(({ typed }) => typed.length === 1)
    assert.ok(form, page.body)
    const [name = ''] = form.typed
    const guesses = Array.from({ length: 100 }, (_, index) => spelled(500 + index))
    await Promise.all(guesses.map((guess) => submit(form, { [name]: guess }, page.cookies)))
    const { asked: more } = await walk(told, '1.00')
    assert.ok(more <= 2, `${more} tries more`)
    const final = await rested(mobile, made)
    assert.deepEqual([final.state, final.randomSumAuthStatus], ['DECLINED', 'NOT_AUTHENTICATED'], JSON.stringify(final))
    await booksEnd(card, 321, [])
  })
  it('a form sent after the end changes nothing', async () => {
    const { made, told, card } = await asked('sale', 321)
    const page = await load(textAt(told, 'redirectUrl'))
    const form = page.forms.find(({ typed }) => typed.length === 1)
    assert.ok(form, page.body)
    await walk(told, '3.21')
    const final = await statusOf(mobile, made)
    for (const guess of ['3.21', '1.00', '1.01', '1.02']) await submit(form, { [form.typed[0] ?? '']: guess }, page.cookies)
    assert.deepEqual(await statusOf(mobile, made), final)
    await booksEnd(card, 321, ['sale 1050 approved'])
  })
})

describe('a sum of the merchant’s server outside 100 to 999 declines', { concurrency: 8 }, () => {
  for (const kind of kinds) {
    for (const sum of [99, 1000, 1, -500, -0.5, 100.5, 1e300, '345', '0']) {
      it(`${kind}: ${JSON.stringify(sum)}`, async () => {
        const card = newCard()
        const way = { endpoint: world.endpoints.mobile_random_sum, check: naming(sum) }
        const { told } = await ends(mobile, 'DECLINED', kind, { [`${cardAt(kind)}.number`]: card }, way)
        assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
        assert.deepEqual(await booksOf(world, card), [])
      })
    }
  }
})

describe('at most nine wrong tries per card in 24 hours, over all invoices', () => {
  it('three invoices with three wrong tries each; of a fourth nothing is asked', async () => {
    const card = newCard()
    for (const kind of kinds) {
      const { made, told } = await asked(kind, 321, card)
      assert.equal((await walk(told, '1.00')).asked, 3)
      assert.equal((await statusOf(mobile, made)).state, 'DECLINED')
    }
    const made = await begin(
      mobile,
      'sale',
      { 'sourceOfFunds.card.number': card },
      { endpoint: world.endpoints.mobile_random_sum },
    )
    const told = await rested(mobile, made)
    const tries = told.state === 'REDIRECT_REQUEST' ? (await walk(told, '1.00')).asked : 0
    assert.equal(tries, 0, 'no tenth try')
    const final = await statusOf(mobile, made)
    assert.equal(final.state, 'DECLINED', JSON.stringify(final))
    const lines = await booksSay(world, card, (all) => all.every((line) => line.endsWith('reversed')))
    assert.ok(lines.length <= 4 && lines.every((line) => line.endsWith('reversed')), lines.join())
  })
  it('another card may go on', async () => {
    await asked('sale')
  })
})

describe('where 3-D Secure is on too', () => {
  before(async () => {
    const { tell } = cliOf(() => world)
    await tell(['endpoint', 'set', String(world.endpoints.mobile_random_sum), '--three-d-secure', 'on'])
    const number = await cardOf(world, 'frictionless')
    await until(
      async () => {
        const { made, told } = await asked('sale', 321, number)
        await walk(told, '3.21')
        return rested(mobile, made)
      },
      ({ secure3DAuthStatus }) => secure3DAuthStatus !== undefined,
      60_000,
    )
  })
  it('a card with 3-D Secure is authenticated by that alone', async () => {
    const number = await cardOf(world, 'frictionless')
    const { made, told } = await asked('sale', undefined, number)
    assert.equal((await walk(told)).asked, 0)
    const final = await statusOf(mobile, made)
    assert.deepEqual([final.state, final.secure3DAuthStatus, final.randomSumAuthStatus], ['APPROVED', 'AUTHENTICATED', undefined])
  })
  it('a card that is in no range of 3-D Secure is asked for the sum', async () => {
    const card = newCard('501800')
    const { made, told } = await asked('sale', 321, card)
    assert.equal((await walk(told, '3.21')).asked, 1)
    const final = await statusOf(mobile, made)
    assert.deepEqual([final.state, final.randomSumAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
    await booksEnd(card, 321, ['sale 1050 approved'])
  })
})
