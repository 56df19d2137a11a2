import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../harness/clock/until.ts'
import { follow, type Visit } from '../harness/browser/browser.ts'
import { sharedStand } from './stand.ts'

/** The documents in a browser, where each operation can be tried. */

const { world, browser } = await sharedStand()
const origin = new URL(world.baseUrl).origin

const open = async (page: Page, operation: string) => {
  await page.goto(`${origin}/docs`)
  await follow(page, page.getByRole('link', { name: operation, exact: true }).first())
  await page.getByRole('heading', { name: operation, level: 1 }).waitFor()
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const replied = (page: Page, type: string) => page.getByRole('heading', { name: `The reply: ${type}` }).waitFor()

const visits: [what: string, how: Visit][] = [
  ['on a desk', {}],
  ['on a phone, in the dark, without script', { phone: true, dark: true, script: false }],
]
/** A script on the page measures. */
const widths: [what: string, how: Visit][] = [
  ['at a desk', { moving: true }],
  ['on a phone, in the dark', { phone: true, dark: true }],
]

for (const [what, how] of visits)
  test(`a preauthorisation is made and captured, ${what}`, () =>
    browser.visit(how, async (page) => {
      await open(page, 'preauth')
      await press(page, 'Send')
      await replied(page, 'async-response')
      await follow(page, page.locator('#result').getByRole('link', { name: 'status', exact: true }))
      // It is approved a moment after it was accepted.
      const isApproved = async () => {
        await press(page, 'Send')
        await replied(page, 'status-response')
        return (await page.locator('#result').getByText('auth_approved').count()) > 0
      }
      assert.ok(await until(isApproved, (approved) => approved, 60_000))
      const orderid = await page.locator('input[name=orderid]').inputValue()
      const name = await page.locator('input[name=client_orderid]').inputValue()
      await page.goto(`${origin}/docs/reference/capture?${new URLSearchParams({ orderid, client_orderid: name }).toString()}`)
      await press(page, 'Send')
      await replied(page, 'async-response')
    }))

test('a call of v4 shows base string and header, and is let in', () =>
  browser.visit({}, async (page) => {
    await open(page, 'status-v4')
    await press(page, 'Make one')
    const signed = page.locator('.columns')
    await signed.getByText(/^POST&http%3A%2F%2F127\.0\.0\.1/).waitFor()
    await press(page, 'Send')
    await replied(page, 'status-response')
    await signed.getByText(/^Authorization: OAuth oauth_consumer_key="sandbox"/).waitFor()
  }))

test('the gateway names the missing fields of a form, and typed values stay', () =>
  browser.visit({}, async (page) => {
    await open(page, 'sale')
    await page.getByLabel('email').fill('')
    await page.getByLabel('order_desc').fill('A <b>bold</b> order')
    await press(page, 'Send')
    await replied(page, 'validation-error')
    await page.getByText('Parameter control is required').first().waitFor()
    assert.equal(await page.getByLabel('order_desc').inputValue(), 'A <b>bold</b> order')
  }))

test('by keyboard alone', () =>
  browser.visit({}, async (page) => {
    await open(page, 'account-verification')
    await page.getByLabel('client_orderid').focus()
    await page.keyboard.press('Enter')
    await replied(page, 'async-response')
  }))

for (const [what, how] of widths)
  test(`no page is wider than the window, ${what}`, () =>
    browser.visit(how, async (page) => {
      for (const path of ['', '/reference/sale', '/reference/status', '/reference/upload-pares-result']) {
        await page.goto(`${origin}/docs${path}`)
        if ((await page.getByRole('button', { name: 'Make one' }).count()) > 0) await press(page, 'Make one')
        if (path !== '') await press(page, 'Send')
        // What is measured is the page that comes then.
        if (path !== '') await page.getByRole('heading', { name: /^The reply: / }).waitFor()
        const { width } = page.viewportSize()!
        const beside = await page.evaluate<string[]>(
          // A table scrolls within its rows.
          `[...document.querySelectorAll('main, main :is(section, form, .rows, pre, input)')]
            .filter((one) => {
              const { left, right } = one.getBoundingClientRect()
              return left < 0 || right > ${width} + (one.matches('main') ? 0 : 1)
            })
            .map((one) => one.outerHTML.slice(0, 100))`,
        )
        assert.deepEqual(beside, [], path)
      }
    }))

const places = ['Shop', 'App', 'Callbacks', 'Docs', 'Acquirer', 'Directory server', 'Issuer']

for (const [what, how] of widths)
  test(`one bar leads from every page to all others, ${what}`, () =>
    browser.visit(how, async (page) => {
      const bar = page.getByRole('navigation', { name: 'The sandbox' }).getByRole('link')
      await page.goto(`${origin}/`)
      for (const place of places) {
        await follow(page, bar.getByText(place, { exact: true }))
        assert.deepEqual(await bar.allInnerTexts(), places)
        assert.equal(await page.locator('nav [aria-current]').innerText(), place)
        assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, place)
        await staysWithin(page)
      }
    }))

test("a simulator's page: each answer is read on a page, and a fault is scripted and forgotten by a button", () =>
  browser.visit({ phone: true }, async (page) => {
    // Other files leave scripts that were followed.
    for (const url of [world.acquirerAdminUrl, world.directoryServerUrl, `${world.acsUrl}/admin`])
      await fetch(`${url}/faults`, { method: 'DELETE' })
    for (const [place, faults] of [
      ['Acquirer', '/faults'],
      ['Directory server', '/admin/faults'],
      ['Issuer', '/admin/faults'],
    ] as const) {
      await page.goto(`${origin}/`)
      await follow(page, page.getByRole('navigation', { name: 'The sandbox' }).getByText(place, { exact: true }))
      if (place === 'Issuer') await follow(page, page.getByRole('link', { name: 'what the issuer was asked' }))
      const add = page.locator(`form[data-method=POST][data-path="${faults}"]`)
      await add.getByRole('button').click()
      await add.getByText(/^201 /).waitFor()
      await follow(page, page.getByRole('link', { name: faults, exact: true }))
      await page.getByText('"times": 1').waitFor()
      await staysWithin(page)
      await follow(page, page.getByRole('link', { name: `‹ ${place}` }))
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByText(/^200 \{"removed":1\}/).waitFor()
    }
  }))

/** Nothing of the page lies beside the window. */
async function staysWithin(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
  assert.ok(wide <= window, `${page.url()}: ${wide} pixels in a window of ${window}`)
}
