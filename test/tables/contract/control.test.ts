import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { secret } from '../../../src/base/secret.ts'
import { controlHolds, controlOf } from '../../../src/merchant/control.ts'
import { anySign } from './any-sign.ts'

const documented = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
const hosted = 'test-merchant-control'
const invoice = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'
const library = 'D5F82EC1-8575-4482-AD89-97X6X0X20X22'
const buyer = 'vass.pupkin@example.com'

// oxfmt-ignore
const published: readonly (readonly [what: string, parts: readonly string[], key: string, control: string])[] = [
  ['a sale of 10.42, endpoint 1111',    ['1111', '902B4FF5', '1042', 'john.smith@gmail.com'], documented, 'c6bdd88a78834ef4b863b088827a459f039e8257'],
  ['a sale of 10.42, endpoint 1',       ['1', '902B4FF5', '1042', 'john.smith@gmail.com'],    documented, '768eb8162fc361a3e14150ec46e9a6dd8fbfa483'],
  ['a sale of 0.94',                    ['789', 'CLIENT-112233', '94', buyer],                library,    'ccbe33bde29728126b8e622b7644f99210432eda'],
  ['a sale of 10.15',                   ['789', 'CLIENT-112233', '1015', buyer],              library,    'b98a16cc21c6633cc4a450ada82c8ed0d6e09d7a'],
  ['a sale of 0.57',                    ['789', 'CLIENT-112233', '57', buyer],                library,    '065da24fc00fb885e019282d2c556285d4721169'],
  ['a sale of 10.5',                    ['789', 'CLIENT-112233', '1050', buyer],              library,    'b3c1d792fb18de6ffe8fba62e2be4429f42d11b9'],
  ['a callback',                        ['approved', '1234567', 'hf-abc'],                    hosted,     '652ace404c4dfe8bba069ecee594ec23a89340e1'],
  ['a callback without a value',        ['', '', ''],                                         hosted,     '1a66987ac24e927ff2979f83a41cb818936a9e62'],
  ['a callback of another client',      ['approved', '123', 'invoice-1'],                     invoice,    '5bc8ee48f9ba37c0fd1e0b052a9bc105c6df87e1'],
  ['an upload, a void, a full return',  ['test-login', 'CLIENT-112233', '6768788'],           library,    '92facd9ee636a8d495eedca346cfddbe5694dfaf'],
  ['a status without orderid',          ['test-login', 'CLIENT-112233', ''],                  library,    'bcaf34dae08a70997c4d5a01032e68a620632883'],
  ['a rebill with its endpoint first',  ['789', 'test-login', 'CLIENT-112233', '5588943', '99', 'USD'], library, '4a3cae463ad60e8d7c95cdd42fa5d663e3a3ff6d'],
]

const decoy = secret('decoy')
const keys = (...texts: string[]) => texts.map((text) => secret(text))

for (const [what, parts, key, control] of published) {
  test(`${what}: the checksum is the published one, in either case of letters`, () => {
    assert.equal(controlOf(parts, secret(key)), control)
    assert.ok(controlHolds(control, [parts], keys(key), decoy))
    assert.ok(controlHolds(control.toUpperCase(), [parts], keys(key), decoy))
  })
}

test('a checksum holds under each of the keys and for each of the spellings, and no other', () => {
  const control = controlOf(['a', 'b '], secret('old'))
  assert.ok(
    controlHolds(
      control,
      [
        ['a', 'b'],
        ['a', 'b '],
      ],
      keys('new', 'old'),
      decoy,
    ),
  )
  assert.ok(!controlHolds(control, [['a', 'b']], keys('new', 'old'), decoy))
  assert.ok(!controlHolds(control, [['a', 'b ']], keys('new'), decoy))
  assert.ok(!controlHolds(control, [], keys('old'), decoy))
})

test("without a key no checksum is valid, not even the decoy's", () => {
  const parts = ['login', 'order', '']
  assert.ok(!controlHolds(controlOf(parts, decoy), [parts], [], decoy))
  assert.ok(!controlHolds('', [parts], [], decoy))
})

test('one character more, less or another is another checksum, and so is a text of any other shape', () => {
  const parts = ['1111', '902B4FF5', '1042', 'john.smith@gmail.com']
  const good = controlOf(parts, secret(documented))
  const holds = (control: string) => controlHolds(control, [parts], keys(documented), decoy)
  for (let at = 0; at < good.length; at++) {
    const other = good[at] === '0' ? '1' : '0'
    assert.ok(!holds(good.slice(0, at) + other + good.slice(at + 1)))
  }
  for (const wrong of ['', ' ', good.slice(1), `${good}0`, ` ${good}`, `${good}\n`, good + good, '\ud800', '０'.repeat(40)])
    assert.ok(!holds(wrong))
  fc.assert(fc.property(fc.string({ unit: anySign }), (text) => text.toLowerCase() === good || !holds(text)))
})

test('a checksum is forty lower-case hexadecimal digits and depends on every part and on the key', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), word, fc.nat(), (parts, key, at) => {
      const control = controlOf(parts, secret(key))
      assert.match(control, /^[0-9a-f]{40}$/)
      const changed = parts.map((part, i) => (i === at % parts.length ? `${part}x` : part))
      if (changed.join('') + key !== parts.join('') + key) assert.notEqual(controlOf(changed, secret(key)), control)
      assert.notEqual(controlOf(parts, secret(`${key}x`)), control)
    }),
  )
})
