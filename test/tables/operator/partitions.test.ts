import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partitionsWanted } from '../../../src/storage/partitions.ts'

// One partition has ten million order ids.
//   order ids a day  partitions after the current one
const wanted: readonly (readonly [number, number])[] = [
  [0, 1],
  [1_000, 1],
  [28_000, 2],
  [200_000, 8],
  [328_000, 12],
  [1_000_000, 12],
  [2_000_000, 12],
  [3_000_000, 18],
  [26_000_000, 156],
]
test('partitions are made for a year, at most twelve of them, unless sixty days need more', () => {
  for (const [perDay, count] of wanted) assert.equal(partitionsWanted(perDay), count, `${perDay} a day`)
})
