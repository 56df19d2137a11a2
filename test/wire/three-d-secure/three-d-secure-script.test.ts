import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import type { PageOrder } from '../../../src/pages/three-d-secure-pages.ts'
import { closing } from '../../harness/world/opening.ts'
import {
  filled,
  method,
  now,
  openPages,
  param,
  publicUrl,
  read,
  transId,
  working,
} from '../../harness/three-d-secure/three-d-secure-pages.ts'

/** The scripts as the pages carry them, run against the few things of a browser that they touch. */

const pages = closing(await openPages())

interface Told {
  origin: string
  source: unknown
  data: unknown
}

function browserWith(page: string) {
  const script = /<script[^>]*>([^]*)<\/script>/.exec(page)![1]!
  const data = (name: string) => new RegExp(`data-${name}="([^"]*)"`).exec(page)?.[1] ?? ''
  const fields = new Map<string, { value: string }>()
  const posts: string[] = []
  const fetched: { path: string; accept: string; body: string }[] = []
  const timers: { fn: () => void; ms: number }[] = []
  const listeners: ((event: Told) => void)[] = []
  const told: [unknown, string][] = []
  const frame = { contentWindow: {} }
  class HTMLFormElement {
    readonly id: string
    readonly dataset = {
      token: data('token'),
      waitMs: data('wait-ms'),
      begun: data('begun'),
      accept: data('accept'),
      returned: data('returned'),
    }
    readonly elements = {
      namedItem: (name: string) => fields.get(name) ?? fields.set(name, { value: '' }).get(name),
    }
    constructor(id: string) {
      this.id = id
    }
    submit() {
      posts.push(this.id)
    }
  }
  const forms = new Map([...page.matchAll(/<form\s+id="([^"]*)"/g)].map(([, id]) => [id!, new HTMLFormElement(id!)]))
  const returned = { dataset: { token: data('token'), origin: data('origin') } }
  const wait = data('after-ms')
  const window = {
    parent: { postMessage: (message: unknown, origin: string) => told.push([message, origin]) },
    addEventListener: (of: string, listen: (event: Told) => void) => void (of === 'message' && listeners.push(listen)),
    setTimeout: (fn: () => void, ms: number) => timers.push({ fn, ms }),
  }
  const document = {
    getElementById: (id: string) => forms.get(id) ?? (page.includes(`id="${id}"`) ? returned : null),
    querySelector: (what: string) =>
      what !== 'iframe' ? { dataset: { afterMs: wait } } : page.includes('<iframe') ? frame : null,
  }
  const screen = { colorDepth: 30, width: 1_280.4, height: 720 }
  const navigator = { language: 'pt-BR', javaEnabled: () => false }
  runInNewContext(script, {
    window,
    document,
    screen,
    navigator,
    HTMLFormElement,
    // The content of a form, in two steps; the second gives the text of a body.
    FormData: function formData() {},
    URLSearchParams: function body() {
      return [...fields]
        .map(([name, { value: text }]) => `${name}=${text}`)
        .join('&')
        .split('\n')
    },
    fetch: (path: string, { headers, body }: { headers: { accept: string }; body: string[] }) =>
      Promise.resolve(void fetched.push({ path, accept: headers.accept, body: body.join('') })),
    location: { origin: publicUrl },
    history: { state: null },
  })
  const value = (name: string) => fields.get(name)?.value
  return { posts, timers, told, fetched, frame, value, tell: (event: Told) => listeners.forEach((listen) => listen(event)) }
}

const open = async (order: PageOrder, query = '') => {
  const token = pages.put(order)
  return { token, browser: browserWith(await (await pages.get(token + query)).text()) }
}

const both = ['three-d-secure-form', 'browser']

/** The message of the frame, as the notification page really sends it, and its target. */
async function notified(token: string) {
  const answer = await pages.post(`${token}/method`, { threeDSMethodData: param({ threeDSServerTransID: transId }) })
  const { told } = browserWith(await answer.text())
  assert.equal(told.length, 1)
  return { data: { ...(told[0]![0] as object) }, to: told[0]![1] }
}

test('the page posts what the browser says as soon as the method came back, once', async () => {
  const { token, browser } = await open(method)
  assert.deepEqual([browser.posts, browser.timers.map(({ ms }) => ms)], [['three-d-secure-form'], [10_000]])
  const { data, to } = await notified(token)
  // A page that a merchant printed may be around it, of whatever origin; the message has nothing
  // that such a page does not know.
  assert.deepEqual([data, to], [{ type: 'three-d-secure method returned', token }, '*'])
  browser.tell({ data, origin: publicUrl, source: browser.frame.contentWindow })
  browser.tell({ data, origin: publicUrl, source: browser.frame.contentWindow })
  browser.timers.forEach(({ fn }) => fn())
  assert.deepEqual(browser.posts, both)
  const names = ['methodReturned', 'javascriptEnabled', 'javaEnabled', 'language', 'colorDepth', 'screenHeight', 'screenWidth']
  assert.deepEqual(names.map(browser.value), ['true', 'true', 'false', 'pt-BR', '30', '720', '1280'])
  assert.match(browser.value('timeZone')!, /^-?\d{1,4}$/)
})

test('a message from another origin, another window or another payment is not the method', async () => {
  const { token, browser } = await open(method)
  const { data } = await notified(token)
  const origin = publicUrl
  const other = await notified(pages.put(method))
  const source = browser.frame.contentWindow
  browser.tell({ data, origin: 'https://acs.example.com', source })
  browser.tell({ data, origin: 'null', source })
  browser.tell({ data, origin, source: {} })
  browser.tell({ data: other.data, origin, source })
  browser.tell({ data: null, origin, source })
  browser.tell({ data: 'three-d-secure method returned', origin, source })
  assert.deepEqual(browser.posts, ['three-d-secure-form'])
  browser.timers.forEach(({ fn }) => fn())
  assert.deepEqual([browser.posts, browser.value('methodReturned')], [both, 'false'])
})

test('a page reports the start of the method once, with the browser data of the sale or its own', async () => {
  const described = pages.put({ ...method, saleDescribes: true })
  const { page } = await read(await pages.get(described))
  assert.deepEqual([page.includes('data-begun'), page.includes('data-wait-ms="10000"')], [false, true])
  const seen = pages.begun.filter(({ token }) => token === described)
  assert.deepEqual(
    seen.map((one) => one.seen.ip),
    ['203.0.113.7'],
  )
  const undescribed = pages.put(method)
  assert.match((await read(await pages.get(undescribed))).page, new RegExp(`data-begun="/gateway/3ds/${undescribed}/begun"`))
  const told = () => pages.begun.filter(({ token }) => token === undescribed)
  assert.deepEqual(told(), [])
  for (const fields of [{}, { ...filled, screenWidth: 'wide' }]) await pages.post(`${undescribed}/begun`, fields)
  assert.deepEqual(told(), [])
  assert.equal((await pages.post(`${undescribed}/begun`, filled)).status, 200)
  assert.deepEqual(
    told().map((one) => [one.seen.screenWidth, one.seen.acceptHeader, one.seen.javascriptEnabled]),
    [[filled.screenWidth, 'text/html', true]],
  )
  // By then the gateway waits, the order is further on, or a printed page has run the method:
  // nothing begins.
  for (const [order, query] of [
    [{ ...method, saleDescribes: true, methodUntil: now + 4_000 }, ''],
    [{ ...method, saleDescribes: true }, '?method=late'],
    [working, ''],
  ] as const) {
    const token = pages.put(order)
    await pages.get(token + query)
    if (query === '') await pages.post(`${token}/begun`, filled)
    assert.deepEqual(
      pages.begun.filter((one) => one.token === token),
      [],
    )
  }
  assert.equal((await pages.post(`${'A'.repeat(22)}/begun`, filled)).status, 404)
})

test('the page describes its browser when the method begins, with its own Accept header, unless the gateway waits', async () => {
  const { token, browser } = await open(method)
  assert.equal(browser.posts.length, 1)
  const [begun, ...more] = browser.fetched
  assert.deepEqual([begun?.path, begun?.accept, more], [`/gateway/3ds/${token}/begun`, '*/*', []])
  for (const part of ['javascriptEnabled=true', 'javaEnabled=false', 'colorDepth=30', 'screenHeight=720', 'screenWidth=1280'])
    assert.ok(begun?.body.includes(part), part)
  const { browser: waiting } = await open({ ...method, methodUntil: now + 4_000 })
  assert.deepEqual([waiting.fetched, waiting.timers.map(({ ms }) => ms)], [[], [4_000]])
})
