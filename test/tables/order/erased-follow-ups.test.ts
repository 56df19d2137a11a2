import assert from 'node:assert/strict'
import { test } from 'node:test'
import { erasedAsked } from '../../../src/order/decide/erased.ts'

test('who asked for a follow-up outlives the data of the payer, and the reason goes with it', () => {
  const operator = { who: 'ann (root)', reason: 'Mr Smith rang' }
  const erased = erasedAsked({ operation: 'return', whole: true, comment: 'for Mr Smith', operator })
  assert.deepEqual(erased, { operation: 'return', whole: true, operator: { who: 'ann (root)', reason: '' } })
})
