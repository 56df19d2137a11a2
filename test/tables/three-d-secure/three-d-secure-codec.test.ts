import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Version } from '../../../src/spec/three-d-secure/kinds.ts'
import { readMessage, type MessageType, type Wanted } from '../../../src/three-d-secure/codec.ts'
import {
  acsId,
  cavv,
  changed,
  good,
  serverId,
  verdictOf,
  type Fields,
} from '../../harness/three-d-secure/three-d-secure-messages.ts'

/** `ok`, or the code and what it is about. */
function heard(type: MessageType, fields: Fields, wanted: Partial<Wanted> = {}): string {
  return verdictOf(readMessage(JSON.stringify(fields), { types: [type], ...wanted }))
}

const without = (fields: Fields, names: string): Fields =>
  names.split(' ').reduce((all, name) => changed(all, name, undefined), fields)

test('conditional fields of AReq are required exactly when their condition holds', () => {
  const screen = 'browserJavaEnabled browserColorDepth browserScreenHeight browserScreenWidth browserTZ'
  const merchant = 'acquirerBIN acquirerMerchantID mcc merchantCountryCode merchantName'
  const purchase = 'purchaseAmount purchaseCurrency purchaseExponent purchaseDate'
  const series = 'recurringExpiry recurringFrequency'
  const bare = (version: Version) =>
    without(good('AReq', version), `${screen} ${merchant} ${purchase} ${series} purchaseInstalData`)
  const comma = (...names: string[]) => `201 ${names.join(' ').replaceAll(' ', ',')}`
  //      version   category  AuthenticationInd  scripts   answer
  const rows: [Version, string, string, boolean, string][] = [
    ['2.1.0', '01', '01', false, comma(merchant, purchase, screen)],
    ['2.2.0', '01', '01', true, comma(merchant, purchase, screen)],
    ['2.2.0', '01', '01', false, comma(merchant, purchase)],
    ['2.2.0', '01', '02', false, comma(merchant, purchase, series)],
    ['2.2.0', '02', '04', false, 'ok'],
    ['2.2.0', '02', '02', false, comma(purchase, series)],
    ['2.2.0', '02', '03', false, comma(purchase, series, 'purchaseInstalData')],
    ['2.1.0', '02', '01', true, comma(screen)],
  ]
  for (const [version, category, ind, scripts, answer] of rows) {
    const about = { messageCategory: category, threeDSRequestorAuthenticationInd: ind, browserJavascriptEnabled: scripts }
    assert.equal(heard('AReq', { ...bare(version), ...about }), answer, `${version} ${category} ${ind} ${scripts}`)
  }
  for (const address of ['billAddr', 'shipAddr']) {
    const nowhere = without(good('AReq', '2.1.0'), `${address}Country`)
    assert.equal(heard('AReq', nowhere), `201 ${address}Country`)
    assert.equal(heard('AReq', without(nowhere, `${address}State`)), 'ok')
  }
})

/** ARes with a status and nothing that depends on it. */
const answer = (version: Version, transStatus: string): Fields =>
  without(
    { ...good('ARes', version), transStatus },
    'transStatusReason authenticationValue acsURL acsChallengeMandated authenticationType eci cardholderInfo',
  )

test('the mandatory fields of ARes depend on its status and on the AReq', () => {
  const challenge = { acsURL: 'https://acs.example/c', acsChallengeMandated: 'N', authenticationType: '02' }
  const proof = { authenticationValue: cavv }
  const why = { transStatusReason: '01' }
  const wants = (version: Version, status: string, more: Fields, asked: Wanted['asked'], expected: string) =>
    assert.equal(
      heard('ARes', { ...answer(version, status), ...more }, asked ? { asked } : {}),
      expected,
      `${version} ${status} ${JSON.stringify([more, asked])}`,
    )
  const ask = (challengeIndicator: string): Wanted['asked'] => ({ challengeIndicator })
  const other: Wanted['asked'] = { messageCategory: '02' }
  for (const version of ['2.1.0', '2.2.0'] as const) {
    // oxfmt-ignore
    {
      //             status  carries     AReq        answer
      wants(version, 'Y',    {},         undefined,  '201 authenticationValue')
      wants(version, 'Y',    proof,      undefined,  'ok')
      wants(version, 'Y',    {},         other,      'ok')
      wants(version, 'A',    {},         undefined,  '201 authenticationValue')
      wants(version, 'A',    proof,      undefined,  'ok')
      wants(version, 'N',    {},         undefined,  '201 transStatusReason')
      wants(version, 'N',    why,        undefined,  'ok')
      wants(version, 'N',    {},         other,      'ok')
      wants(version, 'R',    {},         undefined,  '201 transStatusReason')
      wants(version, 'R',    why,        undefined,  'ok')
      wants(version, 'U',    {},         undefined,  '201 transStatusReason')
      wants(version, 'U',    why,        undefined,  'ok')
      wants(version, 'C',    {},         undefined,  '201 acsURL,acsChallengeMandated,authenticationType')
      wants(version, 'C',    challenge,  undefined,  'ok')
      wants(version, 'C',    challenge,  ask('04'),  'ok')
      wants(version, 'C',    challenge,  ask('06'),  '203 transStatus')
      wants(version, 'C',    { ...challenge, acsURL: 'javascript:alert(1)' }, undefined, '203 acsURL')
      wants(version, 'D',    challenge,  undefined,  '203 transStatus')
      wants(version, 'I',    {},         undefined,  '203 transStatus')
    }
  }
  // oxfmt-ignore
  const indicators = [
    ['01', '203 transStatus'], ['04', '203 transStatus'], ['05', 'ok'], ['06', 'ok'],
    ['07', 'ok'], ['08', '203 transStatus'], ['82', '203 transStatus'],
  ] as const
  for (const [asked, expected] of indicators) {
    wants('2.2.0', 'I', {}, ask(asked), expected)
    wants('2.1.0', 'I', {}, ask(asked), '203 transStatus')
  }
  assert.equal(heard('ARes', without(answer('2.2.0', 'Y'), 'transStatus')), '201 transStatus')
  assert.equal(heard('ARes', without(answer('2.2.0', 'Y'), 'transStatus'), { asked: other }), 'ok')
})

test('the mandatory fields of RReq depend on its result', () => {
  const bare = 'transStatusReason authenticationValue authenticationType eci challengeCancel'
  const result = (transStatus: string, more: Fields, version: Version = '2.1.0') =>
    heard('RReq', { ...without({ ...good('RReq', version), transStatus }, bare), ...more })
  const proof = { authenticationValue: cavv }
  const how = { authenticationType: '02' }
  const late = { transStatusReason: '14' }
  // oxfmt-ignore
  const rows: [status: string, carries: Fields, expected: string][] = [
    ['Y', {},                                             '201 authenticationValue,authenticationType'],
    ['Y', { ...proof, ...how },                           'ok'],
    ['Y', { ...how, messageCategory: '02' },              'ok'],
    ['A', {},                                             '201 authenticationValue'],
    ['A', proof,                                          'ok'],
    ['N', {},                                             '201 transStatusReason,authenticationType'],
    ['N', { ...how, transStatusReason: '01' },            'ok'],
    ['N', { ...how, ...late },                            '201 challengeCancel'],
    ['N', { ...how, ...late, challengeCancel: '04' },     'ok'],
    ['N', { ...how, ...late, challengeCancel: '05' },     'ok'],
    ['N', { ...how, ...late, challengeCancel: '01' },     '203 challengeCancel'],
    ['N', { ...how, transStatusReason: '01', challengeCancel: '01', interactionCounter: '00' }, 'ok'],
    ['U', {},                                             '201 transStatusReason'],
    ['U', { transStatusReason: '80' },                    'ok'],
    ['R', {},                                             '201 transStatusReason'],
    ['R', { transStatusReason: '11' },                    'ok'],
    ['R', { transStatusReason: '11', interactionCounter: undefined }, '201 interactionCounter'],
    ['C', {},                                             '203 transStatus'],
    ['D', {},                                             '203 transStatus'],
    ['I', {},                                             '203 transStatus'],
  ]
  for (const [status, carries, expected] of rows) {
    assert.equal(result(status, carries), expected, `${status} ${JSON.stringify(carries)}`)
    assert.equal(result(status, carries, '2.2.0'), expected, `${status} ${JSON.stringify(carries)}`)
  }
})

test('another version than the transaction has is 102, and the detail names the versions that would do', () => {
  const of = (messageVersion: unknown, version?: Version) =>
    heard('ARes', changed(good('ARes', '2.1.0'), 'messageVersion', messageVersion), version ? { version } : {})
  // oxfmt-ignore
  const rows: [messageVersion: unknown, kept: Version | undefined, expected: string][] = [
    ['2.1.0',   undefined, 'ok'],
    ['2.1.0',   '2.1.0',   'ok'],
    ['2.1.0',   '2.2.0',   '102 2.2.0'],
    ['2.0.1',   undefined, '102 2.1.0,2.2.0'],
    ['2.3.1',   undefined, '102 2.1.0,2.2.0'],
    ['1.0.2',   '2.1.0',   '102 2.1.0'],
    ['2.1',     undefined, '203 messageVersion'],
    ['2.1.0 ',  undefined, '203 messageVersion'],
    [2.1,       undefined, '203 messageVersion'],
    [['2.1.0'], undefined, '203 messageVersion'],
    [undefined, undefined, '201 messageVersion'],
    ['',        undefined, '201 messageVersion'],
    [null,      undefined, '201 messageVersion'],
  ]
  for (const [messageVersion, kept, expected] of rows)
    assert.equal(of(messageVersion, kept), expected, JSON.stringify([messageVersion, kept]))
  // A peer that does not speak the version of the transaction says so in its own.
  assert.equal(heard('Erro', good('Erro', '2.2.0'), { version: '2.1.0' }), 'ok')
})

test('a message of no type, of an unknown or of an unwanted type is 101', () => {
  for (const messageType of [undefined, null, '', 'XRes', 'ares', 7, ['ARes'], '__proto__', 'toString'])
    assert.equal(
      heard('ARes', changed(good('ARes', '2.1.0'), 'messageType', messageType)),
      '101 messageType',
      String(messageType),
    )
  assert.equal(heard('ARes', good('CRes', '2.1.0')), '101 messageType')
  assert.equal(heard('CRes', good('Erro', '2.1.0'), { types: ['CRes', 'Erro'] }), 'ok')
})

test('an extension that is critical is 202 with its id, others are passed over, and there are ten at the most', () => {
  const extension = (id: string, criticalityIndicator: boolean) => ({ name: 'x', id, criticalityIndicator, data: {} })
  const carrying = (...messageExtension: unknown[]) => heard('ARes', { ...good('ARes', '2.2.0'), messageExtension })
  assert.equal(carrying(extension('A1', false), extension('A2', false)), 'ok')
  assert.equal(carrying(extension('A1', false), extension('A2', true), extension('A3', true)), '202 A2,A3')
  assert.equal(carrying(...Array.from({ length: 10 }, () => extension('A', false))), 'ok')
  assert.equal(carrying(...Array.from({ length: 11 }, () => extension('A', false))), '203 messageExtension')
  assert.equal(carrying({ name: 'x', id: 'A', criticalityIndicator: true }), '201 messageExtension.data')
  assert.equal(carrying(extension('a,b\n<script>', true)), '202 a name that cannot be shown')
})

test('unknown fields are ignored and not handed on, in the message and in what it holds', () => {
  const strange = { sdkTransID: '', challengeCompletionInd: 'maybe', broadInfo: null, x: [[[{}]]], toString: 'x' }
  const phoned = changed(good('AReq', '2.1.0'), 'mobilePhone', { cc: '1', subscriber: '2', x: 3 })
  const rows: [MessageType, Fields, Fields][] = [
    ['CRes', { ...good('CRes', '2.1.0'), ...strange }, good('CRes', '2.1.0')],
    ['RReq', { ...good('RReq', '2.2.0'), ...strange }, good('RReq', '2.2.0')],
    ['AReq', phoned, changed(phoned, 'mobilePhone', { cc: '1', subscriber: '2' })],
  ]
  for (const [type, given, expected] of rows)
    assert.deepEqual(readMessage(JSON.stringify(given), { types: [type] }), { is: 'message', message: expected })
})

test('a printed-out CRes is read, with its blanks, its line breaks and in any order', () => {
  const text = `\r\n { "transStatus" :\t"N",\n "challengeCompletionInd" : "Y",\n  "acsTransID" : "${acsId}" ,
    "messageVersion" : "2.2.0", "threeDSServerTransID":"${serverId}",\n"messageType":"CRes" }\n\n`
  const message = {
    messageType: 'CRes',
    messageVersion: '2.2.0',
    threeDSServerTransID: serverId,
    acsTransID: acsId,
    transStatus: 'N',
  }
  assert.deepEqual(readMessage(text, { types: ['CRes'], version: '2.2.0' }), { is: 'message', message })
})

test('a range is compared digit by digit, its end standing for every longer number that begins so', () => {
  // oxfmt-ignore
  const rows: [start: string, end: string, expected: string][] = [
    ['4000000000000000',    '4000000000000000',    'ok'],
    ['4000000000000009',    '400000000000000',     'ok'],
    ['400000000000001',     '4000000000000009',    '203 cardRangeData.endRange'],
    ['4000000000000000001', '4000000000000000000', '203 cardRangeData.endRange'],
    ['9007199254740993',    '9007199254740992',    '203 cardRangeData.endRange'],
    ['9007199254740992',    '9007199254740993',    'ok'],
  ]
  for (const [start, end, expected] of rows) {
    const fields = changed(good('PRes', '2.2.0'), 'cardRangeData.0.startRange', start)
    assert.equal(heard('PRes', changed(fields, 'cardRangeData.0.endRange', end)), expected, `${start} ${end}`)
  }
})

test('a CRes has a status of Y or N where it is about a payment; that of an account verification may lack it', () => {
  for (const version of ['2.1.0', '2.2.0'] as const) {
    const bare = changed(good('CRes', version), 'transStatus', undefined)
    assert.equal(heard('CRes', bare), '201 transStatus')
    assert.equal(heard('CRes', bare, { asked: { messageCategory: '01' } }), '201 transStatus')
    assert.equal(heard('CRes', bare, { asked: { messageCategory: '02' } }), 'ok')
    assert.equal(heard('CRes', { ...bare, transStatus: 'A' }, { asked: { messageCategory: '02' } }), '203 transStatus')
  }
})
