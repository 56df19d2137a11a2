import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planted } from '../../simulation/planted/planted.ts'
import { found } from '../../simulation/planted/search.ts'
import { testPlanted } from './planted-part.ts'

test('there are at least eighty planted bugs, and some are rare', () => {
  assert.ok(planted.length >= 80)
  assert.ok(planted.filter(({ name }) => found[name]!.orders >= 100).length >= 3)
})

testPlanted(1)
