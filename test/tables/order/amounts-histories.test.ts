import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { capturedMinor, returnedMinor, type FollowAsk } from '../../../src/order/decide/amounts.ts'
import { statusOfState, type Attempt, type Order, type Transaction } from '../../../src/order/decide/order.ts'
import { finalStatuses, type OrderKind } from '../../../src/spec/words.ts'
import { frozen, now, openAttempt, orderIn } from './decide-orders.ts'
import { advices, answers, finalsStay, Life, sweeps, type Happening } from '../contract/order-life.ts'

/**
 * Random lives of an approved order, through everything that decides about it, beside an acquirer
 * that knows what really moved.
 */

const authorised = 1000n

type Command = Happening | { do: 'ask'; operation: FollowAsk['operation']; minor: bigint | undefined; key: string | undefined }

// oxfmt-ignore
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({
    do: fc.constant('ask' as const),
    operation: fc.constantFrom('capture' as const, 'return' as const, 'return' as const, 'void' as const),
    minor: fc.option(fc.oneof(fc.bigInt(1n, 1100n), fc.constantFrom(400n, 500n, 600n, authorised)), { nil: undefined }),
    key: fc.option(fc.constantFrom('a', 'b'), { nil: undefined, freq: 4 }),
  }) },
  { weight: 4, arbitrary: answers },
  { weight: 3, arbitrary: advices },
  { weight: 2, arbitrary: sweeps },
)

function approved(kind: OrderKind, parts: boolean): Order {
  const made = orderIn('approved', { kind, amountMinor: authorised, amountText: '10.00' })
  const result = { gateId: String(openAttempt.gateId), partialCapture: parts, partialReversal: parts }
  const payment: Transaction = { ...made.transactions[0]!, kind, amountMinor: authorised, amountText: '10.00', result }
  const attempt: Attempt = { ...openAttempt, outcome: 'approved', actionCode: '000', endedAt: now }
  return frozen({ ...made, transactions: [payment], attempts: [attempt] })
}

function run(life: Life, one: Command): void {
  if (one.do !== 'ask') return life.happens(one)
  const amount = one.minor === undefined ? {} : { amount: { minor: one.minor, text: String(one.minor) } }
  life.ask({ operation: one.operation, ...amount, ...(one.key === undefined ? {} : { idempotencyKey: one.key }) })
}

const sumOf = (transactions: readonly Transaction[]): bigint => transactions.reduce((sum, t) => sum + t.amountMinor, 0n)
const isDead = ({ state }: Transaction): boolean => state === 'declined' || state === 'error'
const released = (t: Transaction): boolean => t.kind === 'void' || t.kind === 'cancel'

function holds({ order, booked }: Life): void {
  const of = (kind: Transaction['kind']): Transaction[] => order.transactions.filter((t) => t.kind === kind)
  const paid = order.kind === 'sale' ? authorised : 0n
  const captured = paid + sumOf(of('capture').filter((t) => !isDead(t)))
  const settled = paid + sumOf(of('capture').filter(({ state }) => state === 'approved'))
  const returned = sumOf(of('return').filter((t) => !isDead(t)))
  assert.ok(captured <= authorised, `captured ${captured} of ${authorised}`)
  assert.ok(returned <= settled, `returned ${returned} of ${settled}`)
  // The columns and CHECK conditions of the table of orders.
  assert.deepEqual([capturedMinor(order), returnedMinor(order)], [captured, returned])
  assert.ok(capturedMinor(order) >= 0n && capturedMinor(order) <= order.amountMinor)
  assert.ok(returnedMinor(order) >= 0n && returnedMinor(order) <= capturedMinor(order))
  // What really moved, whichever of the answers were lost.
  const moved = (kind: Transaction['kind']): bigint => sumOf(of(kind).filter((t) => booked.has(t.no)))
  assert.ok(paid + moved('capture') <= authorised && moved('return') <= paid + moved('capture'))
  assert.ok(order.transactions.filter((t) => released(t) && !isDead(t)).length <= 1, 'it is released once at the most')
  if (order.transactions.some(released)) assert.equal(returned, 0n, 'what is released is not given back as well')
  for (const t of order.transactions) {
    assert.equal(
      order.attempts.filter((a) => a.transactionNo === t.no).length <= 1,
      true,
      `transaction ${t.no} has one name at the most`,
    )
    assert.ok(order.transactions.filter((r) => r.kind === 'reversal' && r.parentNo === t.no).length <= 1)
  }
}

/** Both books, once nothing is open any more. */
function agree({ order, booked }: Life): void {
  for (const { no, kind, state } of order.transactions.slice(1)) {
    assert.ok(finalStatuses.has(statusOfState(state)), `${kind} ${no} is ${state}`)
    if (kind !== 'reversal')
      assert.equal(booked.has(no), state === 'approved', `${kind} ${no} is ${state} here, at the acquirer ${booked.has(no)}`)
  }
}

test('no more is captured than was authorised, no more returned than captured, and both books agree at the end', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(
      fc.constantFrom<OrderKind>('sale', 'preauth', 'preauth', 'account-verification'),
      fc.boolean(),
      fc.array(command, { minLength: 1, maxLength: 40 }),
      (kind, parts, commands) => {
        const life = new Life(approved(kind, parts))
        for (const one of commands) {
          const before = life.order.transactions
          run(life, one)
          holds(life)
          for (const { kind: what, state } of before) seen.add(`${what} ${state}`)
          assert.equal(finalsStay(before, life), undefined)
        }
        life.finish()
        holds(life)
        agree(life)
        for (const { kind: what, state } of life.order.transactions) seen.add(`${what} ${state}`)
      },
    ),
    { numRuns: 2_500 },
  )
  // A property that never gets anywhere would hold as well.
  for (const kind of ['capture', 'return'])
    for (const state of ['authorising', 'unknown', 'approved', 'declined', 'error'])
      assert.ok(seen.has(`${kind} ${state}`), `${kind} ${state}`)
  for (const kind of ['void', 'cancel'])
    for (const state of ['reversing', 'approved']) assert.ok(seen.has(`${kind} ${state}`), `${kind} ${state}`)
})
