import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configuration } from '../../../simulation/model/configuration.ts'
import { openHand } from '../../../src/order/door/hand.ts'
import { newSale } from '../../harness/world/door.ts'

const { order, card } = newSale(1n)
const step = order.transactions[0]!

test('an order counts once for its merchant: from its submission, while it is in memory, until it leaves', () => {
  const hand = openHand()
  const count = () => hand.load(1n, 0n).ofMerchant
  const heard = hand.expect(order, configuration)
  assert.equal(count(), 1)
  hand.keep(order, card, [step], 0)
  assert.equal(count(), 1, 'in memory, and its submitter has not heard of it so far')
  heard()
  assert.equal(count(), 1)
  hand.release(order, step)
  assert.equal(count(), 0)
})

test('an order submitted twice at the same time leaves no count behind', () => {
  const hand = openHand()
  const heard = [hand.expect(order, configuration), hand.expect(order, configuration)]
  hand.keep(order, card, [step], 0)
  for (const undo of heard) undo()
  hand.release(order, step)
  assert.equal(hand.load(1n, 0n).ofMerchant, 0)
})

test('an order that never reaches memory counts until its submitter gets an answer, or its commit ends', () => {
  const hand = openHand()
  const count = () => hand.load(1n, 0n).ofMerchant
  const refused = hand.expect(order, configuration)
  refused()
  assert.equal(count(), 0)
  const heard = hand.expect(order, configuration)
  hand.keep(order, card, [], 0)
  assert.equal(count(), 0)
  heard()
  assert.equal(count(), 0)
})
