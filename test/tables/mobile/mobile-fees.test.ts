import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commissionOf, transferCommission } from '../../../src/acquirer/commission.ts'
import { centisOfMinor, minorOfCentis } from '../../../src/mobile-api/sum/centis.ts'
import { assignedIds } from '../../../src/mobile-api/fees.ts'

describe('a commission is the fixed sum and the share of the amount, a half rounded up', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [fixed: number, basisPoints: number, amount: bigint, commission: bigint])[] = [
    [0,         0,         1_000n, 0n],
    [50,        0,         1_000n, 50n],
    [50,        100,       1_000n, 60n],
    [0,         1,         4_999n, 0n],
    [0,         1,         5_000n, 1n],
    [0,         250,       1_020n, 26n],
    [0,         10_000,    7n,     7n],
    [1,         33,        999_999_999_999n, 3_300_000_001n],
  ]
  for (const [fixed, basisPoints, amount, commission] of cases)
    test(`${fixed} and ${basisPoints} of ${amount}`, () => {
      const settings = { commissionFixedMinor: fixed, commissionBasisPoints: basisPoints }
      assert.equal(commissionOf(transferCommission(settings), amount), commission)
    })
})

test('hundredths are those of the unit, whatever the currency', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [string, number, bigint | undefined])[] = [
    ['USD', 345, 345n], ['JPY', 300, 3n],
    ['JPY', 345, undefined], ['KWD', 345, 3_450n],
  ]
  for (const [currency, centis, minor] of cases) {
    assert.equal(minorOfCentis(centis, currency), minor)
    if (minor !== undefined) assert.equal(centisOfMinor(minor, currency), centis)
  }
  assert.equal(centisOfMinor(3_454n, 'KWD'), 345)
  assert.equal(centisOfMinor(3_455n, 'KWD'), 346)
})

test('gates have distinct names that fit into a path', () => {
  const named = (...names: string[]) => assignedIds(names.map((name, i) => ({ name, gateId: BigInt(i + 1) })))
  assert.deepEqual(named('Sandbox acquirer', 'ÄB/c', 'x_1.2'), ['sandbox-acquirer', '-b-c', 'x_1.2'])
  assert.deepEqual(named('One', 'one', 'two'), ['one-1', 'one-2', 'two'])
  assert.deepEqual(named('status', 'Status ', '..', '.'), ['status-1', 'status-', '..-3', '.-4'])
  assert.deepEqual(named('one', 'ONE', 'one-1'), ['one-1', 'one-2', 'one-1-3'])
})
