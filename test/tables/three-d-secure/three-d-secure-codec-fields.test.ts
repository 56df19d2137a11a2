import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Version } from '../../../src/spec/three-d-secure/kinds.ts'
import { readMessage, writeMessage, type Message, type MessageType } from '../../../src/three-d-secure/codec.ts'
import { messages } from '../../../src/spec/three-d-secure/messages.ts'
import { changed, good, verdictOf, type Fields } from '../../harness/three-d-secure/three-d-secure-messages.ts'

const types: readonly MessageType[] = ['PReq', 'PRes', 'AReq', 'ARes', 'CReq', 'CRes', 'RReq', 'RRes', 'Erro']
const both: readonly Version[] = ['2.1.0', '2.2.0']

/** `ok`, or the code and the names of the fields. */
function heard(type: MessageType, fields: Fields): string {
  return verdictOf(readMessage(JSON.stringify(fields), { types: [type] }))
}

test('a message with every field is read back unchanged, in both versions', () => {
  for (const type of types) {
    for (const version of both) {
      const read = readMessage(JSON.stringify(good(type, version)), { types: [type] })
      assert.deepEqual(read, { is: 'message', message: good(type, version) }, `${type} ${version}`)
      assert.deepEqual(JSON.parse(writeMessage(good(type, version) as unknown as Message)), good(type, version))
    }
  }
})

// Names that are always required, those that the values of the good message require, and those that
// 2.2.0 alone requires.
// oxfmt-ignore
const required: [type: MessageType, always: string, here: string, only220?: string][] = [
  ['PReq', 'threeDSServerTransID threeDSServerRefNumber', ''],
  ['PRes', 'threeDSServerTransID dsTransID dsStartProtocolVersion dsEndProtocolVersion', ''],
  ['AReq',
    'messageCategory deviceChannel threeDSServerTransID threeDSServerRefNumber threeDSServerURL threeDSRequestorID ' +
      'threeDSRequestorName threeDSRequestorURL threeDSRequestorAuthenticationInd threeDSCompInd acctNumber notificationURL ' +
      'browserAcceptHeader browserUserAgent browserLanguage',
    'acquirerBIN acquirerMerchantID mcc merchantCountryCode merchantName purchaseAmount purchaseCurrency purchaseExponent ' +
      'purchaseDate browserJavaEnabled browserColorDepth browserScreenHeight browserScreenWidth browserTZ ' +
      'billAddrCountry shipAddrCountry',
    'browserJavascriptEnabled payTokenSource whiteListStatusSource'],
  ['ARes', 'threeDSServerTransID acsTransID dsTransID acsReferenceNumber dsReferenceNumber', 'transStatus authenticationValue', 'whiteListStatusSource'],
  ['CReq', 'threeDSServerTransID acsTransID challengeWindowSize', ''],
  ['CRes', 'threeDSServerTransID acsTransID', 'transStatus'],
  ['RReq', 'messageCategory threeDSServerTransID acsTransID dsTransID interactionCounter', 'transStatus authenticationValue authenticationType', 'whiteListStatusSource'],
  ['RRes', 'threeDSServerTransID acsTransID dsTransID resultsStatus', ''],
  ['Erro', 'errorCode errorComponent errorDescription errorDetail', ''],
]

test('a missing or blank required field is 201 with its name; an optional one may be absent, but blank it is 203', () => {
  for (const [type, always, here, only220 = ''] of required) {
    for (const version of both) {
      const needed = new Set(`${always} ${here} ${version === '2.2.0' ? only220 : ''}`.split(' '))
      for (const name of Object.keys(good(type, version))) {
        if (name === 'messageType' || name === 'messageVersion') continue
        const about = `${type} ${version} ${name}`
        const without = heard(type, changed(good(type, version), name, undefined))
        assert.equal(without, needed.has(name) ? `201 ${name}` : 'ok', `${about} absent`)
        for (const blank of ['', ' ', null, [], {}])
          assert.equal(heard(type, changed(good(type, version), name, blank)), `${needed.has(name) ? 201 : 203} ${name}`, about)
      }
    }
  }
})

test('all missing fields are named, in the order of the table', () => {
  const { messageType, messageVersion } = good('RReq', '2.2.0')
  assert.equal(
    heard('RReq', { messageType, messageVersion }),
    '201 messageCategory,threeDSServerTransID,acsTransID,dsTransID,transStatus,interactionCounter',
  )
})

const long = (length: number, of = 'x') => of.repeat(length)
const urlOf = (length: number) => `https://a.example/${long(length - 18)}`
const text = (max: number): [unknown[], unknown[]] => [
  ['x', long(max), long(max, '漢'), long(max, '😀'), '<"&\'>', 'a\tb\r\nc'],
  [long(max + 1), long(max + 1, '😀'), 'nul\0', 'bell\u0007', '\ud83d', 7, true, ['x']],
]
// oxfmt-ignore
const digits = (min: number, max: number): [unknown[], unknown[]] => [
  [long(min, '0'), long(max, '9')],
  [long(min - 1, '1') || 'x', long(max + 1, '1'), `${long(min - 1, '1')}a`, `${long(min - 1, '1')}-`, `${long(min, '1')} `, `${long(min - 1, '1')}١`, 1234, `${long(min, '1')}\n`],
]
// oxfmt-ignore
const uuid: [unknown[], unknown[]] = [
  ['0739D5AA-1111-4222-8333-0123456789AB', '00000000-0000-0000-0000-000000000000'],
  ['0739d5aa1111422283330123456789ab', '0739d5aa-1111-4222-8333-0123456789a', '0739d5aa-1111-4222-8333-0123456789abc', '{739d5aa-1111-4222-8333-0123456789a}', 'g739d5aa-1111-4222-8333-0123456789ab', '0739d5aa-1111-4222-8333-0123456789ab\n', 5],
]
// oxfmt-ignore
const url = (max: number): [unknown[], unknown[]] => [
  ['http://127.0.0.1:8080/a', 'https://a', urlOf(max), 'https://[2001:db8::1]:8443/?a=b#c', "https://a.example/(x)'~!*;,%20", 'HTTPS://A.EXAMPLE/'],
  [urlOf(max + 1), 'javascript:alert(1)', 'JaVaScRiPt://x/%0aalert(1)', 'data:text/html,x', 'ftp://a.example/', 'a.example/path', '/path', '//a.example',
    'https:a.example', 'https:/a.example', 'https:///a.example', 'https://', 'https://?x', ' https://a.example', 'https://a.example/ b', 'https://a.exa\nmple',
    'https://a.example/"><script>', 'https://a.example\\@b.example', 'https://a.example:99999/', 'https://a.example/ü', 'java\nscript:alert(1)', 1],
]
const codes = (list: string, not: string): [unknown[], unknown[]] => [list.split(' '), [...not.split(' '), 1, true]]
const flag: [unknown[], unknown[]] = [
  [true, false],
  ['true', 'false', 0, 1],
]
const protocolVersion: [unknown[], unknown[]] = [
  ['2.1.0', '1.0.2', '2.10.10', '10.10.1'],
  ['2.1', '2', '2.1.0.0', '2.1.x', '22.11.33.', '100.1.1', 'v2.1.0', '22.22.22.22', 2.1],
]
// oxfmt-ignore
const authenticationValue: [unknown[], unknown[]] = [
  [`${long(27, 'A')}=`, '+/9zZAECAwQFBgcICQoLDA0ODxA='.slice(0, 27) + '=', long(28, 'A'), 'kJMZRiDunhPsBwAU0hu9rrx0eWN6'],
  [long(27, 'A'), long(29, 'A'), long(32, 'A'), `${long(27, 'A')}-`, `${long(26, 'A')}==`, `${long(26, 'A')}=`, `${long(28, 'A')}=`, `${long(26, 'A')}-=`, `${long(26, 'A')} =`, 1],
]
const reasonCodes: [unknown[], unknown[]] = codes('01 09 10 21 80 99', '00 27 30 79 1 001 xx')

type Case = [type: MessageType, names: string, [fits: unknown[], not: unknown[]], versions?: readonly Version[]]
const only210: readonly Version[] = ['2.1.0']
const only220: readonly Version[] = ['2.2.0']

// oxfmt-ignore
const cases: Case[] = [
  ['AReq', 'messageCategory', codes('01 02', '03 80 1 PA')],
  ['AReq', 'deviceChannel', codes('02', '01 03 2 80')],
  ['AReq', 'threeDSServerTransID', uuid],
  ['AReq', 'threeDSServerRefNumber threeDSServerOperatorID', text(32)],
  ['AReq', 'threeDSServerURL threeDSRequestorURL', url(2048)],
  ['AReq', 'notificationURL', url(256)],
  ['AReq', 'threeDSRequestorID', text(35)],
  ['AReq', 'threeDSRequestorName merchantName', text(40)],
  ['AReq', 'threeDSRequestorAuthenticationInd', codes('01 02 03 04 05 06 80 99', '00 07 08 79 1'), only210],
  ['AReq', 'threeDSRequestorAuthenticationInd', codes('01 06 07 80 99', '00 08 79 1'), only220],
  ['AReq', 'threeDSRequestorChallengeInd', codes('01 04 80 99', '00 05 09 10 79'), only210],
  ['AReq', 'threeDSRequestorChallengeInd', codes('01 05 06 07 09 80 99', '00 10 79'), only220],
  ['AReq', 'threeDSReqAuthMethodInd', codes('01 03 80', '00 04 79'), only220],
  ['AReq', 'threeDSCompInd', codes('Y N U', 'y X YN')],
  ['AReq', 'acctNumber', digits(13, 19)],
  ['AReq', 'acctType', codes('01 03 80 99', '00 04 79')],
  ['AReq', 'acctID', text(64)],
  ['AReq', 'cardExpiryDate', [['0001', '9912'], ['2600', '2613', '26', '202612', '26-1', 2612]]],
  ['AReq', 'payTokenInd', [[true], [false, 'true', 1]]],
  ['AReq', 'payTokenSource', codes('01 02 80', '00 03 79'), only220],
  ['AReq', 'acquirerBIN', text(11)],
  ['AReq', 'acquirerMerchantID', text(35)],
  ['AReq', 'mcc', digits(4, 4)],
  ['AReq', 'merchantCountryCode purchaseCurrency billAddrCountry shipAddrCountry', digits(3, 3)],
  ['AReq', 'purchaseAmount', digits(1, 48)],
  ['AReq', 'purchaseAmount', [['0', '100'], ['10.50', '-1', '1e3']]],
  ['AReq', 'purchaseExponent', digits(1, 1)],
  ['AReq', 'purchaseDate', [['20240229000000', '20991231235959'], ['20230229000000', '20241301000000', '20240100000000', '20240101240000', '20240101006000', '20240101000060', '2024010100000', '202401010000000', '2024-01-01T00:00', 20240101000000]]],
  ['AReq', 'recurringExpiry', [['20240229', '20301231'], ['20230229', '20240431', '20241301', '2024010', '202401011', 20240101]]],
  ['AReq', 'recurringFrequency', digits(1, 4)],
  ['AReq', 'purchaseInstalData', [['2', '02', '002', '999'], ['1', '0', '001', '1000', '2x', '-2', 12]]],
  ['AReq', 'transType', codes('01 03 10 11 28', '02 00 80')],
  ['AReq', 'browserAcceptHeader browserUserAgent', text(2048)],
  ['AReq', 'browserLanguage', text(8)],
  ['AReq', 'browserIP', [['192.0.2.1', '::1', '2001:db8:1111:2222:3333:4444:5555:6666'], ['192.0.2', '192.0.2.256', '1.2.3.4:80', 'fe80::1%eth0', 'localhost', '0x7f.1', 7]]],
  ['AReq', 'browserJavaEnabled', flag],
  ['AReq', 'browserJavascriptEnabled', flag, only220],
  ['AReq', 'browserColorDepth', codes('1 4 8 15 16 24 32 48', '0 2 30 36 24.0 024')],
  ['AReq', 'browserScreenHeight browserScreenWidth', digits(1, 6)],
  ['AReq', 'browserTZ', [['0', '-720', '+840', '9999'], ['12345', '--1', '+', '1.5', 'UTC', -60]]],
  ['AReq', 'cardholderName', [['AB', long(45), "O'NEIL/ADA ~"], ['A', long(46), 'ADÄ', 'A\tB', 7]]],
  ['AReq', 'email', [['a@b', `${long(248)}@b.org`], [`${long(249)}@b.org`, 'a', '@b', 'a@', 'a b@c', 'a@b@c', 7]]],
  ['AReq', 'homePhone mobilePhone workPhone', [[{ cc: '1', subscriber: '1' }, { cc: '999', subscriber: long(15, '9') }], ['+44 1', ['x'], true]]],
  ['AReq', 'homePhone.cc mobilePhone.cc workPhone.cc', digits(1, 3)],
  ['AReq', 'homePhone.subscriber mobilePhone.subscriber workPhone.subscriber', digits(1, 15)],
  ['AReq', 'addrMatch', codes('Y N', 'y U')],
  ['AReq', 'billAddrCity billAddrLine1 billAddrLine2 billAddrLine3 shipAddrCity shipAddrLine1 shipAddrLine2 shipAddrLine3', text(50)],
  ['AReq', 'billAddrPostCode shipAddrPostCode', text(16)],
  ['AReq', 'billAddrState shipAddrState', [['A', 'NSW'], ['ABCD', 1]]],
  ['AReq', 'whiteListStatus', codes('Y N E P R U', 'X 01'), only220],
  ['AReq', 'whiteListStatusSource', codes('01 03 80 99', '00 04 79'), only220],

  ['ARes', 'threeDSServerTransID acsTransID dsTransID', uuid],
  ['ARes', 'acsReferenceNumber acsOperatorID dsReferenceNumber', text(32)],
  ['ARes', 'transStatus', codes('Y N U A C R', 'D I S y YY')],
  ['ARes', 'transStatusReason', reasonCodes],
  ['ARes', 'transStatusReason', codes('21', '22 26'), only210],
  ['ARes', 'transStatusReason', codes('22 26', '27'), only220],
  ['ARes', 'authenticationValue', authenticationValue],
  ['ARes', 'eci', codes('05 02 N2 00', '5 005 é5')],
  ['ARes', 'acsURL', url(2048)],
  ['ARes', 'acsChallengeMandated', codes('Y N', 'y U')],
  ['ARes', 'authenticationType', codes('01 03 80 99', '00 04 05 79'), only210],
  ['ARes', 'authenticationType', codes('01 04 80 99', '00 05 79'), only220],
  ['ARes', 'acsDecConInd', codes('Y N', 'U y'), only220],
  ['ARes', 'cardholderInfo', text(128)],
  ['ARes', 'whiteListStatus', codes('Y N E P R U', 'X 01'), only220],
  ['ARes', 'whiteListStatusSource', codes('01 03 80 99', '00 04 79'), only220],

  ['CReq', 'threeDSServerTransID acsTransID', uuid],
  ['CReq', 'challengeWindowSize', codes('01 02 03 04 05', '00 06 1')],
  ['CRes', 'threeDSServerTransID acsTransID', uuid],
  ['CRes', 'transStatus', codes('Y N', 'A U R C I D y')],

  ['RReq', 'messageCategory', codes('01 02', '03 80')],
  ['RReq', 'threeDSServerTransID acsTransID dsTransID', uuid],
  ['RReq', 'transStatus', codes('Y N U A R', 'C D I S y')],
  ['RReq', 'transStatusReason', reasonCodes],
  ['RReq', 'transStatusReason', codes('21', '22 26'), only210],
  ['RReq', 'transStatusReason', codes('22 26', '27'), only220],
  ['RReq', 'authenticationValue', authenticationValue],
  ['RReq', 'authenticationType', codes('01 03 80', '00 04 79'), only210],
  ['RReq', 'authenticationType', codes('01 04 80', '00 05 79'), only220],
  ['RReq', 'eci', codes('05 N2', '5 005')],
  ['RReq', 'interactionCounter', digits(2, 2)],
  ['RReq', 'challengeCancel', codes('01 04 05 06 07 08 80 99', '00 02 03 09 79'), only210],
  ['RReq', 'challengeCancel', codes('01 03 04 05 06 07 08 80', '00 02 09 79'), only220],
  ['RReq', 'whiteListStatus', codes('Y N E P R U', 'X 01'), only220],
  ['RReq', 'whiteListStatusSource', codes('01 03 80 99', '00 04 79'), only220],

  ['RRes', 'threeDSServerTransID acsTransID dsTransID', uuid],
  ['RRes', 'resultsStatus', codes('01 02 03', '00 04 1')],

  ['PReq', 'threeDSServerTransID', uuid],
  ['PReq', 'threeDSServerRefNumber threeDSServerOperatorID', text(32)],
  ['PReq', 'serialNum', text(20)],

  ['PRes', 'threeDSServerTransID dsTransID', uuid],
  ['PRes', 'dsStartProtocolVersion dsEndProtocolVersion', protocolVersion],
  ['PRes', 'serialNum', text(20)],
  ['PRes', 'cardRangeData', [[], ['x', [7], [['x']], { 0: {} }]]],
  ['PRes', 'cardRangeData.0.startRange', [['4000000000000', '4000000000000000000'], [long(12, '4'), long(20, '4'), '400000000000000x', 4000000000000000]]],
  ['PRes', 'cardRangeData.0.endRange', [['4000000000000', '4000000000000000', '4000000000000000000', '4999999999999999999'], ['3999999999999999999', '3999999999999', long(12, '4'), long(20, '4')]]],
  ['PRes', 'cardRangeData.0.actionInd', codes('A D', 'M a X'), only210],
  ['PRes', 'cardRangeData.0.actionInd', codes('A D M', 'a X'), only220],
  ['PRes', 'cardRangeData.0.acsStartProtocolVersion cardRangeData.0.acsEndProtocolVersion cardRangeData.0.dsStartProtocolVersion cardRangeData.0.dsEndProtocolVersion', protocolVersion],
  ['PRes', 'cardRangeData.0.acsInfoInd', [[['01'], ['01', '02', '03', '04', '80', '99']], ['01', ['00'], ['05'], ['01', 2], [''], [null]]], only220],
  ['PRes', 'cardRangeData.0.threeDSMethodURL', url(256)],

  ['Erro', 'threeDSServerTransID acsTransID dsTransID', uuid],
  ['Erro', 'errorCode', digits(3, 3)],
  ['Erro', 'errorComponent', codes('C S D A', 'X s')],
  ['Erro', 'errorDescription errorDetail', text(2048)],
  ['Erro', 'errorMessageType', codes('AReq ARes CReq CRes PReq PRes RReq RRes Erro', 'areq XReq')],

  ...(['AReq', 'ARes', 'CReq', 'CRes', 'RReq', 'RRes', 'PReq', 'PRes'] as const).flatMap((type): Case[] => [
    [type, 'messageExtension', [[], ['x', { 0: 'x' }, ['x'], [null], [[]]]]],
    [type, 'messageExtension.0.name messageExtension.0.id', text(64)],
    [type, 'messageExtension.0.criticalityIndicator', [[false], ['false', 'true', 0]]],
    [type, 'messageExtension.0.data', [[{}, { a: [1, null, ''] }], ['x', ['x'], 7]]],
  ]),
]

/** `a.0.b` of a path is `a.b` in errorDetail: it names the field, not which of them. */
const named = (path: string): string => path.replace(/\.\d+/g, '')

test('every field takes the values at the edges of its format and refuses those beyond, with 203 and its name', () => {
  let tried = 0
  for (const [type, names, [fits, not], versions = both] of cases) {
    for (const version of versions) {
      for (const path of names.split(' ')) {
        const told = (value: unknown) => `${type} ${version} ${path}: ${JSON.stringify(value)?.slice(0, 80)}`
        for (const value of fits) assert.equal(tolerant(type, version, path, value), 'ok', told(value))
        for (const value of not) {
          const [code, about = ''] = tolerant(type, version, path, value).split(' ')
          // An item without any of its fields misses them all.
          const isEmptyItem = code === '201' && about.startsWith(`${named(path)}.`)
          assert.ok(isEmptyItem || `${code} ${about}` === `203 ${named(path)}`, `${told(value)} → ${code} ${about}`)
        }
        tried += fits.length + not.length
      }
    }
  }
  assert.ok(tried > 3_000, String(tried))
})

/** Fields that follow from the value under test, so that only its own format is judged. */
function tolerant(type: MessageType, version: Version, path: string, value: unknown): string {
  let fields = changed(good(type, version), path, value)
  if (path === 'cardRangeData.0.startRange') fields = changed(fields, 'cardRangeData.0.endRange', long(19, '9'))
  return heard(type, fields)
}

test('no field is without a case', () => {
  for (const [type, layout] of Object.entries(messages)) {
    const known = new Set(cases.filter(([one]) => one === type).flatMap(([, names]) => names.split(' ')))
    const forgotten = Object.keys(layout.fields).filter((name) => !known.has(name))
    assert.deepEqual(forgotten, ['messageType', 'messageVersion'], type)
  }
})

test('fields of 2.2.0 mean nothing in a message of 2.1.0', () => {
  const strange = [
    ['AReq', 'browserJavascriptEnabled threeDSReqAuthMethodInd payTokenSource whiteListStatus whiteListStatusSource'],
    ['ARes', 'acsDecConInd whiteListStatus whiteListStatusSource'],
    ['RReq', 'whiteListStatus whiteListStatusSource'],
  ] as const
  for (const [type, names] of strange) {
    for (const name of names.split(' ')) {
      const read = readMessage(JSON.stringify(changed(good(type, '2.1.0'), name, '')), { types: [type] })
      assert.deepEqual(read, { is: 'message', message: good(type, '2.1.0') }, `${type} ${name}`)
    }
  }
  assert.equal(heard('PRes', changed(good('PRes', '2.1.0'), 'cardRangeData.0.acsInfoInd', 7)), 'ok')
})
