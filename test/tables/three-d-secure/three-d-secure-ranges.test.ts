import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pauseMs } from '../../../src/three-d-secure/directory-refresh.ts'
import { openRanges, versionFor, type CardRange } from '../../../src/three-d-secure/ranges.ts'
import { highest, lowest, number, range, someRange } from '../../harness/three-d-secure/card-ranges.ts'

/** The rule said in the plainest way. */
function narrowest(list: readonly CardRange[], pan: string): bigint | undefined {
  const widths = list
    .filter((one) => lowest(one.startRange) <= lowest(pan) && lowest(pan) <= highest(one.endRange))
    .map((one) => highest(one.endRange) - lowest(one.startRange))
  return widths.length === 0 ? undefined : widths.reduce((a, b) => (b < a ? b : a))
}

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

test('ranges of 16 and of 19 digits live side by side, and numbers beyond 2^53 stay distinct', () => {
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

test('the pauses after failures grow: short without ranges, and an hour at least after an answer', () => {
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
