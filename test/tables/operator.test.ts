import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../../src/base/random.ts'
import { inFindingWords } from '../../src/cli/commands/doctor-words.ts'
import { readMandatoryFields, readOperations, readRepeatWindow } from '../../src/cli/commands/endpoint-values.ts'
import { failureOf } from '../../src/cli/commands/refusals.ts'
import { migrationFinding, serverFindings, workFindings } from '../../src/operator/doctor.ts'
import { gateMisfit, readCountry } from '../../src/operator/gate.ts'
import { momentsOf, type Life } from '../../src/operator/life.ts'
import { agoText, readMoment, readSpan, spanText } from '../../src/operator/moments.ts'
import { endpointMisfit, settingsAfter, usualEndpoint, type EndpointWish } from '../../src/operator/settings.ts'
import type { Misfit } from '../../src/operator/refused.ts'
import { timeOrderedId } from '../../src/operator/store-audit.ts'
import type { LeaseFact, ServerFacts, WorkFacts } from '../../src/operator/store-doctor.ts'
import type { Order } from '../../src/order/order.ts'
import { table } from '../../src/cli/commands/present.ts'

const now = Date.parse('2030-01-31T12:00:00Z')

test('spans and moments are read as they are written, and nothing else is', () => {
  // oxfmt-ignore
  for (const [text, ms] of [
    ['0', 0], ['500ms', 500], ['30s', 30_000], ['5m', 300_000], ['5min', 300_000], ['24h', 86_400_000], ['14d', 1_209_600_000],
    ['', undefined], ['1', undefined], ['-5s', undefined], ['1.5h', undefined], ['5 s', undefined], ['5w', undefined],
  ] as const) assert.equal(readSpan(text), ms, text)
  // oxfmt-ignore
  for (const [text, iso] of [
    ['2h',                     '2030-01-31T10:00:00.000Z'],
    ['0',                      '2030-01-31T12:00:00.000Z'],
    ['2030-01-30',             '2030-01-30T00:00:00.000Z'],
    ['2030-01-30T08:15',       '2030-01-30T08:15:00.000Z'],
    ['2030-01-30 08:15:30',    '2030-01-30T08:15:30.000Z'],
    ['2030-01-30T08:15+03:00', '2030-01-30T05:15:00.000Z'],
    ['2030-01-30T08:15:30.5Z', '2030-01-30T08:15:30.500Z'],
  ] as const) assert.equal(new Date(readMoment(text, now)!).toISOString(), iso, text)
  for (const text of ['2030-02-30', '2030-13-01', '2030-01-30T25:00', 'yesterday', '30.01.2030', '2030-1-1', ''])
    assert.equal(readMoment(text, now), undefined, text)
})

test('a span is told by the largest unit it fills', () => {
  // oxfmt-ignore
  for (const [ms, told] of [
    [0, '0 ms'], [999, '999 ms'], [1_000, '1 s'], [1_250, '1.2 s'], [59_999, '59 s'], [60_000, '1 min'], [3_600_000, '1 h'], [172_800_000, '2 d'],
  ] as const) assert.equal(spanText(ms), told)
  assert.deepEqual([agoText(now - 90_000, now), agoText(now + 5_000, now), agoText(now, now)], ['1 min ago', 'in 5 s', 'now'])
})

test('settings of an endpoint change where they are named, and null takes a URL away', () => {
  const set = settingsAfter(usualEndpoint, {
    callbackUrl: 'https://shop.example/',
    operations: new Map([['sale', false]]),
    mandatoryFields: ['phone'],
    amountsAboveSigned: true,
    repeatWindowMs: 0,
  })
  assert.deepEqual(set, {
    ...usualEndpoint,
    callbackUrl: 'https://shop.example/',
    disabledOperations: ['capture', 'return', 'sale', 'void'],
    mandatoryFields: ['phone'],
    amountsAboveSigned: true,
    repeatWindowMs: 0,
  })
  assert.deepEqual(settingsAfter(set, {}), set)
  assert.deepEqual(
    settingsAfter(set, {
      callbackUrl: null,
      operations: new Map([['sale', true]]),
      mandatoryFields: [],
      amountsAboveSigned: false,
      repeatWindowMs: 600_000,
    }),
    usualEndpoint,
  )
})

test('a repeat window is a span of a day at most, or 0', () => {
  // oxfmt-ignore
  const spans: [string, number | undefined][] = [
    ['10min', 600_000], ['0', 0], ['90s', 90_000], ['24h', 86_400_000], ['1d', 86_400_000], ['25h', undefined], ['ten', undefined], ['-1s', undefined],
  ]
  for (const [text, ms] of spans) {
    const read = readRepeatWindow(text)
    assert.equal(typeof read === 'string' ? undefined : read, ms, text)
  }
})

function switched(text: string): EndpointWish {
  const operations = readOperations(text)
  assert.ok(operations instanceof Map, text)
  return { operations }
}

test('an operation of two names is switched off and on by either', () => {
  for (const text of ['make-rebill=off,create-card-ref-v4=off', 'make-rebill-sale=off,create-card-ref=off']) {
    const off = settingsAfter({ ...usualEndpoint, disabledOperations: [] }, switched(text))
    assert.deepEqual(off.disabledOperations, ['create-card-ref', 'make-rebill-sale'])
    for (const back of ['make-rebill=on,create-card-ref-v4=on', 'make-rebill-sale=on,create-card-ref=on'])
      assert.deepEqual(settingsAfter(off, switched(back)).disabledOperations, [])
  }
  const before = { ...usualEndpoint, disabledOperations: ['make-rebill' as const] }
  assert.deepEqual(settingsAfter(before, { operations: new Map([['make-rebill-sale', true]]) }).disabledOperations, [])
})

test('a country is read by its two letters alone', () => {
  // oxfmt-ignore
  for (const [text, numeric] of [
    ['DE', '276'], ['us', '840'], ['AF', '004'], ['DEU', undefined], ['276', undefined], ['XX', undefined], ['', undefined],
  ] as const) assert.equal(readCountry(text), numeric, text)
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
  assert.match(judge(`https://shop.example/${'x'.repeat(1024)}`) ?? '', /^--callback-url must be at most 1024/)
})

const complaintOf = (read: unknown) => (typeof read === 'string' ? read : 'none')

test('lists of fields and operations are read, and strangers among them are named', () => {
  assert.deepEqual(readMandatoryFields('phone, city,phone'), ['phone', 'city'])
  assert.deepEqual(readMandatoryFields('none'), [])
  assert.match(complaintOf(readMandatoryFields('phone,__proto__')), /"__proto__" is not a field/)
  assert.deepEqual(readOperations('sale=off,status=on'), new Map([['sale', false], ['status', true]])) // oxfmt-ignore
  assert.match(complaintOf(readOperations('sail=off')), /"sail" is not an operation/)
  assert.match(complaintOf(readOperations('sale')), /sale=on or sale=off/)
})

test('what an operator is told names no option and no command: a web page can show it too', () => {
  const room = join(import.meta.dirname, '../../..', 'src', 'operator')
  const terminal = /npx tollgate|(?<![\w-])--[a-z]+/
  assert.deepEqual(
    readdirSync(room).filter((name) => terminal.test(readFileSync(join(room, name), 'utf8'))),
    [],
  )
})

test('a gate with a value that its messages have no room for is refused by the option’s name', () => {
  const good = {
    host: 'acquirer.example', port: 8583, terminalId: 'SHOP0001', cardAcceptorId: '000000000012345', cardAcceptorName: 'The Shop', acquirerId: '400001',
    mcc: '5999', descriptor: 'THE SHOP', answerTimeoutMs: 30_000, partialCapture: true, partialReversal: true, recognisesRepeats: false, maxOpen: 2_000,
  } // oxfmt-ignore
  assert.equal(gateMisfit(good), undefined)
  for (const [option, wrong] of [
    ['--host', { host: 'a b' }],
    ['--port', { port: 0 }],
    ['--terminal-id', { terminalId: 'SHOP00001' }],
    ['--card-acceptor-id', { cardAcceptorId: '0'.repeat(16) }],
    ['--acquirer-id', { acquirerId: '4000x1' }],
    ['--mcc', { mcc: '599' }],
    ['--answer-timeout', { answerTimeoutMs: 100 }],
    ['--max-open', { maxOpen: 0 }],
  ] as const)
    assert.ok(wordsOf(gateMisfit({ ...good, ...wrong }))?.startsWith(`${option} must be `), option)
})

test('ids of the audit trail are UUIDs of version 7 and stand in the order of their time', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 45), fc.nat(2 ** 45), (a, b) => {
      const [one, other] = [timeOrderedId(a, systemRandom), timeOrderedId(b, systemRandom)]
      assert.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      if (a !== b) assert.equal(one < other, a < b)
    }),
  )
})

const goodServer: ServerFacts = {
  version: '18.4',
  versionNumber: 180_004,
  roundTripMs: 1,
  aheadMs: 3,
  fsync: true,
  synchronousCommit: true,
}
const goodWork: WorkFacts = {
  keys: 6n, alive: [{ instance: 'vm:8080', startedAt: now - 60_000, lapses: 0, lapsedOrders: 0, takenOver: 0 }], silent: [], overdue: 0n, awaiting: 0n, parked: [], parkedInvoices: [], due: 0n, givenUp: 0n, nextOrderId: 1_000_001n,
  partitions: [{ table: 'orders', end: 20_000_000n }], merchants: 1n, gateless: [],
} // oxfmt-ignore

test('the doctor is content where all is well, and has advice for each thing that is not', () => {
  const sick = (facts: Partial<WorkFacts>) =>
    workFindings({ ...goodWork, ...facts }, now).filter((finding) => finding.is !== 'ok')
  const lived = (facts: Partial<LeaseFact>) => sick({ alive: [{ ...goodWork.alive[0]!, ...facts }] })
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
  const ill = (facts: Partial<ServerFacts>) =>
    serverFindings({ ...goodServer, ...facts }).filter((finding) => finding.is !== 'ok')
  const longAgo = lived({ lapses: 1, lapsedAt: now - 90_000_000, takenOver: 3, takenOverAt: now - 90_000_000 })
  assert.deepEqual([...sick({}), ...ill({}), ...longAgo], [])
  // oxfmt-ignore
  for (const [findings, is, says] of [
    [ill({ versionNumber: 140_011, version: '14.11' }),      'problem', /14\.11 is too old/],
    [ill({ aheadMs: -2_000 }),                               'warning', /2 s behind/],
    [ill({ aheadMs: 9_000 }),                                'problem', /9 s ahead of/],
    [ill({ fsync: false }),                                  'warning', /fsync is off/],
    [ill({ synchronousCommit: false }),                      'warning', /synchronous_commit is off/],
    [sick({ alive: [] }),                                    'problem', /no gateway/],
    [sick({ silent: [{ instance: 'vm:81', beatAt: now - 9_000, orders: 7n }] }), 'warning', /vm:81 for 9 s, with 7 orders in hand/],
    [sick({ silent: times(7, { instance: 'vm:81', beatAt: now - 9_000, orders: 1n }) }), 'warning', /hour: 7, the last vm:81 for 9 s, with 1 order in hand; vm:81/],
    [lived({ lapses: 2, lapsedAt: now - 60_000, lapsedOrders: 12 }), 'warning', /vm:8080 lapsed 2 times, last 1 min ago with 12 orders in hand/],
    [lived({ takenOver: 5, takenOverAt: now - 60_000 }),     'warning', /vm:8080 took 5 orders over from silent processes, last 1 min ago/],
    [sick({ overdue: 3n, overdueSince: now - 60_000 }),      'problem', /3 overdue.*1 min ago/],
    [sick({ parked: [1_000_007n] }),                         'problem', /1000007/],
    [sick({ parkedInvoices: ['invoice-7'] }),                'problem', /invoice-7/],
    [sick({ due: 2n, dueSince: now - 7_200_000 }),           'warning', /2 waiting, the oldest for 2 h/],
    [sick({ givenUp: 4n }),                                  'warning', /4 given up/],
    [sick({ nextOrderId: 20_000_000n }),                     'problem', /orders has none/],
    [sick({ partitions: [] }),                               'problem', /orders has none/],
    [sick({ merchants: 0n }),                                'warning', /none is registered/],
    [sick({ gateless: [101n] }),                             'warning', /101/],
  ] as const) {
    assert.deepEqual(findings.map((finding) => finding.is), [is], String(says))
    const worded = inFindingWords(findings[0]!, now)
    assert.match(worded.says, says)
    assert.ok((worded.advice ?? '').length > 10)
  }
  const applied = { missing: [], foreign: [], changed: [] }
  assert.equal(migrationFinding(applied).is, 'ok')
  for (const wrong of [{ missing: ['0003.sql'] }, { foreign: ['0003.sql'] }, { changed: ['0003.sql'] }])
    assert.equal(migrationFinding({ ...applied, ...wrong }).is, 'problem')
})

test('a payment whose cardholder is being authenticated is not overdue work', () => {
  const findings = workFindings({ ...goodWork, awaiting: 2n }, now).map((finding) => inFindingWords(finding, now))
  assert.deepEqual(
    findings.find(({ what }) => what === 'transactions'),
    { is: 'ok', what: 'transactions', says: 'none is overdue; 2 with a cardholder being authenticated' },
  )
})

test('a life is told in the order of cause and effect, also within one millisecond', () => {
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

test('what a merchant sent cannot move the cursor of a terminal or turn its writing', () => {
  const told = table([{ title: 'NAME', of: (name: string) => name }], ['red \u001b[31m', 'line\nbreak', 'turned \u202e'])
  assert.deepEqual(told.split('\n'), ['NAME', 'red \ufffd[31m', 'line\ufffdbreak', 'turned \ufffd'])
})
