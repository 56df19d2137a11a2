import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/order/decide/decide.ts'
import { machine, transitionFor } from '../../../src/order/decide/machine.ts'
import { head, statusOf, statusOfState, type Attempt } from '../../../src/order/decide/order.ts'
import { screen } from '../../../src/order/decide/screen.ts'
import {
  answers,
  decided,
  eventNames,
  eventOf,
  frozen,
  isFinal,
  leaves,
  named,
  now,
  ofMove,
  openAttempt,
  orderIn,
  states,
  subjectOf,
} from './decide-orders.ts'

test('a pair of state and event has one move at the most', () => {
  assert.equal(new Set(machine.map(({ from, on }) => `${from}>${on}`)).size, machine.length)
})

test('every state but the first can be reached, and from every state that is not final something leads on', () => {
  const reached = new Set(machine.map(({ to }) => to))
  for (const state of states) if (state !== 'new') assert.ok(reached.has(state), state)
  for (const state of states)
    if (!isFinal(state) && state !== 'unknown')
      assert.ok(
        machine.some(({ from }) => from === state),
        `${state} is a dead end`,
      )
})

test('a final status never becomes another status by the table', () => {
  for (const { from, to } of machine) if (isFinal(from)) assert.equal(statusOfState(to), statusOfState(from), `${from} to ${to}`)
})

test('a state at rest asks for nothing outside, a state that authorises does', () => {
  for (const transition of machine) if (isFinal(transition.to)) assert.equal(transition.asks, undefined, named(transition))
  assert.ok(machine.some(({ asks }) => asks === 'authorise'))
})

for (const transition of machine) {
  test(`${named(transition)}: the new order has the change, and the old one is untouched`, () => {
    const subject = subjectOf(transition)
    const before = orderIn(transition.from, {}, subject)
    const { order, row } = decided(before, eventOf(transition.on, ofMove(transition), subject))
    const next = order.transactions[subject - 1]!
    assert.equal(next.state, transition.to)
    assert.equal(next.step, transition.asks)
    assert.equal(next.dueAt === undefined, next.step === undefined, 'a step has a time, rest has none')
    assert.equal(next.finalAt !== undefined, isFinal(transition.to))
    assert.deepEqual([order.version, order.events], [before.version + 1, before.events + 1])
    assert.deepEqual(
      [row.transactionNo, row.event, row.from, row.to, row.eventNo],
      [subject, transition.on, transition.from, transition.to, 5],
    )
    for (const other of before.transactions) if (other.no !== subject) assert.equal(order.transactions[other.no - 1], other)
    assert.deepEqual(
      [order.amountMinor, order.amountText, order.clientOrderid, order.createdAt],
      [1050n, '10.50', 'c-1', before.createdAt],
    )
  })
}

test('every event in every state where the table has no move is refused as impossible', () => {
  let pairs = 0
  for (const state of states)
    for (const on of eventNames) {
      if (transitionFor(state, on)) continue
      pairs++
      for (const subject of [1, 2])
        assert.equal(decide(orderIn(state, {}, subject), eventOf(on, {}, subject), now).is, 'impossible', `${on} in ${state}`)
    }
  assert.equal(pairs, states.length * eventNames.length - machine.length)
})

test('an event for a transaction that is not there is impossible', () => {
  for (const on of eventNames)
    assert.equal(decide(orderIn('authorising'), eventOf(on, { transactionNo: 99 }), now).is, 'impossible', on)
})

test('an answer to an attempt that has its outcome, or was never made, is stale in every state', () => {
  const ended = [{ ...openAttempt, outcome: 'unknown' as const, endedAt: now }]
  for (const state of states)
    for (const on of answers) {
      assert.equal(decide(orderIn(state, { attempts: ended }), eventOf(on), now).is, 'stale', `${on} in ${state}`)
      assert.equal(decide(orderIn(state, { attempts: [] }), eventOf(on), now).is, 'stale', `${on} in ${state}`)
      assert.equal(decide(orderIn(state), eventOf(on, { attemptNo: 2 }), now).is, 'stale', `${on} in ${state}`)
    }
})

test('the second of two answers to one attempt changes nothing', () => {
  for (const first of answers)
    for (const second of answers) {
      if (!leaves('authorising', first)) continue
      const { order } = decided(orderIn('authorising'), eventOf(first))
      assert.notEqual(decide(order, eventOf(second), now).is, 'decided', `${second} after ${first}`)
    }
})

test('an answer closes its attempt, with its time and outcome, and no other', () => {
  const earlier: Attempt = { ...openAttempt, outcome: 'not sent', endedAt: now - 1 }
  const order = orderIn('authorising', { attempts: [earlier, { ...openAttempt, no: 2, stan: '000002' }] })
  for (const on of answers) {
    if (!leaves('authorising', on)) continue
    const { attempts } = decided(order, eventOf(on, { attemptNo: 2 })).order
    assert.equal(attempts[0], earlier)
    assert.ok(attempts[1]!.outcome !== undefined && attempts[1]!.endedAt === now, on)
  }
})

test('an attempt is on record with its names and lease before it is sent, and numbered after the last', () => {
  const { order } = decided(orderIn('ready', { attempts: [] }), eventOf('attempt recorded'))
  assert.deepEqual(order.attempts, [openAttempt])
  assert.deepEqual([head(order).lease, head(order).dueAt, head(order).step], [9n, now + 4_000, 'authorise'])
})

test('a lease ends with the state it belongs to', () => {
  const held = orderIn('authorising')
  const leased = frozen({ ...held, transactions: [{ ...head(held), lease: 9n, step: 'authorise' as const, dueAt: now }] })
  for (const on of answers) {
    const transition = transitionFor('authorising', on)
    if (!transition || transition.asks !== undefined) continue
    const { order } = decided(leased, eventOf(on))
    assert.deepEqual([head(order).lease, head(order).step, head(order).dueAt], [undefined, undefined, undefined], on)
  }
})

test('each final outcome is sent once to each URL, and no other state is sent', () => {
  for (const transition of machine) {
    const subject = subjectOf(transition)
    const { deliveries, order } = decided(
      orderIn(transition.from, {}, subject),
      eventOf(transition.on, ofMove(transition), subject),
    )
    const expected =
      subject === 1 && isFinal(transition.to) && !isFinal(transition.from) ? ['https://a.example/cb', 'https://b.example/n'] : []
    assert.deepEqual(
      deliveries.map(({ url }) => url),
      expected,
      named(transition),
    )
    assert.equal(order.deliveries, deliveries.length)
  }
})

test('a URL that is named twice is called once, with numbers that go on from the last', () => {
  const url = 'https://a.example/cb'
  const request = {
    orderDesc: 'x',
    ipAddress: '203.0.113.7',
    email: 'a@b',
    serverCallbackUrl: url,
    notifyUrl: url,
    endpointCallbackUrl: url,
  }
  const { deliveries } = decided(orderIn('authorising', { request, deliveries: 2 }), eventOf('declined'))
  assert.deepEqual(
    deliveries.map((d) => [d.url, d.deliveryNo, d.origin]),
    [[url, 3, 'https://a.example']],
  )
})

test('an approval leaves no error behind and a decline no receipt', () => {
  const approved = decided(orderIn('authorising'), eventOf('approved')).order
  assert.equal(statusOf(approved), 'approved')
  assert.deepEqual([head(approved).result.receiptId, head(approved).result.errorCode], ['receipt', undefined])
  const declined = decided(orderIn('authorising'), eventOf('declined', { actionCode: '116' })).order
  assert.deepEqual([head(declined).result.receiptId, head(declined).result.errorCode], [undefined, '116'])
})

for (const on of ['answer lost', 'lease lost'] as const)
  test(`after ${on} one reversal of the whole amount is owed, and waits until the time of the payment is over`, () => {
    const lost = decided(orderIn('authorising'), eventOf(on))
    assert.equal(statusOf(lost.order), 'unknown')
    const [, owed] = lost.order.transactions
    assert.deepEqual([owed?.kind, owed?.origin, owed?.parentNo, owed?.amountMinor], ['reversal', 'gateway', 1, 1050n])
    assert.deepEqual(
      lost.consequences.map(({ is, transactionNo }) => [is, transactionNo]),
      [['owed', 2]],
    )
    const { order } = decided(lost.order, lost.consequences[0]!)
    assert.ok(order.transactions[1]!.dueAt! >= openAttempt.deadlineAt)
    assert.equal(order.transactions.length, 2)
  })

test('a reversal goes on until it is acknowledged, and only then is the payment in error, with code 911', () => {
  const unanswered = decided(orderIn('reversing', {}, 2), eventOf('reversal unanswered', {}, 2)).order
  assert.deepEqual(
    [statusOf(unanswered), unanswered.transactions[1]!.step, unanswered.transactions[1]!.tries],
    ['unknown', 'reverse', 4],
  )
  assert.equal(unanswered.attempts[1]!.outcome, undefined, 'its attempt stays open')
  const acknowledged = decided(unanswered, eventOf('reversal acknowledged', {}, 2))
  assert.equal(statusOf(acknowledged.order), 'unknown')
  const { order } = decided(acknowledged.order, acknowledged.consequences[0]!)
  assert.deepEqual([statusOf(order), head(order).result.errorCode, head(order).result.receiptId], ['error', '911', undefined])
})

test('a card is good through the last day of its month, in UTC', () => {
  const order = orderIn('filtering')
  const screened = (at: number) => screen(order, head(order), at).is
  assert.equal(screened(Date.UTC(2026, 5, 30, 23, 59, 59, 999)), 'screened clean')
  assert.equal(screened(Date.UTC(2026, 6, 1)), 'card expired')
})
