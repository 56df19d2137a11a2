import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../src/base/clock.ts'
import { sha1Hex } from '../../../src/base/digest.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { startMerchantServer } from '../../../simulators/merchant/server.ts'
import { closing } from '../../harness/world/opening.ts'

const controlKey = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'

let nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs, after: () => () => {} }
const lines: string[] = []

const start = (key = controlKey) =>
  startMerchantServer({
    host: '127.0.0.1',
    port: 0,
    login: 'shop <one>',
    controlKey: secret(key),
    gatewayBaseUrl: 'http://127.0.0.1:8080/gateway',
    clock,
    random: systemRandom,
    log: openLog({ level: 'info', destination: { write: (line) => lines.push(line) } }),
  })

const server = closing(await start())

type Fields = Record<string, string>
const signed = (fields: Fields, key = controlKey): Fields => ({
  ...fields,
  control: sha1Hex((fields['status'] ?? '') + (fields['orderid'] ?? '') + (fields['client_orderid'] ?? '') + key),
})
const outcome = (clientOrderid: string, more: Fields = {}): Fields => ({
  status: 'approved',
  merchant_order: clientOrderid,
  client_orderid: clientOrderid,
  orderid: '1000001',
  type: 'sale',
  amount: '10.50',
  currency: 'USD',
  ...more,
})
const get = (fields: Fields, url = server.url) => fetch(`${url}/callback?${new URLSearchParams(fields).toString()}`)
const post = (fields: Fields, query = '') =>
  fetch(`${server.url}/callback${query}`, { method: 'POST', body: new URLSearchParams(fields) })
const page = async (query = '') => (await fetch(`${server.url}/${query}`)).text()

interface Shown {
  received_at: string
  method: string
  valid: boolean
  signature: string
  signatures: Fields
  headers: Fields
  fields: Fields
}
async function shown(query: Fields, url = server.url): Promise<Shown[]> {
  const list: Shown[] = JSON.parse(await (await fetch(`${url}/callbacks.json?${new URLSearchParams(query).toString()}`)).text())
  return list
}

// Values computed apart from this project. An absent field is signed as empty text.
// oxfmt-ignore
const published: [fields: Fields, key: string, control: string][] = [
  [{ status: 'approved', orderid: '1234567', client_orderid: 'hf-abc' },  'test-merchant-control',                '652ace404c4dfe8bba069ecee594ec23a89340e1'],
  [{ status: '', orderid: '', client_orderid: '' },                       'test-merchant-control',                '1a66987ac24e927ff2979f83a41cb818936a9e62'],
  [{},                                                                    'test-merchant-control',                '1a66987ac24e927ff2979f83a41cb818936a9e62'],
  [{ status: 'approved', orderid: '123', client_orderid: 'invoice-1' },   'AF4B5DE6-3468-424C-A922-C1DAD7CB4509', '5bc8ee48f9ba37c0fd1e0b052a9bc105c6df87e1'],
]

test('the control is SHA-1 of status, orderid, client_orderid and control key, in hex of either case', async () => {
  for (const [fields, key, control] of published) {
    const other = await start(key)
    try {
      assert.equal((await get({ ...fields, control }, other.url)).status, 200)
      assert.equal((await get({ ...fields, control: control.toUpperCase() }, other.url)).status, 200)
      assert.deepEqual(
        (await shown({}, other.url)).map(({ valid }) => valid),
        [true, true],
      )
    } finally {
      await other.close()
    }
  }
})

test('a wrong control is answered 400 with a short text, and the callback is still shown, as wrong', async () => {
  const good = signed(outcome('wrong-1'))
  // oxfmt-ignore
  const wrong: Fields[] = [
    { ...good, status: 'declined' },
    { ...good, orderid: '1000002' },
    { ...good, client_orderid: 'wrong-2' },
    { ...good, control: good['control']!.slice(0, 39) },
    { ...good, control: `${good['control']}0` },
    { ...good, control: '' },
    signed(outcome('wrong-1'), 'another key'),
    outcome('wrong-1'),
  ]
  for (const fields of wrong) {
    const reply = await get(fields)
    assert.equal(reply.status, 400, JSON.stringify(fields))
    const text = await reply.text()
    assert.ok(text.length > 0 && text.length < 100)
  }
  const kept = [...(await shown({ client_orderid: 'wrong-1' })), ...(await shown({ client_orderid: 'wrong-2' }))]
  assert.equal(kept.length, wrong.length)
  assert.ok(kept.every(({ valid }) => !valid))
})

test('a callback is a GET with its pairs in the query, or a POST of a form, whatever query the URL has', async () => {
  assert.equal((await get(signed(outcome('get-1', { name: 'Zoë & Jörg', comment: 'a+b=c' })))).status, 200)
  assert.equal((await post(signed(outcome('post-1')), '?shop=7&orderid=5&status=')).status, 200)
  const ownQuery = `?shop=7&orderid=5&status=&${new URLSearchParams(signed(outcome('get-2'))).toString()}`
  assert.equal((await fetch(`${server.url}/callback${ownQuery}`)).status, 200)
  const [byGet] = await shown({ client_orderid: 'get-1' })
  const [byPost] = await shown({ client_orderid: 'post-1' })
  assert.deepEqual(byGet, {
    received_at: '2026-01-02T03:04:05.678Z',
    method: 'GET',
    valid: true,
    signature: 'not checked',
    signatures: {},
    headers: {},
    fields: signed(outcome('get-1', { name: 'Zoë & Jörg', comment: 'a+b=c' })),
  })
  assert.equal(byPost?.method, 'POST')
  assert.deepEqual(byPost?.fields, { shop: '7', ...signed(outcome('post-1')) })
  const [withQuery] = await shown({ client_orderid: 'get-2' })
  assert.deepEqual(withQuery?.fields, { shop: '7', ...signed(outcome('get-2')) })
})

test('merchant data of 65,536 characters, each of four bytes, is taken', async () => {
  assert.equal((await post(signed(outcome('large-1', { merchantdata: '😀'.repeat(65_536) })))).status, 200)
  assert.equal((await shown({ client_orderid: 'large-1' }))[0]?.fields['merchantdata']?.length, 131_072)
  assert.match(await page('?client_orderid=large-1'), /131,072 characters/)
})

test('a body that is no form, an unknown path and another method are refused, and nothing is kept of them', async () => {
  const kept = (await shown({})).length
  const json = await fetch(`${server.url}/callback`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(json.status, 415)
  assert.equal((await fetch(`${server.url}/nothing`)).status, 404)
  assert.equal((await fetch(`${server.url}/callback`, { method: 'HEAD' })).status, 404)
  assert.equal((await shown({})).length, kept)
})

const orders = async (query: Fields) =>
  (await shown(query)).map(({ fields }) => `${fields['client_orderid']} ${fields['orderid']}`)

test('callbacks are listed newest first, and filtered by client_orderid and orderid, both when both are given', async () => {
  await get(signed(outcome('filter-1', { orderid: '2000001' })))
  await get(signed(outcome('filter-1', { orderid: '2000002' })))
  await get(signed(outcome('filter-2', { orderid: '2000002' })))
  assert.deepEqual(await orders({ client_orderid: 'filter-1' }), ['filter-1 2000002', 'filter-1 2000001'])
  assert.deepEqual(await orders({ orderid: '2000002' }), ['filter-2 2000002', 'filter-1 2000002'])
  assert.deepEqual(await orders({ client_orderid: 'filter-1', orderid: '2000002' }), ['filter-1 2000002'])
  assert.deepEqual(await orders({ client_orderid: 'filter' }), [])
})

test('the last 1,000 callbacks are kept, and the page shows them in parts of 50', async () => {
  const other = await start()
  try {
    for (let n = 1; n <= 1_003; n += 59) {
      const some = Array.from({ length: Math.min(59, 1_004 - n) }, (_, i) => get(signed(outcome(`many-${n + i}`)), other.url))
      for (const reply of await Promise.all(some)) assert.equal(reply.status, 200)
    }
    assert.equal((await shown({}, other.url)).length, 1_000)
    const rows = new Set<string>()
    let next: string | undefined = '/'
    for (let parts = 0; next !== undefined && parts < 30; parts++) {
      const text: string = await (await fetch(other.url + next)).text()
      for (const [, number] of text.matchAll(/<tbody id="callback-(\d+)"/g)) rows.add(number!)
      next = /<a rel="next" href="([^"]+)"/.exec(text)?.[1]
    }
    assert.equal(rows.size, 1_000)
    assert.deepEqual([rows.has('3'), rows.has('4'), rows.has('1003')], [false, true, true])
  } finally {
    await other.close()
  }
})

test('nothing that a callback brings becomes markup, and only what carries the nonce of the reply may run or style', async () => {
  const attack = `"><script>alert('1')</script><img src=x onerror=alert(1)>`
  await post({ ...outcome(attack), [attack]: attack, status: attack, amount: attack, currency: attack, type: attack })
  const reply = await fetch(`${server.url}/?client_orderid=${encodeURIComponent(attack)}`)
  const text = await reply.text()
  assert.ok(text.includes('&#60;script&#62;alert(&#39;1&#39;)'))
  assert.ok(text.includes('shop &#60;one&#62;'))
  assert.doesNotMatch(text, /<img|<script>|alert\('1'\)|<one>/)
  const policy = reply.headers.get('content-security-policy') ?? ''
  const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1]
  assert.ok(nonce && policy.startsWith(`default-src 'none'; style-src 'nonce-${nonce}'`))
  assert.doesNotMatch(policy, /unsafe/)
  assert.deepEqual(
    [...text.matchAll(/<(?:script|style)\b[^>]*>/g)].map(([tag]) => /nonce="([^"]+)"/.exec(tag)?.[1]),
    [nonce, nonce],
  )
  assert.doesNotMatch(text.replaceAll(/<(script|style)[^]*?<\/\1>|"[^"]*"/g, ''), /<[^<>]*\s(?:style|on\w+)=/)
  const again = await fetch(server.url)
  assert.ok(!again.headers.get('content-security-policy')?.includes(nonce), 'the nonce is another one each time')
})

test('the page shows what was signed without the key, and hands out no control it did not receive', async () => {
  const forged = outcome('forged-1')
  await get({ ...forged, control: '0'.repeat(40) })
  await get(signed(outcome('signed-1', { orderid: '1000009' })))
  const parts = /approved<\/span\s*><span[^>]*>1000009<\/span\s*><span[^>]*>signed-1<\/span\s*><span[^>]*>\*\*\*</
  assert.match(await page('?client_orderid=signed-1'), parts)
  const everything = (await page()) + JSON.stringify(await shown({})) + lines.join('')
  assert.ok(!everything.includes(controlKey))
  assert.ok(!everything.includes(signed(forged)['control']!))
})

test('an empty page says how to get the first callback', async () => {
  const other = await start()
  try {
    assert.match(
      await (await fetch(other.url)).text(),
      /No callback yet[^]*curl http:\/\/127\.0\.0\.1:8080\/gateway\/api\/v2\/sale\//,
    )
  } finally {
    await other.close()
  }
  assert.match(await page('?client_orderid=never-sent'), /None of the callbacks has these ids/)
})
