import assert from 'node:assert/strict'
import { test } from 'node:test'
import { erasedAsked } from '../../../src/order/decide/erased.ts'

test("the requester of a follow-up stays after the payer's data is erased, and the reason goes", () => {
  const operator = { who: 'ann (root)', reason: 'Mr Smith rang' }
  const erased = erasedAsked({ operation: 'return', whole: true, comment: 'for Mr Smith', operator })
  assert.deepEqual(erased, { operation: 'return', whole: true, operator: { who: 'ann (root)', reason: '' } })
})
