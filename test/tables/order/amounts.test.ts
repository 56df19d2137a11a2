import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  capturedMinor,
  judgeFollow as judge,
  leftFor,
  mostFollowUps,
  returnedMinor,
  type FollowAsk,
  type FollowRules,
  type Judged,
} from '../../../src/order/decide/amounts.ts'
import { statusOfState, type Order, type State, type Transaction } from '../../../src/order/decide/order.ts'
import type { FollowKind, OrderKind } from '../../../src/spec/words.ts'
import { frozen, now, orderIn, states } from './decide-orders.ts'

/**
 * What an order still allows: a table of situations, each asked everything with and without the
 * gate's leave for parts; choices.md, "Captures, returns and voids".
 */

type Drawn = readonly [kind: FollowKind | 'reversal', amountMinor: bigint, state: State]

/** An order of 10.00 whose payment is in a state, with what was asked of it since. */
function drawnOn(kind: OrderKind, state: State, drawn: readonly Drawn[] = []): Order {
  const made = orderIn(state, { kind, amountMinor: 1000n, amountText: '10.00' })
  const payment: Transaction = { ...made.transactions[0]!, kind, amountMinor: 1000n, amountText: '10.00' }
  const others = drawn.map(([of, amountMinor, at], index): Transaction => ({
    no: index + 2,
    kind: of,
    origin: of === 'reversal' ? 'gateway' : 'request',
    ...(of === 'reversal' ? {} : { serialNumber: `serial-${index + 2}`, asked: { operation: of === 'cancel' ? 'return' : of } }),
    parentNo: 1,
    state: at,
    amountMinor,
    amountText: String(amountMinor),
    result: {},
    tries: 0,
    createdAt: now - 1_000,
    ...(['approved', 'declined', 'filtered', 'error'].includes(at) ? { finalAt: now - 500 } : {}),
  }))
  return frozen({ ...made, transactions: [payment, ...others] })
}

const tenMinutes = 600_000
const judgeFollow = (
  order: Order,
  ask: FollowAsk,
  rules: Omit<FollowRules, 'repeatWindowMs'>,
  at: number,
  repeatWindowMs = tenMinutes,
) => judge(order, ask, { ...rules, repeatWindowMs }, at)

const operations = ['capture', 'return', 'void'] as const
const asking = (operation: FollowAsk['operation'], minor?: bigint): FollowAsk => ({
  operation,
  serialNumber: 'a new one',
  ...(minor === undefined ? {} : { amount: { minor, text: String(minor) } }),
  comment: 'unlike any other',
})

function told(judged: Judged): string {
  if (judged.is === 'allowed') return `${judged.kind} ${judged.amountMinor}`
  if (judged.is === 'exceeds') return `over ${judged.left}`
  return judged.is === 'repeat' ? `repeat of ${judged.transaction.no}` : judged.is === 'wrong state' ? 'wrong' : 'no part'
}

/** No amount, a hundredth, the whole 10.00, and more than that. */
const amounts = [undefined, 1n, 1000n, 1001n]
const answers = (order: Order, operation: FollowAsk['operation'], may: boolean): string =>
  amounts.map((minor) => told(judgeFollow(order, asking(operation, minor), { capture: may, return: may }, now))).join(' | ')

const wrong = 'wrong | wrong | wrong | wrong'
const wholeOnly = (kind: FollowKind) => `${kind} 1000 | no part | ${kind} 1000 | over 1000`
const any = (kind: FollowKind) => `${kind} 1000 | ${kind} 1 | ${kind} 1000 | over 1000`
const some = (kind: FollowKind, left: bigint) => `${kind} ${left} | ${kind} 1 | over ${left} | over ${left}`
const none = (left: bigint) => `no part | no part | over ${left} | over ${left}`

interface Row {
  what: string
  kind: OrderKind
  drawn: readonly Drawn[]
  /** With leave for parts and without, where that makes a difference. */
  capture: string | readonly [string, string]
  return: string | readonly [string, string]
  void: string
}
const row = (
  what: string,
  kind: OrderKind,
  drawn: readonly Drawn[],
  ...rest: [Row['capture'], Row['return'], Row['void']]
): Row => ({
  what,
  kind,
  drawn,
  capture: rest[0],
  return: rest[1],
  void: rest[2],
})

// oxfmt-ignore
const table: readonly Row[] = [
  //  situation                                   order      drawn on it                                                        capture                                         return                                       void
  row('a sale',                                   'sale',    [],                                                                wrong,                                          [any('return'), wholeOnly('return')],        wholeOnly('void')),
  row('a sale, partly returned',                  'sale',    [['return', 400n, 'approved']],                                    wrong,                                          [some('return', 600n), none(600n)],          wrong),
  row('a sale, wholly returned',                  'sale',    [['return', 1000n, 'approved']],                                   wrong,                                          wrong,                                       wrong),
  row('a sale, a return under way',               'sale',    [['return', 999n, 'authorising']],                                 wrong,                                          ['return 1 | return 1 | over 1 | over 1', 'no part | no part | over 1 | over 1'], wrong),
  row('a sale, its return unknown',               'sale',    [['return', 1000n, 'unknown'], ['reversal', 1000n, 'reversing']],  wrong,                                          wrong,                                       wrong),
  row('a sale, its return taken back',            'sale',    [['return', 1000n, 'error'], ['reversal', 1000n, 'approved']],     wrong,                                          [any('return'), wholeOnly('return')],        wholeOnly('void')),
  row('a sale, a return declined',                'sale',    [['return', 1000n, 'declined']],                                   wrong,                                          [any('return'), wholeOnly('return')],        wholeOnly('void')),
  row('a sale, a void under way',                 'sale',    [['void', 1000n, 'reversing']],                                    wrong,                                          wrong,                                       wrong),
  row('a sale, voided',                           'sale',    [['void', 1000n, 'approved']],                                     wrong,                                          wrong,                                       wrong),
  row('a preauthorisation',                       'preauth', [],                                                                [any('capture'), wholeOnly('capture')],         wholeOnly('cancel'),                         wholeOnly('void')),
  row('a preauthorisation, partly captured',      'preauth', [['capture', 400n, 'approved']],                                   [some('capture', 600n), none(600n)],            [some('return', 400n), 'return 400 | no part | over 400 | over 400'], wrong),
  row('a preauthorisation, captured in two',      'preauth', [['capture', 400n, 'approved'], ['capture', 600n, 'approved']],    wrong,                                          [any('return'), wholeOnly('return')],        wrong),
  row('a preauthorisation, a capture under way',  'preauth', [['capture', 400n, 'ready']],                                      [some('capture', 600n), none(600n)],            wrong,                                       wrong),
  row('a preauthorisation, its capture unknown',  'preauth', [['capture', 1000n, 'unknown'], ['reversal', 1000n, 'owed']],      wrong,                                          wrong,                                       wrong),
  row('one captured and one unknown part',        'preauth', [['capture', 300n, 'approved'], ['capture', 500n, 'unknown']],     [some('capture', 200n), none(200n)],            [some('return', 300n), none(300n)],          wrong),
  row('a capture taken back',                     'preauth', [['capture', 1000n, 'error'], ['reversal', 1000n, 'approved']],    [any('capture'), wholeOnly('capture')],         wholeOnly('cancel'),                         wholeOnly('void')),
  row('a capture declined',                       'preauth', [['capture', 1000n, 'declined']],                                  [any('capture'), wholeOnly('capture')],         wholeOnly('cancel'),                         wholeOnly('void')),
  row('a preauthorisation, captured, returned',   'preauth', [['capture', 1000n, 'approved'], ['return', 1000n, 'approved']],   wrong,                                          wrong,                                       wrong),
  row('parts of both',                            'preauth', [['capture', 500n, 'approved'], ['return', 200n, 'unknown']],      [some('capture', 500n), none(500n)],            [some('return', 300n), none(300n)],          wrong),
  row('a preauthorisation, a cancel under way',   'preauth', [['cancel', 1000n, 'owed']],                                       wrong,                                          wrong,                                       wrong),
  row('a preauthorisation, cancelled',            'preauth', [['cancel', 1000n, 'approved']],                                   wrong,                                          wrong,                                       wrong),
  row('a preauthorisation, voided',               'preauth', [['void', 1000n, 'approved']],                                     wrong,                                          wrong,                                       wrong),
  row('an account verification', 'account-verification', [],                                                                     wrong,                                          wrong,                                       wrong),
]

describe('the operations that an approved order allows', () => {
  for (const line of table)
    test(line.what, () => {
      for (const operation of operations) {
        const [may, mayNot] = typeof line[operation] === 'string' ? [line[operation], line[operation]] : line[operation]
        const order = drawnOn(line.kind, 'approved', line.drawn)
        assert.equal(answers(order, operation, true), may, `${operation}, parts allowed`)
        assert.equal(answers(order, operation, false), mayNot, `${operation}, whole amounts only`)
      }
    })
})

test('an order whose payment is not approved allows nothing', () => {
  for (const kind of ['sale', 'preauth', 'account-verification'] as const)
    for (const state of states.filter((one) => one !== 'approved'))
      for (const operation of operations)
        for (const may of [true, false])
          assert.equal(answers(drawnOn(kind, state), operation, may), wrong, `${operation} of a ${kind} ${state}`)
})

test('a capture or return holds its sum in every state except those without a movement of money', () => {
  const without = new Set<State>(['declined', 'filtered', 'error'])
  for (const state of states) {
    const captured = drawnOn('preauth', 'approved', [['capture', 400n, state]])
    assert.equal(capturedMinor(captured), without.has(state) ? 0n : 400n, `a capture ${state}`)
    const returned = drawnOn('sale', 'approved', [['return', 400n, state]])
    assert.equal(returnedMinor(returned), without.has(state) ? 0n : 400n, `a return ${state}`)
    assert.equal(without.has(state), ['declined', 'filtered', 'error'].includes(statusOfState(state)))
    for (const kind of ['void', 'cancel'] as const)
      assert.equal(
        told(
          judgeFollow(
            drawnOn('preauth', 'approved', [[kind, 1000n, state]]),
            asking('capture'),
            { capture: true, return: true },
            now,
          ),
        ),
        without.has(state) ? 'capture 1000' : 'wrong',
        `a ${kind} ${state}`,
      )
  }
})

test('money cannot be returned while its capture is open', () => {
  for (const state of states) {
    const order = drawnOn('preauth', 'approved', [['capture', 1000n, state]])
    const cameToNothing = ['declined', 'filtered', 'error'].includes(state)
    const expected = state === 'approved' ? 'return 1000' : cameToNothing ? 'cancel 1000' : 'wrong'
    assert.equal(told(judgeFollow(order, asking('return'), { capture: true, return: true }, now)), expected, state)
  }
})

describe('a repeat of a follow-up', () => {
  const may = { capture: true, return: true }
  const asked = (order: Order, changes: Partial<Transaction>): Order =>
    frozen({ ...order, transactions: order.transactions.map((t) => (t.no === 2 ? { ...t, ...changes } : t)) })
  const part = (state: State): Order => drawnOn('sale', 'approved', [['return', 400n, state]])
  const plain = (minor?: bigint, changes: Partial<FollowAsk> = {}): FollowAsk => {
    const { comment: _, ...rest } = asking('return', minor)
    return { ...rest, ...changes }
  }

  // What an equal request is, by the state of the first one and the time since that was reached.
  // oxfmt-ignore
  const repeats: [State | 'open', sinceMs: number, windowMs: number, expected: string][] = [
    ['open',      0,                   tenMinutes, 'repeat of 2'],
    ['open',      0,                   0,          'repeat of 2'],
    ['unknown',   0,                   tenMinutes, 'repeat of 2'],
    ['unknown',   0,                   0,          'repeat of 2'],
    ['approved',  0,                   tenMinutes, 'repeat of 2'],
    ['approved',  tenMinutes - 1,      tenMinutes, 'repeat of 2'],
    ['approved',  tenMinutes,          tenMinutes, 'return 400'],
    ['approved',  86_400_000,          tenMinutes, 'return 400'],
    ['approved',  59_999,              60_000,     'repeat of 2'],
    ['approved',  60_000,              60_000,     'return 400'],
    ['approved',  0,                   0,          'return 400'],
    ['declined',  0,                   tenMinutes, 'return 400'],
    ['filtered',  0,                   tenMinutes, 'return 400'],
    ['error',     0,                   tenMinutes, 'return 400'],
  ]
  for (const [state, sinceMs, windowMs, expected] of repeats)
    test(`an equal request ${sinceMs} ms after the first was ${state}, with a window of ${windowMs} ms: ${expected}`, () => {
      const open = states.filter((one) => statusOfState(one) === 'processing')
      for (const one of state === 'open' ? open : [state]) {
        const order = asked(part(one), { createdAt: now - 30 * 86_400_000, finalAt: now - sinceMs })
        assert.equal(told(judgeFollow(order, plain(400n), may, now, windowMs)), expected, one)
      }
    })

  test('another amount, comment or operation is another request', () => {
    const open = asked(part('authorising'), { asked: { operation: 'return', comment: 'a' } })
    assert.equal(told(judgeFollow(open, plain(400n, { comment: 'a' }), may, now)), 'repeat of 2')
    assert.equal(told(judgeFollow(open, plain(400n, { comment: 'b' }), may, now)), 'return 400')
    assert.equal(told(judgeFollow(open, plain(400n), may, now)), 'return 400')
    assert.equal(told(judgeFollow(open, plain(399n, { comment: 'a' }), may, now)), 'return 399')
    assert.equal(told(judgeFollow(open, plain(undefined, { comment: 'a' }), may, now)), 'return 600')
    assert.equal(told(judgeFollow(open, { ...plain(undefined, { comment: 'a' }), operation: 'void' }, may, now)), 'wrong')
  })

  test('a request for the whole rest equals an earlier one, whatever the rest is by now', () => {
    const whole = asked(drawnOn('sale', 'approved', [['return', 1000n, 'unknown']]), {
      asked: { operation: 'return', whole: true },
    })
    assert.equal(told(judgeFollow(whole, plain(), may, now)), 'repeat of 2')
    assert.equal(told(judgeFollow(whole, plain(1000n), may, now)), 'wrong', 'named, it is another request')
  })

  test('two keys are two requests, open or approved; one key, or none, is the same one', () => {
    // oxfmt-ignore
    const keys: [first: string | undefined, second: string | undefined, expected: string][] = [
      [undefined, undefined, 'repeat of 2'],
      [undefined, 'b',       'repeat of 2'],
      ['a',       undefined, 'repeat of 2'],
      ['a',       'a',       'repeat of 2'],
      ['a',       'A',       'return 400'],
      ['a',       'b',       'return 400'],
    ]
    for (const state of ['authorising', 'unknown', 'approved'] as const)
      for (const [first, second, expected] of keys) {
        const order = asked(part(state), {
          asked: { operation: 'return', ...(first === undefined ? {} : { idempotencyKey: first }) },
        })
        const ask = plain(400n, second === undefined ? {} : { idempotencyKey: second })
        assert.equal(told(judgeFollow(order, ask, may, now)), expected, `${state}: ${first}, then ${second}`)
      }
  })

  test('of several equal operations the newest counts', () => {
    const order = drawnOn('sale', 'approved', [
      ['return', 400n, 'approved'],
      ['return', 400n, 'approved'],
    ])
    assert.equal(told(judgeFollow(order, plain(400n), may, now)), 'repeat of 3')
  })

  test('a repeat of an approved void or cancel gets the same reply', () => {
    for (const [kind, operation] of [
      ['void', 'void'],
      ['cancel', 'return'],
    ] as const) {
      const order = asked(drawnOn('preauth', 'approved', [[kind, 1000n, 'approved']]), { asked: { operation, whole: true } })
      assert.equal(told(judgeFollow(order, plain(undefined, { operation }), may, now)), 'repeat of 2', kind)
      assert.equal(told(judgeFollow(order, plain(undefined, { operation, comment: 'again' }), may, now)), 'wrong', kind)
    }
  })

  test('a follow-up whose commit lost its answer is found by its serial number', () => {
    assert.equal(told(judgeFollow(part('approved'), plain(400n, { serialNumber: 'serial-2' }), may, now)), 'repeat of 2')
  })
})

describe('an order has at most a hundred captures, returns and voids', () => {
  const may = { capture: true, return: true }
  const returns = (count: number, state: State = 'approved'): Drawn[] =>
    Array.from({ length: count }, () => ['return', 1n, state])
  const captures = (count: number): Drawn[] => Array.from({ length: count }, () => ['capture', 1n, 'approved'])
  // oxfmt-ignore
  const rows: [what: string, kind: OrderKind, drawn: Drawn[], ask: FollowAsk, expected: string][] = [
    ['the hundredth',                           'sale',    returns(99),  asking('return', 1n),   'return 1'],
    ['one more part',                           'sale',    returns(100), asking('return', 1n),   'wrong'],
    ['one more part that is more than is left', 'sale',    returns(100), asking('return', 901n), 'wrong'],
    ['all that is left, not named',             'sale',    returns(100), asking('return'),       'return 900'],
    ['all that is left, named',                 'sale',    returns(100), asking('return', 900n), 'return 900'],
    ['a part, as those that came to nothing count', 'sale', returns(100, 'declined'), asking('return', 1n), 'wrong'],
    ['a void, which releases all',              'sale',    returns(100, 'declined'), asking('void'), 'void 1000'],
    ['one more capture',                        'preauth', captures(100), asking('capture', 1n), 'wrong'],
    ['a capture of all that is left',           'preauth', captures(100), asking('capture'),     'capture 900'],
    ['a part of what was captured',             'preauth', captures(100), asking('return', 1n),  'wrong'],
    ['all that was captured',                   'preauth', captures(100), asking('return'),      'return 100'],
    ['the same as the newest',                  'sale',    returns(100), { operation: 'return', serialNumber: 'a new one', amount: { minor: 1n, text: '0.01' } }, 'repeat of 101'],
  ]
  for (const [what, kind, drawn, ask, expected] of rows)
    test(`${what}: ${expected}`, () => assert.equal(told(judgeFollow(drawnOn(kind, 'approved', drawn), ask, may, now)), expected))

  test('operations that the gateway owes by itself do not count', () => {
    const reversals: Drawn[] = Array.from({ length: mostFollowUps }, () => ['reversal', 1n, 'approved'])
    assert.equal(told(judgeFollow(drawnOn('sale', 'approved', reversals), asking('return', 1n), may, now)), 'return 1')
  })
})

const leftText = (left: ReturnType<typeof leftFor>) => (typeof left === 'string' ? left : `${left.kind} ${left.minor}`)
// oxfmt-ignore
const rows: [kind: OrderKind, state: State, drawn: Drawn[], capture: string, back: string, release: string][] = [
  ['sale',     'declined',  [],                                          'not approved',     'not approved',       'not approved'],
  ['sale',     'approved',  [],                                          'not a preauthorisation',  'return 1000',        'void 1000'],
  ['sale',     'approved',  [['return', 999n, 'unknown']],           'not a preauthorisation',  'return 1',           'partly returned'],
  ['sale',     'approved',  [['return', 1000n, 'authorising']],      'not a preauthorisation',  'all returned',       'partly returned'],
  ['sale',     'approved',  [['void', 1000n, 'reversing']],          'released',         'released',           'released'],
  ['preauth',  'approved',  [],                                          'capture 1000',     'cancel 1000',        'void 1000'],
  ['preauth',  'approved',  [['capture', 1n, 'ready']],              'capture 999',      'capture not settled', 'captured'],
  ['preauth',  'approved',  [['capture', 1000n, 'approved']],        'all captured',     'return 1000',        'captured'],
  ['transfer', 'approved',  [],                                          'a transfer',       'a transfer',         'a transfer'],
  ['account-verification', 'approved', [],                               'nothing charged',  'nothing charged',    'nothing charged'],
]
for (const [kind, state, drawn, ...expected] of rows)
  test(`left of a ${kind} ${state}${drawn.map(([of, , at]) => `, ${of} ${at}`).join('')}: ${expected.join(', ')}`, () => {
    const order = drawnOn(kind, state, drawn)
    const lefts = operations.map((operation) => leftText(leftFor(order, operation)))
    assert.deepEqual(lefts, expected)
  })
