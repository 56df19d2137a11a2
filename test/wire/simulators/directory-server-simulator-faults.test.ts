import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openOutgoing } from '../../../src/http/outgoing.ts'
import { openDirectories } from '../../../src/three-d-secure/directory.ts'
import { openRanges } from '../../../src/three-d-secure/ranges.ts'
import { admin, preqOf, rangesOf, startWorld, visa, type Json } from '../three-d-secure/three-d-secure-peers.ts'
import { closing } from '../../harness/world/opening.ts'

const policy = { plainHttp: true, loopbackAnyPort: true }
const outgoing = closing(openOutgoing({ policy, clock: systemClock }))

const world = closing(await startWorld({ ds: { acsTimeoutMs: 5_000 } }))

const set = (path: string, body: unknown) => admin(world.ds.adminUrl + path, 'POST', body)
const script = async (fault: Json) => assert.equal((await set('/faults', fault)).status, 201)
const areq = (card: string, wish: Json = {}) => world.post(`${world.ds.url}/areq`, world.areq(card, wish))
const preq = async (wish: Json = {}) => (await world.post(`${world.ds.url}/preq`, preqOf(wish))).json
/** The gateway's own line to the directory server, under a reference number of its own. */
const gateway = (threeDSServerRefNumber: string) => {
  const file = (name: string) => readFileSync(join(world.directory, name), 'utf8')
  const tls = { ca: file('ds-ca.pem'), cert: file('gateway.pem'), key: secret(file('gateway.key')) }
  return openDirectories({
    directories: [{ name: 'ds', url: `${world.ds.url}/areq`, rangesUrl: `${world.ds.url}/preq`, tls, timeoutMs: 10_000 }],
    server: { threeDSServerRefNumber, threeDSServerURL: world.results.url },
    outgoing,
    policy,
    oddities: { noted: () => {} },
    random: systemRandom,
    log: openLog({ level: 'silent', destination: { write: () => true } }),
  })
}

describe('an AReq goes to the ACS and its result to the 3DS Server', () => {
  test('with reference number, transaction id and address of the directory server added; the log masks the card', async () => {
    const asked = world.areq(visa.frictionless)
    const { json } = await world.post(`${world.ds.url}/areq`, asked)
    const id = String(asked['threeDSServerTransID'])
    const { body } = await admin(`${world.ds.adminUrl}/log?id=${id}`)
    const messages = body['messages'] as { direction: string; peer: string; type: string; message: Json }[]
    assert.deepEqual(
      messages.map(({ direction, peer, type }) => `${direction} ${peer} ${type}`),
      ['in 3ds-server AReq', 'out acs AReq', 'in acs ARes', 'out 3ds-server ARes'],
    )
    const forwarded = messages[1]!.message
    assert.equal(forwarded['dsTransID'], json['dsTransID'])
    assert.equal(forwarded['dsReferenceNumber'], json['dsReferenceNumber'])
    assert.equal(forwarded['dsURL'], `${world.ds.url}/rreq`)
    assert.equal(forwarded['acctNumber'], '400000******2107')
    const whole = JSON.stringify(body)
    assert.ok(
      !whole.includes(visa.frictionless) && !whole.includes(String(json['authenticationValue'])) && !whole.includes('"3112"'),
    )
    assert.equal(messages[3]!.message['authenticationValue'], '***')
  })

  test('an RReq reaches the threeDSServerURL of its AReq from the directory server; without an AReq it is Erro 301', async () => {
    const ares = await world.authenticate(visa.challenge)
    const rreq = {
      messageType: 'RReq',
      messageVersion: '2.2.0',
      threeDSServerTransID: ares['threeDSServerTransID'],
      acsTransID: ares['acsTransID'],
      dsTransID: ares['dsTransID'],
      messageCategory: '01',
      transStatus: 'N',
      transStatusReason: '01',
      authenticationType: '02',
      interactionCounter: '03',
    }
    const send = async (wish: Json) => (await world.post(`${world.ds.url}/rreq`, { ...rreq, ...wish }, 'acs')).json
    for (const name of ['threeDSServerTransID', 'acsTransID', 'dsTransID'])
      assert.equal((await send({ [name]: randomUUID() }))['errorCode'], '301')
    assert.equal((await send({ messageVersion: '2.1.0' }))['errorCode'], '203')
    assert.equal((await send({ transStatus: 'C' }))['errorCode'], '203')
    assert.equal((await send({ transStatusReason: '14' }))['errorDetail'], 'challengeCancel')
    assert.equal(world.results.received.length, 0)
    assert.equal((await send({}))['messageType'], 'RRes')
    assert.deepEqual(world.results.received, [{ message: rreq, peer: 'directory-server' }])
    const { answer } = world.results
    world.results.answer = () => Promise.resolve({ status: 500, body: '' })
    assert.equal((await send({}))['errorCode'], '403')
    world.results.answer = () => Promise.resolve({ status: 200, body: 'no message' })
    assert.equal((await send({}))['errorCode'], '404')
    world.results.answer = answer
    const away = await world.authenticate(visa.challenge, { threeDSServerURL: 'https://127.0.0.1:1/results' })
    const ids = {
      threeDSServerTransID: away['threeDSServerTransID'],
      acsTransID: away['acsTransID'],
      dsTransID: away['dsTransID'],
    }
    assert.equal((await send(ids))['errorCode'], '405')
  })
})

describe('the ACS is away', () => {
  const acs = (body: unknown) => admin(`${world.acs.browserUrl}/admin/faults`, 'POST', body)
  beforeEach(() => admin(`${world.acs.browserUrl}/admin/faults`, 'DELETE'))

  test('off: the directory server answers A in its place, with a proof that can be checked', async () => {
    await acs({ off: true, times: 1 })
    const { json } = await areq(visa.frictionless)
    assert.deepEqual([json['messageType'], json['transStatus'], json['eci']], ['ARes', 'A', '06'])
    const key = Buffer.from(readFileSync(join(world.directory, 'cavv.key'), 'utf8').trim(), 'hex')
    const proven = `${visa.frictionless}|${String(json['dsTransID'])}|1050|978|A`
    const proof = createHmac('sha256', key).update(proven).digest().subarray(0, 20).toString('base64')
    assert.equal(json['authenticationValue'], proof)
  })

  test('connections refused: Erro 405; and back again', async () => {
    await acs({ down: true })
    assert.equal((await areq(visa.frictionless)).json['errorCode'], '405')
    await admin(`${world.acs.browserUrl}/admin/faults`, 'DELETE')
    assert.equal((await areq(visa.frictionless)).json['transStatus'], 'Y')
  })

  test('no answer in time: Erro 402', async () => {
    await acs({ silent: true, times: 1 })
    assert.equal((await areq(visa.frictionless)).json['errorCode'], '402')
  })
})

describe('faults are scripted', () => {
  beforeEach(() => admin(`${world.ds.adminUrl}/faults`, 'DELETE'))

  test('stand_in answers A without asking the issuer', async () => {
    await script({ stand_in: true, times: 1 })
    assert.equal((await areq(visa.challenge)).json['transStatus'], 'A')
  })

  test('silent answers nothing until the connection ends', async () => {
    await script({ silent: true, message: 'PReq', times: 1 })
    const cut = assert.rejects(world.post(`${world.ds.url}/preq`, preqOf()), { code: 'ECONNRESET' })
    assert.equal((await areq(visa.frictionless)).json['messageType'], 'ARes')
    await script({ down: true })
    await cut
  })

  test('wrong_delta: PRes deletes what is not there and adds what overlaps', async () => {
    await script({ wrong_delta: true, times: 1 })
    const ranges = rangesOf(await preq({ threeDSServerRefNumber: 'wrong' }))
    assert.equal(ranges.at(-2)?.['actionInd'], 'D')
    assert.ok(!ranges.some(({ startRange, actionInd }) => actionInd === 'A' && startRange === ranges.at(-2)?.['startRange']))
    assert.equal(ranges.filter(({ startRange }) => startRange === ranges.at(-1)?.['startRange']).length, 2)
  })

  test('odd_range: PRes has one entry more; the gateway leaves out what cannot be used and keeps all others', async () => {
    const { cardRanges } = gateway('odd')
    await set('/settings', { preq_limit: false })
    const good = rangesOf(await preq())
    // oxfmt-ignore
    const cases: [kind: string, leftOut: RegExp | undefined][] = [
      ['backwards',     /^9800000000000000 to 9700000000000099: endRange does not fit$/],
      ['incomplete',    /^9800000000000000 to 9800000000000099: acsEndProtocolVersion is missing$/],
      ['contradicting', /^4\d{15} to 4\d{15}: it contradicts an earlier entry of its span$/],
      ['respelled',     undefined],
    ]
    for (const [kind, leftOut] of cases) {
      await script({ odd_range: kind, times: 2 })
      assert.equal(rangesOf(await preq()).length, good.length + 1)
      const load = await cardRanges('ds', undefined)
      assert.ok(load.is === 'full', JSON.stringify(load))
      assert.equal(load.ranges.length, good.length + (leftOut ? 0 : 1))
      assert.deepEqual([load.leftOut.length, leftOut?.test(load.leftOut[0] ?? '')], leftOut ? [1, true] : [0, undefined])
      const ranges = openRanges(load.ranges)
      for (const { startRange } of good)
        assert.equal(
          ranges.find(startRange!)?.acsEndProtocolVersion,
          good.find((one) => one['startRange'] === startRange)?.['acsEndProtocolVersion'],
        )
    }
    await set('/settings', { preq_limit: true })
  })

  test('only_210: a PReq of 2.2.0 is answered with Erro 102, and the gateway asks again in 2.1.0', async () => {
    await script({ only_210: true })
    assert.equal((await preq({ threeDSServerRefNumber: 'older' }))['errorCode'], '102')
    const load = await gateway('older').cardRanges('ds', undefined)
    assert.ok(load.is === 'full', JSON.stringify(load))
    assert.deepEqual(load.speaks, { start: '2.1.0', end: '2.1.0' })
    assert.ok(load.ranges.length > 20)
  })

  test('an invalid script is refused with a sentence, and GET /admin lists all scripts', async () => {
    // oxfmt-ignore
    const cases: [fault: unknown, says: RegExp][] = [
      [[],                                  /an object/],
      [{},                                  /exactly one effect/],
      [{ erro: '403', silent: true },       /exactly one effect/],
      [{ explode: true },                   /not "explode"/],
      [{ erro: 403 },                       /"erro" must be/],
      [{ erro: '403', card: 'x' },          /"card" must be/],
      [{ erro: '403', times: 0 },           /"times" must be/],
      [{ erro: '403', message: 'CReq' },    /"message" must be/],
      [{ down: true, card: '2107' },        /cannot be tied to a card/],
    ]
    for (const [fault, says] of cases) {
      const { status, body } = await set('/faults', fault)
      assert.equal(status, 400)
      assert.match(String(body['error']), says)
    }
    await script({ erro: '403', card: visa.frictionless })
    const { body } = await admin(`${world.ds.adminUrl}/faults`)
    assert.deepEqual(body['faults'], [{ ...(body['faults'] as Json[])[0], card: '400000******2107', message: 'AReq', hits: 0 }])
    assert.equal((await admin(`${world.ds.adminUrl}/faults/99999`, 'DELETE')).status, 404)
    const list = await (await fetch(world.ds.adminUrl)).text()
    for (const effect of [
      'down',
      'delay_ms',
      'silent',
      'erro',
      'http_status',
      'garbage',
      'wrong_ids',
      'wrong_version',
      'stand_in',
      'wrong_delta',
      'odd_range',
      'only_210',
    ])
      assert.ok(list.includes(`  ${effect} `), effect)
  })
})
