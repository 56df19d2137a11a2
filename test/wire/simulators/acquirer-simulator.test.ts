import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GatewayEnd, openAcquirer, readTags, type Fields } from '../acquirer/acquirer-line.ts'

const { acquirer, line, next, newSale, entryOf } = await openAcquirer()

test('a sale is answered by these very bytes', async () => {
  const golden = await GatewayEnd.signedOn(acquirer.port)
  const at = golden.bytes.length
  golden.socket.write(
    Buffer.concat([
      Buffer.from('00b5', 'hex'),
      Buffer.from('1200'),
      Buffer.from('7234054108e18000', 'hex'), // 2 3 4 7 11 12 14 22 24 26 32 37 41 42 43 48 49
      Buffer.from('164111111111111111000000000000001050010112000080000130010112000049121000101000002005999'),
      Buffer.from('06123456000000800001TERM0001MERCHANT000000110Shop, Town021OI0081234567892003123840'),
    ]),
  )
  await golden.until(() => golden.replies.length === 2, 'the answer')
  const reply = golden.bytes.subarray(at)
  assert.equal(reply.readUInt16BE(), reply.length - 2)
  assert.equal(reply.toString('latin1', 2, 6), '1210')
  assert.equal(reply.toString('hex', 6, 14), '323000010ec08004', 'fields 3 4 7 11 12 32 37 38 39 41 42 49 62')
  const approval = reply.toString('latin1', 14 + 66, 14 + 72)
  assert.match(approval, /^[0-9A-Z]{6}$/)
  const additional = 'TX012SIM-12345678NR015300101000800001PC001FPN012Visa ClassicTC001DTN005DebitIC003USAIB018Simulated Bank USA'
  // Field 7 is the acquirer's own time.
  const sentAt = reply.toString('latin1', 14 + 18, 14 + 28)
  assert.match(sentAt, /^(0[1-9]|1[0-2])([0-2][0-9]|3[01])([01][0-9]|2[0-3])([0-5][0-9]){2}$/)
  const start = `000000000000001050${sentAt}80000130010112000006123456000000800001${approval}000`
  assert.equal(reply.toString('latin1', 14), `${start}TERM0001MERCHANT0000001840${additional.length}${additional}`)
  golden.close()
})

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

describe('what only an acquirer knows', () => {
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
      const { fields } = await line.ask('1200', newSale({ pan: withCheckDigit(pan) }))
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

function withCheckDigit(pan: string): string {
  const digits = Array.from(pan.slice(0, -1))
    .toReversed()
    .map((digit, place) => (place % 2 ? Number(digit) : Number(digit) * 2))
  const sum = digits.reduce((total, value) => total + (value > 9 ? value - 9 : value), 0)
  return pan.slice(0, -1) + String((10 - (sum % 10)) % 10)
}
