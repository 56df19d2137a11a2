import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openAmounts } from './amounts.ts'
import { accepted, newOrderId, refused, settled, type Changes, type Fields } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { approved, begin, booked, bySerial, follow, followed, keyed, moved, notAllowed, part, times } from './operations.ts'
import { untilBooked, untilDeclined, type FollowUp, type Initial } from './operations.ts'

/** Idempotency-Key of captures, returns and voids, docs/choices.md, "Idempotency". */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const amounts = openAmounts(desk)
// So that an answer may be late, and is no lost one.
await desk.gate({ answerTimeoutMs: 60_000 })

const movers: [FollowUp, Initial][] = [
  ['capture', 'preauth'],
  ['return', 'sale'],
]

describe('Idempotency-Key', { concurrency: 4 }, () => {
  const keyInUse = (reply: Fields, { headers }: ReturnType<typeof keyed>): void =>
    refused(reply, 11, `Idempotency-Key ${headers['idempotency-key']} is already in use`)
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
    it(`${operation}: 20 simultaneous requests make one transaction with one key, five with 5 keys and comments`, async () => {
      const made = await approved(world, begins)
      const [key, keys] = [randomUUID(), Array.from({ length: 5 }, () => randomUUID())]
      for (const reply of await times(20, () => follow(world, operation, made, part('1.00'), keyed(key)))) accepted(reply)
      await untilBooked(world, made, 2)
      const half = (at: number) => part('0.50', { comment: `number ${at % 5}` })
      for (const reply of await times(20, (at) => follow(world, operation, made, half(at), keyed(keys[at % 5] ?? ''))))
        accepted(reply)
      await untilBooked(world, made, 7)
      const { charged, returned } = await moved(world, made)
      assert.equal(operation === 'capture' ? charged : returned, 100 + 5 * 50)
      assert.equal((await booked(world, made)).length, 7)
    })
    it(`${operation}: a request without a key is the same one under a key too, and the key means it from then on`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const wish = part(await amounts.slow())
      const keys = [keyed(randomUUID()), keyed(randomUUID())]
      for (const key of [{}, ...keys]) accepted(await follow(world, operation, made, wish, key))
      assert.equal((await settled(world, made)).status, 'approved')
      for (const key of keys) accepted(await follow(world, operation, made, wish, key))
      keyInUse(await follow(world, operation, made, { ...wish, comment: 'another' }, keys[1]), keys[1]!)
      assert.equal((await booked(world, made)).length, 2)
    })
    it(`${operation}: one with a key is the same without, and another one under another key, also while it is open`, async () => {
      const made = await approved(world, begins, { amount: '200.00' })
      const wish = part(await amounts.slow())
      for (const key of [keyed(randomUUID()), {}, keyed(randomUUID()), {}])
        accepted(await follow(world, operation, made, wish, key))
      await untilBooked(world, made, 3)
      await settled(world, made)
      assert.equal((await booked(world, made)).length, 3)
    })
    it(`${operation} of all with its key: the same transaction, though nothing is left`, async () => {
      const made = await approved(world, begins)
      const key = keyed(randomUUID())
      await followed(world, operation, made, {}, key)
      await followed(world, operation, made, {}, key)
      assert.equal((await booked(world, made)).length, 2)
      notAllowed(await follow(world, operation, made, {}, keyed(randomUUID())), operation, made)
    })
    it(`${operation}: a declined one is answered with itself under its key`, async () => {
      const made = await approved(world, begins, { amount: '100.00' })
      const [wish, key] = [part(await amounts.declined()), keyed(randomUUID())]
      const first = accepted(await follow(world, operation, made, wish, key))
      await untilDeclined(world, made, first.serial)
      const again = accepted(await follow(world, operation, made, wish, key))
      assert.equal((await bySerial(world, made, again.serial)).status, 'declined')
      assert.equal((await booked(world, made)).length, 2)
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
  it("the key of one merchant does not affect another's", async () => {
    const key = keyed(randomUUID())
    const way = { as: world.other, path: world.other.endpoint }
    const [mine, theirs] = [await approved(world, 'sale'), await approved(world, 'sale', {}, way)]
    await followed(world, 'return', mine, part('1.00'), key)
    accepted(await follow(world, 'return', theirs, part('1.00'), { ...way, ...key }))
    assert.equal((await settled(world, theirs, way))['transaction-type'], 'reversal')
    assert.equal((await booked(world, theirs)).length, 2)
  })
  // oxfmt-ignore
  const others: [what: string, operation: FollowUp, changes: Changes][] = [
    ['another amount',         'return', part('2.00')],
    ['no amount',              'return', {}],
    ['the amount spelled otherwise', 'return', part('1.0')],
    ['another comment',        'return', part('1.00', { comment: 'another' })],
    ['another operation',      'void',   {}],
    ['another operation with the same fields', 'capture', part('1.00')],
  ]
  for (const [what, operation, changes] of others)
    it(`${what} under the key of a return: 11, and nothing moves`, async () => {
      const made = await approved(world, 'sale')
      const key = keyed(randomUUID())
      await followed(world, 'return', made, part('1.00'), key)
      keyInUse(await follow(world, operation, made, changes, key), key)
      await settled(world, made)
      assert.equal((await moved(world, made)).returned, 100)
      assert.equal((await booked(world, made)).length, 2)
    })
  it('another order under the key of a return: 11, and nothing moves', async () => {
    const [made, other] = [await approved(world, 'sale'), await approved(world, 'sale')]
    const key = keyed(randomUUID())
    await followed(world, 'return', made, part('1.00'), key)
    keyInUse(await follow(world, 'return', other, part('1.00'), key), key)
    assert.equal((await booked(world, other)).length, 1)
  })
  it('a key names its request for 24 hours, and another one after them', async () => {
    const made = await approved(world, 'sale')
    const key = keyed(randomUUID())
    const another = part('1.00', { comment: 'another' })
    const pass = (time: string) =>
      desk.rows('update idempotency_key set held_until = held_until - $2::interval where key = $1', [
        key.headers['idempotency-key'],
        time,
      ])
    await followed(world, 'return', made, part('1.00'), key)
    await pass('23 hours 50 minutes')
    keyInUse(await follow(world, 'return', made, another, key), key)
    await pass('10 minutes')
    for (const what of ['a new request', 'its repeat']) {
      await followed(world, 'return', made, another, key)
      assert.equal((await booked(world, made)).length, 3, what)
    }
  })
  it('the key of a refused request stays free', async () => {
    const made = await approved(world, 'sale')
    const key = keyed(randomUUID())
    refused(await follow(world, 'return', made, part('99.00'), key), 10)
    await followed(world, 'return', made, part('1.00'), key)
    assert.equal((await booked(world, made)).length, 2)
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
