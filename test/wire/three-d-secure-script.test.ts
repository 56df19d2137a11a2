import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import type { PageOrder } from '../../src/pages/three-d-secure-pages.ts'
import { method, openPages, over, param, publicUrl, transId, type Pages } from '../harness/three-d-secure-pages.ts'

/** The scripts as the pages carry them, run against the few things of a browser that they touch. */

let pages: Pages
before(async () => {
  pages = await openPages()
})
after(() => pages?.close())

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
  const timers: { fn: () => void; ms: number }[] = []
  const listeners: ((event: Told) => void)[] = []
  const told: [unknown, string][] = []
  const frame = { contentWindow: {} }
  class HTMLFormElement {
    readonly id: string
    readonly dataset = { token: data('token'), waitMs: data('wait-ms') }
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
    addEventListener: (_: string, listen: (event: Told) => void) => listeners.push(listen),
    setTimeout: (fn: () => void, ms: number) => timers.push({ fn, ms }),
  }
  const document = {
    getElementById: (id: string) => forms.get(id) ?? (page.includes(`id="${id}"`) ? returned : null),
    querySelector: (what: string) =>
      what === 'iframe' ? (page.includes('<iframe') ? frame : null) : wait ? { dataset: { afterMs: wait } } : null,
  }
  const screen = { colorDepth: 30, width: 1_280.4, height: 720 }
  const navigator = { language: 'pt-BR', javaEnabled: () => false }
  runInNewContext(script, { window, document, screen, navigator, HTMLFormElement, location: { origin: publicUrl } })
  const value = (name: string) => fields.get(name)?.value
  return { posts, timers, told, frame, value, tell: (event: Told) => listeners.forEach((listen) => listen(event)) }
}

const open = async (order: PageOrder) => {
  const token = pages.put(order)
  return { token, browser: browserWith(await (await pages.get(token)).text()) }
}
const both = ['three-d-secure-form', 'browser']

/** What the frame says, as the notification page really says it. */
async function notified(token: string) {
  const answer = await pages.post(`${token}/method`, { threeDSMethodData: param({ threeDSServerTransID: transId }) })
  const { told } = browserWith(await answer.text())
  assert.equal(told.length, 1)
  return { data: told[0]![0], origin: told[0]![1] }
}

test('the page posts what the browser says as soon as the method came back, once', async () => {
  const { token, browser } = await open(method)
  assert.deepEqual([browser.posts, browser.timers.map(({ ms }) => ms)], [['three-d-secure-form'], [10_000]])
  const { data, origin } = await notified(token)
  assert.equal(origin, publicUrl)
  browser.tell({ data, origin, source: browser.frame.contentWindow })
  browser.tell({ data, origin, source: browser.frame.contentWindow })
  browser.timers.forEach(({ fn }) => fn())
  assert.deepEqual(browser.posts, both)
  const names = ['methodReturned', 'javascriptEnabled', 'javaEnabled', 'language', 'colorDepth', 'screenHeight', 'screenWidth']
  assert.deepEqual(names.map(browser.value), ['true', 'true', 'false', 'pt-BR', '30', '720', '1280'])
  assert.match(browser.value('timeZone')!, /^-?\d{1,4}$/)
})

test('a message from another origin, another window or another payment is not the method', async () => {
  const { token, browser } = await open(method)
  const { data, origin } = await notified(token)
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

test('without a method the browser is described at once', async () => {
  const { methodUrl: _, ...without } = method
  const { browser } = await open(without)
  assert.deepEqual([browser.posts, browser.timers.length, browser.value('methodReturned')], [['browser'], 0, 'false'])
})

test('the way back is taken at once, and after a while where the bank has said something', async () => {
  const { browser } = await open(over)
  assert.deepEqual([browser.posts, browser.timers.length], [['three-d-secure-form'], 0])
  const { browser: reading } = await open({ ...over, cardholderInfo: 'Call us.' })
  assert.deepEqual([reading.posts, reading.timers.map(({ ms }) => ms)], [[], [10_000]])
  reading.timers.forEach(({ fn }) => fn())
  assert.deepEqual(reading.posts, ['three-d-secure-form'])
})
