import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { cardholderAt, challengedCard, creqOf, cresIn, startOver, testCard } from '../three-d-secure/three-d-secure-browser.ts'
import { base64url, browse, decoded, startWorld } from '../three-d-secure/three-d-secure-peers.ts'
import { holds } from '../../harness/clock/until.ts'

const clock = openHandClock(Date.now())
const world = closing(await startWorld({ acs: { clock } }))
const holder = cardholderAt(world)
beforeEach(() => startOver(world, clock))

describe('the issuer decides by the card', () => {
  test('a refusal has the reason that its version of the protocol has, and only a rejection has words', async () => {
    for (const [outcome, status, reason210, reason220] of [
      [2, 'N', '01', '01'],
      [3, 'R', '11', '11'],
      [4, 'U', '14', '22'],
    ] as const)
      for (const version of [1, 2] as const) {
        const ares = await world.authenticate(testCard('4', version, outcome), { messageVersion: `2.${version}.0` })
        assert.deepEqual([ares['transStatus'], ares['transStatusReason']], [status, version === 1 ? reason210 : reason220])
        assert.equal(typeof ares['cardholderInfo'], status === 'R' ? 'string' : 'undefined')
      }
  })

  test('outcome 9 is an Erro of the ACS', async () => {
    const { messageType, errorCode, errorComponent, errorMessageType } = await world.authenticate(testCard('4', 2, 9))
    assert.deepEqual([messageType, errorCode, errorComponent, errorMessageType], ['Erro', '404', 'A', 'AReq'])
  })

  // oxfmt-ignore
  const indicators: [outcome: number, indicator: string, status: string][] = [
    [0, '04', 'C'], [1, '04', 'C'], [5, '04', 'C'], [6, '04', 'C'], [2, '04', 'N'], [3, '04', 'R'], [4, '04', 'U'],
    [5, '05', 'I'], [5, '06', 'I'], [5, '07', 'I'], [5, '01', 'Y'], [0, '05', 'Y'], [6, '06', 'I'], [6, '02', 'C'],
  ]
  for (const [outcome, threeDSRequestorChallengeInd, status] of indicators)
    test(`outcome ${outcome} with challenge indicator ${threeDSRequestorChallengeInd} is ${status}`, async () => {
      const ares = await world.authenticate(testCard('4', 2, outcome), { threeDSRequestorChallengeInd })
      assert.equal(ares['transStatus'], status)
      assert.equal(ares['acsChallengeMandated'], status === 'C' ? (threeDSRequestorChallengeInd === '04' ? 'Y' : 'N') : undefined)
    })

  test('any other number is authenticated; a check of a card has no proof', async () => {
    for (const pan of ['4242424242424242', '5555555555554444', '378282246310005', '6011111111111117'])
      assert.equal((await world.authenticate(pan))['transStatus'], 'Y')
    const check = { messageCategory: '02', threeDSRequestorAuthenticationInd: '04', purchaseAmount: undefined }
    const ares = await world.authenticate('4242424242424242', check)
    assert.deepEqual([ares['transStatus'], ares['authenticationValue']], ['Y', undefined])
  })
})

describe('a challenge', () => {
  test('a password is sent again three times, which costs no try', async () => {
    const { page } = await holder.asked()
    for (const says of [/sent a new/, /sent a new/, /sent a new/, /cannot send another/])
      assert.match((await holder.answer(page, { action: 'resend' })).text, says)
    assert.equal(cresIn(await holder.answer(page, { password: ' hint ' }))['transStatus'], 'Y')
    assert.equal(holder.told('interactionCounter')[0], '01')
  })

  test('no CReq within 30 s: N, reason 14, cancel 05; who comes later is sent back with N', async () => {
    const ares = await world.authenticate(challengedCard)
    clock.pass(29_999)
    assert.equal(holder.results().length, 0)
    clock.pass(1)
    await holds(() => holder.results().length === 1, 'an RReq')
    assert.equal(holder.told('transStatus', 'transStatusReason', 'challengeCancel', 'interactionCounter').join(' '), 'N 14 05 00')
    assert.equal(cresIn(await holder.challenge(creqOf(ares)))['transStatus'], 'N')
    assert.equal(holder.results().length, 1)
  })

  test('10 minutes without an answer: N, reason 14, cancel 04; each answer begins them anew', async () => {
    const { page } = await holder.asked()
    clock.pass(599_999)
    await holder.answer(page, { password: 'wrong' })
    clock.pass(599_999)
    assert.equal(holder.results().length, 0)
    clock.pass(1)
    await holds(() => holder.results().length === 1, 'an RReq')
    assert.equal(holder.told('transStatus', 'transStatusReason', 'challengeCancel', 'interactionCounter').join(' '), 'N 14 04 01')
    const refresh = /http-equiv="refresh" content="(\d+);url=([^"]+)"/.exec(page.text)
    assert.ok(Number(refresh?.[1]) > 600)
    assert.equal(cresIn(await browse(holder.at(refresh?.[2] ?? '')))['transStatus'], 'N')
  })

  test('a card that always fails is N with the right password; a card whose result is lost is Y without RReq', async () => {
    const { page } = await holder.asked({}, testCard('4', 2, 7))
    assert.equal(cresIn(await holder.answer(page, { password: 'hint' }))['transStatus'], 'N')
    assert.equal(holder.told('transStatusReason')[0], '01')
    const lost = await holder.asked({}, testCard('4', 2, 8))
    assert.equal(cresIn(await holder.answer(lost.page, { password: 'hint' }))['transStatus'], 'Y')
    assert.equal(holder.results().length, 1)
  })

  test('a CReq that does not fit is answered with an Erro, by way of the browser; an unknown CReq with a page', async () => {
    const ares = await world.authenticate(challengedCard)
    // oxfmt-ignore
    const cases: [wish: Record<string, unknown>, code: string][] = [
      [{ messageVersion: '2.1.0' },               '203'],
      [{ threeDSServerTransID: randomUUID() },    '301'],
      [{ challengeWindowSize: '06' },             '203'],
      [{ challengeWindowSize: undefined },        '201'],
      [{ messageVersion: '3.0.0' },               '102'],
    ]
    for (const [wish, code] of cases) {
      const page = await holder.challenge(creqOf(ares, wish))
      const erro = decoded(page.fields['erro'])
      const { messageType, errorCode, errorComponent, acsTransID } = erro
      assert.deepEqual([messageType, errorCode, errorComponent, acsTransID], ['Erro', code, 'A', ares['acsTransID']])
    }
    for (const creq of ['', '%%%', base64url('no JSON'), base64url(creqOf(ares, { acsTransID: randomUUID() }))]) {
      const page = await holder.challenge(creq)
      assert.equal(page.status, 400)
      assert.match(page.text, /nothing to confirm/)
    }
    assert.equal((await browse(holder.at('/challenge/answer'), { id: 'x' })).status, 404)
  })

  test('the result cannot be delivered: three tries, then the browser takes an Erro', async () => {
    world.results.answer = () => Promise.resolve({ status: 500, body: '' })
    const { page } = await holder.asked()
    const leaving = holder.answer(page, { password: 'hint' })
    for (const tries of [1, 2, 3]) {
      await holds(() => holder.results().length === tries, `try ${tries}`)
      await holds(() => (clock.pass(4_000), tries === 3 || holder.results().length > tries), `a try after ${tries}`)
    }
    assert.equal(decoded((await leaving).fields['erro'])['errorCode'], '405')
    assert.equal(holder.results().length, 3)
  })
})
