import assert from 'node:assert/strict'
import { test } from 'node:test'
import { binOf, lastFourOf } from '../../src/card/number.ts'

test('bin is the first six digits of a number of 13 digits or more, and of a shorter one nothing', () => {
  for (let length = 9; length <= 19; length++) {
    const number = '5018000000000000000'.slice(0, length)
    assert.equal(binOf(number), length >= 13 ? '501800' : '', `${length} digits`)
    assert.equal(lastFourOf(number), '0000')
  }
})
