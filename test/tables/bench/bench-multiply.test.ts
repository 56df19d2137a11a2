// Copies of orders: rows of any table, under keys of their own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOf, type Column } from '../../../bench/load/multiply.ts'
import { storedCount, storedOrder } from '../../../bench/load/stored-orders.ts'

const copies = { first: 1_000n, last: 1_099n, start: 5_000n, done: 10, count: 5, copies: 20 }
const table = (...columns: [column: string, type: string, unique?: 'unique'][]): Column[] =>
  columns.map(([column, type, unique]) => ({ table: 'a table', column, type, unique: unique !== undefined }))

/** What is selected for each column, in order. */
const selected = (columns: readonly Column[]) => /select (.*) from "a table"/.exec(copyOf(columns, copies))![1]

// oxfmt-ignore
const values: [what: string, column: Column[], value: string][] = [
  ['the merchant stays',                table(['order_id', 'bigint', 'unique'], ['merchant_id', 'bigint', 'unique']), 'new_id, "merchant_id"'],
  ['the name is that of the new id',    table(['client_orderid', 'text', 'unique']),                                 `'long-' || new_id`],
  ['an RRN is its own, if there is one', table(['rrn', 'text']),                                                     `case when rrn is not null then lpad(new_id::text, 12, '0') end`],
  ['a key is made anew',                table(['key', 'text', 'unique']),                                            'md5("key" || new_id)'],
  ['a text that is no key stays',       table(['state', 'text']),                                                    '"state"'],
  ['a serial number is made anew',      table(['serial_number', 'uuid']),                                            'case when "serial_number" is not null then gen_random_uuid() end'],
  ['a time is earlier',                 table(['final_at', 'timestamp with time zone']),                             '"final_at" - earlier'],
  ['bytes stay, and names are quoted',  table(['a "b"', 'bytea']),                                                   '"a ""b"""'],
]

for (const [what, columns, value] of values)
  test(`in a copied row ${what}`, () => {
    assert.equal(selected(columns), value)
  })

test('the new ids follow each other, and the last copy is the newest', () => {
  const sql = copyOf(table(['order_id', 'bigint', 'unique']), copies).replaceAll(/\s+/g, ' ')
  assert.match(sql, /generate_series\(0, 4\) as copy/)
  assert.match(
    sql,
    /select 5000 \+ copy \* 100 \+ order_id - 1000 as new_id, interval '90 days' \* \(10 - copy\) \/ 20 as earlier/,
  )
  assert.match(sql, /where order_id between 1000 and 1099$/)
})

test('a table whose key cannot be generated again is not copied', () => {
  assert.throws(
    () => copyOf(table(['card_ref_id', 'bigint', 'unique'], ['merchant_id', 'bigint', 'unique']), copies),
    /a table cannot be copied/,
  )
})

test('each copied order is found at a place of its own, under the id and the name of its row', () => {
  // No template has the fourth id, and between the blocks the gateway drew ids of its own.
  const templates = [0, 1, 2, 4].map((offset) => ({ offset, endpoint: offset === 4 ? '102' : '101' }))
  const blocks = [
    { first: 5_000, copies: 2 },
    { first: 6_000, copies: 1 },
  ]
  const stored = { templates, span: 5, blocks }
  const all = Array.from({ length: storedCount(stored) }, (_, place) => storedOrder(stored, place))
  assert.deepEqual(
    all.map(({ orderid }) => Number(orderid)),
    [5_000, 5_001, 5_002, 5_004, 5_005, 5_006, 5_007, 5_009, 6_000, 6_001, 6_002, 6_004],
  )
  assert.deepEqual(all[7], { orderid: '5009', clientOrderid: 'long-5009', endpoint: '102' })
  assert.throws(() => storedOrder(stored, 12), /no stored order at place 12/)
})
