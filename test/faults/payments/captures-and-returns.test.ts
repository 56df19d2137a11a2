import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Effect } from '../../../simulators/acquirer/faults.ts'
import { accepted, order, refused, statusOf, untilStatus, type Fields, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { booksAgree, ended, follow, preauth, standing, sumsOf, type Operation } from '../../harness/world/follow.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Lost, late, doubled and declined answers to captures and returns. The gate waits 2 s. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 2_000 })

/** Sums in the end and once it is taken back, the stage's prefix, and the type of callbacks. */
// oxfmt-ignore
const cases = [
  {
    what: 'a capture', operation: 'capture', payment: 'preauth', head: '1 preauth',
    sums: ['1050', '0'], free: ['0', '0'], stage: 'capture', type: 'capture',
  },
  {
    what: 'a return', operation: 'return', payment: 'sale', head: '1 sale',
    sums: ['1050', '1050'], free: ['1050', '0'], stage: 'reversal', type: 'reversal',
  },
] as const
type Case = (typeof cases)[number]

let paths = 0
interface Paid extends Order {
  path: string
}
async function paid(payment: 'sale' | 'preauth', amount = '10.50'): Promise<Paid> {
  const path = `/told/${++paths}`
  const made = await (payment === 'sale' ? order : preauth)(world, { amount, notify_url: `${merchant.origin}${path}` })
  const seen = await untilStatus(world, made, ({ status }) => status === 'approved')
  assert.equal(seen.status, 'approved')
  return { ...made, path }
}

async function asked(operation: Operation, made: Order, amount?: string): Promise<string> {
  return accepted(await follow(world, operation, made, amount === undefined ? {} : { amount })).serial
}

const states = async ({ orderid }: Order) => (await desk.entries(orderid)).map(({ state }) => state)

/** The merchant hears of it once, after having heard of the payment. */
async function toldOf(made: Paid, type: string, status: string, errorCode: string | null): Promise<void> {
  const calls = await until(
    () => merchant.calls(made.path),
    (all) => all.length > 1,
  )
  assert.deepEqual(
    calls.slice(1).map(({ query }) => [query.get('type'), query.get('status'), query.get('error_code')]),
    [[type, status, errorCode]],
  )
}

function isError(final: Fields, one: Case, code: string): void {
  assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['error', `${one.stage}_error`, code])
}

async function approvedOnce(one: Case, made: Paid, serial: string): Promise<void> {
  const final = await ended(world, made, serial)
  assert.deepEqual([final.status, final['order-stage']], ['approved', `${one.stage}_approved`])
  assert.deepEqual(await states(made), ['approved', 'approved'])
  assert.deepEqual(await desk.attempts(made.orderid), [`${one.head} approved 000`, `2 ${one.operation} approved 000`])
  assert.deepEqual(await sumsOf(desk, made), one.sums)
  await toldOf(made, one.type, 'approved', null)
}

/** Unknown with its sum held; once its reversal is `heard`, the sum is free and asked for again. */
async function takenBack(one: Case, made: Paid, serial: string, heard: () => Promise<void>): Promise<void> {
  const unknown = await until(
    () => standing(world, made, serial),
    ({ status }) => status !== 'processing',
  )
  assert.deepEqual(
    [unknown.status, unknown['order-stage'], unknown['error-code']],
    ['unknown', `${one.stage}_unknown`, undefined],
  )
  assert.deepEqual(await sumsOf(desk, made), one.sums, 'what may have moved is held')
  refused(await follow(world, one.operation, made, { comment: 'another' }), 9)
  refused(await follow(world, 'void', made), 9)
  const repeat = accepted(await follow(world, one.operation, made))
  assert.equal((await standing(world, made, repeat.serial)).status, 'unknown', 'the same once more is that one')
  await heard()

  isError(await ended(world, made, serial), one, '911')
  assert.deepEqual(await states(made), ['approved', 'reversed'])
  const attempts = [`${one.head} approved 000`, `2 ${one.operation} unknown`, '3 reversal approved 400']
  assert.deepEqual(await desk.attempts(made.orderid), attempts)
  assert.deepEqual(await sumsOf(desk, made), one.free, 'what was taken back is free')
  const shown = await statusOf(world, made)
  assert.deepEqual(
    [shown.status, shown['order-stage']],
    ['error', `${one.stage}_error`],
    'the reversal is not shown as the transaction of the order',
  )
  await toldOf(made, one.type, 'error', '911')

  const again = await asked(one.operation, made)
  assert.equal((await ended(world, made, again)).status, 'approved')
  assert.deepEqual(await sumsOf(desk, made), one.sums)
  assert.deepEqual(await states(made), ['approved', 'reversed', 'approved'])
}

const answeredBy = (made: Paid, message: Effect, times = 1) => desk.script({ order_id: made.orderid, times }, message)

/**
 * Loses the next message, and keeps its reversal unanswered until the returned function is called.
 * Meanwhile a test can look at the unknown transaction.
 */
async function lostBy(made: Paid, message: Effect, times = 1): Promise<() => Promise<void>> {
  await answeredBy(made, message, times)
  return desk.script({ order_id: made.orderid, message: 'reversal' }, { no_answer: true })
}

describe('a lost one becomes unknown, holds its sum and is taken back; the payment stands', { concurrency: 16 }, () => {
  // oxfmt-ignore
  const lost: readonly [string, Effect][] = [
    ['no answer',                      { no_answer: true }],
    ['an answer after the time is up', { delay_ms: 3_000 }],
    ['an answer after the reversal',   { answer_after_reversal: true }],
    ['an answer under a wrong STAN',   { wrong_stan: true }],
  ]
  for (const one of cases) {
    for (const [what, effect] of lost)
      test(`${one.what}: ${what}`, async () => {
        const made = await paid(one.payment)
        const heard = await lostBy(made, effect)
        await takenBack(one, made, await asked(one.operation, made), heard)
      })

    test(`${one.what}: a doubled answer counts once`, async () => {
      const made = await paid(one.payment)
      await answeredBy(made, { duplicate: true })
      await approvedOnce(one, made, await asked(one.operation, made))
    })

    test(`${one.what}: an answer within the time is taken, however late`, async () => {
      const made = await paid(one.payment)
      await answeredBy(made, { delay_ms: 300 })
      await approvedOnce(one, made, await asked(one.operation, made))
    })

    test(`${one.what}: a decline is final with its code, takes nothing back, and leaves the sum free`, async () => {
      const made = await paid(one.payment)
      await answeredBy(made, { decline: '116' })
      const final = await ended(world, made, await asked(one.operation, made))
      assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['declined', `${one.stage}_declined`, '116'])
      assert.deepEqual(await desk.attempts(made.orderid), [`${one.head} approved 000`, `2 ${one.operation} declined 116`])
      assert.deepEqual(await sumsOf(desk, made), one.free)
      await toldOf(made, one.type, 'declined', '116')
      assert.equal((await ended(world, made, await asked(one.operation, made))).status, 'approved')
      assert.deepEqual(await sumsOf(desk, made), one.sums)
    })
  }
})

// One after another: they end the line with whatever else is under way there.
for (const one of cases)
  for (const [what, effect] of [
    ['half a frame and the end of the line', { half_frame: true }],
    ['garbage', { garbage: true }],
  ] as const)
    test(`${one.what} answered by ${what} is unknown, and taken back over a new line`, async () => {
      const made = await paid(one.payment)
      const heard = await lostBy(made, effect)
      await takenBack(one, made, await asked(one.operation, made), heard)
    })

test('only the lost one of three parts is taken back', async () => {
  const made = await paid('preauth')
  const first = await asked('capture', made, '3.00')
  assert.equal((await ended(world, made, first)).status, 'approved')
  const heard = await lostBy(made, { no_answer: true })
  const lost = await asked('capture', made, '4.00')
  const third = await asked('capture', made, '3.50')
  refused(await follow(world, 'capture', made, { amount: '0.01' }), 9)
  assert.equal((await ended(world, made, third)).status, 'approved')
  refused(await follow(world, 'return', made, { amount: '6.51' }), 10, 'Amount exceeds 6.50')
  await heard()
  isError(await ended(world, made, lost), cases[0], '911')
  assert.deepEqual(await sumsOf(desk, made), ['650', '0'])
  refused(await follow(world, 'capture', made, { amount: '4.01' }), 10, 'Amount exceeds 4.00')
  assert.equal((await ended(world, made, await asked('return', made))).status, 'approved')
  assert.deepEqual(await sumsOf(desk, made), ['650', '650'])
})

test('a lost one is taken back while more is asked of the order all the time', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => paid('sale')))
  const lost = await Promise.all(
    all.map(async (made) => {
      await answeredBy(made, { no_answer: true })
      await desk.script({ order_id: made.orderid, message: 'reversal', times: 1 }, { no_answer: true })
      return asked('return', made, '1.00')
    }),
  )
  // The order is in hand again and again, also when the sweep finds its reversal due.
  const moreUntil = performance.now() + 5_000
  await Promise.all(
    all.map(async (made) => {
      // No more than an order takes.
      for (let n = 0; n < 95 && performance.now() < moreUntil; n++) {
        accepted(await follow(world, 'return', made, { amount: '0.01', comment: `${n}` }))
        await pause(60)
      }
    }),
  )
  for (const [at, made] of all.entries()) isError(await ended(world, made, lost[at]!), cases[1], '911')
})

// oxfmt-ignore
const reversals = [
  { operation: 'void',   payment: 'sale',    kind: 'void',   type: 'void' },
  { operation: 'void',   payment: 'preauth', kind: 'void',   type: 'void' },
  { operation: 'return', payment: 'preauth', kind: 'cancel', type: 'cancel' },
] as const

async function releasedAfter({ operation, payment, kind, type }: (typeof reversals)[number], effect: Effect): Promise<void> {
  const made = await paid(payment)
  await desk.script({ order_id: made.orderid, message: 'reversal', times: 1 }, effect)
  const serial = await asked(operation, made)
  refused(await follow(world, 'return', made, { amount: '1.00' }), 9)
  const final = await ended(world, made, serial)
  assert.deepEqual([final.status, final['order-stage'], final['transaction-type']], ['approved', `${kind}_approved`, 'reversal'])
  assert.deepEqual(await states(made), ['reversed'])
  assert.deepEqual(await desk.attempts(made.orderid), [`1 ${payment} approved 000`, `2 ${kind} approved 400`])
  await toldOf(made, type, 'approved', null)
}

describe('a void or cancel is repeated until it is acknowledged, and is through then', { concurrency: 8 }, () => {
  const effects: readonly Effect[] = [{ no_answer: true }, { decline: '909' }, { wrong_stan: true }, { duplicate: true }]
  for (const one of reversals)
    for (const effect of effects)
      test(`${one.kind} of a ${one.payment}: ${Object.keys(effect).join()}`, () => releasedAfter(one, effect))
})

describe('while the line is down', () => {
  test('captures and returns end in error 909 in time and owe nothing; a void and a cancel wait for the line', async () => {
    const made = {
      capture: await paid('preauth'),
      return: await paid('sale'),
      void: await paid('sale'),
      cancel: await paid('preauth'),
    }
    await desk.line({ refuse: true, close_now: true })
    const serials = {
      capture: await asked('capture', made.capture),
      return: await asked('return', made.return),
      void: await asked('void', made.void),
      cancel: await asked('return', made.cancel),
    }
    for (const one of cases) {
      isError(await ended(world, made[one.operation], serials[one.operation]), one, '909')
      assert.deepEqual(await sumsOf(desk, made[one.operation]), one.free)
      assert.deepEqual(await desk.attempts(made[one.operation].orderid), [
        `${one.head} approved 000`,
        `2 ${one.operation} not sent`,
      ])
      await toldOf(made[one.operation], one.type, 'error', '909')
    }
    const tries = () =>
      desk.rows<{ n: number }>(
        `select count(*)::int as n from all_events where order_id in ($1, $2) and event = 'reversal unanswered'`,
        [made.void.orderid, made.cancel.orderid],
      )
    await until(tries, ([row]) => row!.n >= 2, 120_000)
    for (const kind of ['void', 'cancel'] as const) {
      const seen = await standing(world, made[kind], serials[kind])
      assert.deepEqual([seen.status, seen['order-stage']], ['processing', `${kind}_processing`])
      refused(await follow(world, 'capture', made[kind]), 9)
    }
    await desk.line({ refuse: false })
    for (const kind of ['void', 'cancel'] as const) {
      assert.equal((await ended(world, made[kind], serials[kind])).status, 'approved')
      assert.deepEqual(await states(made[kind]), ['reversed'])
    }
    for (const one of cases) {
      assert.deepEqual(await states(made[one.operation]), ['approved'], 'nothing was sent')
      assert.equal((await ended(world, made[one.operation], await asked(one.operation, made[one.operation]))).status, 'approved')
    }
  })
})

test('no capture and no return was sent twice to a gate that does not recognise repeats', async () => {
  const { byType, duplicates } = await desk.messages()
  assert.deepEqual([byType['1221'] ?? 0, byType['1201'] ?? 0, duplicates], [0, 0, 0])
})

describe('a gate that recognises repeats is asked again under the same names', { concurrency: 8 }, () => {
  before(() => desk.gate({ answerTimeoutMs: 2_000, recognisesRepeats: true }))
  for (const one of cases) {
    for (const times of [1, 2])
      test(`${one.what} unanswered ${times === 1 ? 'once' : 'twice'}: approved, one entry, one attempt`, async () => {
        const made = await paid(one.payment)
        await answeredBy(made, { no_answer: true }, times)
        await approvedOnce(one, made, await asked(one.operation, made))
        assert.equal(await desk.repeats(made.orderid), times)
      })
    test(`${one.what} unanswered three times is unknown, and taken back`, async () => {
      const made = await paid(one.payment)
      const heard = await lostBy(made, { no_answer: true }, 3)
      await takenBack(one, made, await asked(one.operation, made), heard)
    })
  }
})

test('in the end nothing is owed, and the books are equal both ways', async () => {
  await booksAgree(desk)
})
