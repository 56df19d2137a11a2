import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closing } from '../../harness/world/opening.ts'
import {
  acsTransId,
  actions,
  challenge,
  decoded,
  field,
  foreign,
  method,
  openPages,
  over,
  param,
  publicUrl,
  read,
  transId,
  working,
} from '../../harness/three-d-secure/three-d-secure-pages.ts'

const pages = closing(await openPages())

test("the method's notification may be framed, and its message has the token and nothing of the payment", async () => {
  const token = pages.put(method)
  const answer = await pages.post(`${token}/method`, {
    threeDSMethodData: `${param({ threeDSServerTransID: transId.toUpperCase() })}==`,
  })
  const { status, page, policy, nonce } = await read(answer)
  assert.deepEqual([status, policy.get('frame-ancestors'), policy.get('form-action')], [200, undefined, "'none'"])
  assert.match(page, new RegExp(`data-token="${token}"`))
  assert.match(page, /postMessage\(\{ type: '[^']*', token \}, '\*'\)/)
  assert.doesNotMatch(page.replaceAll(nonce, ''), /Acme|10\.42|EUR/)
})

test('a notification that does not name this authentication is passed on to no page', async () => {
  const token = pages.put(method)
  const bad: (Record<string, string> | string)[] = [
    { threeDSMethodData: param({ threeDSServerTransID: acsTransId }) },
    { threeDSMethodData: param({ threeDSMethodData: transId }) },
    { threeDSMethodData: param({ threeDSServerTransID: [transId] }) },
    { threeDSMethodData: param('null') },
    { threeDSMethodData: param('{"threeDSServerTransID":') },
    { threeDSMethodData: param(`"${transId}"`) },
    { threeDSMethodData: '!!!' },
    { threeDSMethodData: '_____w' },
    { threeDSMethodData: param('['.repeat(3_000)) },
    { threeDSMethodData: 'A'.repeat(90_000) },
    {},
    'threeDSMethodData=%zz',
    'x'.repeat(120_000),
  ]
  for (const fields of bad) {
    const { status, page } = await read(await pages.post(`${token}/method`, fields))
    assert.deepEqual([status, page.includes('<script')], [400, false], JSON.stringify(fields).slice(0, 80))
  }
})

test('a notification that comes once the payment is further on lets the page around it go on as well', async () => {
  const late = (data: unknown) => pages.post(`${pages.put(over)}/method`, { threeDSMethodData: param(data) })
  const { status, page } = await read(await late({ threeDSServerTransID: transId }))
  assert.deepEqual([status, page.includes('<script')], [200, true])
  assert.equal((await read(await late({ other: transId }))).status, 400)
})

test("the issuer's answer is handed over unchanged, and the browser goes on by GET", async () => {
  const cres = param({ messageType: 'CRes', transStatus: 'Y' })
  const erro = param({ messageType: 'Erro' })
  //     fields                       handed over
  const cases: [Record<string, string>, string][] = [
    [{ cres }, cres],
    [{ cres, threeDSSessionData: 'abc' }, cres],
    [{ cRes: cres }, cres],
    [{ CRES: cres, cres: '' }, cres],
    [{ Erro: erro }, erro],
    [{ cres: `${cres.slice(0, 20)}\r\n${cres.slice(20)}==` }, `${cres.slice(0, 20)}\r\n${cres.slice(20)}==`],
    [{ erro }, erro],
    [{ error: erro }, erro],
    [{ cres: '', erro }, erro],
  ]
  for (const order of [challenge, working, over])
    for (const [fields, handed] of cases) {
      const token = pages.put(order)
      const answer = await pages.post(`${token}/challenge`, fields)
      assert.deepEqual([answer.status, answer.headers.get('location')], [303, `/gateway/3ds/${token}`])
      assert.equal(answer.headers.get('cache-control'), 'private, no-store')
      assert.deepEqual(pages.returned.at(-1), [token, handed])
    }
})

test('a message that is no result is not handed over, and the cardholder is not sent in circles', async () => {
  const earlier = pages.returned.length
  const token = pages.put(challenge)
  const bad = ['', 'cres=', 'cres=%21%21', 'cres=%zz', `cres=${'A'.repeat(12_292)}`, 'cres=_____w', 'x'.repeat(120_000)]
  for (const body of bad) {
    const { status, page } = await read(await pages.post(`${token}/challenge`, body))
    assert.deepEqual(
      [status, page.includes('<script'), page.includes(`href="/gateway/3ds/${token}"`)],
      [400, false, true],
      body.slice(0, 40),
    )
  }
  assert.equal(pages.returned.length, earlier)
})

test('a result of another payment leads no further either', async () => {
  const token = pages.put(challenge)
  const { status, page } = await read(await pages.post(`${token}/challenge`, { cres: foreign }))
  assert.deepEqual([status, page.includes('<script'), page.includes(`href="/gateway/3ds/${token}"`)], [400, false, true])
})

test('a challenge in a frame ends there: only a result of this payment reaches the page around it', async () => {
  const token = pages.put(challenge)
  const framed = async (cres: string) => {
    const answer = await pages.post(`${token}/challenge`, { cres }, { 'sec-fetch-dest': 'iframe' })
    const { status, page, policy } = await read(answer)
    assert.deepEqual([policy.get('frame-ancestors'), policy.get('form-action')], [undefined, "'none'"])
    assert.match(page, new RegExp(`href="/gateway/3ds/${token}" target="_top"`))
    assert.doesNotMatch(page, /Acme|10\.42/)
    return { status, page }
  }
  const { status, page } = await framed(param('{}'))
  assert.equal(status, 200)
  assert.match(page, new RegExp(`data-token="${token}" data-origin="${publicUrl}"`))
  assert.match(page, /postMessage\(\{ [^}]* \}, origin\)/)
  assert.match(page, /data-own="true"/)
  assert.deepEqual(pages.returned.at(-1), [token, param('{}')])
  for (const cres of [foreign, '', '!!']) {
    const refused = await framed(cres)
    assert.deepEqual([refused.status, refused.page.includes('data-own="false"')], [400, true])
  }
})

const notification = 'https://shop.example.com/method?order="1"'

test('the collector posts the id back to the notification URL, as an issuer would, in a frame', async () => {
  const data = param({ threeDSServerTransID: transId, threeDSMethodNotificationURL: notification, more: { x: 1 } })
  const { status, page, policy } = await read(await pages.post('collect', { threeDSMethodData: data }))
  assert.deepEqual([status, policy.get('frame-ancestors')], [200, undefined])
  assert.deepEqual(actions(page), [notification])
  assert.deepEqual(decoded(field(page, 'threeDSMethodData')), { threeDSServerTransID: transId })
  assert.match(page, /<noscript>\s*<button>Continue<\/button>\s*<\/noscript>/)
  const local = param({ threeDSServerTransID: transId, threeDSMethodNotificationURL: 'http://127.0.0.1:3000/' })
  assert.equal((await pages.post('collect', { threeDSMethodData: local })).status, 200)
  assert.equal((await pages.post('collect', { threeDSMethodData: local }, {}, 'production')).status, 400)
})

test('the collector sends no browser to a foreign notification URL', async () => {
  const to = (threeDSMethodNotificationURL: unknown, threeDSServerTransID: unknown = transId) => ({
    threeDSMethodData: param({ threeDSServerTransID, threeDSMethodNotificationURL }),
  })
  const bad: (Record<string, string> | string)[] = [
    to('javascript:alert(document.domain)'),
    to('data:text/html,<script>alert(1)</script>'),
    to('https://user:secret@shop.example.com/'),
    to('http://shop.example.com/'),
    to('//shop.example.com/'),
    to(`https://shop.example.com/${'a'.repeat(240)}`),
    to(['https://shop.example.com/']),
    to(''),
    to('https://elsewhere.example/'),
    to(notification, acsTransId),
    to(notification, ''),
    to(notification, 'x'),
    to(notification, `${transId}"><script>`),
    to(notification, 7),
    {
      threeDSMethodData: param(
        `{"__proto__":{"threeDSServerTransID":"${transId}","threeDSMethodNotificationURL":"https://x.example/"}}`,
      ),
    },
    { threeDSMethodData: param([transId, notification]) },
    { threeDSMethodData: '***' },
    { threeDSMethodData: 'A'.repeat(90_000) },
    {},
    'x'.repeat(120_000),
  ]
  for (const fields of bad) {
    const { status, page } = await read(await pages.post('collect', fields))
    assert.deepEqual([status, /<form|<script/.test(page)], [400, false], JSON.stringify(fields).slice(0, 80))
  }
})

test('an address that takes posts leads back to the payment when a browser asks for it', async () => {
  const payer = { ...working, is: 'payer', acsUrl: 'https://bank.example.com/pa', fields: [] } as const
  const [earlier, paths] = [pages.returned.length, ['browser', 'method', 'challenge', 'pares']]
  for (const path of paths) {
    for (const order of [method, working, over]) {
      const token = pages.put(order)
      const answer = await pages.get(`${token}/${path}`)
      assert.deepEqual([answer.status, answer.headers.get('location')], [303, `/gateway/3ds/${token}`], path)
    }
    // These pages go to the issuer immediately: both might send a browser round and round.
    for (const order of [challenge, payer]) {
      const token = pages.put(order)
      const { status, page } = await read(await pages.get(`${token}/${path}`))
      assert.deepEqual([status, page.includes('<script'), page.includes(`href="/gateway/3ds/${token}"`)], [400, false, true])
    }
    const token = pages.put(over)
    const { page, policy } = await read(await pages.get(`${token}/${path}`, 'sandbox', { 'sec-fetch-dest': 'iframe' }))
    assert.match(page, new RegExp(`href="/gateway/3ds/${token}" target="_top"`))
    assert.equal(policy.get('frame-ancestors'), undefined)
    assert.equal((await read(await pages.get(`${'A'.repeat(22)}/${path}`))).status, 404)
  }
  assert.deepEqual([pages.collected, pages.returned.length], [[], earlier])
})

test('a method that a path has not is refused', async () => {
  assert.equal((await pages.post(pages.put(method), {})).status, 405)
  assert.equal((await pages.get('collect')).status, 405)
})

test('an issuer of 1.0.2 gets the whole window; its answer is handed over before the browser is back at the page', async () => {
  const fields = [
    ['PaReq', 'eJw"><script>'],
    ['TermUrl', `${publicUrl}/x`],
    ['MD', 'md'],
  ] as const
  const token = pages.put({ ...working, is: 'payer', acsUrl: 'https://bank.example.com/pa?a=1&b=2', fields })
  const page = await (await pages.get(token)).text()
  assert.match(page, /action="https:\/\/bank\.example\.com\/pa\?a=1&#38;b=2"/)
  assert.doesNotMatch(page, /"><script>/)
  for (const [name] of fields) assert.match(page, new RegExp(`name="${name}"`))
  const answer = { PaRes: 'eJxz', MD: 'md' }
  const back = await pages.post(`${token}/pares`, answer)
  assert.deepEqual([back.status, back.headers.get('location')], [303, `/gateway/3ds/${token}`])
  assert.deepEqual(pages.answers, [{ token, paRes: 'eJxz', md: 'md' }])
  for (const bad of [{ PaRes: 'eJxz' }, { MD: 'md' }, { ...answer, PaRes: 'A'.repeat(10_241) }])
    assert.equal((await pages.post(`${token}/pares`, bad as Record<string, string>)).status, 400)
  assert.equal(pages.answers.length, 1)
  assert.equal((await pages.post(`${'A'.repeat(22)}/pares`, answer)).status, 404)
})
