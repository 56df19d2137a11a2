import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import {
  cardholderAt,
  challengedCard,
  creqOf,
  cresIn,
  proofOf,
  startOver,
  testCard,
} from '../three-d-secure/three-d-secure-browser.ts'
import { admin, base64url, browse, decoded, type Json, type Page, startWorld } from '../three-d-secure/three-d-secure-peers.ts'
import { holds, until } from '../../harness/clock/until.ts'

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

  test('10 minutes without an answer: N, reason 14, cancel 04; each answer restarts them', async () => {
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

describe('the pages', () => {
  test('show merchant, amount, last four and a masked phone, all escaped, and neither number nor phone whole', async () => {
    const { page } = await holder.asked()
    for (const shown of ['Shop &#60;One&#62; &#38; &#34;Sons&#34;', '10.50 EUR', '•••• 2164', '+44 •••• 23'])
      assert.ok(page.text.includes(shown), shown)
    assert.ok(!page.text.includes(challengedCard) && !page.text.includes('7700900123'))
    assert.match(
      (await holder.asked({ purchaseCurrency: '392', purchaseExponent: '0', mobilePhone: undefined })).page.text,
      /1050 JPY/,
    )
  })

  test('may be framed by the requestor and the merchant alone; scripts and styles have the nonce of their page', async () => {
    const { page } = await holder.asked()
    assert.match(
      page.policy,
      /default-src 'none'.*form-action 'self'.*frame-ancestors http:\/\/127\.0\.0\.1:8081 https:\/\/shop\.example$/,
    )
    const back = await holder.answer(page, { action: 'cancel' })
    assert.match(back.policy, /frame-ancestors http:\/\/127\.0\.0\.1:8081 https:\/\/shop\.example$/)
    const nonces = [page, back].map(({ policy }) => /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? '')
    assert.notEqual(nonces[0], nonces[1])
    assert.ok(back.text.includes(`<script nonce="${nonces[1]}">`))
    assert.match(back.text, /<noscript><button class="main">Continue<\/button><\/noscript>/)
    assert.ok(!page.text.includes('<script'))
  })

  test('the test cards: each scenario of each network and version, and every number with its check digit', async () => {
    const cards = (await (await fetch(holder.at('/test-cards.json'))).json()) as Record<string, string>[]
    // oxfmt-ignore
    const names = [
      'frictionless', 'frictionless-attempt', 'frictionless-denied', 'frictionless-rejected', 'unavailable',
      'challenge', 'challenge-failed', 'no-method-frictionless', 'no-method-challenge',
    ]
    const has = (network: string, scenario: string, version: string) =>
      cards.filter((one) => one['network'] === network && one['scenario'] === scenario && one['version'] === version).length
    for (const network of ['visa', 'mastercard']) {
      for (const name of names) for (const version of ['2.1.0', '2.2.0']) assert.equal(has(network, name, version), 1, name)
      assert.equal(has(network, 'informational', '2.2.0') + has(network, 'not-enrolled', '2.2.0'), 2)
    }
    assert.equal(new Set(cards.map(({ number }) => number)).size, cards.length)
    for (const { number, scenario, password } of cards) {
      assert.match(number!, /^(400000000000|520000000000)[0-9]{4}$/)
      assert.equal(password, /challenge|^1\.0\.2(-unavailable)?$/.test(scenario!) ? 'hint' : undefined)
    }
    assert.ok(cards.some(({ number }) => number === challengedCard))
    const page = await browse(holder.at('/'))
    for (const { number } of cards) assert.ok(page.text.includes(number!.replaceAll(/\d{4}(?=\d)/g, '$& ')), number)
  })
})

describe('the method page', () => {
  const id = randomUUID()
  const threeDSMethodNotificationURL = 'http://127.0.0.1:8081/done?x="y"'
  const methodData = (wish: Json = {}) => ({
    threeDSMethodData: base64url({ threeDSServerTransID: id, threeDSMethodNotificationURL, ...wish }),
  })

  test('lists the browsers that ran it', async () => {
    const body = new URLSearchParams({ id, print: 'Test/1.0' })
    assert.equal((await fetch(holder.at('/method/print'), { method: 'POST', body })).status, 204)
    const { methods } = (await admin(holder.at('/admin/challenges'))).body as { methods: Json }
    assert.equal(methods[id], 'Test/1.0')
  })

  test('method_error, method_delay_ms and method_dead trouble it', async () => {
    await holder.script({ method_error: true, times: 1 })
    assert.equal((await browse(holder.at('/method/works'), methodData())).status, 500)
    await holder.script({ method_delay_ms: 5_000, times: 1 })
    let answered = false
    const late = browse(holder.at('/method/works'), methodData()).finally(() => (answered = true))
    assert.equal((await browse(holder.at('/'))).status, 200)
    assert.equal(answered, false)
    await holds(() => (clock.pass(5_000), answered), 'the late page')
    assert.equal((await late).status, 200)
    await holder.script({ method_dead: true, times: 1 })
    const cut = new AbortController()
    answered = false
    const dead = fetch(holder.at('/method/works'), {
      method: 'POST',
      body: new URLSearchParams(methodData()),
      signal: cut.signal,
    }).finally(() => (answered = true))
    const faults = async () => (await admin(holder.at('/admin/faults'))).body['faults'] as Json[]
    await until(faults, (all) => all.at(-1)?.['hits'] === 1)
    clock.pass(60_000)
    assert.equal((await faults()).at(-1)?.['hits'], 1, 'the page was asked for')
    assert.equal(answered, false)
    cut.abort()
    await assert.rejects(dead, { name: 'AbortError' })
  })
})

describe('faults are scripted', () => {
  const passed = async (): Promise<Page> => holder.answer((await holder.asked()).page, { password: 'hint' })

  test('areq_erro answers an Erro, trans_status D a decoupled authentication, and delay_ms is late', async () => {
    await holder.script({ areq_erro: '403', times: 1 })
    assert.equal((await world.authenticate(challengedCard))['errorCode'], '403')
    await holder.script({ trans_status: 'D', times: 1 })
    const decoupled = await world.authenticate(challengedCard)
    assert.deepEqual([decoupled['transStatus'], decoupled['acsDecConInd'], decoupled['acsURL']], ['D', 'Y', undefined])
    await holder.script({ delay_ms: 3_000, times: 1 })
    let answered = false
    const late = world.authenticate(testCard('4', 2, 0)).finally(() => (answered = true))
    await holds(() => (clock.pass(3_000), answered), 'a late ARes')
    assert.equal((await late)['transStatus'], 'Y')
  })

  test('cres_padded, cres_pretty, cres_wrapped: the same message in another spelling', async () => {
    // oxfmt-ignore
    const cases: [effect: string, cres: RegExp, text: RegExp][] = [
      ['cres_padded',  /^[A-Za-z0-9_-]+={1,2}$/,                    /^\{"/],
      ['cres_pretty',  /^[A-Za-z0-9_-]+$/,                          /^\{\n  "/],
      ['cres_wrapped', /^([A-Za-z0-9_-]{64}\r\n)+[A-Za-z0-9_-]*$/,  /^\{"/],
    ]
    for (const [effect, spelled, text] of cases) {
      await holder.script({ [effect]: true, times: 1 })
      const back = await passed()
      assert.match(back.fields['cres'] ?? '', spelled)
      assert.match(Buffer.from((back.fields['cres'] ?? '').replaceAll(/\s/g, ''), 'base64url').toString(), text)
      assert.equal(cresIn(back)['transStatus'], 'Y')
    }
  })

  test('erro_instead_of_cres posts an Erro in the field that it names', async () => {
    for (const field of ['cres', 'erro']) {
      await holder.script({ erro_instead_of_cres: field, times: 1 })
      const back = await passed()
      assert.equal(decoded(back.fields[field])['messageType'], 'Erro')
      assert.deepEqual(Object.keys(back.fields), [field])
    }
  })

  test('the list at GET /admin names every effect; the log has both directions and no card', async () => {
    const list = await (await fetch(holder.at('/admin'))).text()
    for (const effect of [
      'down',
      'off',
      'silent',
      'method_dead',
      'rreq_late_ms',
      'cres_wrapped',
      'erro_instead_of_cres',
      'acs_url',
    ])
      assert.ok(list.includes(`  ${effect} `), effect)
    const { ares, page } = await holder.asked()
    await holder.answer(page, { password: 'hint' })
    const { body } = await admin(holder.at(`/admin/log?id=${String(ares['acsTransID'])}`))
    const messages = body['messages'] as { direction: string; peer: string; type: string }[]
    assert.deepEqual(
      messages.map(({ direction, peer, type }) => `${direction} ${peer} ${type}`),
      [
        'out directory-server ARes',
        'in browser CReq',
        'out browser Page',
        'in browser Answer',
        'out directory-server RReq',
        'in directory-server RRes',
        'out browser CRes',
      ],
    )
    const whole = await (await fetch(holder.at('/admin/log'))).text()
    assert.ok(!whole.includes('hint'), 'what a cardholder types is not kept')
    assert.ok(!whole.includes(challengedCard) && !whole.includes(proofOf(world, ares, challengedCard, 'Y')))
    assert.match(whole, /"acctNumber":"400000\*\*\*\*\*\*2164"/)
  })
})
