import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Effect } from '../../../simulators/acquirer/faults.ts'
import { callbackControl, order, statusOf, untilStatus, type Fields, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Lost, late and doubled answers, scripted at the simulated acquirer. The gate waits 2 s. */

/** Every order made here, for a last look at its callbacks. */
const made: Sold[] = []

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 2_000 })

interface Sold extends Order {
  path: string
  minor: string
  final?: Fields
  /** From then on its reversal is answered. */
  heard: () => Promise<void>
}

let sales = 0
/**
 * A sale with an amount of its own, by which scripts find it. Without `reversalTimes` the effect on
 * its reversals lasts until it is `heard`.
 */
async function sell(scripts: { sale?: Effect; saleTimes?: number; reversal?: Effect; reversalTimes?: number }): Promise<Sold> {
  const minor = String(10_000 + ++sales)
  const path = `/callback/${minor}`
  if (scripts.sale) await desk.script({ amount_minor: minor, times: scripts.saleTimes ?? 1 }, scripts.sale)
  const { reversal, reversalTimes: times } = scripts
  const match = { amount_minor: minor, message: 'reversal', ...(times === undefined ? {} : { times }) } as const
  const heard = reversal ? await desk.script(match, reversal) : () => Promise.resolve()
  const amount = `${minor.slice(0, -2)}.${minor.slice(-2)}`
  const sold: Sold = { ...(await order(world, { amount, server_callback_url: `${merchant.origin}${path}` })), path, minor, heard }
  made.push(sold)
  return sold
}

const isFinal = (seen: Fields) => seen.status !== 'processing' && seen.status !== 'unknown'
async function ended(sold: Sold, withinMs = 120_000): Promise<Fields> {
  sold.final = await until(() => statusOf(world, sold), isFinal, withinMs)
  assert.ok(isFinal(sold.final), `order ${sold.orderid} is ${sold.final.status}`)
  return sold.final
}

/** The order is seen as unknown, before any callback. Only then may its reversal be heard. */
async function unknownFor(sold: Sold): Promise<void> {
  const seen = await untilStatus(world, sold, ({ status }) => status !== 'processing')
  assert.deepEqual([seen.status, seen['order-stage'], seen['error-code']], ['unknown', 'sale_unknown', undefined])
  assert.deepEqual(merchant.calls(sold.path), [])
  await sold.heard()
}

/** It ends in error 911, with this many authorisations booked and taken back, and its attempts. */
async function takenBack(sold: Sold, attempts = ['1 sale unknown', '2 reversal approved 400']): Promise<void> {
  const final = await ended(sold)
  assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['error', 'sale_error', '911'])
  assert.equal(final['transaction-type'], 'sale', 'the reversal is not shown as the transaction of the order')
  const entries = await desk.entries(sold.orderid)
  assert.deepEqual(
    entries.map(({ state }) => state),
    ['reversed'],
  )
  assert.deepEqual(await desk.attempts(sold.orderid), attempts)
}

async function approvedOnce(sold: Sold): Promise<void> {
  const final = await ended(sold)
  assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['approved', 'sale_approved', undefined])
  assert.deepEqual(
    (await desk.entries(sold.orderid)).map(({ state }) => state),
    ['approved'],
  )
  assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale approved 000'])
}

/** A reversal that stays unanswered leaves time to look at the unknown order. */
const reluctant = { reversal: { no_answer: true } } as const

async function lostAndTakenBack(effect: Effect): Promise<void> {
  const sold = await sell({ sale: effect, ...reluctant })
  await unknownFor(sold)
  await takenBack(sold)
}

describe('without repeats, an authorisation whose answer is lost becomes unknown and is taken back', { concurrency: 8 }, () => {
  // oxfmt-ignore
  const lost: readonly [string, Effect][] = [
    ['no answer',                         { no_answer: true }],
    ['an answer after the time is up',    { delay_ms: 3_000 }],
    ['an answer after the reversal',      { answer_after_reversal: true }],
    ['an answer under a wrong STAN',      { wrong_stan: true }],
  ]
  for (const [what, effect] of lost) test(what, () => lostAndTakenBack(effect))

  test('a doubled answer counts once', async () => approvedOnce(await sell({ sale: { duplicate: true } })))
  test('an answer within the time is taken, however late', async () => approvedOnce(await sell({ sale: { delay_ms: 300 } })))

  test('a decline is final, with its code and nothing to take back', async () => {
    const sold = await sell({ sale: { decline: '116' } })
    const final = await ended(sold)
    assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['declined', 'sale_declined', '116'])
    assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale declined 116'])
  })
})

describe('a reversal is repeated until it is answered', { concurrency: 8 }, () => {
  // oxfmt-ignore
  const reversals: readonly [string, Effect, number][] = [
    ['no answer, twice',                { no_answer: true },   2],
    ['an answer after the time is up',  { delay_ms: 3_000 },   1],
    ['an answer under a wrong STAN',    { wrong_stan: true },  1],
    ['a refusal',                       { decline: '909' },    1],
    ['a doubled answer',                { duplicate: true },   1],
  ]
  for (const [what, effect, reversalTimes] of reversals)
    test(what, async () => takenBack(await sell({ sale: { no_answer: true }, reversal: effect, reversalTimes })))
  test('an acknowledgement between two tries ends it, and no further try is sent', async () => {
    const sold = await sell({ sale: { no_answer: true }, reversal: { hold: true } })
    const tries = `select at from all_events where order_id = $1 and event = 'reversal unanswered'`
    await until(
      () => desk.rows(tries, [sold.orderid]),
      ({ length }) => length === 3,
      60_000,
    )
    await sold.heard()
    await takenBack(sold)
    const taken = await desk.rows(`select at from all_events where order_id = $1 and event = 'taken up'`, [sold.orderid])
    const { length } = await desk.rows(tries, [sold.orderid])
    assert.deepEqual([length, taken.length], [3, 2], 'the next try would come after five seconds')
  })
  test('an acknowledgement under the STAN of another reversal ends neither of them', async () => {
    const pairs = Array.from({ length: 8 }, async (_, at) => {
      const silent = { no_answer: true } as const
      const sold = await sell({ sale: silent, reversal: at % 2 === 0 ? { wrong_stan: true } : silent, reversalTimes: 2 })
      await takenBack(sold)
      const unanswered = await desk.rows(`select at from all_events where order_id = $1 and event = 'reversal unanswered'`, [
        sold.orderid,
      ])
      assert.equal(unanswered.length, 2)
    })
    await Promise.all(pairs)
  })
})

test('on a line of 120 ms, and of 380 ms, every sale is approved', async () => {
  for (const latency_ms of [120, 380]) {
    await desk.line({ latency_ms })
    const sold = await Promise.all(Array.from({ length: 10 }, () => sell({})))
    for (const one of sold) await approvedOnce(one)
  }
  await desk.line({ latency_ms: 0 })
})

// Each ends the line, and with it whatever else is under way there: one after another.
// oxfmt-ignore
const breaking: readonly [string, Effect][] = [
  ['a frame of garbage',                     { garbage: true }],
  ['half a frame and the end of the line',   { half_frame: true }],
  ['the end of the line',                    { close: true }],
]
for (const [what, effect] of breaking) {
  test(`instead of an answer ${what}: unknown, and taken back over a new line`, () => lostAndTakenBack(effect))
  test(`instead of the answer to a reversal ${what}: it is repeated over a new line`, async () =>
    takenBack(await sell({ sale: { no_answer: true }, reversal: effect, reversalTimes: 1 })))
}

test('no authorisation was sent twice to a gate that does not recognise repeats', async () => {
  const { byType, duplicates } = await desk.messages()
  const entries = await desk.entries()
  assert.equal(byType['1201'] ?? 0, 0)
  assert.equal(byType['1200'], entries.length)
  assert.equal(duplicates, 0)
  assert.equal(new Set(entries.map(({ orderId }) => orderId)).size, entries.length)
})

describe('a gate that recognises repeats is asked again under the same names, which counts as the same attempt', () => {
  before(() => desk.gate({ answerTimeoutMs: 2_000, recognisesRepeats: true }))
  const asksAgain = (what: string, effect: Effect, saleTimes: number): void =>
    void test(`${what}: approved, one entry, one attempt`, async () => {
      const sold = await sell({ sale: effect, saleTimes })
      await approvedOnce(sold)
      assert.equal(await desk.repeats(sold.orderid), saleTimes)
    })
  describe('on a line that stays', { concurrency: 8 }, () => {
    // oxfmt-ignore
    const repeated: readonly [string, Effect, number][] = [
      ['no answer, then one',             { no_answer: true }, 1],
      ['no answer twice, then one',       { no_answer: true }, 2],
      ['an answer after the time is up',  { delay_ms: 3_000 }, 1],
      ['a wrong STAN',                    { wrong_stan: true }, 1],
    ]
    for (const one of repeated) asksAgain(...one)
    test('never an answer: after its repeats it is taken back', async () => {
      const sold = await sell({ sale: { no_answer: true }, saleTimes: 9, ...reluctant })
      await unknownFor(sold)
      await takenBack(sold)
    })
  })
  asksAgain('the end of the line', { close: true }, 1)
  asksAgain('garbage', { garbage: true }, 1)
  test('no message was sent a second time as a new one', async () => assert.equal((await desk.messages()).duplicates, 0))
})

test('the books are equal, and each order had one callback, with its final status', async () => {
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await until(
    () => made.filter(({ path }) => merchant.calls(path).length === 0),
    (silent) => silent.length === 0,
  )
  for (const { path, orderid, client_orderid, final } of made) {
    const calls = merchant.calls(path)
    assert.equal(calls.length, 1, `${orderid} was reported ${calls.length} times`)
    const said = Object.fromEntries(calls[0]!.query)
    assert.deepEqual([said.status, said.error_code], [final!.status, final!['error-code']])
    assert.equal(said.control, callbackControl(final!.status!, orderid, client_orderid, world.merchant.controlKey))
  }
})
