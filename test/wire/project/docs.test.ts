import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { operationNames, type Operation } from '../../../src/spec/gateway/operations.ts'
import { asyncReply, refusalFields } from '../../../src/spec/gateway/reply.ts'
import { referenceFiles } from '../../../src/reference/files.ts'
import { expandSamples } from '../../../tools/site/samples.ts'
import { settled } from '../../conformance/requests/client.ts'
import { fieldsOf, pagesAt, replyOf, unescaped } from '../../harness/documents/pages.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openWorld } from '../../harness/world/opening.ts'
import type { World } from '../../harness/world/world.ts'

/** The documents in the sandbox, where each operation of the gateway API can be tried. */

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

const see = pagesAt(origin)

const types: Partial<Record<Operation, string>> = {
  'create-card-ref': 'create-card-ref-response',
  'create-card-ref-v4': 'create-card-ref-response',
  'get-card-info': 'get-card-info-response',
  status: 'status-response',
  'status-v4': 'status-response',
}

for (const operation of operationNames)
  test(`${operation}: the page fills in what works, signs it and shows the reply`, async () => {
    const path = `/docs/reference/${operation}`
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
    const path = `/docs/reference/upload-${upload}-result`
    const reply = replyOf(await see(path, { ...fieldsOf(await see(path, { _do: 'prepare' })), _do: 'send' }))
    const made = { orderid: reply['gateway-order-id']!, client_orderid: reply['merchant-order-id']!, serial: '' }
    assert.equal((await settled(world, made)).status, 'approved')
  })

test('a refusal is explained by its own fields, and leads to what to do about it', async () => {
  const { page } = await see('/docs/reference/sale', { ...fieldsOf(await see('/docs/reference/sale')), email: '', _do: 'send' })
  const result = /<section[^>]*id="result"[^]*?<\/section>/.exec(page)![0]
  assert.ok(result.includes(refusalFields.type.means))
  assert.ok(!result.includes(asyncReply.type.means))
  assert.ok(result.includes('href="/docs/errors#refusals"'))
  assert.doesNotMatch(page, /class="panel curl"/, 'a request that cannot be signed is no command')
})

test('the curl command of a page is let in as it is', async () => {
  const { page } = await see('/docs/reference/sale')
  const command = unescaped(/class="panel curl"[^]*?<pre[^>]*>([^<]*)/.exec(page)![1]!)
  const { stdout } = await promisify(execFile)('bash', ['-c', command])
  assert.match(stdout, /type=async-response/)
})

test('a refusal is shown as it came, in either format, and card data is masked', async () => {
  const fields = { ...fieldsOf(await see('/docs/reference/sale')), cvv2: '12', _do: 'send' }
  const refused = await see('/docs/reference/sale', fields)
  assert.equal(replyOf(refused)['error-code'], '3')
  const asJson = await see('/docs/reference/sale', { ...fields, _json: 'yes' })
  assert.equal(replyOf(asJson)['error-message'], 'Parameter cvv2 is invalid: it is shorter than 3 characters')
  assert.match(asJson.page, /HTTP 400/)
  const shown = asJson.page.slice(asJson.page.indexOf('The request'), asJson.page.indexOf('<form class="panel"'))
  assert.match(shown, /411111\*{6}1111/)
  assert.doesNotMatch(shown, /4111111111111111/)
})

test('typed values are shown as text', async () => {
  const nasty = `"><script>alert(1)</script>&'`
  const { page } = await see('/docs/reference/sale', {
    ...fieldsOf(await see('/docs/reference/sale')),
    order_desc: nasty,
    client_orderid: nasty,
    _do: 'send',
  })
  assert.ok(!page.includes('<script>'))
  assert.equal(fieldsOf({ status: 200, headers: new Headers(), page }).order_desc, nasty)
  const linked = await see(`/docs/reference/status?orderid=${encodeURIComponent(nasty)}`)
  assert.ok(!linked.page.includes('<script>'))
})

const pages = ['/docs', '/docs/', '/docs/reference/sale', '/docs/install', '/docs/search', '/docs/none', '/docs/reference/none']

test('a page runs and loads files of this site alone, and forms go to it alone', async () => {
  for (const path of pages) {
    const { headers, page } = await see(path)
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    )
    assert.equal(headers.get('cache-control'), 'private, no-store')
    assert.doesNotMatch(page, /<style|\sstyle="|\son\w+=|<!--(?:try|bar)-->/)
    const loaded = [...page.matchAll(/<(?:link rel="stylesheet" href|script type="module" src|img src)="([^"]+)"/g)]
    assert.equal(loaded.length, 2 + page.split('<img').length - 1)
    assert.equal(page.split('<script').length, 2)
    for (const [, file] of loaded) assert.equal((await see(file!)).status, 200, file)
  }
})

test('where pages were once leads to where they are', async () => {
  for (const [old, now] of [
    ['/', '/docs'],
    ['/docs/sale', '/docs/reference/sale'],
    ['/docs/capture?orderid=1', '/docs/reference/capture?orderid=1'],
    ['/docs/mobile/perform-sale', '/docs/reference/mobile-perform-sale'],
  ] as const) {
    const { status, headers } = await see(old)
    assert.deepEqual([status, headers.get('location')], [302, now])
  }
})

test('no link of any page leads nowhere, and each page has its Markdown', async () => {
  const { page: search } = await see('/docs/search')
  const listed = [...search.matchAll(/<h2><a href="([^"]+)"/g)].map(([, path]) => path!)
  assert.ok(listed.length > 60)
  const ids = new Map<string, Set<string>>()
  const idsOf = async (path: string) => {
    const { status, page } = await see(path)
    assert.equal(status, 200, path)
    return new Set([...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!))
  }
  for (const path of listed) {
    const { page } = await see(path)
    for (const [, link] of page.matchAll(/<a (?:class="\w+" )?href="([^"]+)"/g)) {
      if (!link!.startsWith('/') && !link!.startsWith('#')) continue
      const [to = '', anchor] = unescaped(link!).split('#')
      const target = to === '' ? path : to
      if (!ids.has(target)) ids.set(target, await idsOf(target))
      if (anchor !== undefined) assert.ok(ids.get(target)!.has(decodeURIComponent(anchor)), `${path} leads to ${link}`)
    }
    const twin = await see(`${path}.md`)
    assert.equal(twin.headers.get('content-type'), 'text/markdown;charset=utf-8')
    assert.match(twin.page, /^# /m)
    assert.ok(page.includes(`href="${path}.md"`))
  }
})

const root = join(import.meta.dirname, '../../../..')
const sampleOf = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined)
/** Without what a text leads to, which has other names on the site; and with its samples. */
const wordsOf = (text: string) => expandSamples(text, sampleOf).replaceAll(/\]\([^)]*\)/g, ']')

test('the texts and the OpenAPI documents are served, the latter with this base URL', async () => {
  for (const [name, text] of referenceFiles()) {
    const path = `/docs/reference/${name}`.replace('/README', '')
    if (name.endsWith('.md')) assert.equal(wordsOf((await see(path)).page), wordsOf(text))
  }
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
    for (const page of ['sale', 'mobile-perform-sale', 'operator'])
      for (const wish of ['send', 'prepare', 'sign'])
        assert.equal((await see(`/docs/reference/${page}`, { _do: wish }, headers)).status, 403)
  })

test('the form of the page itself may be sent', async () => {
  assert.equal((await see('/docs/reference/sale', { _do: 'sign' }, { origin, 'sec-fetch-site': 'same-origin' })).status, 200)
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
    ['/docs/reference/sale', 'GET'],
    ['/docs/reference/sale', 'POST'],
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
    for (const path of ['/', '/docs', '/docs/reference/sale', '/docs/openapi.json'])
      assert.equal((await fetch(at + path)).status, 404)
  } finally {
    await gateway.stop()
  }
})
