import assert from 'node:assert/strict'
import { accepted, notEmpty, order, postSale, signedSale, statusOf, untilStatus } from '../../conformance/requests/client.ts'
import type { Changes, Fields, Order } from '../../conformance/requests/client.ts'
import { ended, follow, preauth, sumsOf, type Operation } from '../../harness/world/follow.ts'
import { until } from '../../harness/clock/until.ts'
import { desk, hangs, merchant, resting, servedAt, whenDead, world, type UnderWay } from './crash-scene.ts'

/** Sales, and captures, returns and voids, that the kill finds under way. */

/** Usually two seconds or less: the sweep finds what the dead process had in hand. */
export const takenUpWithinMs = 20_000

/** Each with the sums that stand when it is through, and when it was taken back. */
// oxfmt-ignore
const followUps = [
  { kind: 'capture', operation: 'capture', payment: 'preauth', message: 'authorisation', type: 'capture',  through: ['1050', '0'],    back: ['0', '0'] },
  { kind: 'return',  operation: 'return',  payment: 'sale',    message: 'authorisation', type: 'reversal', through: ['1050', '1050'], back: ['1050', '0'] },
  { kind: 'void',    operation: 'void',    payment: 'sale',    message: 'reversal',      type: 'void',     through: ['1050', '0'],    back: undefined },
  { kind: 'cancel',  operation: 'return',  payment: 'preauth', message: 'reversal',      type: 'cancel',   through: ['0', '0'],       back: undefined },
] as const
type FollowUp = (typeof followUps)[number]

interface Asked {
  one: FollowUp
  made: Order
  path: string
  serial: string
}

const isOver = ({ status }: Fields) => status !== 'processing' && status !== 'unknown'
const over = (sold: Order) => untilStatus(world, sold, isOver, 120_000)
const isReversed = ({ status, 'error-code': code }: Fields) => assert.deepEqual([status, code], ['error', '911'])
const sell = (path: string, changes: Changes) => order(world, { server_callback_url: `${merchant.origin}${path}`, ...changes })
/** What happened to an order after a moment. */
const eventsAfter = (orderId: string, at: number) =>
  desk.rows<{ event: string; at: number }>(
    `select event, extract(epoch from at)::float8 * 1000 as at from all_events
     where order_id = $1 and at > to_timestamp($2) order by event_no`,
    [orderId, at / 1_000],
  )

async function heardAt(path: string) {
  const calls = await until(
    () => merchant.calls(path),
    (all) => all.some(({ answer }) => answer === 200),
  )
  return calls.filter(({ answer }) => answer === 200).map(({ query }) => query.get('status'))
}
const toldOnce = async (path: string, status: string): Promise<void> => assert.deepEqual(await heardAt(path), [status])

const authorised: UnderWay = {
  what: 'an authorisation: it is taken back, never repeated; the same request is the same order',
  begins: async () => async () => {
    await desk.script({ amount_minor: '2001' }, { hold: true })
    const fields = signedSale(world, { amount: '20.01', server_callback_url: `${merchant.origin}/authorising` })
    const sold = accepted(await postSale(world, fields))
    await until(() => desk.entries(sold.orderid), notEmpty)
    const killedAt = Date.now()
    return async () => {
      assert.equal(accepted(await postSale(world, fields)).orderid, sold.orderid)
      isReversed(await over(sold))
      assert.deepEqual(
        (await desk.entries(sold.orderid)).map(({ state }) => state),
        ['reversed'],
      )
      assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale unknown', '2 reversal approved 400'])
      const [first] = await eventsAfter(sold.orderid, killedAt)
      assert.equal(first!.event, 'lease lost')
      assert.ok(first!.at - servedAt() < takenUpWithinMs, `picked up ${Math.round(first!.at - servedAt())} ms after the restart`)
      await toldOnce('/authorising', 'error')
    }
  },
}

const untold = resting('an outcome without its callback: the callback is sent after the restart', async () => {
  const sold = await sell('/hangs', { amount: '20.03' })
  assert.equal((await over(sold)).status, 'approved')
  await until(
    () => merchant.calls('/hangs'),
    (calls) => calls.length === 1,
  )
  whenDead(async () => void (hangs.now = false))
  return async () => {
    await toldOnce('/hangs', 'approved')
    const tookMs = merchant.calls('/hangs').at(-1)!.at - servedAt()
    assert.ok(tookMs < takenUpWithinMs, `picked up ${Math.round(tookMs)} ms after the restart`)
    assert.equal(merchant.calls('/hangs').length, 2)
  }
})

const reversed: UnderWay = {
  what: 'the reversal of a sale: it is sent again under the same names',
  begins: async () => async () => {
    await desk.script({ amount_minor: '2004' }, { no_answer: true })
    await desk.script({ amount_minor: '2004', message: 'reversal' }, { no_answer: true })
    const sold = await sell('/reversing', { amount: '20.04' })
    await until(
      () => desk.entries(sold.orderid),
      ([entry]) => entry?.state === 'reversed',
    )
    assert.equal((await statusOf(world, sold)).status, 'unknown')
    return async () => {
      isReversed(await over(sold))
      assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale unknown', '2 reversal approved 400'])
      const events = (await eventsAfter(sold.orderid, 0)).slice(-3)
      assert.deepEqual(
        events.map(({ event }) => event),
        ['taken up', 'reversal acknowledged', 'reversed'],
      )
      assert.ok(events[0]!.at - servedAt() < takenUpWithinMs)
      await toldOnce('/reversing', 'error')
    }
  },
}

const justAccepted: UnderWay = {
  what: 'a sale right after the answer to its request: the order exists, ends, and was sent once at the most',
  begins: async () => async () => {
    const sold = await sell('/accepted', { amount: '20.02' })
    return async () => {
      const { status } = await over(sold)
      const entries = await desk.entries(sold.orderid)
      assert.ok(entries.length <= 1)
      assert.equal(entries.filter(({ state }) => state === 'approved').length, status === 'approved' ? 1 : 0)
      // The process may die after it has sent the callback and before it has noted that.
      const heard = await heardAt('/accepted')
      assert.ok(heard.length <= 2 && heard.every((one) => one === status), heard.join())
    }
  },
}

let paths = 0
async function paid(payment: 'sale' | 'preauth') {
  const path = `/told/${++paths}`
  const made = await (payment === 'sale' ? order : preauth)(world, { notify_url: `${merchant.origin}${path}` })
  assert.equal((await untilStatus(world, made, ({ status }) => status !== 'processing')).status, 'approved')
  return { made, path }
}
const ask = async (operation: Operation, made: Order) => accepted(await follow(world, operation, made)).serial

/** At most one entry of its own, standing exactly when it is approved; one outcome is reported. */
async function settledWell({ one, made, serial, path }: Asked): Promise<Fields> {
  const final = await ended(world, made, serial)
  const own = (await desk.entries(made.orderid)).slice(1)
  assert.ok(own.length <= 1, `${one.kind} has ${own.length} entries`)
  if (final.status === 'approved') assert.deepEqual(await sumsOf(desk, made), one.through)
  else {
    assert.ok(one.back, `a ${one.kind} ended as ${final.status}`)
    isReversed(final)
    assert.deepEqual(await sumsOf(desk, made), one.back)
  }
  const calls = await until(
    () => merchant.calls(path),
    (all) => all.some(({ query }) => query.get('type') === one.type),
  )
  const told = new Set(calls.map(({ query }) => `${query.get('type')} ${query.get('status')}`))
  assert.deepEqual([...told].sort(), [`${one.payment} approved`, `${one.type} ${final.status}`].sort())
  return final
}

const atAcquirer = followUps.map((one): UnderWay => ({
  what: `a ${one.kind} at the acquirer: it is ${one.back ? 'taken back, and may be asked again' : 'repeated'}`,
  async begins() {
    const { made, path } = await paid(one.payment)
    await desk.script({ order_id: made.orderid, message: one.message, times: 1 }, { hold: true })
    return async () => {
      const serial = await ask(one.operation, made)
      await until(
        () => desk.entries(made.orderid),
        (entries) => (one.message === 'reversal' ? entries[0]!.state === 'reversed' : entries.length === 2),
      )
      return async () => {
        assert.equal((await settledWell({ one, made, path, serial })).status, one.back ? 'error' : 'approved')
        const attempts = one.back ? [`2 ${one.kind} unknown`, '3 reversal approved 400'] : [`2 ${one.kind} approved 400`]
        assert.deepEqual(await desk.attempts(made.orderid), [`1 ${one.payment} approved 000`, ...attempts])
        if (one.back) assert.equal((await ended(world, made, await ask(one.operation, made))).status, 'approved', 'asked again')
      }
    }
  },
}))

const beingReversed = followUps
  .filter(({ back }) => back)
  .map((one): UnderWay => ({
    what: `the reversal of a lost ${one.kind}: it is sent again under the same names`,
    async begins() {
      const { made, path } = await paid(one.payment)
      await desk.script({ order_id: made.orderid, times: 1 }, { no_answer: true })
      await desk.script({ order_id: made.orderid, message: 'reversal' }, { no_answer: true })
      return async () => {
        const serial = await ask(one.operation, made)
        await until(
          () => desk.entries(made.orderid),
          (entries) => entries[1]?.state === 'reversed',
        )
        return async () => {
          assert.equal((await settledWell({ one, made, path, serial })).status, 'error')
          const attempts = await desk.attempts(made.orderid)
          assert.deepEqual(attempts.slice(1), [`2 ${one.kind} unknown`, '3 reversal approved 400'])
        }
      }
    },
  }))

const justAsked = followUps.map((one): UnderWay => ({
  what: `five ${one.kind}s right after the answer to each: whatever it comes to, one entry at the most`,
  async begins() {
    const payments = await Promise.all(Array.from({ length: 5 }, () => paid(one.payment)))
    return async () => {
      const all = await Promise.all(payments.map(async (each) => ({ one, ...each, serial: await ask(one.operation, each.made) })))
      return async () => {
        const finals = await Promise.all(all.map(settledWell))
        if (!one.back) assert.ok(finals.every(({ status }) => status === 'approved'))
      }
    }
  },
}))

export const payments = {
  resting: [untold],
  atAcquirer: [authorised, ...atAcquirer],
  beingReversed: [reversed, ...beingReversed],
  justAccepted: [justAccepted, ...justAsked],
}
