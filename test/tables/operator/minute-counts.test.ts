import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Change } from '../../../src/order/decide/change.ts'
import { countParts, countedIn, type MinuteCount } from '../../../src/order/decide/counted.ts'
import { machine } from '../../../src/order/decide/machine.ts'
import type { Attempt, Order } from '../../../src/order/decide/order.ts'
import { decided, eventOf, isFinal, named, now, ofMove, openAttempt, orderIn, subjectOf } from '../order/decide-orders.ts'

/** What ends in a change is counted in it, once. */

const changed = (after: Order, before?: Order): Change => ({
  ...(before && { before }),
  after,
  rows: [],
  deliveries: [],
  eraseCvv2: false,
})
const within = ({ key }: MinuteCount) => key.split('|').slice(countParts.indexOf('orders'))
function ofAll(changes: readonly Change[]): [orders: number, attempts: number] {
  const sumAt = (at: number) => countedIn(changes).reduce((sum, count) => (within(count)[at] ? sum + count.ended : sum), 0)
  return [sumAt(0), sumAt(1)]
}

test('each move counts the order and the attempts that it ends, and nothing else', () => {
  for (const transition of machine) {
    const subject = subjectOf(transition)
    const before = orderIn(transition.from, {}, subject)
    const { order } = decided(before, eventOf(transition.on, ofMove(transition), subject))
    const isEnd = isFinal(order.transactions[0]!.state) && before.finalAt === undefined && order.finalAt !== undefined
    const open = ({ attempts }: Order) => attempts.filter(({ outcome }) => outcome === undefined).length
    const ended = open(before) - open({ ...order, attempts: order.attempts.slice(0, before.attempts.length) })
    assert.deepEqual(ofAll([changed(order, before)]), [isEnd ? 1 : 0, ended], named(transition))
    assert.deepEqual(ofAll([changed({ ...order, version: 9 }, order)]), [0, 0], `${named(transition)}, and later`)
  }
})

/** An approved order that took so long, as its attempt did. */
function approvedIn(orderMs: number, attemptMs: number): Order {
  const attempt: Attempt = { ...openAttempt, startedAt: now - attemptMs, endedAt: now, outcome: 'approved' }
  const order = orderIn('approved', { finalAt: now, createdAt: now - orderMs, attempts: [attempt] })
  return { ...order, transactions: [{ ...order.transactions[0]!, result: { gateId: '7' } }] }
}

test('equal orders and attempts share one count; different ones are counted apart', () => {
  const same = { merchantId: 1n, minute: now }
  const key = '101|7|sale|||approved||'
  assert.deepEqual(countedIn([changed(approvedIn(30, 20)), changed(approvedIn(40, 20)), changed(approvedIn(31, 17))]), [
    { ...same, key: `${key}|32|32`, ended: 2 },
    { ...same, key: `${key}|64|32`, ended: 1 },
  ])
  const elsewhere = approvedIn(30, 20)
  const [attempt] = elsewhere.attempts
  assert.deepEqual(countedIn([changed({ ...elsewhere, attempts: [{ ...attempt!, gateId: 8n }] })]), [
    { ...same, key: '101|8|sale|||approved||||32', ended: 1 },
    { ...same, key: `${key}|32|`, ended: 1 },
  ])
})

// oxfmt-ignore
const spans = [
  [-5, 1], [0, 1], [1, 1], [2, 2], [3, 4], [4, 4], [5, 8], [1_000, 1_024], [1_024, 1_024], [1_025, 2_048],
  [2 ** 30, 2 ** 30], [2 ** 30 + 1, 2 ** 30], [2 ** 40, 2 ** 30],
] as const
test('a span is counted as the least power of two that it fits into, up to twelve days', () => {
  for (const [ms, fits] of spans) assert.equal(within(countedIn([changed(approvedIn(ms, ms))])[0]!)[0], String(fits), `${ms} ms`)
})

test('a minute is that in which it ended', () => {
  for (const [later, minute] of [
    [0, 0],
    [59_999, 0],
    [60_000, 60_000],
  ] as const) {
    const order = { ...approvedIn(1, 1), finalAt: now + later, attempts: [] }
    assert.equal(countedIn([changed(order)])[0]!.minute, now + minute)
  }
})
