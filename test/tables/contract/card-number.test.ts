import assert from 'node:assert/strict'
import { test } from 'node:test'
import { binOf, lastFourOf, networkOf } from '../../../src/card/number.ts'

test('bin is the first six digits of a number of 13 digits or more, and empty for a shorter one', () => {
  for (let length = 9; length <= 19; length++) {
    const number = '5018000000000000000'.slice(0, length)
    assert.equal(binOf(number), length >= 13 ? '501800' : '', `${length} digits`)
    assert.equal(lastFourOf(number), '0000')
  }
})

// oxfmt-ignore
const networks: [network: string | undefined, numbers: string][] = [
  ['VISA',       '4111111111111111 4000000000000002'],
  ['MASTERCARD', '5555555555554444 2223000048400011 2720990000000007'],
  ['AMEX',       '378282246310005'],
  ['DISCOVER',   '6011000000000004 6540000000000004'],
  ['MAESTRO',    '6759000000000000 6304000000000000'],
  ['UNIONPAY',   '6200000000000005'],
  ['RUPAY',      '6521500000000006 6081000000000009 5085000000000007 8172000000000005 6069850000000007'],
  ['VERVE',      '5060990000000008 6500020000000000'],
  ['ELO',        '5090000000000000 6363680000000007 6550000000000001 4011780000000006 6500310000000003'],
  ['HIPERCARD',  '6062820000000003 6370950000000005'],
  ['DANKORT',    '5019000000000008'],
  ['MEEZA',      '5078030000000003 5078080000000008'],
  [undefined,    '9000000000000001 1000000000000008'],
]
for (const [network, numbers] of networks)
  test(`${network ?? 'no network'} is what the first digits of its numbers say`, () => {
    for (const number of numbers.split(' ')) assert.equal(networkOf(number), network, number)
  })
