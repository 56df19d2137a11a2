import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom, uuid } from '../../../src/base/random.ts'
import { openOutgoing } from '../../../src/http/outgoing.ts'
import type { Message } from '../../../src/three-d-secure/codec.ts'
import { openDirectories, type AReqAnswer, type DirectorySettings } from '../../../src/three-d-secure/directory.ts'
import {
  openAuthority,
  openScriptedDirectory,
  presTo,
  rangeEntry,
  type Scripted,
  type Told,
} from '../../harness/three-d-secure/directory.ts'
import { closing } from '../../harness/world/opening.ts'

const policy = { plainHttp: true, loopbackAnyPort: true }
const server = { threeDSServerRefNumber: 'SIM_3DS', threeDSServerURL: 'https://127.0.0.1:8443/3ds/results' }
const lines: string[] = []
const log = openLog({ level: 'debug', destination: { write: (line) => lines.push(line) } })
const transId = () => uuid(systemRandom)

const authority = await openAuthority()
const ds = closing(await openScriptedDirectory(authority))
const outgoing = closing(openOutgoing({ policy, clock: systemClock }))
beforeEach(() => void ds.told.splice(0))

const settings = (other: Partial<DirectorySettings> = {}): DirectorySettings => ({
  name: 'ds',
  url: ds.url,
  tls: { ca: authority.ca, ...authority.of('gateway') },
  timeoutMs: 10_000,
  ...other,
})

const clientOf = (one: DirectorySettings) =>
  openDirectories({ directories: [one], server, outgoing, policy, oddities: { noted: () => {} }, random: systemRandom, log })
const client = closing(clientOf(settings()))

const pan = '4000000000002200'
const areq = (): Message => ({
  messageType: 'AReq',
  messageVersion: '2.2.0',
  messageCategory: '01',
  deviceChannel: '02',
  threeDSServerTransID: transId(),
  ...server,
  threeDSRequestorID: 'merchant',
  threeDSRequestorName: 'Merchant',
  threeDSRequestorURL: 'https://merchant.example',
  threeDSRequestorAuthenticationInd: '01',
  threeDSCompInd: 'U',
  acctNumber: pan,
  acquirerBIN: '400000',
  acquirerMerchantID: 'merchant',
  mcc: '5999',
  merchantCountryCode: '840',
  merchantName: 'Merchant',
  purchaseAmount: '1050',
  purchaseCurrency: '840',
  purchaseExponent: '2',
  purchaseDate: '20260101120000',
  notificationURL: 'https://merchant.example/back',
  browserAcceptHeader: 'text/html',
  browserUserAgent: 'test',
  browserLanguage: 'en',
  browserJavascriptEnabled: false,
})

const ares = (told: Told, other: object = {}) => ({
  messageType: 'ARes',
  messageVersion: told.body['messageVersion'],
  threeDSServerTransID: told.body['threeDSServerTransID'],
  acsTransID: transId(),
  dsTransID: transId(),
  acsReferenceNumber: 'SIM_ACS',
  dsReferenceNumber: 'SIM_DS',
  transStatus: 'Y',
  authenticationValue: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  eci: '05',
  ...other,
})
const challenge = {
  transStatus: 'C',
  authenticationValue: undefined,
  eci: undefined,
  acsChallengeMandated: 'Y',
  authenticationType: '02',
}

const erro = (told: Told, errorCode: string, errorDetail = 'nothing') => ({
  messageType: 'Erro',
  messageVersion: '2.2.0',
  threeDSServerTransID: told.body['threeDSServerTransID'],
  errorCode,
  errorComponent: 'D',
  errorDescription: 'no',
  errorDetail,
  errorMessageType: 'AReq',
})

function failed(answer: AReqAnswer, errorCode: string | undefined, why: RegExp) {
  assert.equal(answer.is, 'failed')
  assert.deepEqual([answer.errorCode, why.test(answer.why)], [errorCode, true], answer.why)
}

/** Answers one AReq. It must fail with `code`, reported to the directory server or not. */
async function fails(script: (told: Told) => Scripted, code: string | undefined, why: RegExp, tells: boolean) {
  ds.told.splice(0)
  ds.play(script)
  const asked = areq()
  failed(await client.authenticate('ds', asked), code, why)
  await client.close()
  assert.equal(ds.heard('AReq').length, 1, 'an AReq is sent once')
  const errors = ds.heard('Erro').map(({ body }) => body)
  assert.equal(errors.length, tells ? 1 : 0)
  if (!tells) return
  const { errorCode, errorComponent, threeDSServerTransID, messageVersion } = errors[0]!
  assert.deepEqual([errorCode, errorComponent], [code, 'S'])
  assert.deepEqual([threeDSServerTransID, messageVersion], [asked.threeDSServerTransID, '2.2.0'])
}

test('an AReq is posted as JSON by mutual TLS, and the ARes of that transaction is the answer', async () => {
  ds.play((told) => ({ json: { ...ares(told), unknownField: 'x' } }))
  const asked = areq()
  const answer = await client.authenticate('ds', asked)
  assert.equal(answer.is, 'answered', JSON.stringify(answer))
  assert.deepEqual([answer.ares.transStatus, answer.ares.eci, answer.ares.unknownField], ['Y', '05', undefined])
  assert.deepEqual(
    ds.told.map(({ type, path, contentType }) => [type, path, contentType]),
    [['AReq', '/ds', 'application/JSON; charset=utf-8']],
  )
  assert.deepEqual({ ...ds.told[0]!.body }, JSON.parse(JSON.stringify(asked)))
  ds.play((told) => ({ json: ares(told, { ...challenge, acsURL: 'http://127.0.0.1:1/challenge' }) }))
  assert.equal((await client.authenticate('ds', areq())).is, 'answered')
})

test('an Erro in place of ARes is a failure with its code, and is not answered', async () => {
  await fails((told) => ({ json: erro(told, '305') }), '305', /Erro 305 of component D: no \(nothing\)/, false)
  await fails((told) => ({ json: { ...erro(told, '101'), errorComponent: 'X' } }), '101', /Erro 101/, false)
  await fails((told) => ({ json: { ...erro(told, '101'), errorCode: 'X' } }), '203', /errorCode/, false)
})

test('a card number that an Erro repeats is masked before anybody keeps it', async () => {
  ds.play((told) => ({ json: erro(told, '305', `acctNumber 4111111111111111`) }))
  const answer = await client.authenticate('ds', areq())
  assert.equal(answer.is, 'failed')
  assert.match(answer.why, /411111\*{6}1111/)
})

test('an ARes of another transaction or version, or an unreadable one, is refused and reported', async () => {
  await fails((told) => ({ json: ares(told, { threeDSServerTransID: transId() }) }), '301', /threeDSServerTransID/, true)
  await fails((told) => ({ json: ares(told, { messageVersion: '2.1.0' }) }), '102', /2\.2\.0/, true)
  await fails((told) => ({ json: ares(told, { dsTransID: undefined }) }), '201', /dsTransID/, true)
  await fails((told) => ({ json: ares(told, { authenticationValue: 'short' }) }), '203', /authenticationValue/, true)
  await fails((told) => ({ json: ares(told, { transStatus: 'I' }) }), '203', /transStatus/, true)
  await fails((told) => ({ json: ares(told, { messageType: 'RReq' }) }), '101', /messageType/, true)
  await fails(() => ({ status: 200, body: '{"messageType":"ARes"' }), '101', /not an object/, true)
  await fails(() => ({ status: 200, body: '' }), '101', /not an object/, true)
  await fails(() => ({ status: 200, body: Buffer.from([0x7b, 0xff, 0x7d]) }), '101', /UTF-8/, true)
})

test('a challenge page that is not https, or on this machine where that is allowed, never reaches a browser', async () => {
  const page = (acsURL: string) => (told: Told) => ({ json: ares(told, { ...challenge, acsURL }) })
  await fails(page('javascript:alert(1)'), '203', /acsURL/, true)
  await fails(page('https://user:secret@acs.example/'), '203', /acsURL/, true)
  await fails(page('http://acs.example/challenge'), '203', /acsURL/, true)
})

test('a status other than 200, a redirect or an answer without end is a failure', async () => {
  const elsewhere = await openScriptedDirectory(authority)
  closing(elsewhere)
  await fails(() => ({ status: 500, body: 'x' }), '405', /HTTP status 500/, false)
  await fails(() => ({ status: 302, location: elsewhere.url }), '405', /HTTP status 302/, false)
  assert.equal(elsewhere.told.length, 0)
  await fails(() => ({ status: 200, body: 'x'.repeat(1024 * 1024) }), '101', /too long/, true)
})

test('no answer in time is 402, no connection 405', async () => {
  ds.play(() => 'silence')
  const hasty = clientOf(settings({ timeoutMs: 200 }))
  failed(await hasty.authenticate('ds', areq()), '402', /200 ms/)
  // No server listens there: a port that was free a moment ago may be somebody else's by now.
  failed(await clientOf(settings({ url: 'https://127.0.0.1:1/ds' })).authenticate('ds', areq()), '405', /ECONNREFUSED/)
})

test('a false directory server gets nothing, and the real one hears no stranger', async () => {
  const foreign = await openAuthority()
  const impostor = await openScriptedDirectory(foreign)
  closing(impostor)
  failed(await clientOf(settings({ url: impostor.url })).authenticate('ds', areq()), '405', /tls/)
  failed(
    await clientOf(settings({ url: `https://other.localhost:${ds.port}/ds` })).authenticate('ds', areq()),
    '405',
    /tls.*altnames/i,
  )
  failed(await clientOf(settings({ tls: { ca: authority.ca } })).authenticate('ds', areq()), '405', /./)
  failed(await clientOf(settings({ tls: { ca: authority.ca, ...foreign.of('gateway') } })).authenticate('ds', areq()), '405', /./)
  failed(await client.authenticate('another', areq()), undefined, /no directory server another/)
  assert.deepEqual([impostor.told.length, ds.told.length], [0, 0])
})

test('an AReq that breaks the rules of its own type is not sent', async () => {
  failed(await client.authenticate('ds', { ...areq(), mcc: 'x' }), undefined, /rules/)
  assert.equal(ds.told.length, 0)
})

const rangeData = (other: object = {}) => rangeEntry('400000', other)

test('a PReq asks for all ranges or for what changed, and an answer without a serial number counts as all', async () => {
  const rangesUrl = `https://127.0.0.1:${ds.port}/preq`
  const elsewhere = clientOf(settings({ rangesUrl }))
  ds.play((told) => presTo(told, '17', [rangeData()]))
  const full = await elsewhere.cardRanges('ds', undefined)
  assert.equal(full.is, 'full', JSON.stringify(full))
  assert.deepEqual([full.serialNum, full.speaks, full.leftOut], ['17', { start: '2.1.0', end: '2.2.0' }, []])
  assert.deepEqual(full.ranges[0], { directory: 'ds', ...rangeData() })
  const [preq] = ds.told
  assert.deepEqual([preq?.path, preq?.body['threeDSServerRefNumber'], 'serialNum' in preq!.body], ['/preq', 'SIM_3DS', false])

  ds.play((told) => presTo(told, '18', [rangeData({ actionInd: 'D' })]))
  const delta = await elsewhere.cardRanges('ds', '17')
  assert.deepEqual([delta.is, ds.told[1]?.body['serialNum']], ['delta', '17'])
  ds.play((told) => presTo(told, '17', undefined))
  const nothing = await elsewhere.cardRanges('ds', '17')
  assert.ok(nothing.is === 'delta' && nothing.items.length === 0)
  ds.play((told) => presTo(told, undefined, [rangeData()]))
  assert.equal((await elsewhere.cardRanges('ds', '17')).is, 'full')
})

test('an unusable PRes is reported; whether the question counts is known', async () => {
  const asks = async (
    script: (told: Told) => Scripted,
    how: string,
    errorCode: string,
    tells: boolean,
    serialNumber?: string,
  ) => {
    ds.told.splice(0)
    ds.play(script)
    const answer = await client.cardRanges('ds', serialNumber)
    await client.close()
    assert.equal(answer.is, 'failed')
    assert.deepEqual([answer.how, answer.errorCode, ds.heard('Erro').length], [how, errorCode, tells ? 1 : 0], answer.why)
  }
  await asks((told) => presTo(told, '17', [rangeData({ actionInd: 'D' })]), 'unusable', '203', true)
  await asks((told) => presTo(told, '17', [rangeData({ startRange: '4' })]), 'unusable', '203', true)
  await asks((told) => presTo(told, '17', undefined), 'unusable', '203', true)
  await asks((told) => presTo(told, undefined, undefined), 'unusable', '203', true, '17')
  await asks((told) => presTo(told, '17', [rangeData()], { threeDSServerTransID: transId() }), 'unusable', '301', true)
  await asks((told) => ({ json: erro(told, '103') }), 'perhaps served', '103', false)
  await asks((told) => ({ json: erro(told, '307') }), 'unserved', '307', false, '17')
  await asks(() => ({ status: 503 }), 'unserved', '405', false)
})

test('a directory server without 2.2.0 is asked for its ranges in 2.1.0, for all and for changes', async () => {
  const only210 = (told: Told): Scripted =>
    told.body['messageVersion'] === '2.1.0'
      ? presTo(told, '18', [rangeEntry('400000', { acsInfoInd: undefined })], { dsEndProtocolVersion: '2.1.0' })
      : { json: { ...erro(told, '102', '2.1.0'), messageVersion: '2.1.0' } }
  for (const [serialNumber, is] of [
    [undefined, 'full'],
    ['17', 'delta'],
  ] as const) {
    ds.told.splice(0)
    ds.play(only210)
    const answer = await client.cardRanges('ds', serialNumber)
    assert.deepEqual([answer.is, answer.is !== 'failed' && answer.speaks], [is, { start: '2.1.0', end: '2.1.0' }])
    assert.deepEqual(
      ds.told.map(({ type, body }) => [type, body['messageVersion'], body['serialNum']]),
      [
        ['PReq', '2.2.0', serialNumber],
        ['PReq', '2.1.0', serialNumber],
      ],
    )
    assert.notEqual(ds.told[0]!.body['threeDSServerTransID'], ds.told[1]!.body['threeDSServerTransID'])
  }
  for (const [errorCode, questions] of [
    ['102', 2],
    ['305', 1],
  ] as const) {
    ds.told.splice(0)
    ds.play((told) => ({ json: erro(told, errorCode) }))
    const answer = await client.cardRanges('ds', undefined)
    assert.deepEqual([answer.is === 'failed' && answer.errorCode, ds.told.length], [errorCode, questions])
  }
})

test('a method URL that a browser may not be sent to is left out of its range', async () => {
  const urls = ['https://acs.example/method', 'http://127.0.0.1:1/method', 'http://acs.example/method']
  ds.play((told) =>
    presTo(
      told,
      '17',
      urls.map((threeDSMethodURL, i) => rangeEntry(`40000${i}`, { threeDSMethodURL })),
    ),
  )
  const answer = await client.cardRanges('ds', undefined)
  assert.ok(answer.is === 'full')
  assert.deepEqual(
    answer.ranges.map((range) => range.threeDSMethodURL),
    [urls[0], urls[1], undefined],
  )
})

test('no log line has the card number', () => {
  assert.ok(lines.length > 10)
  assert.ok(!lines.join('').includes(pan))
})
