import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { openFaultDesk, type FaultDesk } from '../harness/fault-desk.ts'
import { startWorld, type World } from '../harness/world.ts'
import { accepted, newOrderId, refused, settled, statusOf, until, type Changes, type Fields, type Order } from './client.ts'
import { approved, begin, booked, bySerial, follow, followed, line, moved, notAllowed, part, times } from './operations.ts'
import type { FollowUp, Initial } from './operations.ts'

/** The same request twice, requests at once, and Idempotency-Key: what moves money moves it once, and never more than there is. */

let world: World
let desk: FaultDesk
before(async () => {
  world = await startWorld()
  desk = await openFaultDesk(world)
  // So that an answer may be late, and is no lost one.
  await desk.gate({ answerTimeoutMs: 60_000 })
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

const taken = (replies: readonly Fields[]): Fields[] => replies.filter(({ type }) => type === 'async-response')
/** The others are refused for what is left, or since nothing is. */
function othersRefused(replies: readonly Fields[]): void {
  for (const reply of replies) if (reply.type !== 'async-response') refused(reply, reply['error-code'] === '9' ? 9 : 10)
}

/** An amount that no other case uses, by which the acquirer is told to think it over; long enough for a few requests in the meantime, on a slow machine too. */
const thinksForMs = 4_000
let amounts = 0
async function slowAmount(): Promise<string> {
  const minor = String(6_100 + (amounts += 1))
  await desk.script({ amount_minor: minor, times: 1 }, { delay_ms: thinksForMs })
  return `${minor.slice(0, 2)}.${minor.slice(2)}`
}

// oxfmt-ignore
const movers: [FollowUp, Initial][] = [['capture', 'preauth'], ['return', 'sale']]

describe('a follow-up equal to one that is still open answers with that one', { concurrency: 4 }, () => {
  for (const [operation, begins] of movers) {
    it(`${operation}: 20 times at once and again: one transaction, a serial number each that means it`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const wish = part(await slowAmount(), { comment: 'once' })
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
    it(`${operation} of all: at once and again: one transaction`, async () => {
      const made = await approved(world, begins)
      await desk.script({ order_id: made.orderid, times: 1 }, { delay_ms: thinksForMs })
      for (const reply of await times(10, () => follow(world, operation, made))) accepted(reply)
      await settled(world, made)
      assert.equal((await booked(world, made)).length, 2)
      notAllowed(await follow(world, operation, made), operation, made)
    })
    // oxfmt-ignore
    const different: [string, Changes][] = [['another comment', { comment: 'twice' }], ['no comment', { comment: undefined }], ['another amount', { amount: '1.00' }]]
    for (const [what, changes] of different) {
      it(`${operation} with ${what}: a transaction of its own`, async () => {
        const made = await approved(world, begins, { amount: '200.00' })
        const wish = part(await slowAmount(), { comment: 'once' })
        const [one, other] = [
          await follow(world, operation, made, wish),
          await follow(world, operation, made, { ...wish, ...changes }),
        ]
        accepted(one)
        accepted(other)
        await until(() => booked(world, made), (books) => books.length === 3) // oxfmt-ignore
        await settled(world, made)
        assert.equal((await booked(world, made)).length, 3)
      })
    }
    it(`${operation}: when the first has ended, the same again is another one`, async () => {
      const made = await approved(world, begins)
      const first = await followed(world, operation, made, part('1.00'))
      const second = await followed(world, operation, made, part('1.00'))
      assert.notEqual(first.serial, second.serial)
      assert.equal((await booked(world, made)).length, 3)
    })
  }
})

describe('Idempotency-Key', { concurrency: 4 }, () => {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
  for (const [operation, begins] of movers) {
    it(`${operation}: the same key answers with the same transaction, also after it ended`, async () => {
      const made = await approved(world, begins)
      const key = keyed(randomUUID())
      const first = await followed(world, operation, made, part('1.00'), key)
      const again = await followed(world, operation, made, part('1.00'), key)
      assert.notEqual(again.serial, first.serial)
      assert.equal((await booked(world, made)).length, 2)
      assert.equal((await bySerial(world, made, again.serial))['processor-rrn'], first.seen['processor-rrn'])
      for (const reply of await times(20, () => follow(world, operation, made, part('1.00'), key))) accepted(reply)
      assert.equal((await booked(world, made)).length, 2)
    })
    it(`${operation}: 20 at once with one key are one, with 5 keys and comments five`, async () => {
      const made = await approved(world, begins)
      const [key, keys] = [randomUUID(), Array.from({ length: 5 }, () => randomUUID())]
      for (const reply of await times(20, () => follow(world, operation, made, part('1.00'), keyed(key)))) accepted(reply)
      await until(() => booked(world, made), (books) => books.length === 2) // oxfmt-ignore
      const half = (at: number) => part('0.50', { comment: `number ${at % 5}` })
      for (const reply of await times(20, (at) => follow(world, operation, made, half(at), keyed(keys[at % 5] ?? ''))))
        accepted(reply)
      await until(() => booked(world, made), (books) => books.length === 7) // oxfmt-ignore
      const { charged, returned } = await moved(world, made)
      assert.equal(operation === 'capture' ? charged : returned, 100 + 5 * 50)
      assert.equal((await booked(world, made)).length, 7)
    })
    it(`${operation}: one that is still open is the same under another key too, which goes on meaning it`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const wish = part(await slowAmount())
      const keys = [keyed(randomUUID()), keyed(randomUUID())]
      for (const key of [...keys, {}]) accepted(await follow(world, operation, made, wish, key))
      assert.equal((await settled(world, made)).status, 'approved')
      for (const key of keys) accepted(await follow(world, operation, made, wish, key))
      refused(await follow(world, operation, made, { ...wish, comment: 'another' }, keys[1]), 3)
      assert.equal((await booked(world, made)).length, 2)
    })
    it(`${operation} of all with its key: the same transaction, though nothing is left`, async () => {
      const made = await approved(world, begins)
      const key = keyed(randomUUID())
      await followed(world, operation, made, {}, key)
      await followed(world, operation, made, {}, key)
      assert.equal((await booked(world, made)).length, 2)
      notAllowed(await follow(world, operation, made, {}, keyed(randomUUID())), operation, made)
      notAllowed(await follow(world, operation, made), operation, made)
    })
  }
  it('void: the same key answers with the same void, another one is refused', async () => {
    const made = await approved(world, 'sale')
    const key = keyed(randomUUID())
    const first = await followed(world, 'void', made, {}, key)
    assert.notEqual((await followed(world, 'void', made, {}, key)).serial, first.serial)
    notAllowed(await follow(world, 'void', made, {}, keyed(randomUUID())), 'void', made)
    assert.deepEqual(await booked(world, made), ['sale 1050 reversed'])
  })
  it('a request that does not hold is refused, whatever its key was used for', async () => {
    const made = await approved(world, 'sale')
    const key = keyed(randomUUID())
    await followed(world, 'return', made, part('1.00'), key)
    refused(await follow(world, 'return', made, part('1.00', { control: 'x' }), key), 2)
    refused(await follow(world, 'return', made, part('1.00', { comment: 'x'.repeat(51) }), key), 3)
  })
  it('the key of one merchant, and of one order, says nothing of another', async () => {
    const key = keyed(randomUUID())
    const way = { as: world.other, path: world.other.endpoint }
    const [mine, second, theirs] = [
      await approved(world, 'sale'),
      await approved(world, 'sale'),
      await approved(world, 'sale', {}, way),
    ]
    await followed(world, 'return', mine, part('1.00'), key)
    accepted(await follow(world, 'return', theirs, part('1.00'), { ...way, ...key }))
    const reply = await follow(world, 'return', second, part('1.00'), key)
    if (reply.type === 'async-response') assert.equal(accepted(reply).orderid, second.orderid, 'never answers with another order')
    assert.equal((await settled(world, theirs, way))['transaction-type'], 'reversal')
  })
  it('a request that is not equal is never answered with the transaction of the key as though it were done', async () => {
    const made = await approved(world, 'sale')
    const key = keyed(randomUUID())
    const first = await followed(world, 'return', made, part('1.00'), key)
    const reply = await follow(world, 'return', made, part('2.00'), key)
    if (reply.type !== 'async-response') return
    await settled(world, made)
    const rrn = (await bySerial(world, made, reply['serial-number'] ?? ''))['processor-rrn']
    assert.notEqual(rrn, first.seen['processor-rrn'], 'a return of 2.00 is not the return of 1.00')
    assert.equal((await moved(world, made)).returned, 300)
  })
  for (const operation of ['sale', 'preauth'] as const) {
    it(`a ${operation} with its key answers with the same order also after the 10 s in which any repeat does`, async () => {
      const key = keyed(randomUUID())
      const [fields, twin] = [
        { client_orderid: newOrderId(), cvv2: '116' },
        { client_orderid: newOrderId(), cvv2: '116' },
      ]
      const first = accepted(await begin(world, operation, fields, key))
      const unkeyed = accepted(await begin(world, operation, twin))
      await settled(world, first)
      const later = await until(
        async () => accepted(await begin(world, operation, twin)).orderid,
        (orderid) => orderid !== unkeyed.orderid,
      )
      assert.notEqual(later, unkeyed.orderid, 'without a key, another order')
      assert.equal(accepted(await begin(world, operation, fields, key)).orderid, first.orderid)
      assert.equal((await booked(world, first)).length, 1)
    })
  }
})

describe('races', () => {
  it('64 returns of 1.00 at once, each with another comment, on 10.00: ten are taken, and no more than was paid goes back', async () => {
    const made = await approved(world, 'sale', { amount: '10.00' })
    const replies = await times(64, (at) => follow(world, 'return', made, part('1.00', { comment: `number ${at}` })))
    assert.equal(taken(replies).length, 10)
    othersRefused(replies)
    await until(() => booked(world, made), (books) => books.length === 11) // oxfmt-ignore
    await settled(world, made)
    assert.deepEqual(await moved(world, made), { charged: 1000, returned: 1000, held: 0 })
    assert.equal((await booked(world, made)).length, 11)
  })
  it('40 captures of 0.75 at once on 10.00: thirteen are taken, 9.75 in all, and the rest is 0.25', async () => {
    const made = await approved(world, 'preauth', { amount: '10.00' })
    const replies = await times(40, (at) => follow(world, 'capture', made, part('0.75', { comment: `number ${at}` })))
    assert.equal(taken(replies).length, 13)
    for (const reply of replies) if (reply.type !== 'async-response') refused(reply, 10, /^Amount exceeds 0\.25$/)
    await until(() => booked(world, made), (books) => books.length === 14) // oxfmt-ignore
    assert.equal((await followed(world, 'capture', made)).seen.status, 'approved')
    assert.deepEqual(await moved(world, made), { charged: 1000, returned: 0, held: 1000 })
  })
  it('parts and the whole at once: the sum is never above what was paid', async () => {
    const made = await approved(world, 'sale', { amount: '10.00' })
    const wishes = [{}, part('10.00'), part('6.00'), part('4.00'), part('0.01'), part('9.99')]
    const replies = await times(36, (at) => follow(world, 'return', made, { ...wishes[at % 6], comment: `number ${at}` }))
    othersRefused(replies)
    assert.ok(taken(replies).length > 0)
    await until(() => booked(world, made), (books) => books.length === taken(replies).length + 1) // oxfmt-ignore
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
  it('a capture against a return of the same preauth, 20 rounds: what is captured is never also released', async () => {
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
  it('20 voids at once: one reversal', async () => {
    const made = await approved(world, 'sale')
    const replies = await times(20, () => follow(world, 'void', made))
    assert.ok(taken(replies).length > 0)
    othersRefused(replies)
    await settled(world, made)
    assert.deepEqual(await booked(world, made), ['sale 1050 reversed'])
  })
})
