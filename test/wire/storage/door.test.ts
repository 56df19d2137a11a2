import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { Held } from '../../../src/order/door/hand.ts'
import type { Transaction } from '../../../src/order/decide/order.ts'
import { statement } from '../../../src/storage/pool.ts'
import { approval, doorOn, newSale, openDoorGround, secureId } from '../../harness/world/door.ts'
import { closing } from '../../harness/world/opening.ts'

/** The door by itself: numbers, cards, and waiting for the end of an order. */

const begun: { held: Held; transaction: Transaction }[] = []
const { pool, processId } = await openDoorGround()
const door = closing(
  doorOn({ pool, straight: pool, processId, onStep: (held, transaction) => void begun.push({ held, transaction }) }),
)

const stans = statement<{ stan: string }>('select stan from all_attempts where order_id = any ($1::bigint[]) order by order_id')

test('an outcome takes no number: the STANs of sales that end one after the other follow each other', async () => {
  const sales = [1n, 2n, 3n].map((id) => newSale(id))
  for (const sale of sales) {
    await door.submit(sale)
    await door.submit(approval(sale.order))
  }
  const rows = await pool.run(stans, [sales.map(({ order }) => order.orderId)])
  const [first = 0, ...others] = rows.map(({ stan }) => Number(stan))
  assert.deepEqual(others, [first + 1, first + 2])
})

test('a wait for the end of an order ends when that is committed, and not before', async () => {
  const sale = newSale(11n)
  const waiting = new AbortController()
  let isOver = false
  const ended = door.ended(sale.order, waiting.signal).then(() => (isOver = true))
  await door.submit(sale)
  assert.equal(isOver, false)
  await door.submit(approval(sale.order))
  await ended
  const [row] = await pool.run(statement<{ status: string }>('select status from orders where order_id = $1'), [11n])
  assert.equal(row!.status, 'approved')
})

/** An upload to an order at rest, of which this process has nothing in memory. */
async function uploadTo(orderId: bigint) {
  const sale = newSale(orderId, secureId)
  await door.submit(sale)
  const authentication = statement<{ id: string }>(
    `select authentication ->> 'threeDSServerTransId' as id from all_transactions where order_id = $1`,
  )
  const [{ id: of } = { id: '' }] = await pool.run(authentication, [orderId])
  const due = { lease: 1n, leaseDueAt: systemClock.now() + 4_000 }
  const event = { is: 'method uploaded', transactionNo: 1, of, learned: { compInd: 'Y' }, ...due } as const
  return { is: 'event', merchantId: 1n, orderId, event } as const
}

test('an event that leads outside brings no card: the door reads it; an event whose card is gone fails alone', async () => {
  const [there, gone] = [await uploadTo(21n), await uploadTo(22n)]
  await pool.run(statement('update order_facts set pan_sealed = null, pan_key = null where order_id = $1'), [22n])
  const [well, badly] = await Promise.allSettled([door.submit(there), door.submit(gone)])
  assert.equal(well.status === 'fulfilled' && well.value.is, 'applied')
  assert.match(badly.status === 'rejected' ? String(badly.reason) : '', /the card of order 22 is gone/)
  const { held, transaction } = begun.find((one) => one.held.order.orderId === 21n)!
  assert.deepEqual([held.card.pan.reveal(), transaction.step], ['4111111111111111', 'authenticate'])
})

test('a repeat under an Idempotency-Key is found by its serial number, although its batch met a conflict', async () => {
  const idempotencyKey = 'the same request'
  const [moved, first] = [newSale(31n), { ...newSale(32n), idempotencyKey }]
  await door.submit(moved)
  await door.submit(first)
  await pool.run(statement('update orders set version = version + 1 where order_id = $1'), [31n])
  const again = { ...newSale(33n), digest: first.digest, idempotencyKey }
  const [repeated, ended] = await Promise.all([door.submit(again), door.submit(approval(moved.order))])
  assert.deepEqual(repeated, { is: 'accepted', orderId: 32n, repeat: true })
  assert.equal(ended.is, 'applied')
  const noted = statement<{ order_id: bigint }>('select order_id from request where serial_number = $1')
  assert.deepEqual(await pool.run(noted, [again.order.transactions[0]!.serialNumber]), [{ order_id: 32n }])
})

test('only orders whose name was used before take the longer way; no other of the batch notices', async () => {
  const taken = newSale(41n)
  await door.submit(taken)
  const others = [42n, 43n].map((id) => newSale(id))
  const another = newSale(44n)
  const same = { ...another, order: { ...another.order, clientOrderid: taken.order.clientOrderid } }
  const answers = await Promise.all([...others, same].map((sale) => door.submit(sale)))
  assert.deepEqual(answers, [
    { is: 'accepted', orderId: 42n, repeat: false },
    { is: 'accepted', orderId: 43n, repeat: false },
    { is: 'in use' },
  ])
  const [row] = await pool.run(statement<{ n: bigint }>('select count(*) as n from orders where order_id = any ($1::bigint[])'), [
    [42n, 43n, 44n],
  ])
  assert.equal(row!.n, 2n)
})
