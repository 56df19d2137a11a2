import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { ledger, send } from '../../conformance/requests/client.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../operator/cli-run.ts'
import { openApp, type Begun, type Json } from './mobile-app.ts'
import { openSumPage, type Asked } from './mobile-sum-page.ts'

/**
 * What waits for the cardholder: the sum held on the card, which is always given back, and the fee
 * of a transfer. The walks through both are in `conformance`.
 */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
closing(app.merchant)
const sums = openSumPage(world, app, database)

const begin = (kind: Begun['kind'] = 'sale', wish: object = {}) =>
  app.begin(kind, { endpoint: world.endpoints.mobile_random_sum, number: newCard(), ...wish })
const outcomeOf = ({ state, errorCode, randomSumAuthStatus }: Json) => [state, errorCode, randomSumAuthStatus]
const refusedSum = ['DECLINED', 4007, 'NOT_AUTHENTICATED']

describe('the right sum', () => {
  test('a sale goes on with its CVV2, is charged once, and the hold is released without a callback', async () => {
    const asked = await sums.asked(begin('sale', { amountCentis: 200_000 }))
    const [hold] = await ledger(world, asked.holdId)
    const shown = await cliOf(() => world).tell(['acquirer', 'entries', '--card', hold!['card']!.slice(-4), '--limit', '1'])
    assert.match(shown, new RegExp(` ${asked.sum} +USD +preauth +approved +${asked.holdId}$`, 'm'))
    const { httpStatus, location } = await sums.answer(asked.url, asked.sum, 1)
    assert.deepEqual([httpStatus, location], [303, new URL(asked.url).pathname])
    const seen = await sums.final(asked)
    assert.deepEqual(outcomeOf(seen), ['APPROVED', undefined, 'AUTHENTICATED'], JSON.stringify(seen))
    assert.equal((await ledger(world, seen.orderId as string)).length, 1)
    assert.equal((await sums.released(asked)).length, 1)
    assert.equal((await database.query('select from delivery where order_id = $1', [asked.holdId])).rowCount, 0)
  })
  test('a verification is asked too, and shows no amount', async () => {
    const asked = await sums.asked(begin('verification'))
    const page = await sums.page(asked.url)
    assert.match(page, /Card verification for Sandbox Shop/)
    assert.doesNotMatch(page, /class="amount"/)
    await sums.answer(asked.url, asked.sum, 1)
    assert.deepEqual(outcomeOf(await sums.final(asked)), ['APPROVED', undefined, 'AUTHENTICATED'])
    await sums.released(asked)
  })
  test('the merchant may name the sum, and the card may be a reference', async () => {
    const mapped = begin('verification')
    const first = await sums.asked(mapped)
    await sums.answer(first.url, first.sum, 1)
    await sums.final(first)
    const { reference } = await app.notified('verification', first.token)
    app.merchant.cards.set('kept', String((reference as Json)['serverCardId']))
    const one = begin('sale', { reference: { clientCardId: 'kept', securityCode: '123' } })
    app.merchant.lie = (path, answer) =>
      path.endsWith(`${one.invoiceId}/check`) ? { body: { ...answer, transaction: { randomSumCentis: 345 } } } : {}
    const asked = await sums.asked(one)
    app.merchant.lie = undefined
    assert.equal(asked.sum, '3.45')
    await sums.answer(asked.url, '3.450', 1)
    assert.deepEqual(outcomeOf(await sums.final(asked)), ['APPROVED', undefined, 'AUTHENTICATED'])
  })
})

/** Answers that were judged and found wrong, of all cards. */
async function judgedWrong(): Promise<number> {
  const { rows } = await database.query<{ n: number }>('select coalesce(sum(cardinality(wrong_at)), 0)::int as n from wrong_sum')
  return rows[0]!.n
}

describe('a sum that is not confirmed', () => {
  test('a form sent twice is one try, and a text that is no sum is not a try', async () => {
    const asked = await sums.asked(begin())
    const wrongBefore = await judgedWrong()
    await Promise.all([sums.wrong(asked, 1), sums.wrong(asked, 1), sums.wrong(asked, 1)])
    assert.equal((await judgedWrong()) - wrongBefore, 1)
    assert.match(await sums.page(asked.url), /2 tries/)
    for (const typed of ['', 'abc', '1e3', '-3', '3.4567', '3'.repeat(40), '３.４５']) {
      const { location } = await sums.answer(asked.url, typed, 2)
      assert.match(String(location), /\?unreadable$/)
      assert.match(await sums.page(`${asked.url}?unreadable`), /That was no sum[^]*2 tries/)
    }
    await sums.answer(asked.url, asked.sum, 2)
    assert.deepEqual(outcomeOf(await sums.final(asked)), ['APPROVED', undefined, 'AUTHENTICATED'])
  })
  test('without an answer it is declined after thirty minutes, and the hold is released', async () => {
    const asked = await sums.asked(begin())
    const { rests_until: until_, created_at: from } = await sums.rowOf(asked.one)
    const minutes = (Number(until_) - Number(from)) / 60_000
    assert.ok(minutes >= 30 && minutes < 32, `${minutes} minutes`)
    await passed(asked)
    assert.deepEqual(outcomeOf(await sums.final(asked)), refusedSum)
    await sums.released(asked)
  })
  test('an answer that comes after the time, before a sweep does, is too late', async () => {
    const asked = await sums.asked(begin())
    await database.query(`update mobile_invoice set rests_until = now() - interval '1 second' where invoice_id = $1`, [
      asked.one.invoiceId,
    ])
    await sums.answer(asked.url, asked.sum, 1)
    assert.equal((await sums.rowOf(asked.one))['state'], 'answering')
    await passed(asked)
    assert.deepEqual(outcomeOf(await sums.final(asked)), refusedSum)
  })
  /** Its time is over. */
  const passed = ({ one }: Asked) =>
    database.query(
      `update mobile_invoice set due_at = now() - interval '1 second', rests_until = now() - interval '1 second'
       where invoice_id = $1`,
      [one.invoiceId],
    )
})

describe('nine wrong answers for a card within a day', () => {
  test('are the limit over simultaneous invoices of two merchants; another card is not affected', async (t) => {
    const number = newCard()
    const { endpoint } = world.other
    await cliOf(() => world).tell(['endpoint', 'set', String(endpoint), '--random-sum', 'on'])
    const other = await openApp({ ...world, merchant: world.other }, [endpoint])
    t.after(() => other.merchant.close())
    const there = () => other.begin('sale', { endpoint, number })
    const here = () => begin('sale', { number })
    const asked = await Promise.all([here(), there(), here(), there(), here()].map(sums.asked))
    await Promise.all(
      asked.map(async (one) => {
        for (const no of [1, 2, 3]) await sums.wrong(one, no)
      }),
    )
    const { rows } = await database.query<Json>(
      'select sum(wrong_answers)::int as wrong from mobile_invoice where invoice_id = any ($1)',
      [asked.map(({ one }) => one.invoiceId)],
    )
    assert.equal(rows[0]!['wrong'], 9)
    for (const one of asked) {
      const { wrong_answers: wrong } = await sums.rowOf(one.one)
      await sums.answer(one.url, one.sum, wrong + 1)
      assert.deepEqual(outcomeOf(await sums.final(one)), refusedSum, 'the right sum does not help')
      await sums.released(one)
    }
    for (const next of [here(), there()]) {
      assert.deepEqual(outcomeOf(await app.ended(next)), refusedSum)
      assert.equal((await sums.rowOf(next))['hold_order_id'], null, 'nothing is held any more')
    }
    await sums.asked(begin())
    await database.query(`update wrong_sum set wrong_at = array(select at - interval '1 day' from unnest(wrong_at) t (at))`)
    await sums.asked(here())
  })
})

test('a hold whose answer is lost is taken back, and the transaction declined', async () => {
  const one = begin()
  const number = ((one.body.sourceOfFunds as Json)['card'] as Json)['number'] as string
  const fault = JSON.stringify({ match: { card: number.slice(-4), times: 1 }, do: { no_answer: true } })
  await send('POST', `${world.acquirerAdminUrl}/faults`, fault, { 'content-type': 'application/json' })
  assert.deepEqual(outcomeOf(await app.ended(one)), ['DECLINED', 4008, undefined])
  const { hold_order_id: holdId } = await sums.rowOf(one)
  assert.deepEqual(
    (await ledger(world, String(holdId))).map(({ state }) => state),
    ['reversed'],
  )
})

test('a wrong address and posts that are no form are refused', async () => {
  const asked = await sums.asked(begin())
  assert.equal((await send('GET', `${world.baseUrl}/random-sum/${'x'.repeat(22)}`)).httpStatus, 404)
  assert.equal((await send('GET', `${world.baseUrl}/random-sum/x`)).httpStatus, 404)
  assert.equal((await send('POST', asked.url, '%zz', { 'content-type': 'application/x-www-form-urlencoded' })).httpStatus, 400)
  for (const no of ['0', '2', '-1', 'x', '']) {
    const { httpStatus } = await sums.answer(asked.url, '9.99', Number(no || NaN))
    assert.equal(httpStatus, 303)
  }
  assert.equal((await sums.rowOf(asked.one))['wrong_answers'], 0)
  assert.equal((await send('GET', `${asked.url}/state`)).body, 'asking')
})

describe('the fee of a transfer', () => {
  /** A transfer that waits for the choice. */
  async function listed() {
    const one = app.begin('transfer', { endpoint: world.endpoints.mobile_fee, amountCentis: 1_000 })
    const token = await app.accepted(one)
    assert.equal((await app.ended(one, token)).state, 'TRANSFER_FEE_REQUEST')
    return { one, token }
  }
  const sumsOf = ({ state, errorCode, transaction }: Json) => {
    const { amountCentis, commissionCentis } = transaction as Json
    return [state, errorCode, amountCentis, commissionCentis]
  }

  test('without a choice it is declined after fifteen minutes, and nothing was debited', async () => {
    const { one, token } = await listed()
    const refused = async () => {
      const { status, body } = await app.complete(one, token, 'economy')
      assert.deepEqual([status, (body.error as Json)['message']], [400, 'no fee is waited for'])
    }
    const { rests_until: until_, created_at: from } = await sums.rowOf(one)
    const minutes = (Number(until_) - Number(from)) / 60_000
    assert.ok(minutes >= 15 && minutes < 17, `${minutes} minutes`)
    await database.query(`update mobile_invoice set rests_until = now() - interval '1 second' where invoice_id = $1`, [
      one.invoiceId,
    ])
    await refused()
    await database.query(`update mobile_invoice set due_at = now() - interval '1 second' where invoice_id = $1`, [one.invoiceId])
    const end = await until(
      () => app.status(one, token),
      ({ body }) => body.state === 'DECLINED',
    )
    assert.deepEqual(sumsOf(end.body), ['DECLINED', 4006, 1_000, 0])
    assert.deepEqual(await ledger(world, end.body.orderId as string), [])
    await refused()
  })

  test('a random sum is asked for after the choice, and the page shows the debit', async () => {
    const settings = { randomSum: true, merchantServerUrl: app.merchant.url }
    await database.query(`update endpoint set settings = settings || $1::jsonb where name = 'mobile_fee'`, [settings])
    await database.query('update config_version set version = version + 1')
    const chosen = async () => {
      const { one, token } = await listed()
      await app.complete(one, token, 'express')
      return { one, token, seen: await app.ended(one, token) }
    }
    const { one, token, seen } = await until(chosen, ({ seen: its }) => its.state === 'REDIRECT_REQUEST')
    const url = seen.redirectUrl as string
    assert.match(await sums.page(url), /Transfer with Sandbox Shop[^]*12\.15/)
    await sums.answer(url, (Number((await sums.rowOf(one)).sum_minor) / 100).toFixed(2), 1)
    const { body } = await until(
      () => app.status(one, token),
      ({ body: its }) => its.state === 'APPROVED',
    )
    assert.deepEqual([...sumsOf(body), body.randomSumAuthStatus], ['APPROVED', undefined, 1_000, 215, 'AUTHENTICATED'])
    const books = await ledger(world, body.orderId as string)
    assert.deepEqual(books.map(({ kind, amountMinor }) => `${kind} ${amountMinor}`).sort(), ['credit 1000', 'debit 1215'])
  })
})
