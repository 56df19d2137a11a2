import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, order, untilStatus, type Fields, type Order } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { booksAgree, ended, follow, preauth, sumsOf, type Operation } from '../harness/follow.ts'
import { openReceiver } from '../harness/receiver.ts'
import { closing, openWorld } from '../harness/opening.ts'

/** kill -9 before a follow-up has ended. The simulated acquirer dies too, but keeps its books. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 6_000 })

/** Each with the sums that stand when it is through, and when it was taken back. */
// oxfmt-ignore
const cases = [
  { kind: 'capture', operation: 'capture', payment: 'preauth', message: 'authorisation', type: 'capture',  through: ['1050', '0'],    back: ['0', '0'] },
  { kind: 'return',  operation: 'return',  payment: 'sale',    message: 'authorisation', type: 'reversal', through: ['1050', '1050'], back: ['1050', '0'] },
  { kind: 'void',    operation: 'void',    payment: 'sale',    message: 'reversal',      type: 'void',     through: ['1050', '0'],    back: undefined },
  { kind: 'cancel',  operation: 'return',  payment: 'preauth', message: 'reversal',      type: 'cancel',   through: ['0', '0'],       back: undefined },
] as const
type Case = (typeof cases)[number]

interface Asked {
  one: Case
  made: Order
  path: string
  serial: string
}

let paths = 0
async function paid(payment: 'sale' | 'preauth'): Promise<{ made: Order; path: string }> {
  const path = `/told/${++paths}`
  const made = await (payment === 'sale' ? order : preauth)(world, { notify_url: `${merchant.origin}${path}` })
  const seen = await untilStatus(world, made, ({ status }) => status !== 'processing')
  assert.equal(seen.status, 'approved')
  return { made, path }
}

const ask = async (operation: Operation, made: Order): Promise<string> => accepted(await follow(world, operation, made)).serial

/** Callbacks of the payment, then of the follow-up, perhaps repeated; never with two outcomes. */
async function toldOf({ one, path }: Asked, status: string): Promise<void> {
  const calls = await until(
    () => merchant.calls(path),
    (all) => all.some(({ query }) => query.get('type') === one.type),
  )
  const told = new Set(calls.map(({ query }) => `${query.get('type')} ${query.get('status')}`))
  assert.deepEqual([...told].sort(), [`${one.payment} approved`, `${one.type} ${status}`].sort())
}

/** At the most one entry of its own, standing exactly when it is approved. */
async function settledWell(asked: Asked): Promise<Fields> {
  const { one, made, serial } = asked
  const final = await ended(world, made, serial)
  const own = (await desk.entries(made.orderid)).slice(1)
  assert.ok(own.length <= 1, `${one.kind} has ${own.length} entries`)
  if (final.status === 'approved') assert.deepEqual(await sumsOf(desk, made), one.through)
  else {
    assert.ok(one.back, `a ${one.kind} ended as ${final.status}`)
    assert.deepEqual([final.status, final['error-code']], ['error', '911'])
    assert.deepEqual(await sumsOf(desk, made), one.back)
  }
  await toldOf(asked, final.status!)
  return final
}

test('killed with each at the acquirer: captures and returns are taken back, voids and cancels repeated', async () => {
  const payments = await Promise.all(cases.map(({ payment }) => paid(payment)))
  for (const [at, { message }] of cases.entries())
    await desk.script({ order_id: payments[at]!.made.orderid, message, times: 1 }, { delay_ms: 5_900 })
  const all = await Promise.all(
    cases.map(async (one, at): Promise<Asked> => ({
      one,
      ...payments[at]!,
      serial: await ask(one.operation, payments[at]!.made),
    })),
  )
  for (const { one, made } of all)
    await until(
      () => desk.entries(made.orderid),
      (entries) => (one.message === 'reversal' ? entries[0]!.state === 'reversed' : entries.length === 2),
    )
  await world.crash()
  for (const asked of all) {
    const { one, made } = asked
    const final = await settledWell(asked)
    const attempts = await desk.attempts(made.orderid)
    if (one.back) {
      assert.equal(final.status, 'error')
      assert.deepEqual(attempts, [`1 ${one.payment} approved 000`, `2 ${one.kind} unknown`, '3 reversal approved 400'])
      assert.equal((await ended(world, made, await ask(one.operation, made))).status, 'approved', 'then it may be asked again')
    } else {
      assert.equal(final.status, 'approved')
      assert.deepEqual(attempts, [`1 ${one.payment} approved 000`, `2 ${one.kind} approved 400`])
    }
  }
  const { byType } = await desk.messages()
  assert.deepEqual([byType['1221'] ?? 0, byType['1201'] ?? 0], [0, 0])
})

test('killed right after the answer to each, five times: whatever it comes to, one entry at the most', async () => {
  await desk.line({ latency_ms: 50 })
  const fresh = cases.flatMap((one) => [one, one, one, one, one])
  const payments = await Promise.all(fresh.map(({ payment }) => paid(payment)))
  const all = await Promise.all(
    fresh.map(async (one, at): Promise<Asked> => ({
      one,
      ...payments[at]!,
      serial: await ask(one.operation, payments[at]!.made),
    })),
  )
  await world.crash()
  for (const asked of all) {
    const final = await settledWell(asked)
    if (!asked.one.back) assert.equal(final.status, 'approved')
  }
})

test('killed while a lost message is reversed: the reversal is sent again under the same names', async () => {
  const all: Asked[] = []
  for (const one of cases.filter(({ back }) => back)) {
    const { made, path } = await paid(one.payment)
    await desk.script({ order_id: made.orderid, times: 1 }, { no_answer: true })
    await desk.script({ order_id: made.orderid, message: 'reversal', times: 1 }, { no_answer: true })
    all.push({ one, made, path, serial: await ask(one.operation, made) })
  }
  for (const { made } of all)
    await until(
      () => desk.entries(made.orderid),
      (entries) => entries[1]?.state === 'reversed',
    )
  await world.crash()
  for (const asked of all) {
    assert.equal((await settledWell(asked)).status, 'error')
    const attempts = await desk.attempts(asked.made.orderid)
    assert.deepEqual(attempts.slice(1), [`2 ${asked.one.kind} unknown`, '3 reversal approved 400'])
    const next = await ended(world, asked.made, await ask(asked.one.operation, asked.made))
    assert.equal(next.status, 'approved')
  }
})

test('killed under a storm of parts: the sums of both books are equal, and no order gave more than it had', async () => {
  await desk.line({ latency_ms: 150 })
  const sales = await Promise.all(Array.from({ length: 20 }, () => paid('sale')))
  const serials: string[] = []
  const storm = sales.flatMap(({ made }) =>
    Array.from({ length: 6 }, async (_, part) => {
      const reply = await follow(world, 'return', made, { amount: '2.50', comment: `part ${part}` }).catch(() => undefined)
      if (reply?.type === 'async-response') serials.push(reply['serial-number']!)
    }),
  )
  await until(
    () => serials.length,
    (count) => count >= 40,
  )
  await world.crash()
  await Promise.all(storm)
  await booksAgree(desk, 120_000)
  for (const { made } of sales) {
    const given = (await desk.entries(made.orderid)).slice(1).filter(({ state }) => state === 'approved')
    assert.ok(given.length <= 4, `${given.length} times 2.50 of 10.50`)
    assert.equal((await sumsOf(desk, made))[1], String(250 * given.length))
  }
  const known = await desk.rows<{ n: number }>(
    'select count(*)::int as n from all_transactions where serial_number = any($1::uuid[])',
    [serials],
  )
  assert.equal(known[0]!.n, serials.length, 'each that was acknowledged exists')
})

test('in the end nothing is owed, and the books are equal both ways', async () => {
  await booksAgree(desk, 120_000)
})
