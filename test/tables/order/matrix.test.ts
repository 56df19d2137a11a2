import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marked, passChecks, type After, type Row } from '../../../src/base/matrix.ts'
import * as check from '../../../src/gateway-api/checks.ts'
import { controlHolds } from '../../../src/gateway-api/checksum.ts'
import { checksOf, matrix } from '../../../src/gateway-api/matrix.ts'
import { mobileMatrix } from '../../../src/mobile-api/matrix.ts'
import { operationNames, type Operation } from '../../../src/spec/gateway/operations.ts'

const all = operationNames.map(() => 'x').join(' ')

test('a row of checks with another number of marks than there are operations is refused', () => {
  assert.deepEqual([...marked('a check', all, operationNames)], operationNames)
  for (const marks of [`${all} x`, `${all} .`, all.slice(2), 'x', ''])
    assert.throws(() => marked('a check', marks, operationNames), /"a check" has \d+ marks? for \d+ operations/, marks)
})

test('a row with a mark that is neither x nor a dot is refused', () => {
  for (const mark of ['X', '-', 'xx', '..', 'x.', 'o'])
    assert.throws(() => marked('a check', all.replace(/x$/, mark), operationNames), /"a check" has the mark/, mark)
})

test('a mark counts for the operation of its column, whatever the order of the columns', () => {
  const columns = operationNames.toReversed()
  const marks = columns.map((name) => (name === 'capture' || name === 'sale' ? 'x' : '.')).join('  ')
  assert.deepEqual(marked('a check', marks, columns), new Set<Operation>(['capture', 'sale']))
})

const signedByOAuth: ReadonlySet<Operation> = new Set(['create-card-ref-v4', 'status-v4'])

test('every operation demands the endpoint, and every one but those of v4 the checksum', () => {
  for (const operation of operationNames) {
    assert.ok(checksOf(operation).includes(check.endpointExists), operation)
    assert.equal(checksOf(operation).includes(controlHolds), !signedByOAuth.has(operation), operation)
  }
})

test('nothing of an order or a card reference is looked at before the checksum holds', () => {
  for (const operation of operationNames.filter((name) => !signedByOAuth.has(name))) {
    const checks = checksOf(operation)
    for (const later of [check.operationIsEnabled, check.orderIsThisMerchants, check.referenceIsThisMerchants])
      if (checks.includes(later)) assert.ok(checks.indexOf(later) > checks.indexOf(controlHolds), operation)
  }
})

test('no check is without an operation', () => {
  assert.ok(matrix.length > 10 && mobileMatrix.length > 10)
  for (const { promise, of } of [...matrix, ...mobileMatrix]) assert.ok(of.size > 0, promise)
})

test('checks are made in order, each with what those before it found, until one refuses', async () => {
  const seen: object[] = []
  const finds = (request: { a: number }) => (seen.push({ ...request }), { b: request.a + 1 })
  const asks = (request: { b: number }) => (seen.push({ ...request }), Promise.resolve({ c: request.b + 1 }))
  const refuses = ({ c }: { c: number }) => ({ refused: `c is ${c}` })
  assert.deepEqual(await passChecks([finds, asks], { a: 1 }, {}), { passed: { a: 1, b: 2, c: 3 } })
  assert.deepEqual(await passChecks([finds, asks, refuses, finds], { a: 1 }, {}), { refused: 'c is 3' })
  assert.deepEqual(seen, [{ a: 1 }, { a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2 }])
})

test('synchronous checks end without waiting', () => {
  const finds = ({ a }: { a: number }) => ({ b: a + 1 })
  assert.deepEqual(passChecks([finds], { a: 1 }, {}), { passed: { a: 1, b: 2 } })
  assert.deepEqual(passChecks([() => ({ refused: 'no' }), finds], { a: 1 }, {}), { refused: 'no' })
})

test('a row before the one that finds what it needs does not compile', () => {
  type Finds = Row<(request: { a: number }) => { b: number }, 'sale'>
  type Needs = Row<(request: { b: number }) => undefined, 'sale' | 'status'>
  type Known<Rows extends readonly Row[], O extends string> = After<Rows, O, { a: number }>
  type Refused = 'a check stands before the one that finds what it needs'
  const inOrder: Known<readonly [Finds, Needs], 'sale'> = { a: 1, b: 2 }
  const early: Refused extends keyof Known<readonly [Needs, Finds], 'sale'> ? 'refused' : 'taken' = 'refused'
  const unfound: Refused extends keyof Known<readonly [Finds, Needs], 'status'> ? 'refused' : 'taken' = 'refused'
  assert.deepEqual([inOrder, early, unfound], [{ a: 1, b: 2 }, 'refused', 'refused'])
})
