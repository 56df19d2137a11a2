import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openCopies } from '../../../src/order/copies.ts'
import { openHand } from '../../../src/order/door/hand.ts'
import { statusOf } from '../../../src/order/decide/order.ts'
import { openReader } from '../../../src/order/read.ts'
import { openOrderStore } from '../../../src/order/store/store.ts'
import { statement, type Pool } from '../../../src/storage/pool.ts'
import { approval, doorOn, log, newSale, openDoorGround } from '../../harness/world/door.ts'
import { closing } from '../../harness/world/opening.ts'

/** A status is shown from memory, a copy whose version is still true, or the database. */

const hand = openHand()
let isHolding: (since: number) => boolean
/** The statements of reads since the test began, by their first table. */
let asked: string[]

const { pool, processId } = await openDoorGround()
const copies = openCopies(2)
const door = closing(doorOn({ pool, straight: pool, processId, hand, copies, onStep: () => {} }))
const counted: Pool = {
  ...pool,
  run(sql, values) {
    asked.push(/f\.request/.test(sql.text) ? 'orders' : /o\.version/.test(sql.text) ? 'versions' : 'others')
    return pool.run(sql, values)
  },
}
const heartbeat = { processId, holding: (since = Infinity) => isHolding(since) }
const store = openOrderStore(counted)
const reader = closing(openReader({ store, hand, copies, heartbeat, clock: systemClock, log }))
beforeEach(() => {
  asked = []
  isHolding = () => true
})

const shown = async (orderId: bigint, serialNumber?: string) => {
  const found = await reader.shown({ merchantId: 1n, orderId }, serialNumber)
  return found && statusOf(found.order)
}

test('an order that this process has leased is shown without a statement', async () => {
  await door.submit(newSale(1n))
  assert.equal(await shown(1n), 'processing')
  assert.deepEqual(asked, [])
})

test('while the lease is not held, or lapsed since the order was decided, the database is asked', async () => {
  const began = systemClock.monotonic()
  await door.submit(newSale(2n))
  isHolding = () => false
  assert.equal(await shown(2n), 'processing')
  assert.ok(asked.includes('versions'))
  asked = []
  // A lapse that ended after the decision: others may have taken the order over meanwhile.
  const recoveredAt = systemClock.monotonic()
  isHolding = (since) => since > recoveredAt
  assert.equal(await shown(2n), 'processing')
  assert.ok(asked.includes('versions'))
  asked = []
  isHolding = (since) => since > began
  assert.equal(await shown(2n), 'processing')
  assert.deepEqual(asked, [])
})

test('a copy is shown after a look at its version alone, and read again when it moved', async () => {
  const sale = newSale(3n)
  await door.submit(sale)
  await door.submit(approval(sale.order))
  assert.equal(await shown(3n), 'approved')
  assert.deepEqual(asked, ['versions'])
  asked = []
  await pool.run(statement(`update orders set version = version + 1, state = 'error', status = 'error' where order_id = 3`))
  assert.equal(await shown(3n), 'error')
  assert.deepEqual(asked, ['versions', 'orders'])
})

test('no more copies are kept than there is room for', async () => {
  const sales = [11n, 12n, 13n].map((orderId) => newSale(orderId))
  for (const sale of sales) {
    await door.submit(sale)
    await door.submit(approval(sale.order))
  }
  assert.equal(await shown(11n), 'approved')
  assert.deepEqual(asked, ['orders'])
})

test('while an order is being saved, and after a save that failed, memory does not show it', async () => {
  await door.submit(newSale(4n))
  const orderKey = { merchantId: 1n, orderId: 4n }
  let resolve = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  const saving = hand.saving([orderKey], () => promise)
  assert.equal(hand.lastCommitted(orderKey, 1n), undefined)
  resolve()
  await saving
  assert.ok(hand.lastCommitted(orderKey, 1n))
  await assert.rejects(
    hand.saving([orderKey], () => Promise.reject(new Error('the connection broke'))),
    /broke/,
  )
  assert.equal(hand.lastCommitted(orderKey, 1n), undefined)
  assert.equal(hand.isCurrent(orderKey), false)
})

test('a status of an order that is being saved waits for the end of the save, and then needs no statement', async () => {
  const sale = newSale(6n)
  await door.submit(sale)
  const orderKey = { merchantId: 1n, orderId: 6n }
  let resolve = () => {}
  const saving = hand.saving([orderKey], () => new Promise<void>((done) => (resolve = done)))
  const status = shown(6n)
  resolve()
  await saving
  assert.equal(await status, 'processing')
  assert.deepEqual(asked, [])
  const approved = door.submit(approval(sale.order))
  while (!hand.saved(orderKey)) await Promise.race([approved, new Promise(setImmediate)])
  assert.equal(await shown(6n), 'approved')
  assert.deepEqual(asked, ['versions'])
})

test('after a save that failed, a status that waited for it asks the database', async () => {
  // The second test leased it.
  const orderKey = { merchantId: 1n, orderId: 2n }
  let fail = (_why: Error) => {}
  const saving = hand.saving([orderKey], () => new Promise<void>((_done, failed) => (fail = failed)))
  const status = shown(2n)
  fail(new Error('the connection broke'))
  await assert.rejects(saving, /broke/)
  assert.equal(await status, 'processing')
  assert.deepEqual(asked, ['orders'])
})

test('of two simultaneous saves, the end of one does not count as the end of the other', async () => {
  // The first test leased it.
  const orderKey = { merchantId: 1n, orderId: 1n }
  const ends: (() => void)[] = []
  const first = hand.saving([orderKey], () => new Promise<void>((resolve) => ends.push(resolve)))
  const second = hand.saving([orderKey], () => new Promise<void>((resolve) => ends.push(resolve)))
  let isShown = false
  const status = shown(1n).finally(() => (isShown = true))
  ends[1]!()
  await second
  assert.equal(hand.lastCommitted(orderKey, 1n), undefined)
  assert.equal(isShown, false)
  ends[0]!()
  await first
  assert.equal(await status, 'processing')
  assert.deepEqual(asked, [])
})

test('a serial number that is only in the database is read from it', async () => {
  const sale = newSale(5n)
  await door.submit(sale)
  const repeat = '00000000-0000-4000-8000-0000000000ff'
  const request = {
    merchantId: 1n,
    orderId: 5n,
    serialNumber: repeat,
    operation: 'sale',
    transactionNo: 1,
    at: systemClock.now(),
  }
  await door.submit({ is: 'noted', merchantId: 1n, orderId: 5n, request })
  assert.equal(await shown(5n, repeat), 'processing')
  assert.ok(asked.includes('orders'))
})
