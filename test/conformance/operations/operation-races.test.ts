import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { accepted, refused, settled, statusOf, type Changes, type Fields, type Order } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openAmounts, thinksForMs } from './amounts.ts'
import { approved, booked, bySerial, follow, followed, line, moved, notAllowed, part, times, untilBooked } from './operations.ts'
import { untilDeclined, type FollowUp, type Initial } from './operations.ts'

/**
 * The same request twice, and simultaneous ones: what moves money moves it once, and never more
 * than there is.
 */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const amounts = openAmounts(desk)
// So that an answer may be late, and is no lost one.
await desk.gate({ answerTimeoutMs: 60_000 })

const taken = (replies: readonly Fields[]): Fields[] => replies.filter(({ type }) => type === 'async-response')
/** The others are refused for what is left, or since nothing is. */
function othersRefused(replies: readonly Fields[]): void {
  for (const reply of replies) if (reply.type !== 'async-response') refused(reply, reply['error-code'] === '9' ? 9 : 10)
}

const movers: [FollowUp, Initial][] = [
  ['capture', 'preauth'],
  ['return', 'sale'],
]

describe('a follow-up equal to an open or just approved one gets the same reply', { concurrency: 4 }, () => {
  for (const [operation, begins] of movers) {
    it(`${operation}: 20 simultaneous requests and one later make one transaction, each with its own serial number`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const wish = part(await amounts.slow(), { comment: 'once' })
      const replies = await times(20, () => follow(world, operation, made, wish))
      replies.push(await follow(world, operation, made, wish))
      for (const reply of replies) assert.equal(accepted(reply).orderid, made.orderid)
      const serials = replies.map((reply) => reply['serial-number'] ?? '')
      assert.equal(new Set(serials).size, 21)
      assert.equal((await settled(world, made)).status, 'approved')
      assert.equal((await booked(world, made)).length, 2)
      for (const serial of [serials[0], serials.at(-1)])
        assert.match(line(await bySerial(world, made, serial ?? '')), /^approved (capture|reversal)_approved /)
    })
    it(`${operation} of all: simultaneous and later requests make one transaction`, async () => {
      const made = await approved(world, begins)
      await desk.script({ order_id: made.orderid, times: 1 }, { delay_ms: thinksForMs })
      for (const reply of await times(10, () => follow(world, operation, made))) accepted(reply)
      await settled(world, made)
      accepted(await follow(world, operation, made))
      assert.equal((await booked(world, made)).length, 2)
      notAllowed(await follow(world, operation, made, { comment: 'another' }), operation, made)
    })
    const different: [string, Changes][] = [
      ['another comment', { comment: 'twice' }],
      ['no comment', { comment: undefined }],
      ['another amount', { amount: '1.00' }],
    ]
    for (const [what, changes] of different) {
      it(`${operation} with ${what}: a transaction of its own`, async () => {
        const made = await approved(world, begins, { amount: '200.00' })
        const wish = part(await amounts.slow(), { comment: 'once' })
        const [one, other] = [
          await follow(world, operation, made, wish),
          await follow(world, operation, made, { ...wish, ...changes }),
        ]
        accepted(one)
        accepted(other)
        await untilBooked(world, made, 3)
        await settled(world, made)
        assert.equal((await booked(world, made)).length, 3)
      })
    }
    it(`${operation}: when the first is approved, the same again is the same one, and with another comment another`, async () => {
      const made = await approved(world, begins)
      const first = await followed(world, operation, made, part('1.00'))
      const second = await followed(world, operation, made, part('1.00'))
      assert.notEqual(first.serial, second.serial)
      assert.equal(second.seen['processor-rrn'], first.seen['processor-rrn'])
      assert.equal((await booked(world, made)).length, 2)
      await followed(world, operation, made, part('1.00', { comment: 'meant again' }))
      assert.equal((await booked(world, made)).length, 3)
    })
    it(`${operation}: a declined one does not block an equal one`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const wish = part(await amounts.declined())
      const first = accepted(await follow(world, operation, made, wish))
      await untilDeclined(world, made, first.serial)
      const second = await followed(world, operation, made, wish)
      assert.equal(second.seen.status, 'approved')
      assert.notEqual(second.seen['processor-rrn'], undefined)
      assert.deepEqual((await booked(world, made)).length, 3)
    })
    it(`${operation}: 64 simultaneous requests, and one after approval, make exactly one`, async () => {
      const made = await approved(world, begins)
      for (const reply of await times(64, () => follow(world, operation, made, part('1.00')))) accepted(reply)
      await settled(world, made)
      accepted(await follow(world, operation, made, part('1.00')))
      assert.equal((await booked(world, made)).length, 2)
      const { charged, returned } = await moved(world, made)
      assert.equal(operation === 'capture' ? charged : returned, 100)
    })
  }
})

describe('the repeat window', () => {
  it('where the repeat window is 0, the same return again is another one once the first is approved', async () => {
    const way = { path: world.endpoints.strict }
    const made = await approved(world, 'sale', { phone: '+4912345678' }, way)
    const change = `update endpoint set settings = settings || '{"repeatWindowMs": 0}' where endpoint_id = $1`
    await desk.rows(change, [String(world.endpoints.strict)])
    await desk.rows('update config_version set version = version + 1')
    const again = async () => {
      await followed(world, 'return', made, part('1.00'), way)
      return booked(world, made)
    }
    // Until the gateway has read it, each is the first.
    const books = await until(again, ({ length }) => length > 2)
    assert.deepEqual(books.slice(1), ['return 100 approved', 'return 100 approved'])
  })
})

describe('races', () => {
  it('of 64 simultaneous returns of 1.00 on 10.00, ten are accepted: never more than was paid', async () => {
    const made = await approved(world, 'sale', { amount: '10.00' })
    const replies = await times(64, (at) => follow(world, 'return', made, part('1.00', { comment: `number ${at}` })))
    assert.equal(taken(replies).length, 10)
    othersRefused(replies)
    await untilBooked(world, made, 11)
    await settled(world, made)
    assert.deepEqual(await moved(world, made), { charged: 1000, returned: 1000, held: 0 })
    assert.equal((await booked(world, made)).length, 11)
  })
  it('of 40 simultaneous captures of 0.75 on 10.00, thirteen are accepted, and 0.25 is left', async () => {
    const made = await approved(world, 'preauth', { amount: '10.00' })
    const replies = await times(40, (at) => follow(world, 'capture', made, part('0.75', { comment: `number ${at}` })))
    assert.equal(taken(replies).length, 13)
    for (const reply of replies) if (reply.type !== 'async-response') refused(reply, 10, /^Amount exceeds 0\.25$/)
    await untilBooked(world, made, 14)
    assert.equal((await followed(world, 'capture', made)).seen.status, 'approved')
    assert.deepEqual(await moved(world, made), { charged: 1000, returned: 0, held: 1000 })
  })
  it('simultaneous returns of parts and the whole never exceed the paid amount', async () => {
    const made = await approved(world, 'sale', { amount: '10.00' })
    const wishes = [{}, part('10.00'), part('6.00'), part('4.00'), part('0.01'), part('9.99')]
    const replies = await times(36, (at) => follow(world, 'return', made, { ...wishes[at % 6], comment: `number ${at}` }))
    othersRefused(replies)
    assert.ok(taken(replies).length > 0)
    await untilBooked(world, made, taken(replies).length + 1)
    await settled(world, made)
    assert.ok((await moved(world, made)).returned <= 1000)
  })

  const won = (replies: Fields[], operations: FollowUp[], made: Order): FollowUp | undefined => {
    for (const [at, reply] of replies.entries())
      if (reply.type !== 'async-response') notAllowed(reply, operations[at] ?? 'void', made)
    assert.equal(taken(replies).length, 1, `one of ${operations.join(' and ')} wins`)
    return operations[replies.findIndex(({ type }) => type === 'async-response')]
  }
  // oxfmt-ignore
  const pairs: [FollowUp, FollowUp, Initial, number, Partial<Record<FollowUp, string>>][] = [
    ['capture', 'void', 'preauth', 50, { capture: 'preauth 1050 approved, capture 1050 approved', void: 'preauth 1050 reversed' }],
    ['return',  'void', 'sale',    25, { return: 'sale 1050 approved, return 1050 approved',      void: 'sale 1050 reversed' }],
  ]
  for (const [one, other, begins, rounds, books] of pairs) {
    it(`${one} against ${other}, ${rounds} rounds: exactly one of them wins, and the acquirer’s books say the same`, async () => {
      await times(5, async (lane) => {
        for (let round = lane; round < rounds; round += 5) {
          const made = await approved(world, begins)
          const operations = round % 2 === 0 ? [one, other] : [other, one]
          const replies = await Promise.all(operations.map((operation) => follow(world, operation, made)))
          const winner = won(replies, operations, made)
          assert.equal((await settled(world, made)).status, 'approved')
          assert.match((await statusOf(world, made))['order-stage'] ?? '', /^(capture|reversal|void)_approved$/)
          assert.equal((await booked(world, made)).join(', '), books[winner ?? other])
        }
      })
    })
  }
  it('a capture against a return of the same preauth, 20 rounds: never both', async () => {
    await times(4, async () => {
      for (let round = 0; round < 5; round += 1) {
        const made = await approved(world, 'preauth')
        const replies = await Promise.all((['capture', 'return'] as const).map((operation) => follow(world, operation, made)))
        assert.ok(taken(replies).length > 0)
        othersRefused(replies)
        await settled(world, made)
        const books = (await booked(world, made)).join(', ')
        assert.match(books, /^preauth 1050 (reversed|approved, capture 1050 approved(, return 1050 approved)?)$/)
      }
    })
  })
  it('20 simultaneous voids make one reversal', async () => {
    const made = await approved(world, 'sale')
    const replies = await times(20, () => follow(world, 'void', made))
    assert.ok(taken(replies).length > 0)
    othersRefused(replies)
    await settled(world, made)
    assert.deepEqual(await booked(world, made), ['sale 1050 reversed'])
  })
})
