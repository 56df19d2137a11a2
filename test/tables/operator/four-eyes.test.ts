import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Unreadable } from '../../../src/entity/kinds.ts'
import type { Order } from '../../../src/order/decide/order.ts'
import type { Permission } from '../../../src/operator/permissions.ts'
import { amounts, isAbove, isOn, rulesAbout, type Rules } from '../../../src/operator/proposals/rules.ts'

const alone = amounts.read('100.00 EUR, 10000 JPY') as Rules['returns']
const off: Rules = { returns: [], keys: false, gates: false, users: false }

/** `back`: kind, state and amount of each transaction. */
const order = (currency: string, ...back: [kind: string, state: string, minor: bigint][]): Order =>
  ({ currency, transactions: back.map(([kind, state, amountMinor]) => ({ kind, state, amountMinor })) }) as unknown as Order

test('amounts are written with their currencies, in decimals that these have', () => {
  assert.deepEqual(alone, [
    { minor: 10_000n, currency: 'EUR' },
    { minor: 10_000n, currency: 'JPY' },
  ])
  assert.equal(amounts.written([...alone]), '100.00 EUR,10000 JPY')
  for (const wrong of ['100', '100 ZZZ', '1.001 EUR', '1.5 JPY', 'EUR', '-1 EUR', '1e3 EUR'])
    assert.ok(amounts.read(wrong) instanceof Unreadable, wrong)
})

// oxfmt-ignore
const cases = [
  ['as much as one may',          order('EUR', ['sale', 'approved', 99_999n], ['return', 'reversing', 10_000n]), false],
  ['a cent more',                 order('EUR', ['sale', 'approved', 99_999n], ['return', 'reversing', 10_001n]), true],
  ['in parts, together more',     order('EUR', ['return', 'approved', 6_000n], ['return', 'reversing', 4_001n]), true],
  ['beside a part that failed',   order('EUR', ['return', 'declined', 6_000n], ['return', 'reversing', 4_001n]), false],
  ['a void of the whole',         order('EUR', ['void', 'reversing', 10_001n]), true],
  ['a reversal',                  order('EUR', ['reversal', 'reversing', 10_001n]), true],
  ['a currency without an amount', order('USD', ['return', 'reversing', 1n]), true],
] as const
for (const [what, of, above] of cases)
  test(`returns by one user: ${what}: ${above ? 'two are needed' : 'one will do'}`, () => {
    assert.equal(isAbove(alone, of), above)
  })

test('a rule covers the actions in its name, and each covers users too', () => {
  const ruleOf = (rules: Rules, words: string, needs: Permission) => rulesAbout(words, needs).find((one) => isOn(rules, one))
  assert.equal(ruleOf(off, 'user add', 'users'), undefined)
  for (const on of [{ keys: true }, { gates: true }, { users: true }, { returns: alone }])
    assert.equal(ruleOf({ ...off, ...on }, 'token add', 'users'), 'users')
  assert.equal(ruleOf({ ...off, keys: true }, 'merchant rotate-key', 'secrets'), 'keys')
  assert.equal(ruleOf({ ...off, gates: true }, 'gate undo', 'configure'), 'gates')
  assert.equal(ruleOf({ ...off, gates: true }, 'endpoint set', 'configure'), undefined)
  for (const words of ['order return', 'order void']) assert.equal(ruleOf({ ...off, returns: alone }, words, 'money'), 'returns')
  assert.equal(ruleOf({ ...off, returns: alone }, 'order capture', 'money'), undefined)
})
