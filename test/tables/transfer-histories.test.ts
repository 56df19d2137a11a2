import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { cellMarks } from '../../src/base/cell-mark.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Event } from '../../src/order/event.ts'
import { head, statusOf, statusOfState, type Order, type Transaction } from '../../src/order/order.ts'
import { drive, follow, resume, type Deciding, type Work } from '../../src/order/work.ts'
import { finalStatuses } from '../../src/spec/words.ts'
import { eventOf, frozen, now, openAttempt, orderIn, registryWithGate } from './decide-orders.ts'

/**
 * Random lives of a transfer, through everything that decides about it, beside an acquirer that
 * knows what really moved.
 */

const amount = 1000n
const commission = 35n
const me = 1n
type Command =
  /** What the acquirer did with a debit or credit, and whether its answer came. */
  | { do: 'answer'; booked: boolean; outcome: 'told' | 'lost' | 'awaited' | 'not sent' }
  | { do: 'advise'; acknowledged: boolean }
  /** The process that has it in hand dies, or a sweep finds what is due. */
  | { do: 'sweep'; at: number }
  | { do: 'gone'; gate: boolean }
  | { do: 'ask'; operation: 'capture' | 'return' | 'void' }

// oxfmt-ignore
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({
    do: fc.constant('answer' as const),
    booked: fc.boolean(),
    outcome: fc.constantFrom('told' as const, 'told' as const, 'lost' as const, 'awaited' as const, 'not sent' as const),
  }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advise' as const), acknowledged: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sweep' as const), at: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('gone' as const), gate: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), operation: fc.constantFrom('capture' as const, 'return' as const, 'void' as const) }) },
)

function transfer(): Order {
  const made = orderIn('authorising', { kind: 'transfer', amountMinor: amount, amountText: '10.00' })
  const debit: Transaction = {
    ...made.transactions[0]!,
    kind: 'transfer',
    amountMinor: amount + commission,
    amountText: '10.35',
    result: { gateId: String(openAttempt.gateId) },
    step: 'authorise',
    dueAt: now,
    lease: me,
    tries: 0,
  }
  return frozen({ ...made, transactions: [debit] })
}

/** One transfer with its clock, its sweeper, and the acquirer's entries of it by transaction. */
class Life {
  order = transfer()
  readonly booked = new Set<number>()
  #at = now
  #number = 1n
  #gateOn = true

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
    const of = (step: Transaction['step']) => this.order.transactions.find((t) => t.step === step)
    if (one.do === 'gone') this.#gateOn = one.gate
    else if (one.do === 'ask') {
      const refused = follow(work, { operation: one.operation, serialNumber: 'asked' }, this.#deciding())
      assert.equal(refused?.is, 'wrong state', 'a transfer is neither captured nor given back by request')
    } else if (one.do === 'sweep') this.#sweep(work, one.at)
    else if (one.do === 'answer') {
      const transaction = of('authorise')
      if (transaction) drive(work, this.#answered(transaction, one), this.#deciding())
    } else {
      const transaction = of('reverse')
      if (transaction) drive(work, this.#advised(transaction, one.acknowledged), this.#deciding())
    }
    this.order = work.after
  }

  #deciding(): Deciding {
    const planner = { enrolment: () => ({ is: 'unknown' as const }), marks: cellMarks(systemRandom, 0), steering: false }
    return {
      now: this.#at,
      processId: me,
      registry: registryWithGate(this.#gateOn),
      planner,
      number: () => this.#number++,
      hold: true,
    }
  }

  #openAttempt = ({ no }: Transaction): number =>
    this.order.attempts.find((a) => a.transactionNo === no && a.outcome === undefined)!.no

  #answered(transaction: Transaction, one: Command & { do: 'answer' }): Event {
    const attemptNo = this.#openAttempt(transaction)
    const event = (is: Event['is'], changes: object = {}): Event => eventOf(is, { attemptNo, ...changes }, transaction.no)
    if (one.outcome === 'not sent' && transaction.tries === 0) return event('not sent')
    if (one.booked) this.booked.add(transaction.no)
    const approved = transaction.kind === 'transfer' ? 'debited' : 'approved'
    if (one.outcome === 'told') return event(this.booked.has(transaction.no) ? approved : 'declined', { actionCode: '119' })
    if (one.outcome === 'awaited') return event('answer awaited', { lease: me, leaseDueAt: this.#at + 4_000 })
    return event('answer lost', { reverseAt: this.#at + 5_000 })
  }

  #advised(advice: Transaction, acknowledged: boolean): Event {
    const changes = { attemptNo: this.#openAttempt(advice) }
    if (!acknowledged) return eventOf('reversal unanswered', { ...changes, dueAt: this.#at + 1_000 }, advice.no)
    this.booked.delete(advice.parentNo!)
    return eventOf('reversal acknowledged', { ...changes, actionCode: '400' }, advice.no)
  }

  #sweep(work: Work, at: number): void {
    const due = this.order.transactions.filter((t) => t.step !== undefined)[at]
    if (!due) return
    const claimed = { ...this.order, transactions: this.order.transactions.map((t) => (t === due ? { ...t, lease: me } : t)) }
    work.before = claimed
    work.after = claimed
    resume(work, due.no, this.#deciding())
  }

  finish(): void {
    this.run({ do: 'gone', gate: true })
    for (let round = 0; round < 50 && this.order.transactions.some((t) => t.step); round++) {
      this.run({ do: 'answer', booked: true, outcome: 'told' })
      this.run({ do: 'advise', acknowledged: true })
      this.run({ do: 'sweep', at: round % 4 })
    }
  }
}

const legs = ({ transactions }: Order) => ({
  debit: transactions[0]!,
  credit: transactions.find(({ kind }) => kind === 'credit'),
  returned: transactions.find(({ kind, parentNo }) => kind === 'reversal' && parentNo === 1),
})

function holds({ order, booked }: Life): void {
  const { debit, credit, returned } = legs(order)
  const of = (kind: Transaction['kind']) => order.transactions.filter((t) => t.kind === kind)
  assert.ok(of('credit').length <= 1, 'it is paid out once at the most')
  if (credit) {
    assert.deepEqual([debit.amountMinor, credit.amountMinor], [amount + commission, amount])
    assert.equal(order.attempts.find((a) => a.transactionNo === 1)?.outcome, 'approved', 'only what was debited is paid out')
  }
  if (returned) assert.equal(returned.amountMinor, amount + commission, 'the debit is given back whole')
  if (credit && returned) {
    assert.ok(
      ['declined', 'error'].includes(statusOfState(credit.state)),
      `the debit goes back while the credit is ${credit.state}`,
    )
    assert.ok(!booked.has(credit.no), 'the debit goes back while the credit stands')
  }
  for (const t of order.transactions) {
    assert.ok(order.attempts.filter((a) => a.transactionNo === t.no).length <= 1, `transaction ${t.no} is sent under one name`)
    assert.ok(of('reversal').filter((r) => r.parentNo === t.no).length <= 1, `transaction ${t.no} is reversed once`)
  }
  if (finalStatuses.has(statusOf(order))) agree(order, booked)
}

/** Both books once the order is final: all of it or nothing. */
function agree(order: Order, booked: ReadonlySet<number>): void {
  const { credit } = legs(order)
  const approved = statusOf(order) === 'approved'
  assert.equal(booked.has(1), approved, `the debit of a transfer that is ${statusOf(order)}`)
  assert.equal(credit !== undefined && booked.has(credit.no), approved, `the credit of a transfer that is ${statusOf(order)}`)
  const { errorCode } = head(order).result
  assert.equal(errorCode === undefined, approved, 'what failed has a reason')
}

test('a transfer moves all of its money or none, and nobody gets it back while it may have been paid out', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 25 }), (commands) => {
      const life = new Life()
      for (const one of commands) {
        const before = life.order.transactions
        life.run(one)
        holds(life)
        for (const [index, { state }] of before.entries()) {
          const after = life.order.transactions[index]!
          if (finalStatuses.has(statusOfState(state))) assert.equal(after.state, state, 'a final status stays')
        }
      }
      life.finish()
      holds(life)
      const { debit, credit } = legs(life.order)
      assert.ok(finalStatuses.has(statusOf(life.order)), `it ends, and is ${debit.state}`)
      seen.add(`${credit?.state} ${debit.state}`)
    }),
    { numRuns: 3_000 },
  )
  // A property that never gets anywhere would hold as well.
  for (const end of ['approved approved', 'declined declined', 'error error', 'undefined declined', 'undefined error'])
    assert.ok(seen.has(end), `no transfer ended ${end}`)
})

test('a transfer whose credit is refused says why, and one whose credit was lost that it was lost', () => {
  for (const [outcome, booked, expected] of [
    ['told', false, { state: 'declined', errorCode: '119' }],
    ['lost', true, { state: 'error', errorCode: '911' }],
    ['not sent', false, { state: 'error', errorCode: '909' }],
  ] as const) {
    const life = new Life()
    life.run({ do: 'answer', booked: true, outcome: 'told' })
    life.run({ do: 'answer', booked, outcome })
    life.finish()
    const { state, result } = head(life.order)
    assert.deepEqual({ state, errorCode: result.errorCode }, expected, outcome)
  }
})
