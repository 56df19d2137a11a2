import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledger } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { connectOwn } from '../harness/own-rows.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { openApp, type Begun, type Json } from '../wire/mobile-app.ts'
import { openSumPage, type Asked } from '../wire/mobile-sum-page.ts'

/** kill -9 at every step of a random sum: one hold, given back once, and at most one charge. */

const world = await openWorld()
const database = closing(await connectOwn(world))
const desk = closing(await openFaultDesk(world))
await database.query(`update endpoint set settings = settings || '{"randomSum": true}' where name = 'plain'`)
const app = await openApp(world)
closing(app.merchant)
const sums = openSumPage(world, app, database)

/** Above what the acquirer approves without CVV2: it has to be there still. */
const amountCentis = 200_000
const begin = (): Begun => app.begin('sale', { amountCentis })
const outcomeOf = ({ state, errorCode, randomSumAuthStatus }: Json) => [state, errorCode, randomSumAuthStatus]
const approved = ['APPROVED', undefined, 'AUTHENTICATED']

/** Whoever wants these rows waits until it is released. */
async function locked(sql: string, values: unknown[] = []): Promise<{ release(): Promise<void> }> {
  const rival = await connectOwn(world)
  await rival.query('begin')
  await rival.query(sql, values)
  return {
    async release() {
      await rival.query('rollback')
      await rival.end()
    },
  }
}

const noNewOrders = () => locked('lock table order_key in exclusive mode')
const noChangeOf = (orderId: string) => locked('select from orders where order_id = $1 for update', [orderId])
const waiting = async () =>
  (await database.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rowCount!

/** The gateway has come this far, and waits for a lock. */
async function waitsAt(isThere: () => Promise<boolean>): Promise<void> {
  const waits = async () => (await isThere()) && (await waiting()) > 0
  assert.ok(await until(waits, Boolean), 'the gateway waits')
}

async function killedAt(isThere: () => Promise<boolean>, lock: { release(): Promise<void> }): Promise<void> {
  await waitsAt(isThere)
  await world.crash(() => lock.release())
}

const stateIs = (one: Begun, state: string) => async () => (await sums.rowOf(one))?.['state'] === state

async function settledOnce(asked: Asked, charges: number): Promise<void> {
  assert.equal((await sums.released(asked)).length, 1, 'one hold, given back')
  const { rows } = await database.query(`select kind from all_transactions where order_id = $1 order by transaction_no`, [
    asked.holdId,
  ])
  assert.deepEqual(
    rows.map((row) => (row as Json)['kind']),
    ['preauth', 'void'],
  )
  const { order_id: orderId } = await sums.rowOf(asked.one)
  assert.equal((await ledger(world, orderId)).length, charges)
}

async function goesOn(one: Begun): Promise<Asked> {
  const asked = await sums.asked(one)
  await sums.answer(asked.url, asked.sum, 1)
  assert.deepEqual(outcomeOf(await sums.final(asked)), approved)
  return asked
}

test('killed before the hold is made: it is made once', async () => {
  const one = begin()
  const lock = await noNewOrders()
  await app.accepted(one)
  await killedAt(stateIs(one, 'holding'), lock)
  await settledOnce(await goesOn(one), 1)
})

test('killed while the acquirer has the hold: it is taken back, and the transaction declined', async () => {
  const one = begin()
  await desk.script({ card: '1111', times: 1 }, { no_answer: true })
  const token = await app.accepted(one)
  const books = async () => ledger(world, String((await sums.rowOf(one))['hold_order_id'] ?? 0))
  await until(books, (entries) => entries.length === 1)
  await world.crash()
  assert.deepEqual(outcomeOf(await app.ended(one, token)), ['DECLINED', 4008, undefined])
  assert.deepEqual(
    (await books()).map(({ state }) => state),
    ['reversed'],
  )
})

test('killed while the cardholder is asked: page, time and CVV2 are still there', async () => {
  const asked = await sums.asked(begin())
  await sums.wrong(asked, 1)
  const was = await sums.rowOf(asked.one)
  await world.crash()
  assert.deepEqual(await sums.rowOf(asked.one), was)
  assert.match(await sums.page(asked.url), /2 tries/)
  await sums.answer(asked.url, asked.sum, 2)
  assert.deepEqual(outcomeOf(await sums.final(asked)), approved)
  await settledOnce(asked, 1)
})

test('killed after the right sum, before the hold is given back', async () => {
  const asked = await sums.asked(begin())
  const lock = await noChangeOf(asked.holdId)
  await sums.answer(asked.url, asked.sum, 1)
  await killedAt(stateIs(asked.one, 'ordering'), lock)
  assert.deepEqual(outcomeOf(await sums.final(asked)), approved)
  await settledOnce(asked, 1)
})

test('killed after the right sum, before the order is made', async () => {
  const asked = await sums.asked(begin())
  const lock = await noNewOrders()
  await sums.answer(asked.url, asked.sum, 1)
  await killedAt(stateIs(asked.one, 'ordering'), lock)
  assert.deepEqual(outcomeOf(await sums.final(asked)), approved)
  await settledOnce(asked, 1)
})

test('killed after the order is made, before the invoice says so', async () => {
  const asked = await sums.asked(begin())
  const { order_id: orderId } = await sums.rowOf(asked.one)
  const first = await noNewOrders()
  await sums.answer(asked.url, asked.sum, 1)
  await waitsAt(stateIs(asked.one, 'ordering'))
  const lock = await locked('select from mobile_invoice where invoice_id = $1 for update', [asked.one.invoiceId])
  await first.release()
  const status = () => database.query<{ status: string }>('select status from orders where order_id = $1', [orderId])
  await killedAt(async () => (await status()).rows[0]?.status === 'approved', lock)
  assert.deepEqual(outcomeOf(await sums.final(asked)), approved)
  await settledOnce(asked, 1)
})

test('killed after the last wrong sum, before the hold is given back: nothing is charged', async () => {
  const asked = await sums.asked(begin())
  await sums.wrong(asked, 1)
  await sums.wrong(asked, 2)
  const lock = await noChangeOf(asked.holdId)
  await sums.wrong(asked, 3)
  await killedAt(stateIs(asked.one, 'releasing'), lock)
  assert.deepEqual(outcomeOf(await sums.final(asked)), ['DECLINED', 4007, 'NOT_AUTHENTICATED'])
  await settledOnce(asked, 0)
})
