import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as check from '../../src/gateway-api/checks.ts'
import { checksOf, matrix, operationsOf } from '../../src/gateway-api/matrix.ts'
import { operationNames, type Operation } from '../../src/spec/gateway/operations.ts'

const all = operationNames.map(() => 'x').join(' ')

test('a row of checks with another number of marks than there are operations is refused', () => {
  assert.deepEqual([...operationsOf('a check', all, operationNames)], operationNames)
  for (const marks of [`${all} x`, `${all} .`, all.slice(2), 'x', ''])
    assert.throws(() => operationsOf('a check', marks, operationNames), /"a check" has \d+ marks? for \d+ operations/, marks)
})

test('a row with a mark that is neither x nor a dot is refused', () => {
  for (const mark of ['X', '-', 'xx', '..', 'x.', 'o'])
    assert.throws(() => operationsOf('a check', all.replace(/x$/, mark), operationNames), /"a check" has the mark/, mark)
})

test('an operation without a column is refused, and so is one that has two', () => {
  for (const name of operationNames)
    assert.throws(
      () =>
        operationsOf(
          'a check',
          all,
          operationNames.filter((one) => one !== name),
        ),
      new RegExp(`no column for ${name}$`),
    )
  assert.throws(() => operationsOf('a check', all, [...operationNames, 'sale']), /18 columns for 17 operations/)
})

test('a mark counts for the operation of its column, whatever the order of the columns', () => {
  const columns = operationNames.toReversed()
  const marks = columns.map((name) => (name === 'capture' || name === 'sale' ? 'x' : '.')).join('  ')
  assert.deepEqual([...operationsOf('a check', marks, columns)].toSorted(), ['capture', 'sale'])
})

const signedByOAuth: ReadonlySet<Operation> = new Set(['create-card-ref-v4', 'status-v4'])

test('every operation demands the endpoint, and every one but those of v4 the checksum', () => {
  for (const operation of operationNames) {
    assert.ok(checksOf(operation).includes(check.endpointExists), operation)
    assert.equal(checksOf(operation).includes(check.controlHolds), !signedByOAuth.has(operation), operation)
  }
})

test('nothing of an order or a card reference is looked at before the checksum holds', () => {
  for (const operation of operationNames.filter((name) => !signedByOAuth.has(name))) {
    const checks = checksOf(operation)
    for (const later of [check.operationIsEnabled, check.orderIsThisMerchants, check.referenceIsThisMerchants])
      if (checks.includes(later)) assert.ok(checks.indexOf(later) > checks.indexOf(check.controlHolds), operation)
  }
})

test('no check is without an operation', () => {
  assert.ok(matrix.length > 10)
  for (const { promise, of } of matrix) assert.ok(of.size > 0, promise)
})
