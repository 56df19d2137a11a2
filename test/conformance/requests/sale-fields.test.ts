import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { saleCases } from './cases.ts'
import { accepted, encodePairs, invalid, newOrderId, nextYear, order, postSale, readReply, refused } from './client.ts'
import { sale, saleUrl, send, settled, signedSale, statusOf } from './client.ts'

/** Fields of a sale: docs/choices.md, "Sale", "Fields" and "Amounts". */

const world = await openWorld()

const { takes, refuses, misses } = saleCases(() => world)

/** A text of this many code points. It begins differently each time, to serve as client_orderid. */
const long = (length: number, letter: string) => {
  const head = newOrderId().slice(0, length - 1)
  return head + letter.repeat(length - head.length)
}

describe('lengths count Unicode code points, and hold at both ends', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const texts: [string, number][] = [
    ['client_orderid',    128],
    ['order_desc',        65_536],
    ['first_name',        50],
    ['last_name',         50],
    ['city',              50],
    ['address1',          256],
    ['card_printed_name', 128],
    ['purpose',           128],
    ['comment',           50],
    ['merchant_data',     65_536],
  ]
  for (const [name, max] of texts) {
    takes(`${name} of ${max} letters`, { [name]: long(max, 'x') })
    takes(`${name} of ${max} code points that take two UTF-16 units each`, { [name]: long(max, '😀') })
    refuses(`${name} of ${max + 1} letters`, name, { [name]: long(max + 1, 'x') })
    refuses(`${name} of ${max + 1} code points outside the basic plane`, name, { [name]: long(max + 1, '😀') })
  }
  // oxfmt-ignore
  const bounds: [string, string, string][] = [
    // field       fits                                                 is one longer
    ['zip_code',   '1234567890',                                        '12345678901'],
    ['phone',      '123456789012345',                                   '1234567890123456'],
    ['cell_phone', '123456789012345',                                   '1234567890123456'],
    ['email',      `${'a'.repeat(38)}@example.com`,                     `${'a'.repeat(39)}@example.com`],
    ['ipaddress',  '0000:0000:0000:0000:0000:ffff:203.100.113.227',     '00000:0000:0000:0000:0000:ffff:203.100.113.227'],
    ['ssn',        '1'.repeat(32),                                      '1'.repeat(33)],
    ['birthday',   '20011120',                                          '200111200'],
    ['site_url',   `https://shop.example/${'a'.repeat(107)}`,           `https://shop.example/${'a'.repeat(108)}`],
  ]
  for (const [name, fits, tooLong] of bounds) {
    takes(`${name} of ${fits.length} characters`, { [name]: fits })
    refuses(`${name} of ${tooLong.length} characters`, name, { [name]: tooLong })
  }
  for (const name of [
    'order_desc',
    'first_name',
    'last_name',
    'city',
    'address1',
    'zip_code',
    'card_printed_name',
    'purpose',
    'comment',
  ]) {
    takes(`${name} of one character`, { [name]: 'x' })
  }
  takes('birthday of six digits', { birthday: '011120' })
  for (const birthday of ['01112', '0111200', '2001-1']) refuses(`birthday ${birthday}`, 'birthday', { birthday })
  takes('an IPv4 address', { ipaddress: '203.0.113.7' })
  takes('an IPv6 address', { ipaddress: '2001:db8::1' })
  for (const ipaddress of ['here', '203.0.113.256', '1.2.3', '2001:db8::1::2'])
    refuses(`ipaddress ${ipaddress}`, 'ipaddress', { ipaddress })
})

describe('mandatory by default', { concurrency: 4 }, () => {
  const names = ['client_orderid', 'order_desc', 'amount', 'currency', 'email', 'ipaddress', 'credit_card_number']
  for (const name of [...names, 'card_printed_name', 'expire_month', 'expire_year', 'cvv2', 'control']) {
    misses(`no ${name}`, name, { [name]: undefined })
    misses(`an empty ${name}, which counts as absent`, name, { [name]: '' })
    misses(`a ${name} of spaces alone, which are trimmed`, name, { [name]: '   ' })
  }
  it('an endpoint setting adds a mandatory field', async () => {
    const path = world.endpoints.strict
    refused(await sale(world, {}, { path }), 1, 'Parameter phone is required')
    accepted(await sale(world, { phone: '+4912345678' }, { path }))
  })
  takes('an optional field that is empty', { phone: '', country: '', state: '', redirect_url: '', birthday: '' })
})

describe('country and state', { concurrency: 4 }, () => {
  for (const country of ['US', 'CA', 'AU']) misses(`${country} without a state`, 'state', { country })
  misses('US with an empty state', 'state', { country: 'US', state: '' })
  takes('US with a state of two letters', { country: 'US', state: 'NY' })
  takes('CA with a state of two letters', { country: 'CA', state: 'QC' })
  takes('AU with a state of three letters', { country: 'AU', state: 'NSW' })
  takes('a country that needs no state', { country: 'DE' })
  takes('a state without a country', { state: 'BY' })
  for (const country of ['XK', 'EU', 'AP', 'A1', 'A2', 'AN', 'CW', 'SX', 'BQ', 'SS'])
    takes(`${country} of one of both lists`, { country })
  refuses('a country of one letter', 'country', { country: 'D' })
  refuses('a country of three letters', 'country', { country: 'DEU' })
  refuses('a country on no list', 'country', { country: 'ZZ' })
  for (const state of 'AS GU PR VI MP UM FM MH PW AA AE AP DC'.split(' ')) takes(`${state} of US`, { country: 'US', state })
  for (const [country, state] of [
    ['AR', 'C'],
    ['ES', 'M'],
    ['CL', 'CL-RM'],
    ['GB', 'Dorset'],
    ['JP', '東京都'],
    ['DE', 'x'.repeat(32)],
  ])
    takes(`${state} of ${country}, which needs none`, { country, state })
  refuses('a state of 33 letters', 'state', { country: 'DE', state: 'x'.repeat(33) })
  refuses('a name for a code of US', 'state', { country: 'US', state: 'Nevada' })
  refuses('a state that US does not have', 'state', { country: 'US', state: 'NSW' })
})

describe('card number: 9 to 19 digits with a valid check digit', { concurrency: 4 }, () => {
  const card = 'credit_card_number'
  takes('9 digits', { [card]: '411111115' })
  takes('15 digits', { [card]: '378282246310005' })
  takes('19 digits', { [card]: '4111111111111111110' })
  refuses('8 digits', card, { [card]: '41111113' })
  refuses('20 digits', card, { [card]: '41111111111111111115' })
  refuses('a wrong check digit', card, { [card]: '4111111111111112' })
  refuses('two neighbours changed round', card, { [card]: '5555555555554454' })
  refuses('spaces between the groups', card, { [card]: '4111 1111 1111 1111' })
  refuses('letters', card, { [card]: '4111111111111a11' })
  refuses('digits of another script', card, { [card]: '٤١١١١١١١١١١١١١١١' })
})

describe('expiry and cvv2', { concurrency: 4 }, () => {
  for (const month of ['1', '9', '01', '09', '12']) takes(`expire_month ${month}`, { expire_month: month })
  for (const month of ['0', '00', '13', '99', '012', '1a', '-1'])
    refuses(`expire_month ${month}`, 'expire_month', { expire_month: month })
  takes('a year of four digits', { expire_year: String(nextYear) })
  takes('a year of two digits', { expire_year: String(nextYear % 100) })
  for (const year of ['3', '203', '0030', '20300', '20x0']) refuses(`expire_year ${year}`, 'expire_year', { expire_year: year })
  takes('an expiry in the past is no bad field', { expire_month: '1', expire_year: '2020' })
  takes('cvv2 of 3 digits', { cvv2: '123' })
  takes('cvv2 of 4 digits', { cvv2: '1234' })
  for (const cvv2 of ['12', '12345', '12a', '١٢٣']) refuses(`cvv2 ${cvv2}`, 'cvv2', { cvv2 })
})

describe('amounts are [0-9]+(.[0-9]+)?, above zero, at most 10 characters', { concurrency: 4 }, () => {
  for (const amount of ['1', '0.01', '0.1', '10.5', '10.50', '0010.5', '1234567.89', '9999999999'])
    takes(`amount ${amount}`, { amount })
  takes('zeros beyond the exponent', { amount: '10.500' })
  takes('zeros beyond the exponent up to 10 characters', { amount: '10.5000000' })
  for (const amount of [
    '0',
    '0.00',
    '000',
    '-1',
    '+1',
    '1.',
    '.5',
    '1,5',
    '1e3',
    '0x10',
    '1.2.3',
    '1 000',
    '１０',
    'NaN',
    'ten',
  ]) {
    refuses(`amount ${amount}`, 'amount', { amount })
  }
  refuses('a digit beyond the exponent', 'amount', { amount: '10.505' })
  refuses('less than a minor unit', 'amount', { amount: '0.001' })
  refuses('11 digits', 'amount', { amount: '12345678901' })
  refuses('11 characters with the point', 'amount', { amount: '12345678.90' })
  refuses('a digit beyond the exponent of JPY', 'amount', { amount: '100.5', currency: 'JPY' })
  refuses('a digit beyond the exponent of KWD', 'amount', { amount: '1.2345', currency: 'KWD' })
  it('JPY 100.00 is well spelled, and signed as 100: only its currency is refused here', async () => {
    refused(await sale(world, { amount: '100.00', currency: 'JPY' }), 8)
  })
  it('KWD 1.234 is well spelled, and signed as 1234: only its currency is refused here', async () => {
    refused(await sale(world, { amount: '1.234', currency: 'KWD' }), 8)
  })
  takes('three letters of a currency', { currency: 'USD' })
  for (const currency of ['XCG', 'XAD', 'KWD'])
    it(`${currency} is known, and not offered here`, async () => refused(await sale(world, { amount: '10.00', currency }), 8))
  refuses('BGN, which ended', 'currency', { currency: 'BGN' })
  refuses('an amount of more digits than acquirers take', 'amount', { amount: '1000000000', currency: 'KWD' })
  refuses('two letters of a currency', 'currency', { currency: 'US' })
  refuses('four letters of a currency', 'currency', { currency: 'USDX' })
})

const either = (one: string, other: string): RegExp => new RegExp(`^Parameter (${one}|${other}) is invalid: \\S`)

describe('both spellings of a field are accepted, both with different values are refused', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const spellings: [string, string, string, string][] = [
    // one                       the other                          a value             another
    ['credit_card_number',       'cardNumber',                      '4111111111111111', '5555555555554444'],
    ['customer_user_agent',      'customer_browser_user_agent',     'Mozilla/5.0',      'Mozilla/4.0'],
    ['customer_accept',          'customer_browser_accept_header',  'text/html',        'text/plain'],
    ['customer_accept_language', 'customer_browser_accept_language', 'en',              'de'],
    ['client_orderid',           'client-order-id',                 newOrderId(),       newOrderId()],
  ]
  for (const [one, other, value, another] of spellings) {
    const fresh = one === 'client_orderid' ? {} : { client_orderid: newOrderId() }
    takes(`${other} alone`, { ...fresh, [one]: undefined, [other]: one === 'client_orderid' ? newOrderId() : value })
    takes(`${one} and ${other} with the same value`, { ...fresh, [one]: value, [other]: value })
    it(`${one} and ${other} with different values: refused`, async () => {
      refused(await sale(world, { ...fresh, [one]: value, [other]: another }), 3, either(one, other))
    })
  }
  for (const name of ['client_orderid', 'amount', 'email', 'credit_card_number', 'order_desc', 'phone', 'merchant_data']) {
    it(`${name} given twice, though with the same value: refused`, async () => {
      const fields = signedSale(world, { phone: '123', merchant_data: 'm' })
      const body = encodePairs([...Object.entries(fields), [name, fields[name] ?? '']])
      refused(readReply(await send('POST', saleUrl(world), body)), 3, invalid(name))
    })
  }
  takes('a login, which is not sent with a sale: like any unknown field', { login: 'nobody' })
  it('unknown fields are ignored, even twice', async () => {
    const fields = Object.entries(signedSale(world))
    const body = encodePairs([
      ...fields,
      ['colour', 'red'],
      ['colour', 'blue'],
      ['', 'x'],
      ['constructor', 'y'],
      ['__proto__', 'z'],
    ])
    accepted(readReply(await send('POST', saleUrl(world), body)))
  })
})

describe('values are trimmed, merchant_data never', { concurrency: 4 }, () => {
  it('blanks around every value but merchant_data fall away', async () => {
    const fields = signedSale(world, { first_name: 'Ada', city: 'Paris', country: 'FR' })
    const { control = '', ...rest } = fields
    const spaced = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, ` \t${value}\r\n `]))
    const made = accepted(await postSale(world, { ...spaced, control }))
    assert.equal(made.client_orderid, fields.client_orderid)
    const seen = await statusOf(world, made)
    assert.deepEqual(
      [seen['first-name'], seen.city, seen.country, seen.email, seen.amount],
      ['Ada', 'Paris', 'FR', fields.email, '10.50'],
    )
  })
  const odd = '  a=b&c+d %20 é😀\r\n\t<b>"\'\\ '
  for (const data of [odd, '   ', '\n']) {
    it(`merchant_data ${JSON.stringify(data)} comes back as merchantdata exactly`, async () => {
      assert.equal((await statusOf(world, await order(world, { merchant_data: data }))).merchantdata, data)
    })
  }
  it('65,536 code points of merchant_data come back exactly', async () => {
    const data = long(65_536, '𝄞')
    assert.equal((await settled(world, await order(world, { merchant_data: data }))).merchantdata, data)
  })
  it('a NUL character is never an internal error', async () => {
    const reply = await sale(world, { order_desc: 'a\0b' })
    assert.ok(reply.type === 'async-response' || reply['error-code'] === '3', JSON.stringify(reply))
  })
})
