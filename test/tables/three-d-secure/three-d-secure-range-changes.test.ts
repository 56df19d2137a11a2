import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyDelta, applyFull, describeUnfit, differenceOf, type RangeItem } from '../../../src/three-d-secure/range-changes.ts'
import { openRanges, type CardRange } from '../../../src/three-d-secure/ranges.ts'
import { highest, item, lowest, number, range } from '../../harness/three-d-secure/card-ranges.ts'

/**
 * What a PRes makes of the card ranges: what fits, what is left out, and what refuses the whole.
 */

const ends = { startRange: '', endRange: '' }
const unique = (one: string, at: number, all: readonly string[]) => all.indexOf(one) === at
const stock = [range('4000000000000000', '4000009999999999'), range('5000000000000000', '5000009999999999')]

function becomes(items: readonly RangeItem[], expected: readonly string[]) {
  const result = applyDelta(stock, items)
  assert.equal(result.is, 'applied', JSON.stringify(result))
  assert.deepEqual(result.ranges.map(({ startRange }) => startRange).sort(), expected)
  return result.ranges
}

test('a delta adds, deletes and modifies, with ranges and their parts in any order', () => {
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

const older = { acsEndProtocolVersion: '2.1.0' }

test('a change that repeats existing ranges, in any spelling, changes nothing for any card', () => {
  for (const one of [
    item('A', '4000000000000000', '4000009999999999'),
    item('A', '4000000000000000000', '4000009999999999999'),
    item('A', '4000005000000000', '4000005000000009'),
  ]) {
    const before = openRanges(stock)
    const after = openRanges(
      becomes([one], [...stock.map(({ startRange }) => startRange), one.range.startRange].filter(unique).sort()),
    )
    for (const pan of ['4000000000000000', '4000005000000005', '4000009999999999999', '4000010000000000'])
      assert.deepEqual({ ...after.find(pan), ...ends }, { ...before.find(pan), ...ends }, pan)
  }
})

test('a span that is listed in two spellings is there until both are deleted, and is changed by both or not at all', () => {
  const [sixteen, nineteen] = [
    ['4000000000000000', '4000009999999999'],
    ['4000000000000000000', '4000009999999999999'],
  ] as const
  const twice = [...stock, range(...nineteen)]
  const after = (...items: RangeItem[]) => {
    const result = applyDelta(twice, items)
    return result.is === 'applied' ? openRanges(result.ranges).find('4000000000000001')?.acsEndProtocolVersion : result.faults
  }
  assert.equal(after(item('D', ...sixteen)), '2.2.0')
  assert.equal(after(item('D', ...nineteen)), '2.2.0')
  assert.equal(after(item('D', ...sixteen), item('D', ...nineteen)), undefined)
  assert.equal(after(item('M', ...sixteen, older), item('M', ...nineteen, older)), '2.1.0')
  const [sixteenOlder, nineteenOlder] = [item('A', ...sixteen, older), item('A', ...nineteen, older)]
  assert.equal(after(item('D', ...sixteen), sixteenOlder, item('D', ...nineteen), nineteenOlder), '2.1.0')
  assert.match(String(after(item('M', ...sixteen, older))), /are one span with different contents/)
  // Both are deleted where only one of them was known.
  becomes([item('D', ...sixteen), item('D', ...nineteen)], ['5000000000000000'])
})

test('a change that does not fit the ranges there are is an inconsistency, and nothing of it counts', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [RangeItem, RegExp])[] = [
    [item('A', '4000000000000000', '4000009999999999', older), /there already/],
    [item('A', '4000000000000000000', '4000009999999999999', older), /one span with different contents/],
    [item('D', '4100000000000000', '4100009999999999'), /not there/],
    [item('M', '4000000000000000', '4000009999999998'), /not there/],
    [item('A', '4000005000000000', '4000005000000009', older), /lies over/],
    [item('A', '3000000000000000', '4000000000000000', older), /lies over/],
    [item('A', '4000009999999999000', '4000010000000000000', older), /lies over/],
    [item('A', '1000000000000000', '9000000000000000', older), /lies over/],
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
  assert.equal(applyDelta(over, [item('A', '4000009999999990', '4000010000000000', older)]).is, 'inconsistent')
})

test('overlapping ranges with different contents are noticed, as by a comparison of all pairs', () => {
  const some = fc.tuple(number, number, fc.boolean()).map(([a, b, isOlder]) => {
    const more = isOlder ? older : {}
    return lowest(a) <= highest(b) ? range(a, b, more) : range(b, a, more)
  })
  // No store has one spelling of a span twice.
  const stocks = fc.uniqueArray(some, { maxLength: 8, selector: ({ startRange, endRange }) => `${startRange} ${endRange}` })
  let clashes = 0
  fc.assert(
    fc.property(stocks, fc.array(some, { minLength: 1, maxLength: 4 }), (before, more) => {
      const isSpan = (a: CardRange, b: CardRange) =>
        lowest(a.startRange) === lowest(b.startRange) && highest(a.endRange) === highest(b.endRange)
      const added = more.filter((one) => !before.some((other) => isSpan(one, other)))
      const items = added.map((one): RangeItem => ({ actionInd: 'A', range: one }))
      const isSame = (a: CardRange, b: CardRange) => a.acsEndProtocolVersion === b.acsEndProtocolVersion
      const clash = added.some((one, i) =>
        [...before, ...added.slice(i + 1)].some(
          (other) =>
            !isSame(one, other) &&
            lowest(one.startRange) <= highest(other.endRange) &&
            lowest(other.startRange) <= highest(one.endRange),
        ),
      )
      if (clash) clashes++
      assert.equal(applyDelta(before, items).is === 'inconsistent', clash, JSON.stringify([before, added]))
    }),
    { numRuns: 500 },
  )
  assert.ok(clashes > 100 && clashes < 480, String(clashes))
})

/** Entries of which each is a range of its own. */
const fill = (count: number): RangeItem[] =>
  Array.from({ length: count }, (_, i) => item('A', `${600000 + i}0000000000`, `${600000 + i}9999999999`))

test('a full load lists one span in 16 and in 19 digits, and a part of a range with the same contents: nothing is lost', () => {
  const mir = [
    item('A', '2200410000000000', '2200410100000999'),
    item('A', '2200410000000000000', '2200410100000999999'),
    item('A', '2200410000000000', '2200410000000999'),
    item('A', '2200410000000000', '2200410100000999'),
  ]
  const load = applyFull([...mir, ...fill(2)])
  assert.ok(load.is === 'applied')
  assert.deepEqual(load.leftOut, [])
  const ranges = openRanges(load.ranges)
  for (const pan of ['2200410000000000', '2200410100000999', '2200410100000999999', '2200410050000000123'])
    assert.equal(ranges.find(pan)?.acsEndProtocolVersion, '2.2.0', pan)
  for (const pan of ['2200409999999999', '2200410100001000']) assert.equal(ranges.find(pan), undefined, pan)
})

// oxfmt-ignore
const odd: readonly [string, RangeItem, RegExp][] = [
  ['ends before it starts',          item('A', '4000009999999999', '4000000000000000'),        /^4000009999999999 to 4000000000000000: it ends before it starts$/],
  ['is too short',                   item('A', '400000000000', '4000009999999999'),            /13 to 19 digits/],
  ['deletes',                        item('D', '4000000000000000', '4000009999999999'),        /D in a full load/],
  ['modifies',                       item('M', '4000000000000000', '4000009999999999'),        /M in a full load/],
  ['contradicts an earlier one',     item('A', '6000000000000000', '6000009999999999', older), /contradicts an earlier entry/],
  ['contradicts in other spelling',  item('A', '6000000000000000000', '6000009999999999999', older), /contradicts an earlier entry/],
]
for (const [what, one, why] of odd)
  test(`an entry of a full load that ${what} is left out with the reason, and all others count`, () => {
    const load = applyFull([...fill(19), one])
    assert.ok(load.is === 'applied', JSON.stringify(load))
    assert.deepEqual(
      load.ranges,
      fill(19).map((each) => each.range),
    )
    assert.equal(load.leftOut.length, 1)
    assert.match(load.leftOut[0]!, why)
  })

test('a full load that loses more than a twentieth of its entries is refused as a whole, and so is one without a range', () => {
  const wrong = item('A', '4000009999999999', '4000000000000000')
  const unread = '4000000000000000 to ?: endRange is missing'
  for (const [items, others, is] of [
    [[...fill(19), wrong], [], 'applied'],
    [[...fill(18), wrong], [], 'inconsistent'],
    [fill(19), [unread], 'applied'],
    [fill(18), [unread], 'inconsistent'],
    [[...fill(38), wrong], [unread], 'applied'],
    [[...fill(37), wrong], [unread], 'inconsistent'],
    [[], [], 'inconsistent'],
  ] as const)
    assert.equal(applyFull(items, others).is, is, `${items.length} and ${others.length}`)
})

test('ranges of a full load that share numbers are all kept: a card belongs to the narrowest', () => {
  const load = applyFull([
    item('A', '4000000000000000', '4000009999999999'),
    item('A', '4000005000000000', '4000012999999999', older),
    item('A', '4000001000000000', '4000001999999999', older),
  ])
  assert.ok(load.is === 'applied')
  assert.deepEqual([load.ranges.length, load.leftOut], [3, []])
  const ranges = openRanges(load.ranges)
  const end = (pan: string) => ranges.find(pan)?.acsEndProtocolVersion
  assert.deepEqual(['4000000500000000', '4000001500000000', '4000005500000000', '4000012000000000'].map(end), [
    '2.2.0',
    '2.1.0',
    '2.1.0',
    '2.1.0',
  ])
})

test('an entry that the codec could not read is named by its span, as far as it has one, and its fields', () => {
  const unfit = (entry: unknown, missing: string[], wrong: string[]) => describeUnfit({ entry, missing, unfit: wrong })
  const entry = { startRange: '4000000000000000', endRange: 'a text of the other side' }
  assert.equal(unfit(entry, [], ['cardRangeData.endRange']), '4000000000000000 to ?: endRange does not fit')
  assert.equal(
    unfit({}, ['cardRangeData.startRange', 'cardRangeData.endRange'], []),
    '? to ?: startRange is missing, endRange is missing',
  )
  assert.equal(unfit('text', [], ['cardRangeData']), 'an entry: cardRangeData does not fit')
})

test('the difference of two lists is what has to be written, and of the same list nothing', () => {
  const [first, second] = [stock[0]!, stock[1]!]
  assert.deepEqual(differenceOf(stock, [{ ...second }, { ...first }]), { removed: [], written: [] })
  const changed = { ...first, threeDSMethodURL: 'https://acs.example/method' }
  const added = range('6000000000000000', '6000009999999999')
  assert.deepEqual(differenceOf(stock, [changed, added]), { removed: [second], written: [changed, added] })
})
