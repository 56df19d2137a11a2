import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authorisation, GateSettings, ProcessorData, Reversal } from '../../../src/acquirer/connector.ts'
import {
  authorisationRequest,
  mismatchOf,
  outcomeOf,
  reversalOutcomeOf,
  reversalRequest,
} from '../../../src/acquirer/iso8583/connector.ts'
import { secret } from '../../../src/base/secret.ts'
import type { IsoFields, IsoMessage } from '../../../src/spec/iso8583.ts'
import { advice as reversal, ask as sale, gate as usualGate } from '../../harness/acquirer/acquirer-connector.ts'
import { laidOpen } from '../../harness/acquirer/iso8583.ts'

const gate: GateSettings = { ...usualGate, cardAcceptorName: 'Café Zoë, 東京' }
// The codec pads numbers and cuts milliseconds off.
const ask: Authorisation = { ...sale, stan: '17', startedAt: sale.startedAt + 678 }
const advice: Reversal = {
  ...reversal,
  stan: '18',
  startedAt: sale.startedAt + 30_000,
  original: { ...reversal.original, stan: '17', startedAt: ask.startedAt },
}

const absent = Object.fromEntries('EC AV DT TV AM RI RS NR'.split(' ').map((tag) => [tag, undefined]))

test('a sale asks for the money in the fields of docs/iso8583.md', () => {
  assert.deepEqual(laidOpen(authorisationRequest(gate, { ...ask, cvv2: secret('123') })), {
    type: '1200',
    fields: {
      2: '4111111111111111',
      3: '000000',
      4: '000000010500',
      7: '0102030405',
      11: '000017',
      12: '260102030405',
      14: '3012',
      22: '100050100110',
      24: '200',
      26: '5999',
      32: '123456',
      37: '000000000017',
      41: 'TERM1',
      42: 'SHOP',
      43: 'Cafe Zoe, DongJing',
      48: {
        OI: '170',
        92: '123',
        ...absent,
      },
      49: '840',
    },
  })
})

// oxfmt-ignore
const kinds: [kind: Authorisation['kind'], repeat: boolean, type: string, processing: string, functionCode: string, amount: string][] = [
  ['sale',                 false, '1200', '000000', '200', '000000010500'],
  ['sale',                 true,  '1201', '000000', '200', '000000010500'],
  ['preauth',              false, '1100', '000000', '101', '000000010500'],
  ['preauth',              true,  '1101', '000000', '101', '000000010500'],
  ['account-verification', false, '1100', '330000', '108', '000000000000'],
]

for (const [kind, repeat, type, processing, functionCode, amount] of kinds) {
  test(`a ${kind}${repeat ? ' sent again' : ''} is a ${type} with function ${functionCode}, under the same names`, () => {
    const { type: sent, fields } = authorisationRequest(gate, { ...ask, kind, repeat })
    assert.deepEqual([sent, fields[3], fields[24], fields[4]], [type, processing, functionCode, amount])
    assert.deepEqual([fields[11], fields[12], fields[37]], ['000017', '260102030405', '000000000017'])
  })
}

test('the result of 3-D Secure travels unchanged in the tags of field 48', () => {
  const authentication = {
    eci: '05',
    authenticationValue: 'kJMZRiDunhPsBwAU0hu9rrx0eWN6',
    dsTransId: 'ds-1',
    version: '2.2.0',
    method: 'challenge',
  } as const
  const tags = authorisationRequest(gate, { ...ask, authentication }).fields[48]
  const told = { EC: '05', AV: 'kJMZRiDunhPsBwAU0hu9rrx0eWN6', DT: 'ds-1', TV: '2.2.0', AM: 'challenge' }
  assert.deepEqual(tags, { OI: '170', 92: undefined, ...absent, ...told })
})

test('a reversal names its original by field 56 and RRN, and itself by a STAN of its own', () => {
  assert.deepEqual(laidOpen(reversalRequest(gate, advice)), {
    type: '1420',
    fields: {
      3: '000000',
      4: '000000010500',
      7: '0102030435',
      11: '000018',
      12: '260102030435',
      24: '400',
      25: '4021',
      32: '123456',
      37: '000000000017',
      41: 'TERM1',
      42: 'SHOP',
      48: { OI: '170' },
      49: '840',
      56: '120000001726010203040506123456',
    },
  })
})

test('a reversal says why, is repeated as 1421, and names the type of its original as first sent', () => {
  const sent = (change: Partial<Reversal>) => reversalRequest(gate, { ...advice, ...change })
  assert.equal(sent({ reason: 'cancelled' }).fields[25], '4000')
  assert.equal(sent({ reason: 'unusable answer' }).fields[25], '4007')
  assert.equal(sent({ repeat: true }).type, '1421')
  assert.equal(sent({ original: { ...advice.original, kind: 'preauth' } }).fields[56]?.slice(0, 4), '1100')
  const verification = sent({ original: { ...advice.original, kind: 'account-verification' } }).fields
  assert.deepEqual([verification[3], verification[4]], ['330000', '000000000000'])
})

const echo: IsoFields = {
  3: '000000',
  4: '000000010500',
  11: '000017',
  12: '260102030405',
  32: '123456',
  37: '000000000017',
  41: 'TERM1',
  42: 'SHOP',
  49: '840',
}
const known: ProcessorData = { rrn: '000000000017', terminalId: 'TERM1' }

/**
 * One line a case: the type of the reply, its fields besides those it repeats, what it means, and
 * with which text or reason.
 */
function outcome(
  type: string,
  fields: IsoFields,
  is: 'approved' | 'declined' | 'unknown' | 'stray',
  text?: string,
  repeat = false,
): void {
  const { 39: code = 'none', ...others } = fields
  const rest = Object.keys(others).length === 0 ? '' : ` and ${JSON.stringify(others)}`
  test(`${type} with action code ${code}${rest} is ${is}: ${text ?? 'no text'}`, () => {
    const reply = { type, fields: { ...echo, ...fields } }
    const mismatch = mismatchOf(authorisationRequest(gate, { ...ask, repeat }), reply)
    assert.equal(mismatch, is === 'stray' ? text : undefined)
    if (is === 'stray') return
    const got = outcomeOf(reply)
    assert.equal(got.is, is)
    if (got.is === 'unknown') return assert.deepEqual(got, { is, why: `unusable answer: ${text}` })
    assert.ok(got.is === 'approved' || got.is === 'declined')
    assert.equal(got.actionCode, code)
    assert.equal(got.is === 'declined' ? got.text : undefined, text)
    assert.deepEqual(got.data, known)
  })
}

// oxfmt-ignore
{
//       type    fields beside the repeated ones       ->  outcome     text of a decline, or why it cannot be used
outcome('1210', { 39: '000' },                             'approved')
outcome('1210', { 39: '000' },                             'approved', undefined, true)
outcome('1210', { 39: '100' },                             'declined', 'Do not honour')
outcome('1210', { 39: '101' },                             'declined', 'Expired card')
outcome('1210', { 39: '116' },                             'declined', 'Not sufficient funds')
outcome('1210', { 39: '119' },                             'declined', 'Transaction not permitted to cardholder')
outcome('1210', { 39: '121' },                             'declined', 'Exceeds withdrawal amount limit')
outcome('1210', { 39: '165' },                             'declined', 'Cardholder authentication required')
outcome('1210', { 39: '208' },                             'declined', 'Lost card')
outcome('1210', { 39: '209' },                             'declined', 'Stolen card')
outcome('1210', { 39: '904' },                             'declined', 'Format error')
outcome('1210', { 39: '909' },                             'declined', 'System malfunction')
outcome('1210', { 39: '911' },                             'declined', 'Card issuer timed out')
outcome('1210', { 39: '116', 44: 'Top up first' },         'declined', 'Top up first')
outcome('1210', { 39: '199' },                             'declined')
outcome('1210', { 39: '100', 4: undefined },               'declined', 'Do not honour')
outcome('1210', {},                                        'unknown',  'no action code')
outcome('1210', { 39: '002' },                             'unknown',  'action code 002')
outcome('1210', { 39: '400' },                             'unknown',  'action code 400')
outcome('1210', { 39: '800' },                             'unknown',  'action code 800')
outcome('1210', { 39: '000', 4: '000000010499' },          'stray',    'field 4 differs from the request')
outcome('1210', { 39: '000', 4: undefined },               'unknown',  'approved without amount or currency')
outcome('1210', { 39: '000', 49: '978' },                  'stray',    'field 49 differs from the request')
outcome('1210', { 39: '000', 49: undefined },              'unknown',  'approved without amount or currency')
outcome('1210', { 39: '000', 3: '200000' },                'stray',    'field 3 differs from the request')
outcome('1210', { 39: '000', 37: '000000000018' },         'stray',    'field 37 differs from the request')
outcome('1210', { 39: '000', 42: 'OTHER' },                'stray',    'field 42 differs from the request')
outcome('1210', { 39: '000', 2: secret('4111111111111111') }, 'approved')
outcome('1210', { 39: '000', 2: secret('5555555555554444') }, 'stray',  'field 2 differs from the request')
outcome('1210', { 39: '116', 3: undefined, 42: undefined }, 'declined', 'Not sufficient funds')
outcome('1210', { 39: '116', 4: '000000010499' },          'stray',    'field 4 differs from the request')
outcome('1110', { 39: '000' },                             'stray',    'type 1110 to 1200')
outcome('1200', { 39: '000' },                             'stray',    'type 1200 to 1200')
outcome('1430', { 39: '400' },                             'stray',    'type 1430 to 1200')
}

test('facts that only the acquirer knows come from the reply, each by its field or tag', () => {
  const card = { PC: 'F', PN: 'Classic', TC: 'D', TN: 'Debit', IC: 'NLD', IB: 'Bank of Tests' }
  const loyalty = { LB: '10.00', LM: 'Thank you', LO: '1', LP: 'Miles' }
  const told = { TX: 'SIM-170', NR: 'NET1', MM: 'More', ...card, ...loyalty }
  const reply = { type: '1210', fields: { ...echo, 38: 'A1B2C3', 39: '000', 62: told } }
  const got = outcomeOf(reply)
  assert.deepEqual(got.is === 'approved' && got.data, {
    rrn: '000000000017',
    approvalCode: 'A1B2C3',
    terminalId: 'TERM1',
    processorTxId: 'SIM-170',
    networkReference: 'NET1',
    productCode: 'F',
    productName: 'Classic',
    typeCode: 'D',
    typeName: 'Debit',
    issuerCountry: 'NLD',
    issuerName: 'Bank of Tests',
    loyaltyBalance: '10.00',
    loyaltyMessage: 'Thank you',
    loyaltyBonus: '1',
    loyaltyProgram: 'Miles',
    motivationalMessage: 'More',
  })
})

const acknowledging = (type: string, code?: string): IsoMessage => ({ type, fields: { ...echo, 39: code } })

test('only 1430 with 400 acknowledges a reversal', () => {
  assert.deepEqual(reversalOutcomeOf(acknowledging('1430', '400')), { is: 'acknowledged', actionCode: '400' })
  for (const [code, why] of [
    ['000', '000'],
    ['909', '909'],
    [undefined, 'missing'],
  ] as const)
    assert.deepEqual(reversalOutcomeOf(acknowledging('1430', code)), {
      is: 'unknown',
      why: `unusable answer: action code ${why}`,
    })
  assert.equal(mismatchOf(reversalRequest(gate, advice), acknowledging('1430', '400')), undefined)
  assert.equal(mismatchOf(reversalRequest(gate, advice), acknowledging('1210', '400')), 'type 1210 to 1420')
})

// oxfmt-ignore
const dates: readonly (readonly [sent: number, field7: string | undefined, processed: number | undefined])[] = [
  // the request was made              field 7 of the reply   when the acquirer processed it
  [Date.UTC(2026, 0, 2, 3, 4, 5),      '0102030407',          Date.UTC(2026, 0, 2, 3, 4, 7)],
  [Date.UTC(2026, 0, 1, 0, 0, 5),      '1231235959',          Date.UTC(2025, 11, 31, 23, 59, 59)],
  [Date.UTC(2025, 11, 31, 23, 59, 59), '0101000002',          Date.UTC(2026, 0, 1, 0, 0, 2)],
  [Date.UTC(2028, 1, 29, 12),          '0229120001',          Date.UTC(2028, 1, 29, 12, 0, 1)],
  [Date.UTC(2026, 0, 2, 3, 4, 5),      '1332030407',          undefined],
  [Date.UTC(2026, 0, 2, 3, 4, 5),      '0000000000',          undefined],
  [Date.UTC(2026, 0, 2, 3, 4, 5),      undefined,             undefined],
]

test('a payment was processed when field 7 of the acquirer says, in the nearest year; without it that is unknown', () => {
  for (const [startedAt, field7, processed] of dates) {
    const request = authorisationRequest(gate, { ...ask, startedAt })
    for (const actionCode of ['000', '116']) {
      const read = outcomeOf({ type: '1210', fields: { ...request.fields, 7: field7, 39: actionCode } })
      assert.ok(read.is === 'approved' || read.is === 'declined')
      assert.equal(read.data.processedAt, processed, `${field7} after ${new Date(startedAt).toISOString()}`)
    }
  }
})
