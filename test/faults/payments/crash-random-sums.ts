import assert from 'node:assert/strict'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { ledger } from '../../conformance/requests/client.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { until } from '../../harness/clock/until.ts'
import type { Begun, Json } from '../../wire/mobile/mobile-app.ts'
import type { Asked } from '../../wire/mobile/mobile-sum-page.ts'
import { app, database, desk, resting, sums as page, whenDead, world, type UnderWay } from './crash-scene.ts'

/** Random sums that the kill finds under way: one hold, given back once, and at most one charge. */

const approved = ['APPROVED', undefined, 'AUTHENTICATED']
const outcomeOf = ({ state, errorCode, randomSumAuthStatus }: Json) => [state, errorCode, randomSumAuthStatus]

/** Above what the acquirer approves without CVV2: it has to be there still. */
const begin = (number = newCard('410000')) =>
  app.begin('sale', { endpoint: world.endpoints.mobile_random_sum, amountCentis: 200_000, number })

/** Whoever wants these rows waits until the gateway is dead. */
async function locked(sql: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const rival = await connectOwn(world)
  await rival.query('begin')
  await rival.query(sql, values)
  let held = true
  const release = async () => {
    if (!held) return
    held = false
    await rival.query('rollback')
    await rival.end()
  }
  whenDead(release)
  return release
}
const noNewOrders = () => locked('lock table order_key in exclusive mode')
const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** The gateway has come this far, and waits for a lock. */
async function waitsAt(isThere: () => Promise<boolean>): Promise<void> {
  const waits = async () => (await isThere()) && (await database.query(waiting)).rowCount! > 0
  assert.ok(await until(waits, Boolean), 'the gateway waits')
}
const stateIs = (one: Begun, state: string) => async () => (await page.rowOf(one))?.['state'] === state

async function settledOnce(asked: Asked, outcome: unknown[], charges: number): Promise<void> {
  assert.deepEqual(outcomeOf(await page.final(asked)), outcome)
  assert.equal((await page.released(asked)).length, 1, 'one hold, given back')
  const { rows } = await database.query<{ kind: string }>(
    `select kind from all_transactions where order_id = $1 order by transaction_no`,
    [asked.holdId],
  )
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ['preauth', 'void'],
  )
  const { order_id: orderId } = await page.rowOf(asked.one)
  assert.equal((await ledger(world, orderId)).length, charges)
}

const held: UnderWay = {
  what: 'a hold at the acquirer: it is taken back, and the transaction declined',
  begins: async () => async () => {
    const number = newCard('410000')
    await desk.script({ card: number.slice(-4), times: 1 }, { no_answer: true })
    const one = begin(number)
    const token = await app.accepted(one)
    const books = async () => ledger(world, String((await page.rowOf(one))['hold_order_id'] ?? 0))
    await until(books, (entries) => entries.length === 1)
    return async () => {
      assert.deepEqual(outcomeOf(await app.ended(one, token)), ['DECLINED', 4008, undefined])
      assert.deepEqual(
        (await books()).map(({ state }) => state),
        ['reversed'],
      )
    }
  },
}

/** All that follows waits behind this one, as commits of orders come one after the other. */
const notHeld: UnderWay = {
  what: 'a hold that is not made yet: it is made once',
  begins: async () => async () => {
    const one = begin()
    await noNewOrders()
    await app.accepted(one)
    await waitsAt(stateIs(one, 'holding'))
    return async () => {
      const asked = await page.asked(one)
      await page.answer(asked.url, asked.sum, 1)
      await settledOnce(asked, approved, 1)
    }
  },
}
/** Prepared beforehand, and then answered while no order can be committed. */
const answered = (what: string, wrong: number, state: string, outcome: unknown[], charges: number): UnderWay => ({
  what,
  async begins() {
    const asked = await page.asked(begin())
    for (let no = 1; no < wrong; no++) await page.wrong(asked, no)
    return async () => {
      if (wrong > 0) await page.wrong(asked, wrong)
      else await page.answer(asked.url, asked.sum, 1)
      await waitsAt(stateIs(asked.one, state))
      return () => settledOnce(asked, outcome, charges)
    }
  },
})

const madeUnsaid: UnderWay = {
  what: 'an order that is made, and the invoice does not say so yet',
  async begins() {
    const asked = await page.asked(begin())
    const { order_id: orderId } = await page.rowOf(asked.one)
    return async () => {
      const release = await noNewOrders()
      await page.answer(asked.url, asked.sum, 1)
      await waitsAt(stateIs(asked.one, 'ordering'))
      await locked('select from mobile_invoice where invoice_id = $1 for update', [asked.one.invoiceId])
      await release()
      const status = () => database.query<{ status: string }>('select status from orders where order_id = $1', [orderId])
      await waitsAt(async () => (await status()).rows[0]?.status === 'approved')
      return () => settledOnce(asked, approved, 1)
    }
  },
}
const notReleased: UnderWay = {
  what: 'a right sum whose hold is not given back yet',
  async begins() {
    const asked = await page.asked(begin())
    return async () => {
      await locked('select from orders where order_id = $1 for update', [asked.holdId])
      await page.answer(asked.url, asked.sum, 1)
      await waitsAt(stateIs(asked.one, 'ordering'))
      return () => settledOnce(asked, approved, 1)
    }
  },
}

export const sums = {
  resting: [
    resting('a cardholder who is asked: page, tries and CVV2 are still there', async () => {
      const asked = await page.asked(begin())
      await page.wrong(asked, 1)
      const was = await page.rowOf(asked.one)
      return async () => {
        assert.deepEqual(await page.rowOf(asked.one), was)
        assert.match(await page.page(asked.url), /2 tries/)
        await page.answer(asked.url, asked.sum, 2)
        await settledOnce(asked, approved, 1)
      }
    }),
  ],
  last: [madeUnsaid, notReleased],
  atAcquirer: [held],
  locked: [
    notHeld,
    answered('a right sum whose order is not made yet', 0, 'ordering', approved, 1),
    answered(
      'a third wrong sum whose hold is not given back yet: nothing is charged',
      3,
      'releasing',
      ['DECLINED', 4007, 'NOT_AUTHENTICATED'],
      0,
    ),
  ],
}
