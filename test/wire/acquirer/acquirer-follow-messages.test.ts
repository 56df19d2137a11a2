import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FollowUp, Outcome, Reversal } from '../../../src/acquirer/connector.ts'
import { pack, unpack } from '../../../src/acquirer/iso8583/codec.ts'
import { followRequest, reversalRequest } from '../../../src/acquirer/iso8583/connector.ts'
import type { IsoMessage } from '../../../src/spec/iso8583.ts'
import { advice as ofASale, deadline, gate, openConnector } from '../../harness/acquirer/acquirer-connector.ts'
import { always } from '../../harness/acquirer/acquirer-line.ts'
import { replyTo, until } from '../../harness/acquirer/acquirer-peer.ts'
import { laidOpen } from '../../harness/acquirer/iso8583.ts'

/** Captures, returns and what takes them back, to the letter of iso8583.md, "Messages". */

const payment = { kind: 'preauth', stan: '000017', rrn: '000000000017', startedAt: Date.UTC(2026, 0, 2, 3, 4, 5) } as const
const ask: FollowUp = {
  kind: 'capture',
  orderId: 170n,
  stan: '000018',
  rrn: '000000000018',
  startedAt: Date.UTC(2026, 1, 3, 4, 5, 6),
  amountMinor: 10_500n,
  originalMinor: 10_500n,
  currencyNumeric: '840',
  original: payment,
  repeat: false,
}
const advice: Reversal = {
  ...ofASale,
  stan: '000019',
  rrn: '000000000019',
  startedAt: Date.UTC(2026, 1, 3, 4, 5, 40),
  original: { kind: 'capture', stan: ask.stan, rrn: ask.rrn, startedAt: ask.startedAt },
}

/** As the acquirer reads it. */
function overTheWire(message: IsoMessage): { type: string; fields: Record<string, unknown> } {
  const unpacked = unpack(pack(message).subarray(2))
  assert.ok(unpacked.is === 'message')
  return laidOpen(unpacked.message) as { type: string; fields: Record<string, unknown> }
}

/** The fields of the table, and those by which a repeat and a reply are found. */
const ofFollow = {
  3: '000000',
  4: '000000010500',
  7: '0203040506',
  11: '000018',
  12: '260203040506',
  24: '201',
  30: '000000010500',
  32: '123456',
  37: '000000000018',
  41: 'TERM1',
  42: 'SHOP',
  48: { OI: '170' },
  49: '840',
  56: '110000001726010203040506123456',
}
const ofAdvice = {
  3: '000000',
  4: '000000010500',
  7: '0203040540',
  11: '000019',
  12: '260203040540',
  24: '400',
  25: '4021',
  32: '123456',
  37: '000000000018',
  41: 'TERM1',
  42: 'SHOP',
  48: { OI: '170' },
  49: '840',
  56: '122000001826020304050606123456',
}
const part = { amountMinor: 1n, originalMinor: 10_500n }
const ofSale = { ...payment, kind: 'sale' } as const

// oxfmt-ignore
const follows: readonly (readonly [string, Partial<FollowUp>, string, object])[] = [
  ['a capture of the whole',            {},                                          '1220', {}],
  ['a capture of a part',               part,                                        '1220', { 4: '000000000001', 24: '202' }],
  ['a return of a sale',                { kind: 'return', original: ofSale },        '1200', { 3: '200000', 24: '200', 56: '120000001726010203040506123456' }],
  ['a return of a part of a sale',      { kind: 'return', original: ofSale, ...part }, '1200', { 3: '200000', 4: '000000000001', 24: '200', 56: '120000001726010203040506123456' }],
  ['a return of captured money',        { kind: 'return' },                          '1200', { 3: '200000', 24: '200' }],
  ['a capture sent again',              { repeat: true },                            '1221', {}],
  ['a return sent again',               { kind: 'return', repeat: true },            '1201', { 3: '200000', 24: '200' }],
  ['a capture in yen',                  { currencyNumeric: '392' },                  '1220', { 49: '392' }],
]
for (const [what, changes, type, fields] of follows)
  test(`${what} is spelled as documented, without any card data`, () => {
    const message = overTheWire(followRequest(gate, { ...ask, ...changes }))
    assert.deepEqual(message, { type, fields: { ...ofFollow, ...fields } })
    for (const ofCard of [2, 14, 22, 26, 43]) assert.ok(!(ofCard in message.fields))
  })

// oxfmt-ignore
const advices: readonly (readonly [string, Partial<Reversal>, string, object])[] = [
  ['the reversal of a capture',              {},                                                   '1420', {}],
  ['the reversal of a part',                 { amountMinor: 1n },                                  '1420', { 4: '000000000001' }],
  ['the reversal of a return',               { original: { ...advice.original, kind: 'return' } }, '1420', { 3: '200000', 56: '120000001826020304050606123456' }],
  ['the reversal of a capture sent again',   { repeat: true },                                     '1421', {}],
  ['a reversal for an answer without use',   { reason: 'unusable answer' },                        '1420', { 25: '4007' }],
  ['a void of a sale',                       { reason: 'cancelled', original: ofSale },            '1420', { 25: '4000', 37: '000000000017', 56: '120000001726010203040506123456' }],
  ['a void or cancel of a preauthorisation', { reason: 'cancelled', original: payment },           '1420', { 25: '4000', 37: '000000000017', 56: '110000001726010203040506123456' }],
]
for (const [what, changes, type, fields] of advices)
  test(`${what} is spelled as documented: the original in 37 and 56, a STAN and a time of its own`, () => {
    assert.deepEqual(overTheWire(reversalRequest(gate, { ...advice, ...changes })), { type, fields: { ...ofAdvice, ...fields } })
  })

test('the reversal of a repeat names its original by the type as first sent', () => {
  const sent = followRequest(gate, { ...ask, repeat: true })
  const { 56: original } = reversalRequest(gate, advice).fields
  assert.deepEqual([sent.type, original?.slice(0, 4)], ['1221', '1220'])
})

async function answered(
  t: TestContext,
  about: Partial<FollowUp>,
  ...replies: ((request: IsoMessage) => IsoMessage)[]
): Promise<Outcome> {
  const { peer, connector } = await openConnector(t)
  const outcome = connector.follow({ ...ask, ...about }, deadline(), always)
  await until('it has arrived', () => peer.payments.length === 1)
  peer.send(...replies.map((reply) => reply(peer.payments[0]!)))
  return outcome
}

// oxfmt-ignore
const outcomes: readonly (readonly [string, (request: IsoMessage) => IsoMessage, Outcome['is']])[] = [
  ['000 approves it',                              (r) => replyTo(r, '000'),                                       'approved'],
  ['116 declines it',                              (r) => replyTo(r, '116'),                                       'declined'],
  ['914 declines it',                              (r) => replyTo(r, '914'),                                       'declined'],
  ['400 says nothing about it',                    (r) => replyTo(r, '400'),                                       'unknown'],
  ['an approval without an amount says nothing',   (r) => replyTo(r, '000', { 4: undefined }),                     'unknown'],
]
// oxfmt-ignore
const strays: readonly (readonly [string, (request: IsoMessage) => IsoMessage])[] = [
  ['another amount',          (r) => replyTo(r, '000', { 4: '000000010499' })],
  ['another processing code', (r) => replyTo(r, '000', { 3: '260000' })],
  ['another RRN',             (r) => replyTo(r, '000', { 37: '000000000017' })],
  ['another type',            (r) => ({ ...replyTo(r, '000'), type: '1110' })],
]
for (const kind of ['capture', 'return'] as const)
  for (const [what, reply, is] of outcomes)
    test(`a ${kind} over a real line: ${what}`, async (t) => assert.equal((await answered(t, { kind }, reply)).is, is))
for (const kind of ['capture', 'return'] as const)
  for (const [what, stray] of strays)
    test(`a ${kind} over a real line: an approval of ${what} is a stray, and the answer that follows is taken`, async (t) =>
      assert.equal((await answered(t, { kind }, stray, (r) => replyTo(r, '116'))).is, 'declined'))

test('two simultaneous captures each get their own answer', async (t) => {
  const { peer, connector } = await openConnector(t)
  const first = connector.follow(ask, deadline(), always)
  const second = connector.follow({ ...ask, stan: '000020', rrn: '000000000020', kind: 'return' }, deadline(), always)
  await until('both have arrived', () => peer.payments.length === 2)
  const [one, other] = peer.payments as [IsoMessage, IsoMessage]
  peer.send(replyTo(other, '116'), replyTo(one, '000'))
  assert.deepEqual([(await first).is, (await second).is], ['approved', 'declined'])
})

test('a capture that may not be sent any more, or cannot be spelled, is not sent', async (t) => {
  const { peer, connector } = await openConnector(t)
  assert.deepEqual(await connector.follow(ask, deadline(), () => false), { is: 'not sent', why: 'it may no longer be sent' })
  const tooMuch = await connector.follow({ ...ask, amountMinor: 10n ** 12n }, deadline(), always)
  const why = 'the message cannot be packed: field 4 is longer than 12'
  assert.deepEqual(tooMuch, { is: 'not sent', isUnpackable: true, why })
  assert.equal(peer.payments.length, 0)
})
