import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { head, statusOf, statusOfState, type Order, type Transaction } from '../../../src/order/decide/order.ts'
import { finalStatuses } from '../../../src/spec/words.ts'
import { frozen, now, openAttempt, orderIn } from './decide-orders.ts'
import { advices, answers, finalsStay, Life, owner, sweeps, type Happening } from '../contract/order-life.ts'

/**
 * Random lives of a transfer, through everything that decides about it, beside an acquirer that
 * knows what really moved.
 */

const amount = 1000n
const commission = 35n
type Command = Happening | { do: 'gone'; gate: boolean } | { do: 'ask'; operation: 'capture' | 'return' | 'void' }

const gone = fc.record({ do: fc.constant('gone' as const), gate: fc.boolean() })
const operation = fc.constantFrom('capture' as const, 'return' as const, 'void' as const)
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: answers },
  { weight: 4, arbitrary: advices },
  { weight: 3, arbitrary: sweeps },
  { weight: 1, arbitrary: gone },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), operation }) },
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
    lease: owner,
    tries: 0,
  }
  return frozen({ ...made, transactions: [debit] })
}

function run(life: Life, one: Command): void {
  if (one.do === 'gone') life.gateIsOn = one.gate
  else if (one.do === 'ask')
    assert.equal(life.ask(one)?.is, 'wrong state', 'a transfer is neither captured nor given back by request')
  else life.happens(one)
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
  if (returned) assert.equal(returned.amountMinor, amount + commission, 'the whole debit is returned')
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

test('a transfer moves all of its money or none, and gives none back while it may have been paid out', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 25 }), (commands) => {
      const life = new Life(transfer())
      for (const one of commands) {
        const before = life.order.transactions
        run(life, one)
        holds(life)
        assert.equal(finalsStay(before, life), undefined)
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
    const life = new Life(transfer())
    life.happens({ do: 'answer', at: 0, booked: true, outcome: 'told' })
    life.happens({ do: 'answer', at: 0, booked, outcome })
    life.finish()
    const { state, result } = head(life.order)
    assert.deepEqual({ state, errorCode: result.errorCode }, expected, outcome)
  }
})
