import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { failureOf } from '../../../src/cli/failure.ts'
import { momentsOf, type Life } from '../../../src/operator/orders/life.ts'
import { agoText, exactSpan, readMoment, readSpan, spanText } from '../../../src/base/moments.ts'
import { optionName } from '../../../src/entity/fields.ts'
import { moment, Unreadable } from '../../../src/entity/kinds.ts'
import { endpointFields } from '../../../src/merchant/fields/endpoint.ts'
import { gateFields } from '../../../src/merchant/fields/gate.ts'
import { endpointMisfit } from '../../../src/operator/configuration/endpoint-rows.ts'
import type { Misfit } from '../../../src/operator/refused.ts'
import type { Order } from '../../../src/order/decide/order.ts'
import { table } from '../../../src/cli/present.ts'

const now = Date.parse('2030-01-31T12:00:00Z')
const usualEndpoint = endpointFields.whole({})
const { table: settings, after: settingsAfter } = endpointFields
/** What a text is read as, or the complaint. */
const valueOf = <Value>(read: Value | Unreadable): Value | string => (read instanceof Unreadable ? read.must : read)
const complaintOf = (read: unknown): string => (read instanceof Unreadable ? read.must : '')

test('spans and moments are read in the documented forms, and in no other', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['5min', 300_000],
    ['24h', 86_400_000],
    ['14d', 1_209_600_000],
    ['', undefined],
    ['1', undefined],
    ['-5s', undefined],
    ['1.5h', undefined],
    ['5 s', undefined],
    ['5w', undefined],
  ] as const)
    assert.equal(readSpan(text), ms, text)

  for (const [text, iso] of [
    ['2h', '2030-01-31T10:00:00.000Z'],
    ['0', '2030-01-31T12:00:00.000Z'],
    ['2030-01-30', '2030-01-30T00:00:00.000Z'],
    ['2030-01-30T08:15', '2030-01-30T08:15:00.000Z'],
    ['2030-01-30 08:15:30', '2030-01-30T08:15:30.000Z'],
    ['2030-01-30T08:15+03:00', '2030-01-30T05:15:00.000Z'],
    ['2030-01-30T08:15:30.5Z', '2030-01-30T08:15:30.500Z'],
  ] as const)
    assert.equal(new Date(readMoment(text, now)!).toISOString(), iso, text)
  for (const text of [
    '2030-02-30',
    '2030-02-30T00:00+02:00',
    '2030-13-01',
    '2030-01-30T25:00',
    'yesterday',
    '30.01.2030',
    '2030-1-1',
    '',
  ])
    assert.equal(readMoment(text, now), undefined, text)
})

test('a time is between 1970 and 2199, in every form', () => {
  for (const text of ['2h', '20000d', '1970-01-01', '2199-12-31T23:59'])
    assert.ok(!(moment.read(text) instanceof Unreadable), text)
  for (const text of ['99999d', '999999999d', '0000-01-01', '1969-12-31', '2200-01-02', '9999-12-31'])
    assert.ok(moment.read(text) instanceof Unreadable, text)
})

test('a span that is set is shown whole, and written so that it can be read', () => {
  for (const [ms, shown] of [
    [1_500, '1500 ms'],
    [90_000, '90 s'],
    [5_400_000, '90 min'],
    [86_400_000, '24 h'],
    [129_600_000, '36 h'],
    [172_800_000, '2 d'],
    [176_400_000, '49 h'],
  ] as const) {
    assert.equal(exactSpan(ms), shown)
    assert.equal(readSpan(exactSpan(ms).replace(' ', '')), ms)
  }
})

test('a span is shown in the largest unit it fills', () => {
  for (const [ms, told] of [
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [1_250, '1.2 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_600_000, '1 h'],
    [172_800_000, '2 d'],
  ] as const)
    assert.equal(spanText(ms), told)
  assert.deepEqual([agoText(now - 90_000, now), agoText(now + 5_000, now), agoText(now, now)], ['1 min ago', 'in 5 s', 'now'])
})

test('settings of an endpoint change where they are named, and null takes a URL away', () => {
  const stored = {
    callbackUrl: 'https://shop.example/',
    mandatoryFields: ['phone'],
    amountsAboveSigned: true,
    parameterSignatures: false,
    cardNumbersInText: true,
    repeatWindowMs: 0,
    sellerCommission: { fixedMinor: 30, basisPoints: 150 },
    acquirerCommission: { ofGate: true as const },
    authenticationInCallback: true,
    withoutMethod: true,
  }
  const set = settingsAfter(usualEndpoint, { ...stored, disabledOperations: new Map([['sale', false]]) })
  assert.deepEqual(set, { ...usualEndpoint, ...stored, disabledOperations: ['capture', 'return', 'sale', 'void'] })
  assert.deepEqual(settingsAfter(set, {}), set)
  assert.deepEqual(
    settingsAfter(set, {
      callbackUrl: null,
      disabledOperations: new Map([['sale', true]]),
      mandatoryFields: [],
      amountsAboveSigned: false,
      parameterSignatures: true,
      cardNumbersInText: false,
      repeatWindowMs: 600_000,
      sellerCommission: null,
      acquirerCommission: null,
      authenticationInCallback: false,
      withoutMethod: false,
    }),
    usualEndpoint,
  )
})

test('a repeat window is a span of a day at most, or 0', () => {
  const spans: [string, number | undefined][] = [
    ['10min', 600_000],
    ['0', 0],
    ['90s', 90_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
    ['25h', undefined],
    ['ten', undefined],
    ['-1s', undefined],
  ]
  for (const [text, ms] of spans) {
    const read = settings.repeatWindowMs.is.read(text)
    assert.equal(read instanceof Unreadable ? undefined : read, ms, text)
  }
})

function switched(text: string) {
  const changes = settings.disabledOperations.is.read(text)
  assert.ok(!(changes instanceof Unreadable), text)
  return { disabledOperations: changes }
}

test('an operation of two names is switched off and on by either', () => {
  for (const text of ['make-rebill=off,create-card-ref-v4=off', 'make-rebill-sale=off,create-card-ref=off']) {
    const off = settingsAfter({ ...usualEndpoint, disabledOperations: [] }, switched(text))
    assert.deepEqual(off.disabledOperations, ['create-card-ref', 'make-rebill-sale'])
    for (const back of ['make-rebill=on,create-card-ref-v4=on', 'make-rebill-sale=on,create-card-ref=on'])
      assert.deepEqual(settingsAfter(off, switched(back)).disabledOperations, [])
  }
  const before = { ...usualEndpoint, disabledOperations: ['make-rebill' as const] }
  assert.deepEqual(settingsAfter(before, { disabledOperations: new Map([['make-rebill-sale', true]]) }).disabledOperations, [])
})

test('a country is read by its two letters alone', () => {
  for (const [text, numeric] of [
    ['DE', '276'],
    ['us', '840'],
    ['AF', '004'],
    ['DEU', undefined],
    ['276', undefined],
    ['XX', undefined],
    ['', undefined],
  ] as const)
    assert.equal(valueOf(gateFields.table.countryNumeric.is.read(text)).slice(0, 3), numeric ?? 'a c', text)
})

/** As the command line words it. */
const wordsOf = (misfit: Misfit | undefined) => (misfit === undefined ? undefined : failureOf(misfit).message)

test('the URLs of an endpoint are judged by what the installation and the endpoint allow', () => {
  const production = { plainHttp: false, loopbackAnyPort: false }
  const judge = (callbackUrl: string, plainHttpCallbacks = false) =>
    wordsOf(endpointMisfit({ ...usualEndpoint, callbackUrl, plainHttpCallbacks }, production))
  assert.equal(judge('https://shop.example/paid'), undefined)
  assert.match(judge('http://shop.example/paid') ?? '', /--plain-http-callbacks on/)
  assert.equal(judge('http://shop.example/paid', true), undefined)
  assert.match(judge('https://user:secret@shop.example/') ?? '', /credentials/)
  assert.match(judge('https://shop.example:22/') ?? '', /port 22/)
  const { read } = settings.callbackUrl.is
  assert.match(valueOf(read(`https://shop.example/${'x'.repeat(1024)}`)), /of at most 1024/)
})

test('lists of fields and operations are read, and unknown names in them are reported', () => {
  const { mandatoryFields: fields, disabledOperations: operations } = settings
  assert.deepEqual(fields.is.read('phone, city,phone'), ['phone', 'city'])
  assert.deepEqual(fields.is.read('none'), [])
  assert.match(complaintOf(fields.is.read('phone,__proto__')), /which "__proto__" is not/)
  const changes = new Map([
    ['sale', false],
    ['status', true],
  ])
  assert.deepEqual(operations.is.read('sale=off,status=on'), changes)
  assert.match(complaintOf(operations.is.read('sail=off')), /"sail" is none/)
  for (const text of ['sale', 'sale=off=on']) assert.match(complaintOf(operations.is.read(text)), /sale=on or sale=off/)
  assert.match(complaintOf(operations.is.read('make-rebill=on,make-rebill-sale=off')), /appears twice/)
})

test('texts for operators name no program, so that a web page can show them too', () => {
  const room = join(import.meta.dirname, '../../../..', 'src', 'operator')
  const terminal = /npx tollgate/
  const sources = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  assert.ok(sources.length > 50)
  assert.deepEqual(
    sources.filter((name) => terminal.test(readFileSync(join(room, name), 'utf8'))),
    [],
  )
})

test('a gate with a value too long for its messages is refused', () => {
  for (const [option, wrong] of [
    ['host', 'a b'],
    ['port', '0'],
    ['terminal-id', 'SHOP00001'],
    ['card-acceptor-id', '0'.repeat(16)],
    ['acquirer-id', '4000x1'],
    ['mcc', '599'],
    ['answer-timeout', '100ms'],
    ['max-open', '0'],
  ] as const) {
    const [, field] = Object.entries(gateFields.table).find(
      ([name, row]) => optionName(name, row as { option?: string }) === option,
    )!
    assert.ok(field.is.read(wrong) instanceof Unreadable, option)
  }
})

test('a life is listed in the order of cause and effect, also within one millisecond', () => {
  const order = {
    transactions: [{ no: 1, kind: 'sale', origin: 'request', serialNumber: 's-1', createdAt: 0 }],
    attempts: [
      {
        no: 1,
        transactionNo: 1,
        gateId: 1n,
        terminalId: 'T',
        stan: '000001',
        rrn: '000000000001',
        startedAt: 1,
        endedAt: 2,
        outcome: 'unknown',
        why: 'no answer in time',
      },
    ],
  } as unknown as Order
  const life: Life = {
    events: [
      { transactionNo: 1, event: 'accepted', from: 'new', to: 'filtering', facts: {}, at: 1 },
      { transactionNo: 1, event: 'attempt recorded', from: 'filtering', to: 'authorising', facts: {}, at: 1 },
      { transactionNo: 1, event: 'answer lost', from: 'authorising', to: 'unknown', facts: { why: 'no answer in time' }, at: 2 },
      { transactionNo: 1, event: 'asked again', from: 'unknown', to: 'unknown', facts: {}, at: 3 },
    ],
    repeats: [{ serialNumber: 's-2', operation: 'sale', transactionNo: 1, at: 2 }],
    deliveries: [
      {
        deliveryNo: 1,
        transactionNo: 1,
        kind: 'callback',
        url: 'https://shop.example/',
        state: 'due',
        createdAt: 4,
        tries: [{ at: 5, durationMs: 10_000, failure: 'timeout: no answer' }],
      },
    ],
  }
  assert.deepEqual(
    momentsOf(order, life, () => 'acme').map((m) => `${m.at} ${m.what}: ${m.says}`),
    [
      '0 request: sale asked for, serial s-1',
      '1 state: new → filtering → authorising',
      '1 sent: attempt 1 to gate 1 (acme): terminal T, STAN 000001, RRN 000000000001',
      '2 request: the same sale again, serial s-2: answered with this order',
      '2 answer: attempt 1 unknown after 1 ms: no answer in time',
      '2 state: authorising → unknown (no answer in time)',
      '3 state: unknown: asked again',
      '4 message: callback 1 owed to https://shop.example/',
      '5 message: callback 1, try 1: timeout: no answer, 10 s',
    ],
  )
})

test('texts of a merchant cannot move the cursor of a terminal or change the text direction', () => {
  const told = table([{ title: 'NAME', of: (name: string) => name }], ['red \u001b[31m', 'line\nbreak', 'turned \u202e'])
  assert.deepEqual(told.split('\n'), ['\u001b[1mNAME\u001b[0m', 'red \ufffd[31m', 'line\ufffdbreak', 'turned \ufffd'])
})
