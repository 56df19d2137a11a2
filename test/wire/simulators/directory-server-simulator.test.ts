import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { admin, preqOf, rangesOf, startWorld, visa, type Json } from '../three-d-secure/three-d-secure-peers.ts'
import { closing } from '../../harness/world/opening.ts'

const world = closing(await startWorld())

const set = (path: string, body: unknown) => admin(world.ds.adminUrl + path, 'POST', body)
const areq = (card: string, wish: Json = {}) => world.post(`${world.ds.url}/areq`, world.areq(card, wish))
const preq = async (wish: Json = {}) => (await world.post(`${world.ds.url}/preq`, preqOf(wish))).json

describe('card ranges', () => {
  beforeEach(() => set('/settings', { advance_ms: 3_600_000 }))

  test('a PReq without a serial number is answered with every range, to be added, and none overlaps with another', async () => {
    const asked = preqOf()
    const told = await world.post(`${world.ds.url}/preq`, asked)
    assert.equal(told.type, 'application/json; charset=utf-8')
    const pres = told.json
    assert.equal(pres['messageType'], 'PRes')
    assert.equal(pres['threeDSServerTransID'], asked['threeDSServerTransID'])
    assert.match(String(pres['serialNum']), /^[0-9]{1,20}$/)
    const ranges = rangesOf(pres).sort((a, b) => (a['startRange']!.padEnd(19, '0') < b['startRange']!.padEnd(19, '0') ? -1 : 1))
    assert.ok(ranges.length > 20)
    for (const [i, range] of ranges.entries()) {
      assert.equal(range['actionInd'], 'A')
      const next = ranges[i + 1]
      if (next) assert.ok(range['endRange']!.padEnd(19, '9') < next['startRange']!.padEnd(19, '0'), range['startRange'])
    }
    const found = (number: string) =>
      ranges.find(
        ({ startRange, endRange }) =>
          number.padEnd(19, '0') >= startRange!.padEnd(19, '0') && number.padEnd(19, '0') <= endRange!.padEnd(19, '9'),
      )
    assert.equal(found(visa.frictionless)?.['threeDSMethodURL'], `${world.acs.browserUrl}/method/works`)
    assert.equal(found(visa.only210)?.['acsEndProtocolVersion'], '2.1.0')
    assert.equal(found('4000000000000002'), undefined)
    assert.equal(found('4111111111111111')?.['acsEndProtocolVersion'], '2.2.0')
    assert.equal(found('4000000000002008')?.['threeDSMethodURL'], undefined)
  })

  test('a PReq with a serial number gets the changes since: D, M, A; in 2.1.0 D and A; no list without changes', async () => {
    const { serialNum } = await preq({ threeDSServerRefNumber: 'delta' })
    const versions = { acsStartProtocolVersion: '2.1.0', acsEndProtocolVersion: '2.2.0' }
    const fresh = { startRange: '9000000000000000', endRange: '9000000000000999', ...versions }
    const jcb = { startRange: '3500000000000000', endRange: '3599999999999999' }
    const diners = { startRange: '36000000000000', endRange: '36999999999999' }
    for (const change of [
      { actionInd: 'A', ...fresh },
      { actionInd: 'M', ...jcb, ...versions, acsEndProtocolVersion: '2.1.0' },
      { actionInd: 'D', ...diners },
    ])
      assert.equal((await set('/ranges', change)).status, 200)
    await set('/settings', { advance_ms: 3_600_000 })
    const delta = await preq({ threeDSServerRefNumber: 'delta', serialNum })
    assert.deepEqual(
      rangesOf(delta).map(({ actionInd, startRange }) => `${actionInd} ${startRange}`),
      [`D ${diners.startRange}`, `M ${jcb.startRange}`, `A ${fresh.startRange}`],
    )
    await set('/settings', { preq_limit: false })
    const old = await preq({ threeDSServerRefNumber: 'delta', serialNum, messageVersion: '2.1.0' })
    assert.deepEqual(
      rangesOf(old)
        .map(({ actionInd }) => actionInd)
        .join(''),
      'DDAA',
    )
    const same = await preq({ threeDSServerRefNumber: 'delta', serialNum: delta['serialNum'] })
    assert.equal(same['serialNum'], delta['serialNum'])
    assert.ok(!('cardRangeData' in same))
    assert.equal((await preq({ serialNum: '1' }))['errorCode'], '307')
    await set('/settings', { preq_limit: true })
    assert.match(String((await set('/ranges', { actionInd: 'A', ...fresh })).body['error']), /overlaps/)
    const absent = { startRange: '1000000000000', endRange: '1000000000001' }
    assert.match(String((await set('/ranges', { actionInd: 'D', ...absent })).body['error']), /no range/)
    assert.equal((await set('/ranges', { actionInd: 'A', ...fresh, startRange: 'x' })).status, 400)
  })

  test('a second PReq within the hour is Erro 103, except the full load that repairs a difference', async () => {
    const server = { threeDSServerRefNumber: 'hourly' }
    const { serialNum } = await preq(server)
    const refused = await preq(server)
    assert.deepEqual([refused['errorCode'], refused['errorComponent'], refused['errorMessageType']], ['103', 'D', 'PReq'])
    await set('/settings', { advance_ms: 3_600_000 })
    assert.equal((await preq({ ...server, serialNum }))['messageType'], 'PRes')
    assert.equal((await preq(server))['messageType'], 'PRes')
    assert.equal((await preq(server))['errorCode'], '103')
    assert.equal((await preq({ threeDSServerRefNumber: 'another' }))['messageType'], 'PRes')
  })
})

describe('an AReq is checked', () => {
  const long = 'x'.repeat(400)
  // oxfmt-ignore
  const cases: [wish: Json | string, code: string, detail: RegExp][] = [
    ['no JSON',                                       '101', /JSON/],
    [{ messageVersion: '2.3.1' },                     '102', /2\.1\.0,2\.2\.0/],
    [{ messageVersion: '2.2.0', acctNumber: visa.only210 }, '102', /2\.1\.0 to 2\.1\.0/],
    [{ acctNumber: undefined, mcc: undefined },       '201', /^acctNumber,mcc$/],
    [{ browserJavascriptEnabled: undefined },         '201', /^browserJavascriptEnabled$/],
    [{ threeDSRequestorAuthenticationInd: '02' },     '201', /^recurringExpiry,recurringFrequency$/],
    [{ purchaseDate: '20260230120000' },              '203', /^purchaseDate$/],
    [{ notificationURL: `https://a.example/${long}` }, '203', /^notificationURL$/],
    [{ messageVersion: '2.1.0', threeDSRequestorChallengeInd: '05' }, '203', /ChallengeInd/],
    [{ messageExtension: [{ name: 'n', id: 'ID-7', criticalityIndicator: true, data: {} }] }, '202', /^ID-7$/],
    [{ purchaseCurrency: '000', merchantCountryCode: '999' }, '304', /^purchaseCurrency,merchantCountryCode$/],
    [{ acctNumber: '4000000000000002' },              '305', /^acctNumber$/],
    [{ purchaseDate: '20990101000000' },              '305', /^purchaseDate$/],
    [{ threeDSServerURL: 'https://elsewhere.example/results' }, '303', /^threeDSServerURL$/],
  ]
  const orNone = (_: string, value: unknown) => (value === undefined ? 'none' : value)
  for (const [wish, code, detail] of cases)
    test(`Erro ${code} for ${JSON.stringify(wish, orNone).slice(0, 70)}`, async () => {
      const asked = typeof wish === 'string' ? wish : world.areq(visa.frictionless, wish)
      const { json } = await world.post(`${world.ds.url}/areq`, asked)
      assert.equal(json['messageType'], 'Erro')
      assert.equal(json['errorCode'], code)
      assert.match(String(json['errorDetail']), detail)
      assert.equal(json['errorComponent'], 'D')
      assert.ok(!JSON.stringify(json).includes(visa.frictionless))
    })

  test('a name that stands twice is Erro 204, also when the second is spelled with an escape', async () => {
    const text = JSON.stringify(world.areq(visa.frictionless)).replace('{', '{"m\\u0063c":"5411",')
    const { json } = await world.post(`${world.ds.url}/areq`, text)
    assert.deepEqual([json['errorCode'], json['errorDetail']], ['204', 'mcc'])
  })

  test('the id of a transaction serves once', async () => {
    const used = { threeDSServerTransID: randomUUID() }
    assert.equal((await areq(visa.frictionless, used)).json['messageType'], 'ARes')
    assert.equal((await areq(visa.frictionless, used)).json['errorCode'], '301')
  })
})

describe('who may post what goes by the certificate', () => {
  // oxfmt-ignore
  const cases: [path: string, party: 'gateway' | 'acs' | 'directory-server' | 'stranger', allowed: boolean][] = [
    ['preq', 'gateway', true],  ['preq', 'acs', false],    ['preq', 'stranger', false],
    ['areq', 'gateway', true],  ['areq', 'acs', false],    ['areq', 'directory-server', false],
    ['rreq', 'acs', true],      ['rreq', 'gateway', false], ['rreq', 'stranger', false],
  ]
  for (const [path, party, allowed] of cases)
    test(`${party} at /${path}: ${allowed ? 'heard' : 'Erro 303'}`, async () => {
      const { status, json } = await world.post(`${world.ds.url}/${path}`, '{}', party)
      assert.deepEqual([status, json['errorCode']], allowed ? [200, '101'] : [403, '303'])
    })

  test('without a certificate there is no connection', async () => {
    await assert.rejects(world.post(`${world.ds.url}/areq`, '{}', 'none'), { code: /^(ERR_SSL|ECONNRESET|EPIPE)/ })
  })

  test('the ACS hears the directory server alone', async () => {
    for (const party of ['gateway', 'stranger', 'acs'] as const)
      assert.equal((await world.post(world.acs.areqUrl, '{}', party)).status, 403)
    assert.equal((await world.post(world.acs.areqUrl, '{}', 'directory-server')).json['errorCode'], '101')
  })
})
