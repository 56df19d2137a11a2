import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasAnyNumber, hasManyDigits, hasThisNumber } from '../../src/card/number-in-text.ts'

const card = '4111111111111111'
const everyIssuer = () => true

const spellings = [
  card,
  '4111 1111 1111 1111',
  '4111-1111-1111-1111',
  '4111\u00a01111\u20111111 - 1111',
  'card 4111 1111 1111 1111 12/30 please',
  '17 4111 1111 1111 1111',
  'no:4111111111111111.',
]

test('the digits of a card are found however blanks and dashes stand between them', () => {
  for (const text of [...spellings, '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1', `00${card}00`, `https://shop.example/?c=${card}`]) {
    assert.ok(hasManyDigits(text) && hasThisNumber(text, card), text)
    assert.ok(!hasThisNumber(text, '4000000000000002'), text)
  }
  assert.ok(hasManyDigits('501800009') && hasThisNumber('501800009', '501800009'))
})

test('any number of an issuer in the table is found where it stands as people write one', () => {
  for (const text of spellings) assert.ok(hasAnyNumber(text, everyIssuer), text)
  for (const text of ['378282246310005', '3782 822463 10005', '4222222222222', '501800000009'])
    assert.ok(hasAnyNumber(text, everyIssuer), text)
})

test('a number of no issuer, without its check digit or within a longer one is none', () => {
  for (const text of spellings) assert.ok(!hasAnyNumber(text, () => false), text)
  const checkDigits = ['4111111111111112', '4111 1111 1111 1112']
  const lengths = ['41111111111111', '411111111111116']
  const parts = ['00004111111111111111', `${card}0000`, '4111,1111,1111,1111', '41.11111111111111']
  for (const text of [...checkDigits, ...lengths, ...parts, 'invoice 17 of 2030-01-31', '+1 206 358 2043', ''])
    assert.ok(!hasAnyNumber(text, everyIssuer), text)
})

test('the issuer is asked for the number alone, and for no number that cannot be a card', () => {
  const asked: string[] = []
  hasAnyNumber('order 4111 1111 1111 1111, ref 4111111111111112', (pan) => (asked.push(pan), false))
  assert.deepEqual(asked, [card])
})
