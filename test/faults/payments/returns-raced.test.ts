import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newOrderId, order, settled, type Changes, type Fields, type Order } from '../../conformance/requests/client.ts'
import { begin } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { booksAgree, ended, follow, preauth, sumsOf, type Ask, type Operation } from '../../harness/world/follow.ts'
import { startServe } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import type { World } from '../../harness/world/world.ts'

/** Two gateway processes on one database, asked together for more of one order than it has. */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const first = closing(await startServe(world))
const second = closing(await startServe(world))

const keyedSale = (at: World, key: string, changes: Changes = {}): Promise<Fields> =>
  begin(at, 'sale', changes, { headers: { 'idempotency-key': key } })

const either = (at: number): World => (at % 2 === 0 ? first : second).world
const all = (wishes: readonly [Operation, Ask][], made: Order): Promise<Fields[]> =>
  Promise.all(wishes.map(([operation, ask], at) => follow(either(at), operation, made, ask)))
const taken = (replies: Fields[]): Fields[] => replies.filter(({ type }) => type === 'async-response')
const codes = (replies: Fields[]) => [...new Set(replies.flatMap(({ 'error-code': code }) => code ?? []))]

async function approved(made: Order, replies: Fields[]): Promise<void> {
  for (const reply of replies) assert.equal((await ended(world, made, reply['serial-number']!)).status, 'approved')
}

test('30 rounds: of eight simultaneous returns of 3.00 by both processes, three fit into 10.50', async () => {
  for (let round = 0; round < 30; round++) {
    const made = await order(either(round))
    await settled(either(round), made)
    const replies = await all(
      Array.from({ length: 8 }, (_, at) => ['return', { amount: '3.00', comment: `${at}` }]),
      made,
    )
    assert.equal(taken(replies).length, 3, JSON.stringify(replies))
    assert.deepEqual(codes(replies), ['10'])
    await approved(made, taken(replies))
    assert.deepEqual(await sumsOf(desk, made), ['1050', '900'])
  }
})

test('30 rounds: the same return eight times by both processes returns the money once', async () => {
  for (let round = 0; round < 30; round++) {
    const made = await order(either(round))
    await settled(either(round), made)
    const replies = await all(
      Array.from({ length: 8 }, () => ['return', { amount: '2.00', idempotencyKey: `once-${round}` }]),
      made,
    )
    assert.equal(taken(replies).length, 8, JSON.stringify(replies))
    await approved(made, replies)
    assert.deepEqual(await sumsOf(desk, made), ['1050', '200'])
  }
})

test('10 rounds: the same return without a key, eight times over both and once when approved, pays back once', async () => {
  for (let round = 0; round < 10; round++) {
    const made = await order(either(round))
    await settled(either(round), made)
    const replies = await all(
      Array.from({ length: 8 }, () => ['return', { amount: '2.00' }]),
      made,
    )
    assert.equal(taken(replies).length, 8, JSON.stringify(replies))
    await approved(made, replies)
    replies.push(await follow(either(round + 1), 'return', made, { amount: '2.00' }))
    await approved(made, replies)
    assert.deepEqual(await sumsOf(desk, made), ['1050', '200'])
  }
})

test('10 rounds: of eight equal returns with different keys, each sent twice, five fit, each once', async () => {
  for (let round = 0; round < 10; round++) {
    const made = await order(either(round))
    await settled(either(round), made)
    const replies = await all(
      Array.from({ length: 16 }, (_, at) => ['return', { amount: '2.00', idempotencyKey: `alike-${round}-${at >> 1}` }]),
      made,
    )
    assert.equal(taken(replies).length, 10, JSON.stringify(replies))
    assert.deepEqual(codes(replies), ['10'])
    await approved(made, taken(replies))
    assert.deepEqual(await sumsOf(desk, made), ['1050', '1000'])
  }
})

test('10 rounds: of simultaneous returns of two orders and a sale under one key, one is carried out', async () => {
  for (let round = 0; round < 10; round++) {
    const [one, other] = [await order(either(round)), await order(either(round))]
    await settled(either(round), one)
    await settled(either(round), other)
    const idempotencyKey = `common-${round}`
    const replies = await Promise.all([
      follow(either(round), 'return', one, { amount: '2.00', idempotencyKey }),
      follow(either(round + 1), 'return', other, { amount: '2.00', idempotencyKey }),
      keyedSale(either(round), idempotencyKey),
    ])
    assert.equal(taken(replies).length, 1, JSON.stringify(replies))
    assert.deepEqual(codes(replies), ['11'])
    for (const reply of replies)
      if (reply.type !== 'async-response')
        assert.equal(reply['error-message'], `Idempotency-Key ${idempotencyKey} is already in use`)
    const returned = [await sumsOf(desk, one), await sumsOf(desk, other)].map(([, sum]) => sum)
    assert.equal(returned.filter((sum) => sum === '200').length, replies[2].type === 'async-response' ? 0 : 1)
  }
})

test('10 rounds: one sale sent eight times to both processes is one order, under one key or eight', async () => {
  for (let round = 0; round < 10; round++) {
    const client_orderid = newOrderId()
    const replies = await Promise.all(
      Array.from({ length: 16 }, (_, at) =>
        keyedSale(either(at >> 1), at % 2 === 0 ? `sale-${round}` : `sale-${round}-${at}`, { client_orderid }),
      ),
    )
    assert.equal(taken(replies).length, 16, JSON.stringify(replies))
    assert.equal(new Set(replies.map((reply) => reply['gateway-order-id'])).size, 1)
  }
})

test('30 rounds: four returns with names and comments, each three times over both: each request means its own', async () => {
  for (let round = 0; round < 30; round++) {
    const made = await order(either(round))
    await settled(either(round), made)
    const named = (at: number) => `${['one', 'two', 'three', 'four'][Math.floor(at / 3)]}-${round}`
    const replies = await all(
      Array.from({ length: 12 }, (_, at) => ['return', { amount: '2.00', comment: named(at), idempotencyKey: named(at) }]),
      made,
    )
    assert.equal(taken(replies).length, 12, JSON.stringify(replies))
    for (const [at, reply] of replies.entries()) {
      const meant = await desk.rows<{ key: string }>(
        `select asked ->> 'idempotencyKey' as key from all_transactions t where order_id = $1
         and (serial_number = $2
           or transaction_no = (select transaction_no from request where order_id = $1 and serial_number = $2))`,
        [made.orderid, reply['serial-number']],
      )
      assert.deepEqual(meant, [{ key: named(at) }])
    }
    await approved(made, replies)
    assert.deepEqual(await sumsOf(desk, made), ['1050', '800'])
  }
})

test('30 rounds: a void against a return, and a cancel against a capture: one of them is taken', async () => {
  for (let round = 0; round < 30; round++) {
    const made = await (round % 2 === 0 ? order : preauth)(either(round))
    await settled(either(round), made)
    const rival = round % 2 === 0 ? 'return' : 'capture'
    const one: [Operation, Ask][] = [
      ['void', {}],
      ['void', {}],
      [rival, { comment: 'a' }],
      [rival, { comment: 'b' }],
    ]
    const replies = await all(round % 4 < 2 ? one : one.toReversed(), made)
    // Two equal voids are one; the second of two rivals, with another comment, is refused.
    const kinds = await desk.rows<{ kind: string }>(
      'select kind from all_transactions where order_id = $1 and transaction_no > 1',
      [made.orderid],
    )
    assert.equal(kinds.length, 1, JSON.stringify([kinds, replies]))
    assert.deepEqual(codes(replies), ['9'])
    await approved(made, taken(replies))
  }
})

test('in the end nothing is owed, and the books are equal both ways', async () => {
  await booksAgree(desk)
})
