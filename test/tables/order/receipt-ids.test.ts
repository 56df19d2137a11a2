import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Chance } from '../../../simulation/world/chance.ts'
import { openFixedKeys } from '../../harness/world/fixed-keys.ts'
import { openReceiptIds } from '../../../src/order/decide/receipt.ts'

const receipts = openReceiptIds(openFixedKeys(new Chance(1).random()))
const orderKey = { merchantId: 7n, orderId: 1_000_042n }
const shape = /^01[0-9a-f]{6}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const numbers = fc.record({
  merchantId: fc.bigInt({ min: 1n, max: 2n ** 36n - 1n }),
  orderId: fc.bigInt({ min: 1n, max: 2n ** 60n - 1n }),
  transactionNo: fc.integer({ min: 1, max: 2 ** 18 - 1 }),
})

test('an id is a UUID that leads back to its order, whatever its numbers are', () => {
  fc.assert(
    fc.property(numbers, ({ transactionNo, ...of }) => {
      const id = receipts.idOf(of, transactionNo)
      assert.match(id, shape)
      assert.deepEqual(receipts.orderKeyOf(id), of)
    }),
  )
})

test('the same transaction has the same id, every other one has another', () => {
  const ids = [1, 2, 3].flatMap((no) => [orderKey, { ...orderKey, orderId: 1_000_043n }].map((of) => receipts.idOf(of, no)))
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(receipts.idOf(orderKey, 1), ids[0])
})

test('neighbouring orders have ids that differ in about half of their bits', () => {
  const differing = Array.from({ length: 200 }, (_, i) => {
    const [a, b] = [1_000_000n + BigInt(i), 1_000_001n + BigInt(i)].map((orderId) =>
      BigInt(`0x${receipts.idOf({ ...orderKey, orderId }, 1).replaceAll('-', '')}`),
    )
    return (a! ^ b!).toString(2).replaceAll('0', '').length
  })
  const mean = differing.reduce((sum, n) => sum + n, 0) / differing.length
  assert.ok(mean > 52 && mean < 62, `${mean} of 114 bits on average`)
  assert.ok(Math.min(...differing) > 30, 'none is close to its neighbour')
})

test('changing one bit of an id leads nowhere near its order', () => {
  const id = receipts.idOf(orderKey, 1)
  for (let digit = 0; digit < 16; digit++) {
    const other = digit.toString(16)
    if (id[35] === other) continue
    const found = receipts.orderKeyOf(id.slice(0, 35) + other)
    assert.notDeepEqual(found, orderKey, other)
    assert.ok(found!.orderId > 2n ** 30n, 'an order number that no order has')
  }
})

test('an id of another installation leads elsewhere, one under an unknown key and a random one nowhere', () => {
  const others = openReceiptIds(openFixedKeys(new Chance(2).random()))
  const id = receipts.idOf(orderKey, 1)
  assert.notDeepEqual(others.orderKeyOf(id), orderKey)
  assert.equal(receipts.orderKeyOf(`02${id.slice(2)}`), undefined)
  assert.equal(receipts.orderKeyOf('d96bcf78-7ab2-43f8-8aa3-e28426ce4392'), undefined)
})

test('numbers without room are refused, not cut', () => {
  assert.throws(() => receipts.idOf({ ...orderKey, merchantId: 2n ** 36n }, 1), /no room/)
  assert.throws(() => receipts.idOf({ ...orderKey, orderId: 2n ** 60n }, 1), /no room/)
  assert.throws(() => receipts.idOf(orderKey, 2 ** 18), /no room/)
})
