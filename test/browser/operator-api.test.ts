import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { migratedDatabase } from '../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../harness/world/opening.ts'
import { keyFileIn, startOwnApi } from '../harness/operators/api.ts'
import { sharedBrowser } from './stand.ts'

/** A page of another origin, in the browser of an operator. */

const browser = await sharedBrowser()
const { url: databaseUrl } = closing(await migratedDatabase())
const keyFile = keyFileIn(openDirectory('operator-api-browser'))
const api = closing(await startOwnApi({ databaseUrl, keyFile, limits: { address: 0 } }))
const { token } = await api.tokenFor('owner')

const action = `${api.url}/operator/v1/user/add`
const body = JSON.stringify({ name: 'evil', role: 'owner' })
const enctypes = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']
/** A form of text/plain can send JSON: its name and its value have a = between them. */
const forms = enctypes.map(
  (enctype) => `<form action="${action}" method="post" enctype="${enctype}" target="${enctype}">
    <input type="hidden" name='${body.replace('}', ',"x":"')}' value='"}'><button>${enctype}</button></form>
    <iframe name="${enctype}"></iframe>`,
)
const html = `<!doctype html><title>Evil</title>${forms.join('')}`
const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
await once(evil.listen(0, '127.0.0.1'), 'listening')
closing({ stop: () => evil.close() })
const origin = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`

/** What would tell of a change. */
const users = () => api.tell(['user', 'list', '--json'])
const trail = () => api.tell(['audit', 'list', '--limit', '1000', '--json'])

test('a page of another origin makes the API do nothing, and reads no answer of it', () =>
  browser.visit({ expects: [/CORS policy/, /status of 401/, /ERR_FAILED/, /frame-ancestors 'none'/] }, async (page, context) => {
    const before = [await users(), await trail()]
    // Cookies of a host are sent to all its ports, so the browser adds these to each request.
    const names = ['token', 'session', 'authorization', 'Authorization']
    await context.addCookies(names.map((name) => ({ name, value: `Bearer%20${token}`, url: api.url })))
    const sent: string[] = []
    context.on('request', (request) => {
      if (request.url().startsWith(api.url)) sent.push(request.method())
    })
    await page.goto(origin)
    for (const enctype of enctypes) {
      const answered = page.waitForResponse((response) => response.url() === action)
      await page.getByRole('button', { name: enctype }).click()
      assert.equal((await answered).status(), 401, enctype)
    }
    const text = "(one) => one.contentDocument?.body.textContent ?? ''"
    assert.equal(await page.evaluate(`Array.from(document.querySelectorAll('iframe'), ${text}).join('')`), '')

    const read = (to: string, how: RequestInit) =>
      page.evaluate(
        async ([target, init]) =>
          fetch(target, init).then(
            async (response) => `${response.type} ${response.status} ${await response.text()}`,
            (error: Error) => error.name,
          ),
        [to, how] as const,
      )
    const json = { 'content-type': 'application/json' }
    const [credentials, method] = ['include', 'POST'] as const
    const asked: [RequestInit, answer: string][] = [
      [{ method, body, credentials, mode: 'no-cors' }, 'opaque 0 '],
      [{ method, body, credentials, mode: 'no-cors', headers: json }, 'opaque 0 '],
      [{ method, body, credentials, mode: 'cors' }, 'TypeError'],
      [{ method, body, credentials, mode: 'cors', headers: json }, 'TypeError'],
      // Even with the token itself a page is not let through.
      [{ method, body, mode: 'cors', headers: { ...json, authorization: `Bearer ${token}` } }, 'TypeError'],
      [{ method, body, mode: 'no-cors', headers: { ...json, authorization: `Bearer ${token}` } }, 'opaque 0 '],
    ]
    for (const [how, answer] of asked) assert.equal(await read(action, how), answer, JSON.stringify(how))
    const list = `${api.url}/operator/v1/user/list`
    assert.equal(await read(list, { credentials, mode: 'no-cors' }), 'opaque 0 ')
    assert.equal(await read(list, { credentials, mode: 'cors' }), 'TypeError')

    assert.ok(sent.includes('POST') && sent.includes('GET'), 'requests went out')
    assert.deepEqual([await users(), await trail()], before)
  }))
