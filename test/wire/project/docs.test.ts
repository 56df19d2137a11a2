import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { operationNames, type Operation } from '../../../src/spec/gateway/operations.ts'
import { mobileOperationNames, mobileRow } from '../../../src/spec/mobile/operations.ts'
import { referenceFiles } from '../../../src/reference/files.ts'
import { mobileExample } from '../../../src/reference/mobile-rows.ts'
import { encodePairs, formType, settled, type Fields } from '../../conformance/requests/client.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openWorld } from '../../harness/world/opening.ts'
import type { World } from '../../harness/world/world.ts'

/** The reference in the sandbox, where each operation can be tried. */

const shared = await openWorld()
const sandbox = JSON.parse(readFileSync(join(shared.directory, 'sandbox.json'), 'utf8')) as {
  merchant: { login: string; control_key: string }
  endpoints: Partial<World['endpoints']>
}
const { login, control_key: controlKey } = sandbox.merchant
/** The reference tries everything as the sandbox's own merchant. */
const world: World = {
  ...shared,
  merchant: { ...shared.merchant, login, controlKey },
  endpoints: { ...shared.endpoints, ...sandbox.endpoints },
}
const origin = new URL(world.baseUrl).origin

interface Seen {
  status: number
  headers: Headers
  page: string
}

async function see(path: string, form?: Fields, headers: Record<string, string> = {}): Promise<Seen> {
  const posted = form && { method: 'POST', body: encodePairs(Object.entries(form)) }
  const sent = { ...posted, headers: { ...(form && { 'content-type': formType }), ...headers } }
  const reply = await fetch(origin + path, { redirect: 'manual', ...sent })
  return { status: reply.status, headers: reply.headers, page: await reply.text() }
}

const plainText = (markup: string) =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .trim()

const unescaped = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))

/** What the form of a page has in it. */
function fieldsOf({ page }: Seen): Fields {
  const form = /<form[^>]*>([^]*?)<\/form>/.exec(page)?.[1] ?? ''
  const inputs = [...form.matchAll(/<input\s+name="([^"]*)"\s+value="([^"]*)"/g)].map(([, name, value]) => [
    name!,
    unescaped(value!),
  ])
  const selects = [...form.matchAll(/<select\s+name="([^"]*)"[^]*?<\/select>/g)].map(([all, name]) => [
    name!,
    /value="([^"]*)" selected/.exec(all)?.[1] ?? '',
  ])
  return Object.fromEntries([...inputs, ...selects])
}

/** The rows of the reply that a page shows. */
function replyOf({ page }: Seen): Fields {
  const result = /<section[^>]*id="result"[^]*?<\/table>/.exec(page)?.[0] ?? ''
  const rows = [...result.matchAll(/<tr>\s*<td[^>]*>([^]*?)<\/td>\s*<td[^>]*>([^]*?)<\/td>/g)]
  return Object.fromEntries(rows.map(([, name, value]) => [plainText(name!), plainText(value!)] as const))
}

const types: Partial<Record<Operation, string>> = {
  'create-card-ref': 'create-card-ref-response',
  'create-card-ref-v4': 'create-card-ref-response',
  'get-card-info': 'get-card-info-response',
  status: 'status-response',
  'status-v4': 'status-response',
}

for (const operation of operationNames)
  test(`${operation}: the page fills in what works, signs it and shows the reply`, async () => {
    const path = `/docs/${operation}`
    const opened = await see(path)
    assert.equal(opened.status, 200)
    const ready = opened.page.includes('value="prepare"') ? await see(path, { _do: 'prepare' }) : opened
    const fields = fieldsOf(ready)
    const sent = await see(path, { ...fields, _do: 'send' })
    const reply = replyOf(sent)
    assert.equal(reply.type, types[operation] ?? 'async-response', sent.page)
    assert.equal(reply['error-code'], undefined)
    for (const { page } of [opened, ready, sent]) assert.ok(!page.includes(world.merchant.controlKey), 'the key is on no page')
    assert.match(sent.page, operation.endsWith('-v4') ? /Authorization: OAuth oauth_consumer_key/ : /‹control key›/)
    const asJson = replyOf(await see(path, { ...fields, _json: 'yes', _do: 'sign' }))
    assert.deepEqual(asJson, {}, 'signing alone sends nothing')
  })

for (const upload of ['cres', 'pares'])
  test(`the page makes a real challenge: the upload of its ${upload} ends in an approved payment`, async () => {
    const path = `/docs/upload-${upload}-result`
    const reply = replyOf(await see(path, { ...fieldsOf(await see(path, { _do: 'prepare' })), _do: 'send' }))
    const made = { orderid: reply['gateway-order-id']!, client_orderid: reply['merchant-order-id']!, serial: '' }
    assert.equal((await settled(world, made)).status, 'approved')
  })

test('the mobile API: each operation has a page with every path, its examples and what is signed, but no form', async () => {
  const { page: index } = await see('/docs')
  for (const operation of mobileOperationNames) {
    assert.ok(index.includes(`href="/docs/mobile/${operation}"`))
    const { status, page } = await see(`/docs/mobile/${operation}`)
    assert.equal(status, 200)
    assert.doesNotMatch(page, /<form/)
    const { request: asked, answer, refusals } = mobileRow(operation)
    for (const path of [...Object.keys(asked), ...Object.keys(answer)]) assert.ok(page.includes(`<code>${path}</code>`), path)
    for (const { cause } of refusals) assert.ok(page.includes(`<code>${cause}</code>`), cause)
    const { carries, answers } = mobileExample(operation)
    for (const signed of [carries, answers]) if (signed) assert.ok(page.includes(signed.signature))
  }
  assert.equal((await see('/docs/mobile/sale')).status, 404)
})

test('a refusal is shown as it came, in either format, and card data is masked', async () => {
  const fields = { ...fieldsOf(await see('/docs/sale')), cvv2: '12', _do: 'send' }
  const refused = await see('/docs/sale', fields)
  assert.equal(replyOf(refused)['error-code'], '3')
  const asJson = await see('/docs/sale', { ...fields, _json: 'yes' })
  assert.equal(replyOf(asJson)['error-message'], 'Parameter cvv2 is invalid: it is shorter than 3 characters')
  assert.match(asJson.page, /HTTP 400/)
  const shown = asJson.page.slice(asJson.page.indexOf('The request'), asJson.page.indexOf('<form'))
  assert.match(shown, /411111\*{6}1111/)
  assert.doesNotMatch(shown, /4111111111111111/)
})

test('typed values are shown as text', async () => {
  const nasty = `"><script>alert(1)</script>&'`
  const { page } = await see('/docs/sale', {
    ...fieldsOf(await see('/docs/sale')),
    order_desc: nasty,
    client_orderid: nasty,
    _do: 'send',
  })
  assert.ok(!page.includes('<script'))
  assert.equal(fieldsOf({ status: 200, headers: new Headers(), page }).order_desc, nasty)
  const linked = await see(`/docs/status?orderid=${encodeURIComponent(nasty)}`)
  assert.ok(!linked.page.includes('<script'))
})

test('nothing runs in the pages, nothing is loaded, and forms go to the reference alone', async () => {
  for (const path of ['/docs', '/docs/', '/docs/sale', '/docs/none', '/docs/mobile/check-sale', '/docs/mobile/none']) {
    const { headers, page } = await see(path)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(
      policy,
      /^default-src 'none'; style-src 'nonce-[^']+'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'$/,
    )
    assert.equal(headers.get('cache-control'), 'private, no-store')
    assert.doesNotMatch(page, /<script|\sstyle="|\son\w+=|\ssrc=|<link/)
  }
})

test('the root of the port leads to the reference', async () => {
  const { status, headers } = await see('/')
  assert.deepEqual([status, headers.get('location')], [302, '/docs'])
})

test('the texts and the OpenAPI documents are served, the latter with this base URL', async () => {
  for (const [name, text] of referenceFiles())
    if (name.endsWith('.md')) assert.equal((await see(`/docs/reference/${name}`)).page, text)
  const document = JSON.parse((await see('/docs/openapi.json')).page) as { servers: { url: string }[] }
  assert.equal(document.servers[0]?.url, world.baseUrl)
  const mobile = JSON.parse((await see('/docs/openapi-mobile.json')).page) as { servers: { url: string }[] }
  assert.equal(mobile.servers[0]?.url, world.baseUrl)
  const merchant = JSON.parse((await see('/docs/openapi-merchant-server.json')).page) as { paths: object }
  assert.ok('/sale/{invoiceId}/check' in merchant.paths)
  assert.equal((await see('/docs/reference/..%2F..%2Fpackage.json')).status, 404)
})

// oxfmt-ignore
const strangers: [what: string, headers: Record<string, string>][] = [
  ['another site, by its fetch metadata', { 'sec-fetch-site': 'cross-site' }],
  ['another port of this machine',        { 'sec-fetch-site': 'same-site' }],
  ['another origin',                      { origin: 'http://shop.localhost:8080' }],
  ['an origin that is hidden',            { origin: 'null' }],
]

for (const [what, headers] of strangers)
  test(`a form of ${what} tries nothing`, async () => {
    for (const wish of ['send', 'prepare', 'sign']) assert.equal((await see('/docs/sale', { _do: wish }, headers)).status, 403)
  })

test('the form of the page itself may be sent', async () => {
  assert.equal((await see('/docs/sale', { _do: 'sign' }, { origin, 'sec-fetch-site': 'same-origin' })).status, 200)
})

/** fetch names the host by itself. */
const underName = (host: string, path: string, method: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(origin + path, { method, headers: { host } }, (reply) => {
      reply.resume()
      resolve(reply.statusCode ?? 0)
    })
    asked.on('error', reject)
    asked.end()
  })

test('only under a name of this machine', async () => {
  const { port } = new URL(origin)
  for (const [path, method] of [
    ['/docs', 'GET'],
    ['/docs/sale', 'GET'],
    ['/docs/sale', 'POST'],
    ['/docs/openapi.json', 'GET'],
  ] as const) {
    for (const host of [`evil.example:${port}`, `127.0.0.1.evil.example`, `shop.localhost:${port}`])
      assert.equal(await underName(host, path, method), 421, `${host} ${path}`)
    assert.notEqual(await underName(`localhost:${port}`, path, method), 421)
  }
})

test('outside the sandbox there is no such page', async () => {
  const gateway = await startServe(world)
  try {
    const at = new URL(gateway.world.baseUrl).origin
    for (const path of ['/', '/docs', '/docs/sale', '/docs/openapi.json']) assert.equal((await fetch(at + path)).status, 404)
  } finally {
    await gateway.stop()
  }
})
