// The picture of a run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesIn } from '../../bench/compare.ts'
import { pictureOf } from '../../bench/picture.ts'

const run = linesIn(`{"bench":"sale","in_flight":256,"sales_per_s":800,"accept_p99_ms":90,"final_p99_ms":200}
{"bench":"sale","in_flight":1,"sales_per_s":100,"accept_p99_ms":5,"final_p99_ms":null}
{"bench":"sale","in_flight":32,"sales_per_s":400,"accept_p99_ms":24.6,"final_p99_ms":50}
{"bench":"recurrent","in_flight":32,"sales_per_s":4000}
{"bench":"sale-arrivals","rate":"half","sales_per_s":300}
{"bench":"connects","in_flight":256,"connections":256}`)

test('each level is a point at its height, and says its figure', () => {
  const picture = pictureOf(run)
  const circles = [...picture.matchAll(/<circle class="(\w)" cx="([\d.]+)" cy="([\d.]+)" r="3.5"\/><text[^>]*>([^<]+)</g)]
  const points = circles.map(([, curve, x, y, says]) => [curve, Number(x), Number(y), says])
  // Three levels of equal width between 70 and 620; a panel is 150 high, and 800 its top.
  assert.deepEqual(points, [
    ['a', 161.7, 177.3, '100'],
    ['a', 345, 121, '400'],
    ['a', 528.3, 46, '800'],
    ['b', 345, 378.5, '50'],
    ['b', 528.3, 266, '200'],
    ['a', 161.7, 412.3, '5'],
    ['a', 345, 397.6, '25'],
    ['a', 528.3, 348.5, '90'],
  ])
  const levels = [...picture.matchAll(/<text class="note" x="([\d.]+)" y="228" text-anchor="middle">(\d+)</g)]
  assert.deepEqual(
    levels.map(([, x, level]) => [x, level]),
    [
      ['161.7', '1'],
      ['345', '32'],
      ['528.3', '256'],
    ],
  )
})

test('the same run makes the same picture, in whatever order its rows come', () => {
  assert.equal(pictureOf(run.toReversed()), pictureOf(run))
})

test('a run with a single level has no picture', () => {
  assert.throws(() => pictureOf(run, 'recurrent'), /needs rows of recurrent at two levels of --in-flight; there are 1/)
  assert.throws(() => pictureOf([]), /there are 0/)
})
