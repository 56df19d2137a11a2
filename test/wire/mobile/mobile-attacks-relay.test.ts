import assert from 'node:assert/strict'
import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { beforeEach, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { startMerchantServer } from '../../../simulators/merchant/server.ts'
import { closing, openHttp } from '../../harness/world/opening.ts'

/**
 * The demo app's relay to the gateway, attacked by other pages of the same browser and by other
 * programs: it leads to the calls of the mobile API and nowhere else.
 */

/** In the place of the gateway: it writes down what comes, and answers what a test wants. */
const came: { method: string; url: string; body: string; type: string | undefined; cookie: string | undefined }[] = []
let answer = (_request: IncomingMessage, response: ServerResponse): void => void response.end('{}')
const { port, origin } = await openHttp((incoming, response) => {
  let body = ''
  incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
  incoming.on('end', () => {
    const { method = '', url = '', headers } = incoming
    came.push({ method, url, body, type: headers['content-type'], cookie: headers.cookie })
    answer(incoming, response)
  })
})
const server = closing(
  await startMerchantServer({
    host: '127.0.0.1',
    port: 0,
    login: 'shop',
    controlKey: secret('B17F59B4-A7DC-41B4-8FF9-37D986B43D20'),
    gatewayBaseUrl: `${origin}/gateway`,
    app: { endpoints: [{ name: 'mobile', id: '7' }], acquirerAdminUrl: origin },
    clock: systemClock,
    random: systemRandom,
    log: openLog({ level: 'fatal', destination: process.stderr }),
  }),
)
beforeEach(() => {
  came.length = 0
  answer = (_request, response) => void response.end('{}')
})

type Headers = Record<string, string>
const good = '/app/gateway/sale/7/invoice-1'

/** With the path as it is written, which a URL would tidy. */
function post(path: string, headers: Headers = {}, { method = 'POST', body = '{"a":1}' } = {}) {
  return new Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>((resolve, reject) => {
    const sent = { 'content-type': 'application/json', 'content-length': String(body.length), ...headers }
    const all = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ''))
    const outgoing = request({ host: '127.0.0.1', port: server.port, path, method, headers: all, agent: false }, (incoming) => {
      let text = ''
      incoming.on('data', (chunk: Buffer) => (text += chunk.toString()))
      incoming.on('end', () => resolve({ status: incoming.statusCode!, headers: incoming.headers, body: text }))
    })
    outgoing.on('error', reject).end(body)
  })
}

test('its own call is passed on as it is, without what else the browser sends', async () => {
  const { status, headers } = await post(good, { 'sec-fetch-site': 'same-origin', cookie: 'a=b', authorization: 'Basic x' })
  assert.equal(status, 200)
  const url = '/gateway/dapi/v1/sale/7/invoice-1'
  assert.deepEqual(came, [{ method: 'POST', url, body: '{"a":1}', type: 'application/json', cookie: undefined }])
  assert.equal(headers['access-control-allow-origin'], undefined)
})

describe('other paths of the gateway', () => {
  // oxfmt-ignore
  const paths = [
    '/app/gateway/sale/../x', '/app/gateway/sale/7/..', '/app/gateway/sale/../../..', '/app/gateway/sale/../../x', '/app/gateway/sale/%2e%2e/%2e%2e/x', '/app/gateway/sale/%2E./x/y', '/app/gateway/sale/./x', '/app/gateway/sale/7/.',
    '/app/gateway/sale/7/invoice-1/..', '/app/gateway/sale/7/invoice-1/.', '/app/gateway/sale/7/%2e%2e/status', '/app/gateway/sale/7/..%2f..%2fapi', '/app/gateway/sale/7/..%5c..', '/app/gateway/sale/7/a%00b', '/app/gateway/sale/7/a%0d%0ab',
    '/app/gateway/sale/7/a%3fx', '/app/gateway/sale/7/a%23x', '/app/gateway/../api/v2', '/app/gateway/api/v2/sale', '/app/gateway/Sale/7/x', '/app/gateway/sale%2f7/x/y', '/app/gateway//7/x', '/app/gateway/sale//x', '/app/gateway/sale/7/', '/app/gateway/sale/7',
    '/app/gateway/sale/7/x/y/z', `/app/gateway/sale/7/${'x'.repeat(129)}`, '/app/gateway/sale/7/%ff', '/app/gateway/sale/7/%', '/app/gateway/sale/7@evil/x', '/app/gateway/sale/７/x',
  ]
  for (const path of paths)
    test(path.slice(0, 60), async () => {
      const { status } = await post(encodeURI(path).replaceAll('%25', '%'))
      assert.deepEqual([status >= 400 && status < 500, came], [true, []], String(status))
    })
  test('a query is not passed on', async () => {
    await post(`${good}?x=1`)
    assert.deepEqual(
      came.map(({ url }) => url),
      ['/gateway/dapi/v1/sale/7/invoice-1'],
    )
  })
})

describe('other pages', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [string, Headers])[] = [
    ['of another site',                    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['of this machine, another port',      { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }],
    ['typed into the address bar',         { 'sec-fetch-site': 'none' }],
    ['a form of text',                     { 'content-type': 'text/plain' }],
    ['a form',                             { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a form with files',                  { 'content-type': 'multipart/form-data; boundary=x' }],
    ['no type',                            { 'content-type': '' }],
    ['a type that only begins so',         { 'content-type': 'application/jsonp' }],
    ['a name that was pointed here',       { host: 'evil.example' }],
    ['such a name with the port',          { host: 'evil.example:80', 'sec-fetch-site': 'same-origin' }],
    ['a name that begins like this machine', { host: '127.0.0.1.evil.example' }],
    ['a name that ends like this machine', { host: 'evil.localhost' }],
    ['a name before this machine',         { host: 'evil.example@127.0.0.1' }],
    ['this machine as a number',           { host: '2130706433' }],
    ['all addresses',                      { host: '0.0.0.0' }],
    ['no name',                            { host: ' ' }],
  ]
  for (const [what, headers] of cases)
    test(what, async () => {
      const { status, headers: told } = await post(good, headers)
      assert.deepEqual([status >= 400 && status < 500, came], [true, []], String(status))
      assert.equal(told['access-control-allow-origin'], undefined)
    })
  test('a name in a header of a proxy counts for nothing', async () => {
    const { status } = await post(good, { host: 'evil.example', 'x-forwarded-host': '127.0.0.1' })
    assert.deepEqual([status, came], [421, []])
  })
  test('a question before a call of another site is not answered with leave', async () => {
    const asks = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    }
    const { status, headers } = await post(good, asks, { method: 'OPTIONS', body: '' })
    assert.ok(status >= 400, String(status))
    const leave = Object.keys(headers).filter((name) => name.startsWith('access-control'))
    assert.deepEqual(leave, [])
  })
  test("the page and the bank's entries are served only under names of this machine too", async () => {
    for (const path of ['/app', '/app/flow.js', '/app/bank?bin=411111&since=0'])
      assert.equal((await post(path, { host: 'evil.example' }, { method: 'GET', body: '' })).status, 421, path)
    assert.deepEqual(came, [])
  })
})

test('a redirect of the gateway is not followed, and its headers are not passed back', async () => {
  answer = (_request, response) => void response.writeHead(307, { location: `http://127.0.0.1:${port}/elsewhere` }).end()
  assert.equal((await post(good)).status, 502)
  assert.equal(came.length, 1)
  answer = (_request, response) =>
    void response.writeHead(200, { 'set-cookie': 'a=b', 'access-control-allow-origin': '*' }).end('{}')
  const { headers } = await post(good)
  assert.deepEqual(
    [headers['set-cookie'], headers['access-control-allow-origin'], headers['x-content-type-options']],
    [undefined, undefined, 'nosniff'],
  )
})

test('a body that is too long is not passed on', async () => {
  const { status } = await post(good, {}, { body: `"${'x'.repeat(70_000)}"` })
  assert.deepEqual([status, came], [413, []])
})
