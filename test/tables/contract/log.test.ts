import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskCardNumbers, openLog } from '../../../src/base/log.ts'

test('a card number in a log line is cut, in whatever groups it is written', () => {
  for (const number of ['4111111111111111', '4111 1111 1111 1111', '4111-1111-1111-1111'])
    assert.equal(maskCardNumbers(`{"msg":"paid with ${number} today"}`), '{"msg":"paid with 411111******1111 today"}')
  assert.equal(maskCardNumbers('order 1000 4111111111111111'), 'order 1000 411111******1111')
  assert.equal(maskCardNumbers('number%3D4111111111111111%20'), 'number%3D411111******1111%20')
  // No card has such a check digit, so many digits or so few.
  for (const other of ['4111111111111112', '411111111111', '41111111111111111111']) assert.equal(maskCardNumbers(other), other)
})

test('the level of a line is a word', () => {
  const lines: string[] = []
  const log = openLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) log[level]({ endpoint: '5' }, 'said')
  log.child({ slot: 1 }).warn('said')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { level: unknown }).level),
    ['debug', 'info', 'warn', 'error', 'fatal', 'warn'],
  )
})

/** Parts of them pass for card numbers. */
const uuids = [
  '36351064-9967-420d-9744-ef3a06801407',
  'dba62598-a074-4747-9940-40522e45782f',
  '0a65e858-0062-4042-b426-0729ec892800',
]

test("a serial number stays whole, even with digits like a card's", () => {
  for (const uuid of uuids) {
    const line = `{"serial":"${uuid}","other":"${uuid.toUpperCase()}","path":"/order/${uuid}/x"}`
    assert.equal(maskCardNumbers(line), line)
    assert.equal(maskCardNumbers(`${uuid} 4111111111111111`).endsWith('411111******1111'), true)
  }
})
