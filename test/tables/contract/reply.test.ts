import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replyWriter } from '../../../src/gateway-api/reply.ts'
import type { ReplyTable } from '../../../src/spec/gateway/reply.ts'

const row = { guard: 'open', means: 'for the test' } as const
const table = { type: row, 'a b': row, none: row, empty: row, last: row } as const satisfies ReplyTable
const write = replyWriter(table)

test('a reply is written in the order of its table, without empty fields, names and values encoded', () => {
  const { status, type, body } = write({ last: '~', empty: '', none: undefined, 'a b': 'ü &', type: 'x' }, false, 404)
  assert.deepEqual([status, type, body], [200, 'text/html;charset=utf-8', 'type=x&a+b=%C3%BC+%26&last=%7E'])
})

test('as JSON it has the same fields in the same order, and the HTTP status of the refusal', () => {
  const { status, type, body } = write({ last: '~', empty: '', 'a b': 'ü &', type: 'x' }, true, 404)
  assert.deepEqual([status, type, body], [404, 'application/vnd.pay+json;charset=utf-8', '{"type":"x","a b":"ü &","last":"~"}'])
})

test('a reply without its first fields does not begin with an ampersand', () => {
  assert.equal(write({ last: '1' }, false).body, 'last=1')
})
