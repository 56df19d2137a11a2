import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownCurrency } from '../../../src/base/money.ts'
import { amountsCanBeSigned } from '../../../src/gateway-api/checksum.ts'
import { checksOf } from '../../../src/gateway-api/matrix.ts'
import { isUnfit } from '../../../src/spec/field.ts'
import { operationNames, operationRow } from '../../../src/spec/gateway/operations.ts'
import { readAmount } from '../../../src/spec/kinds.ts'

const amountOf = (text: string, code: string) => {
  const read = readAmount(text, knownCurrency(code))
  assert.ok(!isUnfit(read), text)
  return read
}

/** What an endpoint that signs such units says of an amount, and of a list of amounts. */
function judged(units: string, code: string, amount: string | undefined, list: readonly string[] = []): string | undefined {
  const endpoint = { currency: code, enabled: true, settings: { controlMinorUnits: units } }
  const values = {
    currency: knownCurrency(code),
    ...(amount === undefined ? {} : { amount: amountOf(amount, code) }),
    ...(list.length === 0 ? {} : { enumerate_amounts: list.map((text) => amountOf(text, code)) }),
  }
  // Only what the check looks at.
  const refusal = amountsCanBeSigned({ values, entry: { endpoints: [endpoint] } } as never)
  return refusal && `${refusal.refused} ${refusal.detail ?? ''}`
}

const cannot =
  /^field is invalid (amount|enumerate_amounts) is invalid: this endpoint counts hundredths, which cannot express it$/

// oxfmt-ignore
const cases: [units: string, currency: string, amount: string, list: string[], refused?: string][] = [
  ['hundredths', 'KWD', '1.234',  [],                 'amount'],
  ['hundredths', 'KWD', '1.23',   []],
  ['hundredths', 'KWD', '1.230',  []],
  ['hundredths', 'CLF', '1.2340', [],                 'amount'],
  ['hundredths', 'JPY', '100.00', []],
  ['hundredths', 'USD', '10.50',  []],
  ['hundredths', 'KWD', '2.00',   ['2.00', '1.001'],  'enumerate_amounts'],
  ['hundredths', 'KWD', '2.00',   ['2.00', '1.010']],
  ['iso4217',    'KWD', '1.234',  ['1.001']],
]
for (const [units, currency, amount, list, refused] of cases)
  test(`${[amount, ...list].join()} ${currency} at an endpoint of ${units} is ${refused ? 'refused' : 'taken'}`, () => {
    const said = judged(units, currency, amount, list)
    assert.equal(cannot.exec(said ?? '')?.[1], refused, said)
  })

test('every operation whose amount is signed has this check', () => {
  // A void is of all that is left, and signs no amount.
  const taking = operationNames.filter((name) => name !== 'void' && 'amount' in operationRow(name).request)
  assert.ok(taking.length >= 7, taking.join())
  for (const operation of taking) assert.ok(checksOf(operation).includes(amountsCanBeSigned), operation)
})
