import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { rebill, register } from '../cards/card.ts'
import { accepted, refused, statusOf, untilStatus, type Order } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { v4 } from '../requests/oauth.ts'
import { approved, booked, bySerial, follow, followed, line, moved, notAllowed, part } from './operations.ts'
import type { FollowUp, Initial } from './operations.ts'

/** A gate that allows no parts, and one whose acquirer does not answer. */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))

// oxfmt-ignore
const movers: [FollowUp, Initial, string, string][] = [
  ['capture', 'preauth', 'gate-partial-capture',  'preauth 1050 approved, capture 1050 approved'],
  ['return',  'sale',    'gate-partial-reversal', 'sale 1050 approved, return 1050 approved'],
]

describe('a gate that allows no parts', () => {
  before(() => desk.gate({ partialCapture: false, partialReversal: false }))
  after(() => desk.gate({ partialCapture: true, partialReversal: true }))
  for (const [operation, begins, field, books] of movers) {
    it(`${operation}: a part is refused, the whole amount is not a part, and status says ${field} disabled`, async () => {
      const made = await approved(world, begins)
      assert.equal((await statusOf(world, made))[field], 'disabled')
      refused(await follow(world, operation, made, part('10.49')), 5)
      refused(await follow(world, operation, made, part('0.01')), 5)
      assert.equal((await booked(world, made)).length, 1)
      await followed(world, operation, made, part('10.5'))
      assert.equal((await booked(world, made)).join(', '), books)
    })
    it(`${operation} without an amount: all of it`, async () => {
      const made = await approved(world, begins)
      await followed(world, operation, made)
      assert.equal((await booked(world, made)).join(', '), books)
    })
  }
  it('the whole amount of a preauth that was not captured is cancelled', async () => {
    const made = await approved(world, 'preauth')
    const { seen } = await followed(world, 'return', made, part('10.50'))
    assert.equal(line(seen), 'approved cancel_approved reversal')
  })
})

/** How many reversals of an order were lost. */
async function lost({ orderid }: Order): Promise<number> {
  const sql = `select tries from all_transactions where order_id = $1 and kind = 'reversal'`
  return (await desk.rows<{ tries: number }>(sql, [orderid]))[0]?.tries ?? 0
}

describe('an acquirer that does not answer', () => {
  for (const [at, [operation, begins]] of movers.entries()) {
    const minor = String(7_001 + at)
    const amount = `70.0${1 + at}`
    it(`${operation}: unknown counts as used, a repetition is the same one, and both sides' books agree in the end`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      // Short only for messages that are never answered.
      await desk.gate({ answerTimeoutMs: 600 })
      await desk.script({ amount_minor: minor, times: 1 }, { no_answer: true })
      await desk.script({ amount_minor: minor, message: 'reversal' }, { no_answer: true })
      const serial = accepted(await follow(world, operation, made, part(amount, { comment: 'lost' }))).serial
      const seen = await untilStatus(world, made, ({ status }) => status !== 'processing')
      assert.equal(line(seen), operation === 'capture' ? 'unknown capture_unknown capture' : 'unknown reversal_unknown reversal')
      refused(await follow(world, operation, made, part('30.00')), 10, new RegExp(`^Amount exceeds 29\\.9${9 - at}$`))
      notAllowed(await follow(world, 'void', made), 'void', made)
      accepted(await follow(world, operation, made, part(amount, { comment: 'lost' })))
      const losses = await until(
        () => lost(made),
        (count) => count >= 2,
      )
      assert.ok(losses >= 2)
      assert.ok((await fetch(`${world.acquirerAdminUrl}/faults`, { method: 'DELETE' })).ok)
      const ended = await until(
        () => bySerial(world, made, serial),
        ({ status = '' }) => status !== 'unknown' && status !== 'processing',
        180_000,
      )
      assert.match(`${ended.status} ${ended['error-code'] ?? ''}`, /^(approved |error 911)$/)
      const { charged, returned } = await moved(world, made)
      const stands = operation === 'capture' ? charged : returned
      assert.equal(stands, ended.status === 'approved' ? Number(minor) : 0)
      await desk.gate({ answerTimeoutMs: 5_000 })
      await followed(world, operation, made)
      const then = await moved(world, made)
      assert.equal(operation === 'capture' ? then.charged : then.returned, 10_000)
    })
  }
})

describe('an endpoint where return, capture and void are not enabled', () => {
  const phone = '+4912345678'
  const way = () => ({ path: world.endpoints.strict })
  let held: Order
  let paid: Order
  before(async () => {
    held = await approved(world, 'preauth', { phone }, way())
    paid = await approved(world, 'sale', { phone }, way())
    const settings = JSON.stringify({ disabledOperations: ['return', 'capture', 'void', 'make-rebill', 'create-card-ref-v4'] })
    const change = 'update endpoint set settings = settings || $1::jsonb where endpoint_id = $2'
    await desk.rows(change, [settings, String(world.endpoints.strict)])
    await desk.rows('update config_version set version = version + 1')
    // Until the gateway has read it, too much is asked for.
    await until(
      () => follow(world, 'capture', held, part('99.00'), way()),
      (reply) => reply['error-code'] === '5',
    )
  })
  for (const operation of ['return', 'capture', 'void'] as const) {
    it(`${operation}: 5, before currency, state and amount are looked at; nothing moves`, async () => {
      for (const made of [held, paid]) {
        for (const changes of operation === 'void' ? [{}] : [{}, part('99.00'), { amount: '1', currency: 'EUR' }])
          refused(await follow(world, operation, made, changes, way()), 5, 'Operation is not enabled for this endpoint')
        assert.equal((await booked(world, made)).length, 1)
      }
    })
  }
  for (const operation of ['return', 'capture'] as const)
    it(`${operation} of its order by another endpoint: 5, before the currency is looked at`, async () => {
      const euro = { amount: '1', currency: 'EUR' }
      refused(await follow(world, operation, operation === 'return' ? paid : held, euro), 5)
    })
  it('an operation of two names is off by both', async () => {
    for (const operation of ['make-rebill', 'make-rebill-sale'] as const)
      refused(await rebill(world, '1', {}, { ...way(), operation }), 5)
    refused(await rebill(world, '1', {}, { ...way(), operation: 'make-rebill-preauth' }), 7)
    refused(await register(world, paid, {}, way()), 5)
    refused(await v4(world, 'create-card-ref', { client_orderid: paid.client_orderid, orderid: paid.orderid }, {}, way().path), 5)
  })
  it('sale, preauth and account verification go on', async () => {
    for (const operation of ['sale', 'preauth', 'account-verification'] as const)
      await approved(world, operation, { phone }, way())
  })
})
