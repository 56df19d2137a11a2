import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { follow, type Visit } from '../harness/browser/browser.ts'
import { complaintsOf, makeReady, sticksOut } from '../harness/browser/looks.ts'
import { openHttp } from '../harness/world/opening.ts'
import { makeSite } from '../../tools/site/make.ts'
import { sharedBrowser, sharedStand } from './stand.ts'

/** The documents in a browser: the search, the samples, and how pages look at both widths. */

const { world } = await sharedStand()
const browser = await sharedBrowser()
const docs = `${new URL(world.baseUrl).origin}/docs`

const pages = ['', '/install', '/readme', '/errors', '/reference/sale', '/reference/states', '/search?q=sale', '/nothing']

test('a page fits its window from a phone to a wall, no name breaks, and nothing breaks its policy', () =>
  browser.visit({ expects: [/404/] }, async (page) => {
    for (const path of pages) {
      await page.goto(docs + path)
      assert.deepEqual(await sticksOut(page), [], path)
      for (const width of [390, 1_280]) {
        await page.setViewportSize({ width, height: 900 })
        const names = `[...document.querySelectorAll('td code.name')].filter((one) => one.getClientRects().length > 1)`
        assert.deepEqual(await page.evaluate<string[]>(`${names}.map((one) => one.textContent)`), [], path)
      }
    }
  }))

for (const [what, how] of [
  ['at a desk', {}],
  ['on a phone', { phone: true }],
] as [string, Visit][])
  test(`everybody can read a page, in both themes, ${what}`, () =>
    browser.visit(how, async (page) => {
      await makeReady(page)
      for (const path of ['', '/install', '/reference/sale', '/reference/errors', '/search?q=sale']) {
        await page.goto(docs + path)
        assert.deepEqual(await complaintsOf(page), [])
      }
    }))

const search = (page: Page) => page.getByRole('combobox', { name: 'Search the documents' })

test('the search finds a field by keyboard alone, and says page and heading', () =>
  browser.visit({}, async (page) => {
    await page.goto(docs)
    await page.keyboard.press('/')
    await page.keyboard.type('idempot')
    const first = page.getByRole('option').first()
    await first.waitFor()
    assert.match(await first.innerText(), /Idempotency\s+Reference: How the API behaves/)
    await page.keyboard.press('ArrowDown')
    assert.equal(await first.getAttribute('aria-selected'), 'true')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/choices#idempotency$/)
    await search(page).fill('idempot')
    await first.waitFor()
    await page.keyboard.press('Escape')
    await first.waitFor({ state: 'detached' })
  }))

test('Enter lists all that is found, also what one has misspelt; and it says when nothing is found', () =>
  browser.visit({ phone: true }, async (page) => {
    await page.goto(docs)
    await search(page).fill('idempotancy')
    await page.keyboard.press('Enter')
    await page.getByText(/[0-9]+ places have “idempotancy” in it/).waitFor()
    await page
      .locator('.hits')
      .getByRole('link', { name: /^Idempotency/ })
      .first()
      .waitFor()
    await search(page).fill('xyzzyx')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing here has “xyzzyx” in it.').waitFor()
  }))

test('without script the search leads to all headings, and every sample is there', () =>
  browser.visit({ script: false }, async (page) => {
    await page.goto(docs)
    await page.getByRole('searchbox').fill('void')
    await page.keyboard.press('Enter')
    await follow(page, page.getByRole('link', { name: 'Captures, returns and voids', exact: true }).last())
    await page.getByRole('heading', { name: 'Captures, returns and voids' }).waitFor()
    await page.goto(`${docs}/reference/sale`)
    for (const file of ['examples/sale.ts', 'examples/python/sale.py', 'examples/curl/sale.sh'])
      assert.ok(await page.getByText(file).isVisible(), file)
    await page.getByText('As a curl command').last().click()
    assert.ok(await page.getByText("curl -sS 'http://127.0.0.1:8080/gateway/api/v2/sale/101'").isVisible())
  }))

test('a sample is shown in one language, which other pages remember', () =>
  browser.visit({}, async (page) => {
    await page.goto(`${docs}/reference/sale`)
    const shown = page.locator('.sample:visible figcaption')
    assert.deepEqual(await shown.allInnerTexts(), ['examples/sale.ts'])
    await page.getByRole('tab', { name: 'TypeScript' }).focus()
    await page.keyboard.press('ArrowLeft')
    assert.deepEqual(await shown.allInnerTexts(), ['examples/curl/sale.sh'])
    assert.equal(await page.getByRole('tab', { name: 'curl' }).getAttribute('aria-selected'), 'true')
    await page.goto(`${docs}/reference/status`)
    assert.deepEqual(await shown.allInnerTexts(), ['examples/curl/status.sh'])
  }))

test('a curl command is copied whole', () =>
  browser.visit({}, async (page, context) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${docs}/reference/sale`)
    const panel = page.locator('.panel.curl')
    await panel.getByRole('button', { name: 'Copy' }).press('Enter')
    await panel.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), (await panel.locator('pre').innerText()).trim())
  }))

const types: Readonly<Record<string, string>> = {
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  json: 'application/json',
}

test('an export works below any path of a server of files: its links, its search, and no form that could not send', async () => {
  const { files, complaints } = await makeSite({ root: join(import.meta.dirname, '../../..'), isExport: true })
  assert.deepEqual(complaints, [])
  const { origin } = await openHttp((request, response) => {
    const path = new URL(request.url ?? '', 'http://files').pathname.replace('/some/where/', '')
    const file = files.get(path)
    const type = types[path.split('.').at(-1)!] ?? 'application/octet-stream'
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': `${type};charset=utf-8` }).end(file)
  })
  await browser.visit({}, async (page) => {
    await page.goto(`${origin}/some/where/index.html`)
    await follow(page, page.getByRole('link', { name: 'sale', exact: true }).first())
    await page.getByText('In the sandbox, this page has a form').waitFor()
    assert.equal(await page.locator('form.panel').count(), 0)
    await search(page).fill('idempotency')
    await page.getByRole('option').first().click()
    await page.getByRole('heading', { name: 'Idempotency', exact: true }).waitFor()
  })
})
