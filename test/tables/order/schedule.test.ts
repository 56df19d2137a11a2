import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Random } from '../../../src/base/random.ts'
import { maxTries, nextTryAt } from '../../../src/delivery/schedule.ts'

const always = (byte: number): Random => ({ bytes: (length) => Buffer.alloc(length, byte) })
const soonest = always(0x00)
const latest = always(0xff)
const middle: Random = { bytes: (length) => Buffer.concat([Buffer.from([0x80]), Buffer.alloc(length - 1)]) }

const dayMs = 86_400_000
const pauses = (random: Random): number[] => Array.from({ length: maxTries - 1 }, (_, i) => nextTryAt(i + 1, 0, random)!)

test('a message is tried thirty times, and not once more', () => {
  assert.equal(maxTries, 30)
  for (let tries = 1; tries < 30; tries++) assert.notEqual(nextTryAt(tries, 0, middle), undefined, `after ${tries}`)
  for (const tries of [30, 31, 1_000]) assert.equal(nextTryAt(tries, 0, middle), undefined, `after ${tries}`)
})

test('thirty tries spread over fourteen days', () => {
  const total = pauses(middle).reduce((sum, pause) => sum + pause, 0)
  assert.ok(Math.abs(total - 14 * dayMs) < 0.02 * 14 * dayMs, `${total / dayMs} days`)
})

test('the pauses grow, and the first is some seconds', () => {
  const usual = pauses(middle)
  for (const [i, pause] of usual.entries()) if (i > 0) assert.ok(pause >= usual[i - 1]!, `pause ${i + 1}`)
  assert.ok(usual[0]! >= 1_000 && usual[0]! <= 10_000)
  assert.ok(usual.at(-1)! < dayMs)
})

test('each pause is at most a tenth shorter or longer than the usual one, and not always the same', () => {
  const [short, usual, long] = [pauses(soonest), pauses(middle), pauses(latest)]
  for (const [i, pause] of usual.entries()) {
    assert.ok(Math.abs(short[i]! - pause * 0.9) <= pause * 0.001, `the shortest pause ${i + 1}`)
    assert.ok(Math.abs(long[i]! - pause * 1.1) <= pause * 0.001, `the longest pause ${i + 1}`)
  }
})

test('with any randomness, the next try is counted from the last one, in whole milliseconds', () => {
  const last = Date.UTC(2026, 0, 1)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: maxTries - 1 }), fc.uint8Array({ minLength: 6, maxLength: 6 }), (tries, bytes) => {
      const next = nextTryAt(tries, last, { bytes: () => Buffer.from(bytes) })!
      assert.ok(Number.isInteger(next) && next > last + 4_000 && next < last + 1.11 * dayMs)
    }),
  )
})
