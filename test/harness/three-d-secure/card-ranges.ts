import fc from 'fast-check'
import type { RangeItem } from '../../../src/three-d-secure/range-changes.ts'
import type { CardRange } from '../../../src/three-d-secure/ranges.ts'

/** Card ranges for tests, and the ends as they are compared, reckoned apart from the gateway. */

export const range = (startRange: string, endRange: string, more: Partial<CardRange> = {}): CardRange => ({
  directory: 'ds',
  startRange,
  endRange,
  acsStartProtocolVersion: '2.1.0',
  acsEndProtocolVersion: '2.2.0',
  acsInfoInd: ['01'],
  ...more,
})

export const item = (
  actionInd: RangeItem['actionInd'],
  startRange: string,
  endRange: string,
  more: Partial<CardRange> = {},
): RangeItem => ({
  actionInd,
  range: range(startRange, endRange, more),
})

export const lowest = (digits: string) => BigInt(digits.padEnd(19, '0'))
export const highest = (digits: string) => BigInt(digits.padEnd(19, '9'))

/** Few leading digits and many lengths, so that ranges touch, nest and cross. */
export const number = fc
  .tuple(
    fc.integer({ min: 13, max: 19 }),
    fc.constantFrom('0', '1', '9'),
    fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 0, maxLength: 3 }),
  )
  .map(([length, fill, digits]) => `4${digits}`.padEnd(length, fill))
export const someRange = fc.tuple(number, number).map(([a, b]) => (lowest(a) <= highest(b) ? range(a, b) : range(b, a)))
