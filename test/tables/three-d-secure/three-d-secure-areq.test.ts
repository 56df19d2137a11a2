import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { secret } from '../../../src/base/secret.ts'
import { areqOf } from '../../../src/order/authentication/areq.ts'
import { head, type Order, type OrderRequest } from '../../../src/order/decide/order.ts'
import type { Authentication, BrowserData } from '../../../src/three-d-secure/authentication.ts'
import type { Version } from '../../../src/spec/three-d-secure/kinds.ts'
import { writeMessage } from '../../../src/three-d-secure/codec.ts'
import { now, orderIn, registryWithGate } from '../order/decide-orders.ts'

/**
 * The request to the issuer carries what is known of the cardholder, and can be written whatever a
 * merchant or an app said of him.
 */

const gate = registryWithGate(true).gate(7n)!
const page = 'https://pay.example/gateway/3ds/x'
const pages = { page, method: page, challenge: page, collector: page, pares: page }
const server = { refNumber: 'SIM_3DSS', resultsUrl: 'https://results.example/3ds', pages: () => pages }
const browser: BrowserData = { acceptHeader: '*/*', userAgent: 'Browser/1', language: 'en-GB', javascriptEnabled: false }

interface Said {
  request?: Partial<OrderRequest>
  browser?: Partial<BrowserData>
  printedName?: string
  merchantName?: string
}

/** What the directory server is sent. */
function written(said: Said, version: Version = '2.2.0'): Record<string, unknown> {
  const plain = orderIn('authenticating')
  const authentication: Authentication = {
    ...head(plain).authentication!,
    version,
    compInd: 'N',
    browser: { ...browser, ...(version === '2.1.0' && scripted), ...said.browser },
  }
  const order: Order = {
    ...plain,
    request: { ...plain.request, ...said.request },
    card: { ...plain.card, printedName: said.printedName ?? 'ADA LOVELACE' },
  }
  const parts = { gate, merchantName: said.merchantName ?? 'Shop', server, now }
  const areq = areqOf(order, { ...head(order), authentication }, secret('4000000000002011'), parts)
  assert.ok(areq)
  return JSON.parse(writeMessage(areq)) as Record<string, unknown>
}
const scripted: Partial<BrowserData> = {
  javascriptEnabled: true,
  javaEnabled: false,
  colorDepth: '24',
  screenHeight: '900',
  screenWidth: '1400',
  timeZone: '-60',
}

const whole: Partial<OrderRequest> = {
  email: 'ada@example.com',
  ipAddress: '203.0.113.7',
  country: 'US',
  state: 'CA',
  city: 'San Jose',
  address1: '1 First Street',
  zipCode: '95113',
}

test('AReq has all known data of the cardholder', () => {
  const { browserIP, email, cardholderName, ...areq } = written({ request: whole })
  assert.deepEqual([browserIP, email, cardholderName], ['203.0.113.7', 'ada@example.com', 'ADA LOVELACE'])
  const address = Object.entries(areq).filter(([name]) => name.startsWith('billAddr'))
  assert.deepEqual(Object.fromEntries(address), {
    billAddrCity: 'San Jose',
    billAddrCountry: '840',
    billAddrLine1: '1 First Street',
    billAddrPostCode: '95113',
    billAddrState: 'CA',
  })
})

test('phone and cell_phone are sent to the issuer as country code and number where they say their country', () => {
  // oxfmt-ignore
  const rows: [phone: string, carried: { cc: string; subscriber: string } | undefined][] = [
    ['+491701234567',     { cc: '49', subscriber: '1701234567' }],
    ['00491701234567',    { cc: '49', subscriber: '1701234567' }],
    ['+49 (0)170123456',  { cc: '49', subscriber: '170123456' }],
    [' +1-213-555-0123',  { cc: '1', subscriber: '2135550123' }],
    ['+7 999 123-45-67',  { cc: '7', subscriber: '9991234567' }],
    ['+390612345678',     { cc: '39', subscriber: '0612345678' }],
    ['+420 601 123 456',  { cc: '420', subscriber: '601123456' }],
    ['01701234567',       undefined],
    ['2135550123',        undefined],
    ['491701234567',      undefined],
    ['00114912345678',    undefined],
    ['+0049170123456',    undefined],
    ['+999123456789',     undefined],
    ['+49',               undefined],
    ['+4917',             undefined],
    ['+49170ABCDEFG',     undefined],
    ['++491701234567',    undefined],
    ['+',                 undefined],
    [' ',                 undefined],
    ['',                  undefined],
  ]
  for (const version of ['2.1.0', '2.2.0'] as const)
    for (const [phone, carried] of rows) {
      const home = written({ request: { ...whole, phone } }, version)
      assert.deepEqual([home['homePhone'], home['mobilePhone'], home['workPhone']], [carried, undefined, undefined], phone)
      const mobile = written({ request: { ...whole, cellPhone: phone } }, version)
      assert.deepEqual([mobile['homePhone'], mobile['mobilePhone'], mobile['workPhone']], [undefined, carried, undefined], phone)
    }
})

test('names of cardholder and merchant are sent in ASCII, letter by letter, without a question mark', () => {
  // oxfmt-ignore
  const rows = [
    ['Łukasz Żak', 'Lukasz Zak'], ['Søren Ørsted', 'Soren Orsted'], ['Иван Петров', 'Ivan Petrov'], ['李', 'Li'], ['Ｏ’Ｈａｒａ', "O'Hara"],
    ['Groß & Söhne', 'Gross & Sohne'],
  ] as const
  for (const [name, told] of rows) {
    const { cardholderName, merchantName, threeDSRequestorName } = written({ printedName: name, merchantName: name })
    assert.deepEqual([cardholderName, merchantName, threeDSRequestorName], [told, told, told], name)
  }
  const { cardholderName, merchantName } = written({ printedName: '\ue000', merchantName: '\ue000' })
  assert.deepEqual([cardholderName, merchantName], [undefined, 'Merchant'])
})

test('an optional field is left out if its value is blank or does not fit, and the rest stays', () => {
  const long = 'x'.repeat(51)
  // oxfmt-ignore
  const rows: [name: string, said: Partial<OrderRequest>, carried: unknown][] = [
    ['email',            { email: '' },               undefined],
    ['email',            { email: 'nobody' },         undefined],
    ['email',            { email: `${'a'.repeat(250)}@b.example` }, undefined],
    ['browserIP',        { ipAddress: '' },           undefined],
    ['browserIP',        { ipAddress: 'fe80::1%eth0' }, undefined],
    ['billAddrCity',     { city: ' ' },               undefined],
    ['billAddrCity',     { city: '\u0001' },          undefined],
    ['billAddrCity',     { city: ' Lon\u0001don ' },  'London'],
    ['billAddrCity',     { city: long },              long.slice(1)],
    ['billAddrLine1',    { address1: '\u00a0\t' },    undefined],
    ['billAddrLine1',    { address1: `${'x'.repeat(49)}😀` }, 'x'.repeat(49)],
    ['billAddrPostCode', { zipCode: ' ' },            undefined],
    ['billAddrPostCode', { zipCode: '95\u0000113' },  '95113'],
    ['billAddrState',    { state: '  ' },             undefined],
    ['billAddrState',    { state: '' },               undefined],
    ['billAddrState',    { state: 'C\u0001' },        undefined],
    ['billAddrState',    { state: 'CALI' },           undefined],
    ['billAddrState',    { country: 'AR', state: 'C' },      'C'],
    ['billAddrState',    { country: 'CL', state: 'CL-RM' },  'RM'],
    ['billAddrState',    { country: 'CL', state: 'BG-22' },  undefined],
    ['billAddrState',    { country: 'GB', state: 'Dorset' }, undefined],
    ['billAddrState',    { country: 'ZZ' },           undefined],
    ['billAddrCountry',  { country: 'ZZ' },           undefined],
    ['billAddrCountry',  { country: '' },             undefined],
  ]
  for (const version of ['2.1.0', '2.2.0'] as const)
    for (const [name, said, carried] of rows)
      assert.equal(written({ request: { ...whole, ...said } }, version)[name], carried, `${version} ${JSON.stringify(said)}`)
})

test('browser data is sent without control characters, and a value stands for what has nothing left', () => {
  const nothing = '\u0001 \u0002'
  // oxfmt-ignore
  const rows: [name: string, said: Partial<BrowserData>, carried: unknown][] = [
    ['browserAcceptHeader', { acceptHeader: nothing },     '*/*'],
    ['browserAcceptHeader', { acceptHeader: 'a\u0001b' },  'ab'],
    ['browserUserAgent',    { userAgent: nothing },        'unknown'],
    ['browserLanguage',     { language: nothing },         'en'],
    ['browserLanguage',     { language: 'd\u0001e' },      'de'],
    ['browserIP',           { ip: 'nowhere' },             undefined],
  ]
  for (const [name, said, carried] of rows) assert.equal(written({ browser: said })[name], carried, JSON.stringify(said))
})

test('any values can be written into the request', () => {
  const unit = fc.oneof(
    fc.constantFrom(' ', '\u0000', '\t', '\ud800', '\udc00', '😀', 'é', 'A', '@', '.'),
    fc.string({ maxLength: 1 }),
  )
  const text = fc.oneof(fc.string({ unit, maxLength: 8 }), fc.string({ unit, minLength: 240, maxLength: 2_100 }))
  const digits = fc.string({ unit: fc.constantFrom('0', '1', '4', '7', '9', ' ', '(', ')', '-'), maxLength: 15 })
  const request = fc.record(
    {
      email: text,
      ipAddress: text,
      country: fc.constantFrom('US', 'DE', '', 'ZZ'),
      state: text,
      city: text,
      zipCode: text,
      address1: text,
      phone: fc.oneof(
        text,
        digits.map((each) => `+${each}`),
      ),
      cellPhone: fc.oneof(
        text,
        digits.map((each) => `00${each}`),
      ),
    },
    { requiredKeys: [] },
  )
  const said = fc.record({ acceptHeader: text, userAgent: text, language: text, ip: text }, { requiredKeys: [] })
  fc.assert(
    fc.property(request, said, text, fc.constantFrom<Version>('2.1.0', '2.2.0'), (asked, browserSaid, printedName, version) => {
      written({ request: asked, browser: browserSaid, printedName }, version)
    }),
    { numRuns: 500 },
  )
})
