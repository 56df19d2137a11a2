import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { columnsOf, onRows, rowsOf } from '../../../src/storage/columns.ts'
import { entities } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'

const { pool } = await openMigrated('oltp', 1)

interface Row {
  i8: bigint | undefined
  i4: number | undefined
  flag: boolean | undefined
  words: string | undefined
  name: string | undefined
  raw: Buffer | undefined
  at: number | undefined
  doc: object | undefined
}

const row = columnsOf<Row>()
const columns = {
  i8: row.int8((r) => r.i8),
  i4: row.int4((r) => r.i4),
  flag: row.bool((r) => r.flag),
  words: row.text((r) => r.words),
  name: row.uuid((r) => r.name),
  raw: row.bytes((r) => r.raw),
  at: row.time((r) => r.at),
  doc: row.json((r) => r.doc),
}
const rows = rowsOf(columns)
const read = onRows<Row, Record<keyof Row, unknown>>(rows, `select ${rows.names} from ${rows.list}`)

const maybe = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: undefined })
/** PostgreSQL has no NUL in a text. */
const words = fc.string({ unit: 'grapheme', maxLength: 300 }).map((text) => text.replaceAll('\0', ''))
const anyRow: fc.Arbitrary<Row> = fc.record({
  i8: maybe(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  i4: maybe(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  flag: maybe(fc.boolean()),
  words: maybe(words),
  name: maybe(fc.uuid()),
  raw: maybe(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))),
  at: maybe(fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2200, 0, 1) })),
  doc: maybe(fc.record({ text: words, list: fc.array(fc.integer()) }, { noNullPrototype: true })),
})

test('rows arrive unchanged in PostgreSQL, with nulls and every character', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { minLength: 1, maxLength: 40 }), async (sent) => {
      const found = await pool.run(read.sql, read.values(sent))
      const expected = sent.map((one) =>
        Object.fromEntries(Object.keys(columns).map((name) => [name, one[name as keyof Row] ?? null])),
      )
      assert.deepEqual(
        found.map((one) => ({ ...one })),
        expected,
      )
    }),
    { numRuns: 60 },
  )
})

test('a text without room is cut nowhere: a batch grows as far as it must', async () => {
  const sent = Array.from({ length: 300 }, (_, i) => ({ ...nothing, words: '€'.repeat(i * 10) }))
  const found = await pool.run(read.sql, read.values(sent))
  assert.deepEqual(
    found.map((one) => one.words),
    sent.map((one) => one.words),
  )
})

const nothing: Row = {
  i8: undefined,
  i4: undefined,
  flag: undefined,
  words: undefined,
  name: undefined,
  raw: undefined,
  at: undefined,
  doc: undefined,
}

test('an entity has a member for each column that is not null, also inside a transaction', async () => {
  const ask = entities<object>(`
    select order_id, null as due_at, at, facts from (values (7::bigint, 'x', '{"a_b": null}'::json)) as n (order_id, at, facts)`)
  const expected = [{ orderId: 7n, at: 'x', facts: { a_b: null } }]
  assert.deepEqual(await pool.run(ask), expected)
  assert.deepEqual(await transaction(pool, (runner) => runner.run(ask)), expected)
})
