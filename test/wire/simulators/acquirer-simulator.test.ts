import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cardNumber } from '../../conformance/requests/client.ts'
import { drawing, type Fields, openAcquirer, payment, readTags, reversal } from '../acquirer/acquirer-line.ts'

const { line, next, newSale, entryOf } = await openAcquirer()

describe('the CVV2 decides', () => {
  // oxfmt-ignore
  const cases: [cvv2: string | undefined, how: string | undefined, amount: string, currency: string, says: string][] = [
    ['123',     undefined,      '999999999999', '840', '000'],
    ['1234',    undefined,      '1050',         '840', '000'],
    ['111',     undefined,      '1050',         '840', '000'],
    ['321',     undefined,      '1050',         '840', '000'],
    ['101',     undefined,      '1050',         '840', '101'],
    ['116',     undefined,      '1050',         '840', '116'],
    ['119',     undefined,      '1050',         '840', '119'],
    ['209',     undefined,      '1050',         '840', '209'],
    ['165',     undefined,      '1050',         '840', '165'],
    ['165',     'frictionless', '1050',         '840', '165'],
    ['165',     'challenge',    '1050',         '840', '000'],
    ['999',     undefined,      '1050',         '840', '100'],
    ['1235',    undefined,      '1050',         '840', '100'],
    ['0123',    undefined,      '1050',         '840', '100'],
    [undefined, undefined,      '100000',       '840', '000'],
    [undefined, undefined,      '100001',       '840', '116'],
    [undefined, undefined,      '1000',         '392', '000'],
    [undefined, undefined,      '1001',         '392', '116'],
    [undefined, undefined,      '1000000',      '414', '000'],
    [undefined, undefined,      '1000001',      '414', '116'],
  ]
  for (const [cvv2, authenticated, amount, currency, says] of cases) {
    const proof = authenticated ? ` after ${authenticated}` : ''
    test(`${cvv2 ?? 'none'}${proof} of ${amount} in ${currency} is answered ${says}`, async () => {
      const sale = newSale({ amount, currency, cvv2, authenticated })
      const { type, fields } = await line.ask('1200', sale)
      assert.equal(type, '1210')
      assert.equal(fields[39], says)
      assert.equal(fields[38] !== undefined, says === '000', 'an approval code comes with approvals alone')
      assert.equal(fields[44] !== undefined, says !== '000', 'words come with declines alone')
      const entry = await entryOf(sale)
      assert.equal(entry?.state, says === '000' ? 'approved' : 'declined')
      assert.equal(entry?.answered, true)
    })
  }

  test('217 is approved in the books and never answered, not even a repeat', async () => {
    const sale = newSale({ cvv2: '217' })
    line.send('1200', sale)
    line.send('1201', sale)
    await line.echo(next())
    assert.deepEqual(line.to(sale), [])
    const entry = await entryOf(sale)
    assert.equal(entry?.state, 'approved')
    assert.equal(entry?.answered, false)
  })
})

describe('before the CVV2', () => {
  // oxfmt-ignore
  const cases: [what: string, changes: Fields, says: string][] = [
    ['a card that expired',                     { 14: '0101' },                      '101'],
    ['a number without a valid check digit',    { 2: '4111111111111112' },           '100'],
    ['a month that is none',                    { 14: '4913' },                      '904'],
    ['an amount of zero',                       { 4: '000000000000' },               '904'],
    ['a currency that is none',                 { 49: '000' },                       '904'],
    ['tags that cannot be read',                { 48: 'OI999x' },                    '904'],
    ['a function code of another message',      { 24: '101' },                       '904'],
    ['a processing code that is not in use',    { 3: '010000' },                     '904'],
  ]
  for (const [what, changes, says] of cases) {
    test(`${what} is answered ${says}`, async () => {
      const sale = { ...newSale(), ...changes }
      assert.equal((await line.ask('1200', sale)).fields[39], says)
      assert.equal((await entryOf(sale))?.state, says === '904' ? undefined : 'declined')
    })
  }

  test('a sale without a field that it needs is a format error that names it and is not booked', async () => {
    for (const number of [2, 4, 7, 14, 22, 24, 26, 32, 37, 41, 42, 43, 48, 49]) {
      const sale = newSale()
      delete sale[number]
      const { fields } = await line.ask('1200', sale)
      assert.deepEqual([fields[39], fields[44]], ['904', `field ${number} is missing`])
      assert.equal(await entryOf(sale), undefined)
    }
  })
})

describe('facts that only an acquirer knows', () => {
  // oxfmt-ignore
  const cards: [pan: string, product: string, type: string, country: string][] = [
    ['4000000000000002',    'F Visa Classic',             'C Credit', 'GBR'],
    ['5555555555554444',    'MCS Mastercard Standard',    'D Debit',  'CAN'],
    ['2223003122003222',    'MCS Mastercard Standard',    'C Credit', 'GBR'],
    ['378282246310005',     'AXG American Express Green', 'C Credit', 'DEU'],
    ['6011111111111117',    'DCR Discover Consumer',      'D Debit',  'USA'],
    ['9000000000000001',    'TST Test Card',              'C Credit', 'GBR'],
  ]
  for (const [pan, product, type, country] of cards) {
    test(`${pan.slice(0, 6)} is ${product}, ${type}, ${country}`, async () => {
      const { fields } = await line.ask('1200', newSale({ pan: cardNumber(pan.slice(0, -1)) }))
      const { PC, PN, TC, TN, IC, IB, LB } = readTags(fields[62])
      assert.deepEqual(
        [`${PC} ${PN}`, `${TC} ${TN}`, IC, IB, LB],
        [product, type, country, `Simulated Bank ${country}`, undefined],
      )
    })
  }

  test('the loyalty BIN earns a point a unit when approved, and MM explains a 116', async () => {
    const pan = '4242424242424242'
    const good = readTags((await line.ask('1200', newSale({ pan, amount: '2599' }))).fields[62])
    assert.deepEqual([good.LB, good.LO, good.LP, good.MM], ['1275', '25', 'TOLLGATE POINTS', undefined])
    const poor = readTags((await line.ask('1200', newSale({ pan, cvv2: '116' }))).fields[62])
    assert.deepEqual([poor.LB, poor.NR, poor.MM !== undefined], [undefined, undefined, true])
  })
})

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
