import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { cellMarks } from '../../src/base/cell-mark.ts'
import { systemRandom } from '../../src/base/random.ts'
import { capturedMinor, returnedMinor, type FollowAsk } from '../../src/order/amounts.ts'
import type { Event } from '../../src/order/event.ts'
import { statusOfState, type Attempt, type Order, type Transaction } from '../../src/order/order.ts'
import { drive, follow, resume, type Deciding, type Work } from '../../src/order/work.ts'
import { finalStatuses, type OrderKind } from '../../src/spec/words.ts'
import { eventOf, frozen, now, openAttempt, orderIn, registryWithGate } from './decide-orders.ts'

/**
 * Random lives of an approved order, through everything that decides about it, beside an acquirer
 * that knows what really moved.
 */

const authorised = 1000n
const me = 1n
const registry = registryWithGate(true)

type Command =
  | { do: 'ask'; operation: FollowAsk['operation']; minor: bigint | undefined; key: string | undefined }
  /** What the acquirer did with the message, and whether its answer came. */
  | { do: 'answer'; at: number; booked: boolean; outcome: 'told' | 'lost' | 'awaited' | 'not sent' }
  | { do: 'advise'; at: number; acknowledged: boolean }
  /** The process that has it in hand dies, or a sweep finds what is due. */
  | { do: 'sweep'; at: number }

const place = fc.nat(7)
// oxfmt-ignore
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({
    do: fc.constant('ask' as const),
    operation: fc.constantFrom('capture' as const, 'return' as const, 'return' as const, 'void' as const),
    minor: fc.option(fc.oneof(fc.bigInt(1n, 1100n), fc.constantFrom(400n, 500n, 600n, authorised)), { nil: undefined }),
    key: fc.option(fc.constantFrom('a', 'b'), { nil: undefined, freq: 4 }),
  }) },
  { weight: 4, arbitrary: fc.record({
    do: fc.constant('answer' as const),
    at: place,
    booked: fc.boolean(),
    outcome: fc.constantFrom('told' as const, 'told' as const, 'lost' as const, 'awaited' as const, 'not sent' as const),
  }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advise' as const), at: place, acknowledged: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const), at: place }) },
)

function approved(kind: OrderKind, parts: boolean): Order {
  const made = orderIn('approved', { kind, amountMinor: authorised, amountText: '10.00' })
  const result = { gateId: String(openAttempt.gateId), partialCapture: parts, partialReversal: parts }
  const payment: Transaction = { ...made.transactions[0]!, kind, amountMinor: authorised, amountText: '10.00', result }
  const attempt: Attempt = { ...openAttempt, outcome: 'approved', actionCode: '000', endedAt: now }
  return frozen({ ...made, transactions: [payment], attempts: [attempt] })
}

/** One order with its clock, its sweeper, and the acquirer's entries of it by transaction. */
class Life {
  order: Order
  readonly booked = new Set<number>()
  #at = now
  #number = 1n
  #asked = 0

  constructor(kind: OrderKind, parts: boolean) {
    this.order = approved(kind, parts)
  }

  run(one: Command): void {
    this.#at += 60_000
    const work: Work = {
      before: this.order,
      after: this.order,
      rows: [],
      deliveries: [],
      eraseCvv2: false,
      card: undefined,
      entries: [],
    }
    if (one.do === 'ask') {
      const amount = one.minor === undefined ? {} : { amount: { minor: one.minor, text: String(one.minor) } }
      const key = one.key === undefined ? {} : { idempotencyKey: one.key }
      follow(work, { operation: one.operation, serialNumber: `s-${++this.#asked}`, ...amount, ...key }, this.#deciding())
    } else if (one.do === 'sweep') this.#sweep(work, one.at)
    else {
      const step = one.do === 'answer' ? 'authorise' : 'reverse'
      const transaction = this.#pick((t) => t.step === step, one.at)
      if (transaction)
        drive(work, one.do === 'answer' ? this.#answered(transaction, one) : this.#advised(transaction, one), this.#deciding())
    }
    this.order = work.after
  }

  #deciding(): Deciding {
    const planner = { enrolment: () => ({ is: 'unknown' as const }), marks: cellMarks(systemRandom, 0), steering: false }
    return { now: this.#at, processId: me, registry, planner, number: () => this.#number++, hold: true }
  }

  #pick(fits: (t: Transaction) => boolean, at: number): Transaction | undefined {
    const found = this.order.transactions.filter(fits)
    return found[at % Math.max(1, found.length)]
  }

  #openAttempt = ({ no }: Transaction): number =>
    this.order.attempts.find((a) => a.transactionNo === no && a.outcome === undefined)!.no

  /** What was sent before may have been booked then; what was not sent was not. */
  #answered(transaction: Transaction, one: Command & { do: 'answer' }): Event {
    const attemptNo = this.#openAttempt(transaction)
    const event = (is: Event['is'], changes: object = {}): Event => eventOf(is, { attemptNo, ...changes }, transaction.no)
    if (one.outcome === 'not sent' && transaction.tries === 0) return event('not sent')
    if (one.booked) this.booked.add(transaction.no)
    if (one.outcome === 'told') return event(this.booked.has(transaction.no) ? 'approved' : 'declined')
    if (one.outcome === 'awaited') return event('answer awaited', { lease: me, leaseDueAt: this.#at + 4_000 })
    return event('answer lost', { reverseAt: this.#at + 5_000 })
  }

  #advised(advice: Transaction, { acknowledged }: Command & { do: 'advise' }): Event {
    const changes = { attemptNo: this.#openAttempt(advice) }
    if (!acknowledged) return eventOf('reversal unanswered', { ...changes, dueAt: this.#at + 1_000 }, advice.no)
    this.booked.delete(advice.parentNo!)
    if (advice.kind !== 'reversal') this.booked.add(advice.no)
    return eventOf('reversal acknowledged', { ...changes, actionCode: '400' }, advice.no)
  }

  #sweep(work: Work, at: number): void {
    const due = this.#pick((t) => t.step !== undefined, at)
    if (!due) return
    const claimed = { ...this.order, transactions: this.order.transactions.map((t) => (t === due ? { ...t, lease: me } : t)) }
    work.before = claimed
    work.after = claimed
    resume(work, due.no, this.#deciding())
  }

  /** Carries everything to its end. */
  finish(): void {
    for (let round = 0; round < 200 && this.order.transactions.some((t) => t.step); round++) {
      this.run({ do: 'answer', at: 0, booked: true, outcome: 'told' })
      this.run({ do: 'advise', at: 0, acknowledged: true })
      this.run({ do: 'sweep', at: round })
    }
    this.run({ do: 'advise', at: 0, acknowledged: true })
  }
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
        const life = new Life(kind, parts)
        for (const one of commands) {
          const before = life.order.transactions
          life.run(one)
          holds(life)
          for (const [index, t] of before.entries()) {
            seen.add(`${t.kind} ${t.state}`)
            const after = life.order.transactions[index]!
            if (finalStatuses.has(statusOfState(t.state))) assert.equal(after.state, t.state, 'a final status stays')
          }
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
