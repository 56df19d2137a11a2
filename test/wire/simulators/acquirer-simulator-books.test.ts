import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { drawing, openAcquirer, payment, reversal, type Fields } from '../acquirer/acquirer-line.ts'

const { line, next, newSale, entryOf } = await openAcquirer()

const preauth = async (amount: string): Promise<Fields> => {
  const fields = payment({ stan: next(), cvv2: '123', amount }, '000000', '101')
  assert.equal((await line.ask('1100', fields)).fields[39], '000')
  return fields
}
const ask = async (type: string, fields: Fields): Promise<string | undefined> => (await line.ask(type, fields)).fields[39]

describe('repeats', () => {
  // oxfmt-ignore
  const others: [what: string, type: string, changes: Fields][] = [
    ['amount',   '1200', { 4: '000000001051' }],
    ['currency', '1200', { 49: '978' }],
    ['card',     '1200', { 2: '5555555555554444' }],
    ['kind',     '1100', { 24: '101' }],
  ]
  for (const [what, type, changes] of others) {
    test(`the same names with another ${what} are no repeat but an error, and change nothing`, async () => {
      const sale = newSale()
      await line.ask('1200', sale)
      const { fields } = await line.ask(type, { ...sale, ...changes })
      assert.equal(fields[39], '904')
      assert.equal((await entryOf(sale))?.amountMinor, '1050')
    })
  }
})

describe('reversals', () => {
  test('an original that comes after its reversal is answered 909 and not booked, repeats too', async () => {
    const sale = newSale()
    assert.equal((await line.ask('1420', reversal(sale, next()))).fields[39], '400')
    for (const type of ['1200', '1201']) assert.equal((await line.ask(type, sale)).fields[39], '909')
    assert.equal(await entryOf(sale), undefined)
  })

  // oxfmt-ignore
  const mistaken: [what: string, type: string, changes: Fields][] = [
    ['RRN',             '1200', { 37: '999999999999' }],
    ['type',            '1100', {}],
    ['processing code', '1200', { 3: '330000' }],
    ['amount',          '1200', { 4: '000000000999' }],
    ['currency',        '1200', { 49: '978' }],
  ]
  for (const [what, type, changes] of mistaken) {
    test(`a reversal with another ${what} is acknowledged but takes nothing back`, async () => {
      const sale = newSale()
      await line.ask('1200', sale)
      assert.equal((await line.ask('1420', reversal(sale, next(), type, changes))).fields[39], '400')
      assert.equal((await entryOf(sale))?.state, 'approved')
    })
  }
})

describe('captures, returns and account verifications', () => {
  test('captures never exceed the preauthorisation, nor returns the captures; a reversed capture frees its amount', async () => {
    const held = await preauth('1000')
    const capture = drawing('capture', '1100', held, next(), '600')
    assert.equal(await ask('1100', payment({ stan: next() }, '000000', '101')), '000')
    assert.equal(await ask('1200', drawing('return', '1100', held, next(), '1')), '116', 'nothing captured yet')
    assert.equal(await ask('1220', capture), '000')
    assert.equal(await ask('1220', drawing('capture', '1100', held, next(), '401')), '116')
    assert.equal(await ask('1220', drawing('capture', '1100', held, next(), '400')), '000')
    assert.equal(await ask('1200', drawing('return', '1220', capture, next(), '601')), '116')
    assert.equal(await ask('1200', drawing('return', '1220', capture, next(), '600')), '000')
    assert.equal(await ask('1200', drawing('return', '1100', held, next(), '401')), '116')
    assert.equal(await ask('1200', drawing('return', '1100', held, next(), '400')), '000')
    assert.equal(await ask('1200', drawing('return', '1220', capture, next(), '1')), '116')
    const mixed = await preauth('1000')
    const part = drawing('capture', '1100', mixed, next(), '600')
    assert.equal(await ask('1220', part), '000')
    assert.equal(await ask('1220', drawing('capture', '1100', mixed, next(), '400')), '000')
    assert.equal(await ask('1200', drawing('return', '1100', mixed, next(), '900')), '000')
    assert.equal(await ask('1200', drawing('return', '1220', part, next(), '101')), '116', 'all captures together have 100 left')
    assert.equal(await ask('1200', drawing('return', '1220', part, next(), '100')), '000')
    const other = await preauth('500')
    const whole = drawing('capture', '1100', other, next(), '500')
    assert.equal(await ask('1220', whole), '000')
    assert.equal(await ask('1420', reversal(whole, next(), '1220')), '400')
    assert.equal(await ask('1220', drawing('capture', '1100', other, next(), '500')), '000')
  })

  test('an original that is unknown, declined, reversed, of another type or currency is not found', async () => {
    const unknown = payment({ stan: next() })
    assert.equal(await ask('1200', drawing('return', '1200', unknown, next(), '1')), '914')
    const declined = payment({ stan: next(), cvv2: '100' })
    await line.ask('1200', declined)
    assert.equal(await ask('1200', drawing('return', '1200', declined, next(), '1')), '914')
    const reversed = await preauth('1000')
    await line.ask('1420', reversal(reversed, next(), '1100'))
    assert.equal(await ask('1220', drawing('capture', '1100', reversed, next(), '1')), '914')
    const sale = newSale()
    await line.ask('1200', sale)
    assert.equal(await ask('1220', drawing('capture', '1200', sale, next(), '1')), '914')
    assert.equal(await ask('1200', drawing('return', '1100', sale, next(), '1')), '914')
    assert.equal(await ask('1200', { ...drawing('return', '1200', sale, next(), '1'), 49: '978' }), '914')
    assert.equal(await ask('1200', { ...drawing('return', '1200', sale, next(), '1'), 30: '000000000001' }), '904')
  })

  test('an account verification of an amount is refused', async () => {
    assert.equal(await ask('1100', payment({ stan: next(), cvv2: '123', amount: '1' }, '330000', '108')), '904')
  })
})
