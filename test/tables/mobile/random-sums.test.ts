import assert from 'node:assert/strict'
import { test } from 'node:test'
import currencyCodes from 'currency-codes'
import { systemRandom } from '../../../src/base/random.ts'
import { boundsOf, drawSumMinor, sumMinorOf } from '../../../src/mobile-api/sum/random-sum.ts'

test('a random sum is one of 900 in every currency', () => {
  for (const code of [...currencyCodes.data.map((c) => c.code), 'XCG', 'XAD']) {
    const { least, most } = boundsOf(code)
    const sums = new Set(Array.from({ length: 900 }, (_, i) => sumMinorOf(100 + i, code)))
    assert.equal(sums.size, 900, code)
    assert.ok(
      [...sums].every((sum) => sum >= least && sum <= most),
      code,
    )
  }
})

// oxfmt-ignore
const bounds: [currency: string, least: bigint, most: bigint][] = [
  ['USD', 100n,     999n],
  ['JPY', 100n,     999n],
  ['KWD', 1_000n,   9_990n],
  ['CLF', 10_000n,  99_900n],
]
for (const [currency, least, most] of bounds)
  test(`a random sum of ${currency} is from ${least} to ${most} of its smallest unit`, () => {
    assert.deepEqual(boundsOf(currency), { least, most })
    const drawn = new Set(Array.from({ length: 3_000 }, () => drawSumMinor(systemRandom, currency)))
    assert.ok(drawn.size >= 300, `${drawn.size} sums of 3,000 draws`)
    assert.ok([...drawn].every((sum) => sum >= least && sum <= most))
  })
