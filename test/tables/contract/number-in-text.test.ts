import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from '../../../src/card/number.ts'
import { hasAnyNumber, hasThisNumber, textWithDigits } from '../../../src/card/number-in-text.ts'

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
  'https://shop.example/?c=4111%201111%201111%201111',
  'https://shop.example/?c=4111+1111+1111+1111&d=1',
  '4111%C2%A01111%e2%80%931111%201111',
  '4111    1111    1111    1111',
  '4111, 1111 ; 1111 / 1111',
  '4111 - - - 1111_1111..1111',
  '4111\u22121111\u200b1111\u00ad1111',
  '４１１１\u3000１１１１ １１１１ １１１１',
  '\u{1d7dc}\u{1d7d9}\u{1d7d9}\u{1d7d9} 1111 1111 1111',
]

test('the digits of a card are found in any encoding, with anything between them', () => {
  for (const sent of [...spellings, '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1', `00${card}00`, `https://shop.example/?c=${card}`]) {
    const text = textWithDigits(sent)
    assert.ok(text !== undefined && hasThisNumber(text, card), sent)
    assert.ok(!hasThisNumber(text, '4000000000000002'), sent)
  }
  assert.ok(hasThisNumber(textWithDigits('501800009') ?? '', '501800009'))
})

test('a text with few digits, with letters or with more than eight other characters between them is not looked at', () => {
  const long = '4111         1111         1111         1111'
  for (const text of ['', 'Order 12345678', '12a34b56c78d90', '100 % of 20 pieces', long, '%', '%zz %C3 1', 'Заказ 1234'])
    assert.equal(textWithDigits(text), undefined, text)
})

test('a hostile text of the longest length is read within half a second', () => {
  for (const piece of ['%20', '1 ', '12 ', '123 ', '4111 ', '. ', '１ ', '\ufdfa', '%', '%C3', '11111111 '.repeat(2)]) {
    const text = piece.repeat(65_536 / piece.length)
    const start = process.cpuUsage()
    const read = textWithDigits(text) ?? ''
    hasThisNumber(read, card)
    hasAnyNumber(read, () => false)
    const { user } = process.cpuUsage(start)
    assert.ok(user < 500_000, `${JSON.stringify(piece)} took ${user} µs`)
  }
})

test('any number of an issuer in the table is found where it stands as people write one', () => {
  for (const text of spellings) assert.ok(hasAnyNumber(textWithDigits(text) ?? '', everyIssuer), text)
  for (const text of ['378282246310005', '3782 822463 10005', '4222222222222', '501800000009'])
    assert.ok(hasAnyNumber(text, everyIssuer), text)
})

test('a number of no issuer, without its check digit or within a longer number is not a card number', () => {
  for (const text of spellings) assert.ok(!hasAnyNumber(text, () => false), text)
  const checkDigits = ['4111111111111112', '4111 1111 1111 1112']
  const lengths = ['41111111111111', '411111111111116']
  const parts = ['00004111111111111111', `${card}0000`, '4111a1111b1111c1111', '41.11111111111111']
  for (const text of [...checkDigits, ...lengths, ...parts, 'invoice 17 of 2030-01-31', '+1 206 358 2043', ''])
    assert.ok(!hasAnyNumber(text, everyIssuer), text)
})

test('the issuer is asked for the number alone, and for no number that cannot be a card', () => {
  const asked: string[] = []
  hasAnyNumber('order 4111 1111 1111 1111, ref 4111111111111112', (pan) => (asked.push(pan), false))
  assert.deepEqual(asked, [card])
})

/** The same numbers at each run; a multiplicative generator, since nothing here may be random. */
function numbers() {
  let state = 20_261_127
  return (digits: number) => {
    let text = ''
    while (text.length < digits) text += (state = (state * 48_271) % 2_147_483_647) % 10
    return text
  }
}

/** What shops write into descriptions, thirty of each. */
function harmlessTexts(): string[] {
  const n = numbers()
  const day = () => `20${10 + (Number(n(2)) % 20)}-0${1 + (Number(n(1)) % 9)}-1${n(1)}`
  const kinds = [
    () => `Invoice ${n(8)} of ${day()}, customer no. ${n(6)}`,
    () => `Order #${n(10)}: 2 x article ${n(5)}-${n(3)}, 1 x article ${n(5)}-${n(3)}`,
    () => `Tel. +49 ${n(3)} ${n(7)}, fax +49 ${n(3)} ${n(8)}`,
    () => `Call +1 (${n(3)}) ${n(3)}-${n(4)} or ${n(3)}.${n(3)}.${n(4)}`,
    () => `ISBN 978-${n(1)}-${n(4)}-${n(4)}-${n(1)}`,
    () => `Rooms ${n(3)}, ${n(3)}, ${n(3)} and ${n(3)}, from ${day()} to ${day()}`,
    () => `Prices: ${n(4)}.00; ${n(3)}.50; ${n(4)}.25 EUR`,
    () => `Total 1,${n(3)},${n(3)}.${n(2)} / net ${n(3)}.${n(3)},${n(2)}`,
    () => `https://shop.example/orders/${n(9)}?at=${day()}T1${n(1)}%3A${n(2)}&item=${n(6)}`,
    () => `session ${n(4)}a${n(8)}-${n(4)}-4${n(3)}b-8${n(3)}-c${n(11)}`,
    () => `192.168.${n(2)}.${n(2)} at ${day()} 12:${n(2)}:${n(2)}.${n(6)}`,
    () => `Flight LH ${n(4)}, ticket 220-${n(10)}, seat ${n(2)}C`,
  ]
  return kinds.flatMap((make) => Array.from({ length: 30 }, make))
}

test('at most three of 360 harmless texts are taken for a card where the ranges of the networks decide', () => {
  const texts = harmlessTexts()
  assert.equal(texts.length, 360)
  const alarms = texts.filter((text) => hasAnyNumber(textWithDigits(text) ?? '', (pan) => networkOf(pan) !== undefined))
  assert.ok(alarms.length <= 3, alarms.join('\n'))
})
