import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { holds, until } from '../../harness/clock/until.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { cardholderAt, challengedCard, cresIn, proofOf, startOver, testCard } from '../three-d-secure/three-d-secure-browser.ts'
import { admin, base64url, browse, decoded, startWorld, type Json, type Page } from '../three-d-secure/three-d-secure-peers.ts'

const clock = openHandClock(Date.now())
const world = closing(await startWorld({ acs: { clock } }))
const holder = cardholderAt(world)
beforeEach(() => startOver(world, clock))

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
