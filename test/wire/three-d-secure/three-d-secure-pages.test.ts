import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompInd } from '../../../src/three-d-secure/authentication.ts'
import type { PageOrder } from '../../../src/pages/three-d-secure-pages.ts'
import { closing } from '../../harness/world/opening.ts'
import {
  actions,
  challenge,
  decoded,
  field,
  fieldsOf,
  filled,
  method,
  now,
  openPages,
  over,
  param,
  plain,
  publicUrl,
  read,
  shown,
  transId,
  working,
} from '../../harness/three-d-secure/three-d-secure-pages.ts'

const pages = closing(await openPages())

test('a token that is unknown or of another shape is 404, and of another shape it is not even looked up', async () => {
  const earlier = pages.asked.length
  for (const token of ['short', 'A'.repeat(23), `${'A'.repeat(21)}%00`, '%2e%2e%2f', `${'A'.repeat(21)}'`, 'A'.repeat(9_000)]) {
    const { status, page, policy } = await read(await pages.get(token))
    assert.deepEqual([status, policy.get('frame-ancestors'), policy.get('form-action')], [404, "'none'", "'none'"])
    assert.match(page, /There is no such payment/)
  }
  assert.equal(pages.asked.length, earlier)
  assert.deepEqual(new Set(pages.guesses), new Set(['unknown page']))
  const unknown = 'A'.repeat(22)
  assert.equal((await pages.get(unknown)).status, 404)
  for (const path of ['browser', 'challenge', 'method'])
    assert.ok(
      [400, 404].includes((await pages.post(`${unknown}/${path}`, { cres: param('{}'), javascriptEnabled: 'false' })).status),
    )
  assert.deepEqual([pages.collected, pages.returned], [[], []])
})

test('awaiting the method: the page runs it in a hidden frame, and its notification comes to the gateway', async () => {
  const token = pages.put({ ...method, methodUntil: now + 4_000 })
  const { page, policy } = await read(await pages.get(token))
  assert.match(page, /Payment to Acme Toys/)
  assert.match(page, /<small>EUR<\/small>\s10\.42/)
  assert.match(page, /role="status"/)
  assert.deepEqual(decoded(field(page, 'threeDSMethodData')), {
    threeDSServerTransID: transId,
    threeDSMethodNotificationURL: `${publicUrl}/gateway/3ds/${token}/method`,
  })
  const own = `/gateway/3ds/${token}/browser`
  assert.deepEqual(actions(page), [method.methodUrl, own, own])
  assert.match(page, /data-wait-ms="4000"/)
  assert.match(page, /<noscript>[^]*name="javascriptEnabled" value="false"[^]*<button>Continue<\/button>[^]*<\/noscript>/)
  const sandbox = "'self' https: http://127.0.0.1:* http://localhost:* http://*.localhost:*"
  assert.deepEqual([policy.get('frame-src'), policy.get('form-action')], [sandbox, sandbox])
  assert.equal(policy.get('frame-ancestors'), "'none'")
  const production = await read(await pages.get(token, 'production'))
  assert.equal(production.policy.get('frame-src'), "'self' https:")
  assert.notEqual(production.nonce, (await read(await pages.get(token, 'production'))).nonce, 'a nonce is used once')
})

test('a method that cannot be called, or is over, does not hold up the payment', async () => {
  const framed = async (order: PageOrder) => /<iframe/.test((await read(await pages.get(pages.put(order)))).page)
  assert.equal(await framed(method), true)
  assert.equal(await framed({ ...method, methodUrl: 'javascript:alert(1)' }), false)
  assert.equal(await framed({ ...method, methodUrl: 'http://acs.example.com/' }), false)
  const { methodUrl: _, ...without } = method
  assert.equal(await framed(without), false)
  assert.match(await (await pages.get(pages.put({ ...method, methodUntil: now - 1 }))).text(), /data-wait-ms="0"/)
  assert.match(await (await pages.get(pages.put({ ...method, methodUntil: now + 99_000 }))).text(), /data-wait-ms="10000"/)
})

test("the browser's data becomes fields of the AReq, and the browser goes back to the page", async () => {
  const token = pages.put(method)
  const answer = await pages.post(`${token}/browser`, filled, { 'user-agent': 'Br\u00fcwser/1 '.padEnd(3_000, 'x') })
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, `/gateway/3ds/${token}`])
  const { browser, ...rest } = pages.collected.at(-1)!
  assert.deepEqual(rest, { token, compInd: 'Y' })
  assert.equal(browser.userAgent, 'Br?wser/1 '.padEnd(2_048, 'x'))
  assert.deepEqual(
    { ...browser, userAgent: '' },
    {
      acceptHeader: 'text/html',
      userAgent: '',
      ip: '203.0.113.7',
      javascriptEnabled: true,
      javaEnabled: false,
      language: 'zh-Hans',
      colorDepth: '24',
      screenHeight: '1080',
      screenWidth: '1920',
      timeZone: '-345',
    },
  )
})

test('a colour depth is one of those AReq knows, the next lower where the browser has another', async () => {
  const sent = ['1', '4', '8', '15', '16', '24', '32', '48', '0', '2', '10', '30', '36', '64']
  const token = pages.put(method)
  for (const colorDepth of sent) await pages.post(`${token}/browser`, { ...filled, colorDepth })
  const got = pages.collected.slice(-sent.length).map(({ browser }) => browser.colorDepth)
  assert.deepEqual(got, ['1', '4', '8', '15', '16', '24', '32', '48', '1', '1', '8', '24', '32', '48'])
})

test('threeDSCompInd is Y if the method came back, N if it did not, U without a method', async () => {
  const { methodUrl: _, ...without } = method
  const cases: [PageOrder, Record<string, string>, CompInd][] = [
    [method, filled, 'Y'],
    [method, { ...filled, methodReturned: 'false' }, 'N'],
    [method, { javascriptEnabled: 'false' }, 'N'],
    [method, { javascriptEnabled: 'false', methodReturned: 'true' }, 'N'],
    [without, filled, 'U'],
    [without, { javascriptEnabled: 'false' }, 'U'],
  ]
  for (const [order, fields, compInd] of cases) {
    assert.equal((await pages.post(`${pages.put(order)}/browser`, fields)).status, 303)
    assert.equal(pages.collected.at(-1)!.compInd, compInd)
  }
})

test('without script the browser is known by its headers alone', async () => {
  await pages.post(`${pages.put(method)}/browser`, { javascriptEnabled: 'false' }, { 'accept-language': 'de-CH-1996;q=0.9, en' })
  assert.deepEqual(pages.collected.at(-1)!.browser, {
    acceptHeader: 'text/html',
    userAgent: 'Browser/1',
    ip: '203.0.113.7',
    javascriptEnabled: false,
    language: 'de-CH',
  })
})

test('data that no browser sends is refused, and the payment stays where it was', async () => {
  const earlier = pages.collected.length
  const bad: (Record<string, string> | string)[] = [
    {},
    { ...filled, javascriptEnabled: 'yes' },
    { ...filled, screenWidth: '<script>' },
    { ...filled, screenHeight: '1234567' },
    { ...filled, timeZone: '99999' },
    { ...filled, colorDepth: '-1' },
    { ...filled, javaEnabled: '' },
    'javascriptEnabled=%zz',
    `javascriptEnabled=false&x=${'y'.repeat(120_000)}`,
  ]
  const token = pages.put(method)
  for (const fields of bad) {
    const { status, page, policy } = await read(await pages.post(`${token}/browser`, fields))
    assert.deepEqual([status, policy.get('frame-ancestors')], [400, "'none'"], JSON.stringify(fields).slice(0, 80))
    assert.match(page, new RegExp(`href="/gateway/3ds/${token}"`))
  }
  assert.equal(pages.collected.length, earlier)
})

test('a second post, or one after the order went on, changes nothing', async () => {
  const earlier = pages.collected.length
  for (const order of [challenge, { ...shown, is: 'working' } as const, over])
    assert.equal((await pages.post(`${pages.put(order)}/browser`, filled)).status, 303)
  assert.equal(pages.collected.length, earlier)
})

test('awaiting the challenge: amount and merchant, and an identical CReq at every load', async () => {
  const token = pages.put(challenge)
  const { page, policy } = await read(await pages.get(token))
  assert.match(page, /Payment to Acme Toys/)
  assert.match(page, /<small>EUR<\/small>\s10\.42/)
  assert.deepEqual(decoded(field(page, 'creq')), {
    messageType: 'CReq',
    messageVersion: '2.1.0',
    threeDSServerTransID: transId,
    acsTransID: challenge.acsTransId,
    challengeWindowSize: '05',
  })
  assert.deepEqual(actions(page), [challenge.acsUrl])
  assert.match(page, /<noscript>[^]*<button>Continue to your bank<\/button>\s*<\/noscript>/)
  const rules = ['frame-ancestors', 'frame-src', 'form-action', 'default-src', 'connect-src'].map((name) => policy.get(name))
  assert.deepEqual(rules, ["'none'", undefined, undefined, undefined, "'self'"], 'an issuer may lead to an app')
  assert.equal(field((await read(await pages.get(token))).page, 'creq'), field(page, 'creq'))
})

test('for each window that fits, the challenge has a CReq that says so', async () => {
  const { page } = await read(await pages.get(pages.put(challenge)))
  const windows = JSON.parse(plain(/data-windows="([^"]*)"/.exec(page)![1]!)) as [string, number, number, string][]
  assert.deepEqual(
    windows.map(([size, width, height]) => [size, width, height]),
    [
      ['03', 500, 600],
      ['04', 600, 400],
    ],
  )
  for (const [size, , , creq] of windows)
    assert.deepEqual(decoded(creq), { ...(decoded(field(page, 'creq')) as object), challengeWindowSize: size })
  const [, sandbox] = /<iframe[^>]* title="[^"]+"[^>]* sandbox="([^"]+)"/.exec(page)!
  const must = ['allow-forms', 'allow-scripts', 'allow-same-origin', 'allow-pointer-lock']
  assert.deepEqual(sandbox!.split(' '), [...must, 'allow-popups', 'allow-popups-to-escape-sandbox'])
})

test('an acsURL that was let in by mistake is never written into a page', async () => {
  for (const acsUrl of ['javascript:alert(1)', 'data:text/html,x', 'https://a:b@acs.example.com/', 'http://acs.example.com/']) {
    const answer = await pages.get(pages.put({ ...challenge, acsUrl }))
    assert.deepEqual([answer.status, /javascript|data:|acs\./.test(await answer.text())], [500, false])
  }
  const http = pages.put({ ...challenge, acsUrl: 'http://127.0.0.1:4000/challenge' })
  assert.deepEqual([(await pages.get(http)).status, (await pages.get(http, 'production')).status], [200, 500])
})

test('while something is under way the page looks for news by itself, and without script asks again', async () => {
  const { page, policy } = await read(await pages.get(pages.put({ ...working, cardholderInfo: 'Call us.' })))
  assert.match(page, new RegExp(`<noscript>\\s*<meta http-equiv="refresh" content="2;url=\\?since=${now}" />\\s*</noscript>`))
  assert.match(page, /prefers-reduced-motion: reduce\) \{\s+\*,[^{]+\{\s+animation: none/)
  assert.match(page, /Your bank says[^]*Call us\./)
  assert.deepEqual([policy.get('connect-src'), policy.get('form-action')], ["'self'", "'none'"])
})

test('a payment without an outcome after a minute is left to the shop to follow', async () => {
  const later = { url: over.back.url, pairs: [['status', 'processing']] } as const
  //     order                  waited ms, as the address says                 page
  const cases: [PageOrder, string, string][] = [
    [{ ...working, later }, '', 'working'],
    [{ ...working, later }, `?since=${now - 59_999}`, 'working'],
    [{ ...working, later }, `?since=${now - 60_000}`, 'over'],
    [{ ...working, later }, `?since=${now + 60_000}`, 'working'],
    [{ ...working, later }, '?since=1000000000000', 'over'],
    [{ ...working, later }, '?since=1', 'working'],
    [{ ...working, later }, `?since=-${now}`, 'working'],
    [working, `?since=${now - 60_000}`, 'working'],
  ]
  for (const [order, query, is] of cases) {
    const token = pages.put(order)
    assert.equal(await (await pages.get(`${token}/state${query}`)).text(), is)
    const { page, policy } = await read(await pages.get(token + query))
    assert.deepEqual(is === 'over' ? [later.url] : [], actions(page))
    // Whoever does not want to wait goes back now, as others do in the end.
    assert.equal(page.includes('href="?since=1000000000000"'), is === 'working' && 'later' in order)
    assert.equal(page.includes('Your payment is still being processed'), is === 'over')
    assert.equal(policy.get('frame-ancestors'), "'none'")
  }
})

test('the state of a page is one word', async () => {
  for (const order of [method, challenge, working, over]) {
    const answer = await pages.get(`${pages.put(order)}/state`)
    assert.deepEqual([answer.status, await answer.text()], [200, order.is])
    assert.deepEqual(
      [answer.headers.get('content-type'), answer.headers.get('cache-control')],
      ['text/plain;charset=utf-8', 'private, no-store'],
    )
  }
  const missing = await pages.get(`${'A'.repeat(22)}/state`)
  assert.deepEqual([missing.status, await missing.text()], [404, 'missing'])
})

test('at the end the browser takes the pairs of the callback back to the shop', async () => {
  const { page, policy } = await read(await pages.get(pages.put(over)))
  assert.match(page, /<h1 class="news">Payment approved<\/h1>/)
  assert.deepEqual(actions(page), [over.back.url])
  assert.deepEqual(fieldsOf(page), over.back.pairs)
  assert.match(page, /<button>Return to the shop<\/button>/)
  assert.deepEqual([policy.has('form-action'), policy.get('default-src')], [false, "'none'"])
  const { back: _, ...nowhere } = over
  assert.equal((await read(await pages.get(pages.put(nowhere)))).policy.get('form-action'), "'none'")
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'shopapp://paid', 'https://a:b@shop.example.com/']) {
    const answer = await pages.get(pages.put({ ...over, back: { ...over.back, url } }))
    assert.deepEqual([answer.status, (await answer.text()).includes(url)], [500, false], url)
  }
})

test('the end says what became of the payment, and leaves time for what the bank says', async () => {
  const says = async (order: PageOrder) => (await read(await pages.get(pages.put(order)))).page
  assert.match(await says({ ...over, status: 'declined' }), /<h1 class="news">Payment declined<\/h1>/)
  assert.match(await says({ ...over, status: 'filtered' }), /<h1 class="news">Payment declined<\/h1>/)
  assert.match(await says({ ...over, status: 'error' }), /<h1 class="news">Payment not completed<\/h1>/)
  assert.match(await says({ ...over, status: 'processing' }), /<h1 class="news">Your payment is still being processed<\/h1>/)
  assert.match(await says({ ...over, cardholderInfo: 'Call us.' }), /Call us\.[^]*data-after-ms="10000"/)
  assert.doesNotMatch(await says(over), /data-after-ms="/)
  const { back: _, ...nowhere } = over
  assert.doesNotMatch(await says(nowhere), /<form|<script/)
})

test('text of others stays text on every page', async () => {
  const hostile = `"><script>alert(1)</script>'&lt;`
  const texts = { merchantName: hostile, amountText: hostile, currency: hostile, cardholderInfo: hostile, languages: hostile }
  const all: PageOrder[] = [
    { ...method, ...texts, threeDSServerTransId: hostile, methodUrl: `https://acs.example.com/${hostile}` },
    { ...challenge, ...texts, acsTransId: hostile, acsUrl: `https://acs.example.com/${hostile}` },
    { ...working, ...texts },
    { ...over, ...texts, back: { pairs: [[hostile, hostile]], url: `https://shop.example.com/${hostile}` } },
  ]
  for (const order of all) {
    const { status, page, policy } = await read(await pages.get(pages.put(order)))
    assert.deepEqual([status, page.includes('alert(1)</script>'), page.includes('&lt;')], [200, false, false])
    assert.ok(page.includes('&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#39;&#38;lt;'))
    assert.ok([...policy.values()].every((value) => !value.includes('alert')))
  }
})
