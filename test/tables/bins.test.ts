import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { binTableOf, readBins, type BinRange } from '../../src/card/bins.ts'

const read = (csv: string): BinRange[] => {
  const ranges = readBins(csv)
  assert.ok(typeof ranges !== 'string')
  return ranges
}

test('a table is read in any order of its columns, with quotes, three-letter countries and unknown columns', () => {
  const ranges = read('\uFEFFBank,country,first,last,note\n"First, Bank",usa,400000,400099,x\n,,52000000,,\n\nB,DE,4001,4001,\n')
  assert.deepEqual(ranges, [
    { first: 40000000000, last: 40009999999, country: 'US', bank: 'First, Bank' },
    { first: 40010000000, last: 40019999999, country: 'DE', bank: 'B' },
    { first: 52000000000, last: 52000000999 },
  ])
})

describe('what cannot be a table is refused with its line', () => {
  // oxfmt-ignore
  const rows = [
    ['', /no ranges/], ['first,last\n', /no ranges/], ['first\n12', /line 2.*"12"/], ['first\n400000\n4000000000001', /line 3/],
    ['first,last\n400000,39', /line 2/], ['first,last\n400001,400000', /line 2.*before/], ['first,country\n400000,XX', /"XX"/],
    ['first,last\n4000,4001\n400100,400100', /overlap/], ['first,bank\n400000,"open', /not CSV/], [`first,bank\n400000,${'x'.repeat(101)}`, /longer/],
  ] as const
  for (const [csv, why] of rows)
    test(JSON.stringify(csv.slice(0, 40)), () => {
      const complaint = readBins(csv)
      assert.ok(typeof complaint === 'string')
      assert.match(complaint, why)
    })
})

test('a card is found in its range, on both ends of it, and nowhere else', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 100, max: 900 }), { minLength: 2, maxLength: 30 }),
      fc.integer({ min: 100, max: 999 }),
      (cuts, bin) => {
        const sorted = cuts.toSorted((a, b) => a - b)
        const ranges = sorted.flatMap((cut, i) =>
          i % 2 === 1 ? [{ first: sorted[i - 1]! * 1e8, last: cut * 1e8 - 1, bank: String(i) }] : [],
        )
        const expected = ranges.find(({ first, last }) => bin * 1e8 >= first && bin * 1e8 <= last)
        assert.equal(binTableOf(ranges)(`${bin}0000000000000`)?.bank, expected?.bank)
      },
    ),
  )
})
