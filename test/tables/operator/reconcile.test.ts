import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecord } from '../../../src/operator/books/acquirer-record.ts'
import { reachOf } from '../../../src/operator/books/reconcile.ts'

const heading = 'terminal,stan,time,rrn,kind,outcome,amount_minor,currency,order_id'
const line = 'T1,000001,300131120000,1,sale,approved,1042,USD,7'

test('a record of an acquirer may have hundreds of thousands of lines', () => {
  const [operation] = readRecord(`${heading}\n${line}`)
  assert.ok(typeof operation === 'object')
  const many = Array.from({ length: 300_000 }, (_, i) => ({
    ...operation,
    at: i,
    orderId: BigInt(i),
    rrn: String(i).padStart(12, '0'),
  }))
  assert.deepEqual(reachOf(many), { order: 299_999n, attempt: 299_999n, first: 0, last: 299_999 })
})

test('a line of a record that does not fit is refused with its number, its column and what would fit', () => {
  const refused = (change: (fields: string[]) => void) => {
    const fields = line.split(',')
    change(fields)
    return readRecord(`${heading}\n${line}\n${fields.join(',')}`)
  }
  for (const [column, value, complaint] of [
    [0, '', 'line 3: terminal is missing'],
    [1, '12', 'line 3: stan is "12", not six digits'],
    [2, '300230120000', 'line 3: time is "300230120000", which is not a calendar day'],
    [4, 'gift', 'line 3: kind is "gift", not one of sale, preauth, account-verification, capture, return, debit, credit'],
    [5, 'lost', 'line 3: outcome is "lost", not one of approved, declined, reversed'],
    [7, 'XXL', 'line 3: currency is "XXL", not one of ISO 4217'],
    [8, '0', 'line 3: order_id is "0", not the order id of the gateway'],
  ] as const)
    assert.equal(
      refused((fields) => fields.splice(column, 1, value)),
      complaint,
    )
  assert.equal((readRecord(`${heading}\n${line.replace('sale', 'SALE').replace('USD', '840')}`) as object[]).length, 1)
})
