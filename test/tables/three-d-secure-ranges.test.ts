import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pauseMs } from '../../src/three-d-secure/directory-refresh.ts'
import {
  applyDelta,
  applyFull,
  differenceOf,
  openRanges,
  versionFor,
  type CardRange,
  type RangeItem,
} from '../../src/three-d-secure/ranges.ts'

const range = (startRange: string, endRange: string, more: Partial<CardRange> = {}): CardRange => ({
  directory: 'ds',
  startRange,
  endRange,
  acsStartProtocolVersion: '2.1.0',
  acsEndProtocolVersion: '2.2.0',
  acsInfoInd: ['01'],
  ...more,
})

const item = (
  actionInd: RangeItem['actionInd'],
  startRange: string,
  endRange: string,
  more: Partial<CardRange> = {},
): RangeItem => ({
  actionInd,
  range: range(startRange, endRange, more),
})

const lowest = (digits: string) => BigInt(digits.padEnd(19, '0'))
const highest = (digits: string) => BigInt(digits.padEnd(19, '9'))

/** The rule said in the plainest way. */
function narrowest(list: readonly CardRange[], pan: string): bigint | undefined {
  const widths = list
    .filter((one) => lowest(one.startRange) <= lowest(pan) && lowest(pan) <= highest(one.endRange))
    .map((one) => highest(one.endRange) - lowest(one.startRange))
  return widths.length === 0 ? undefined : widths.reduce((a, b) => (b < a ? b : a))
}

/** Few leading digits and many lengths, so that ranges touch, nest and cross. */
const number = fc
  .tuple(
    fc.integer({ min: 13, max: 19 }),
    fc.constantFrom('0', '1', '9'),
    fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 0, maxLength: 3 }),
  )
  .map(([length, fill, digits]) => `4${digits}`.padEnd(length, fill))
const someRange = fc.tuple(number, number).map(([a, b]) => (lowest(a) <= highest(b) ? range(a, b) : range(b, a)))

test('the range found for a number is the narrowest one around it, as a search through all of them finds', () => {
  let found = 0
  fc.assert(
    fc.property(fc.array(someRange, { maxLength: 12 }), fc.array(number, { minLength: 1, maxLength: 20 }), (list, pans) => {
      const ranges = openRanges(list)
      const ends = list.flatMap(({ startRange, endRange }) => [startRange, endRange])
      for (const pan of [...pans, ...ends]) {
        const one = ranges.find(pan)
        const width = one && highest(one.endRange) - lowest(one.startRange)
        assert.equal(width, narrowest(list, pan), `${pan} in ${JSON.stringify(list)}`)
        if (!one) continue
        found++
        assert.ok(list.includes(one) && lowest(one.startRange) <= lowest(pan) && lowest(pan) <= highest(one.endRange))
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(found > 1_000)
})

test('ranges of 16 and of 19 digits live side by side, and numbers beyond 2^53 are told apart', () => {
  const sixteen = range('4000000000000000', '4000009999999999')
  const nineteen = range('4000001234567890123', '4000001234567890124', { directory: 'other' })
  const ranges = openRanges([sixteen, nineteen, range('9999999999999999999', '9999999999999999999')])
  // oxfmt-ignore
  const cases = [
    ['4000000000000000',    sixteen],
    ['4000009999999999',    sixteen],
    ['4000009999999999999', sixteen],
    ['4000010000000000',    undefined],
    ['3999999999999999999', undefined],
    ['4000001234567890122', sixteen],
    ['4000001234567890123', nineteen],
    ['4000001234567890124', nineteen],
    ['4000001234567890125', sixteen],
    ['400000123456',        undefined],
    ['40000012345678901234', undefined],
    ['4000001234567x',      undefined],
    ['',                    undefined],
  ] as const
  for (const [pan, expected] of cases) assert.equal(ranges.find(pan), expected, pan)
  assert.equal(ranges.find('9999999999999999999')?.startRange, '9999999999999999999')
  assert.equal(openRanges([]).find('4000000000000000'), undefined)
})

test('the version is the highest that we, the directory server and the issuer speak', () => {
  const versions = (acs: readonly [string, string], ds: readonly (string | undefined)[]) =>
    versionFor({
      ...range('4000000000000000', '4000000000000000'),
      acsStartProtocolVersion: acs[0],
      acsEndProtocolVersion: acs[1],
      ...(ds[0] === undefined ? {} : { dsStartProtocolVersion: ds[0] }),
      ...(ds[1] === undefined ? {} : { dsEndProtocolVersion: ds[1] }),
    })
  // oxfmt-ignore
  const cases = [
    // issuer               directory server       version
    [['2.1.0', '2.2.0'],   [],                    '2.2.0'],
    [['2.1.0', '2.1.0'],   ['2.1.0', '2.2.0'],    '2.1.0'],
    [['2.1.0', '2.3.1'],   ['2.1.0', '2.3.1'],    '2.2.0'],
    [['2.1.0', '2.2.0'],   ['2.1.0', '2.1.0'],    '2.1.0'],
    [['2.1.0', '2.2.0'],   [undefined, '2.1.0'],  '2.1.0'],
    [['2.2.0', '2.2.0'],   ['2.1.0', '2.1.0'],    undefined],
    [['2.3.1', '2.3.1'],   [],                    undefined],
    [['1.0.2', '2.0.0'],   [],                    undefined],
    [['2.1.1', '2.10.0'],  [],                    '2.2.0'],
    [['2.2.0', '2.1.0'],   [],                    undefined],
  ] as const
  for (const [acs, ds, version] of cases) assert.equal(versions(acs, ds), version, JSON.stringify([acs, ds]))
})

const stock = [range('4000000000000000', '4000009999999999'), range('5000000000000000', '5000009999999999')]

function becomes(items: readonly RangeItem[], expected: readonly string[]) {
  const result = applyDelta(stock, items)
  assert.equal(result.is, 'applied', JSON.stringify(result))
  assert.deepEqual(result.ranges.map(({ startRange }) => startRange).sort(), expected)
  return result.ranges
}

test('a delta adds, deletes and modifies, in whatever order a range and its parts come', () => {
  becomes([], ['4000000000000000', '5000000000000000'])
  becomes([item('A', '6000000000000', '6000009999999')], ['4000000000000000', '5000000000000000', '6000000000000'])
  becomes([item('D', '4000000000000000', '4000009999999999')], ['5000000000000000'])
  const modified = becomes(
    [item('M', '4000000000000000', '4000009999999999', { acsEndProtocolVersion: '2.1.0' })],
    ['4000000000000000', '5000000000000000'],
  )
  assert.equal(modified.find(({ startRange }) => startRange.startsWith('40'))?.acsEndProtocolVersion, '2.1.0')
  becomes(
    [
      item('A', '4000000000000000', '4000004999999999'),
      item('A', '4000005000000000', '4000009999999999'),
      item('D', '4000000000000000', '4000009999999999'),
    ],
    ['4000000000000000', '4000005000000000', '5000000000000000'],
  )
  // The same range, written in other lengths.
  becomes([item('D', '4000000000000000000', '4000009999999')], ['5000000000000000'])
})

test('what does not fit the ranges there are is an inconsistency, and nothing of it counts', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [RangeItem, RegExp])[] = [
    [item('A', '4000000000000000', '4000009999999999'), /there already/],
    [item('D', '4100000000000000', '4100009999999999'), /not there/],
    [item('M', '4000000000000000', '4000009999999998'), /not there/],
    [item('A', '4000005000000000', '4000005000000009'), /lies over/],
    [item('A', '3000000000000000', '4000000000000000'), /lies over/],
    [item('A', '4000009999999999000', '4000010000000000000'), /lies over/],
    [item('A', '1000000000000000', '9000000000000000'), /lies over/],
    [item('A', '6000009999999999', '6000000000000000'), /ends before it starts/],
    [item('A', '600000000000', '6000009999999999'),     /13 to 19 digits/],
    [item('A', '6000000000000000', '60000099999999999999'), /13 to 19 digits/],
    [item('A', '6000000000000000', '600000999999999x'), /13 to 19 digits/],
  ]
  for (const [one, why] of cases) {
    const result = applyDelta(stock, [item('A', '7000000000000000', '7000000000000009'), one])
    assert.equal(result.is, 'inconsistent', JSON.stringify(one))
    assert.ok(result.faults.length > 0 && result.faults.every((fault) => why.test(fault)), result.faults.join())
  }
})

test('a delta says nothing of ranges that lay over each other before it', () => {
  const over = [...stock, range('4000000000000000', '4000000000000009')]
  assert.equal(applyDelta(over, [item('A', '6000000000000000', '6000000000000009')]).is, 'applied')
  assert.equal(applyDelta(over, [item('A', '4000009999999990', '4000010000000000')]).is, 'inconsistent')
})

test('a full load only adds, has no range twice and has at least one', () => {
  const inconsistent = (items: readonly RangeItem[], why: RegExp) => {
    const result = applyFull(items)
    assert.equal(result.is, 'inconsistent')
    assert.match(result.faults.join(), why)
  }
  const one = item('A', '4000000000000000', '4000009999999999')
  assert.deepEqual(applyFull([one]), { is: 'applied', ranges: [one.range] })
  assert.equal(applyFull([one, item('A', '4000000000000000', '4000000000000009')]).is, 'applied')
  inconsistent([], /without a range/)
  inconsistent([one, one], /there already/)
  inconsistent([one, item('D', '4000000000000000', '4000009999999999')], /D of .* in a full load/)
  inconsistent([item('M', '4000000000000000', '4000009999999999')], /M of .* in a full load/)
})

test('the difference of two lists is what has to be written, and of the same list nothing', () => {
  const [first, second] = [stock[0]!, stock[1]!]
  assert.deepEqual(differenceOf(stock, [{ ...second }, { ...first }]), { removed: [], written: [] })
  const changed = { ...first, threeDSMethodURL: 'https://acs.example/method' }
  const added = range('6000000000000000', '6000009999999999')
  assert.deepEqual(differenceOf(stock, [changed, added]), { removed: [second], written: [changed, added] })
})

test('the pauses after failures grow; whoever has no ranges asks again soon, and nobody within the hour of an answer', () => {
  const first = { loaded: false, asked: 1 }
  const later = { loaded: true, asked: 1 }
  const pauses = (how: 'unserved' | 'perhaps served' | 'unusable', circumstances: typeof first, errorCode?: string) =>
    [1, 2, 3, 7, 50].map(
      (tries) => pauseMs({ how, ...(errorCode === undefined ? {} : { errorCode }) }, { ...circumstances, tries }) / 1_000,
    )
  assert.deepEqual(pauses('unserved', first), [2, 4, 8, 60, 60])
  assert.deepEqual(pauses('unusable', first), [2, 4, 8, 60, 60])
  assert.deepEqual(pauses('unserved', later), [60, 120, 240, 3_660, 3_660])
  for (const how of ['perhaps served', 'unusable'] as const) assert.deepEqual(pauses(how, later), Array(5).fill(3_660))
  assert.deepEqual(pauses('unserved', { loaded: true, asked: 2 }), Array(5).fill(3_660))
  assert.deepEqual(pauses('perhaps served', first, '103'), Array(5).fill(3_660))
})
