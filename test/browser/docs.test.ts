import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../harness/until.ts'
import { openBrowser, type Visit } from '../harness/browser.ts'
import { closing, openWorld } from '../harness/opening.ts'

/** The reference of the sandbox in a browser, where each operation can be tried. */

const world = await openWorld()
const origin = new URL(world.baseUrl).origin
const browser = closing(await openBrowser())

const open = async (page: Page, operation: string) => {
  await page.goto(`${origin}/docs`)
  await page.getByRole('link', { name: new RegExp(`^${operation}\\s*POST`) }).click()
  await page.getByRole('heading', { name: operation, level: 1 }).waitFor()
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const replied = (page: Page, type: string) => page.getByRole('heading', { name: `The reply: ${type}` }).waitFor()

const visits: [what: string, how: Visit][] = [
  ['on a desk', {}],
  ['on a phone, in the dark, without script', { phone: true, dark: true, script: false }],
]

for (const [what, how] of visits)
  test(`a preauthorisation is made and captured, ${what}`, () =>
    browser.visit(how, async (page) => {
      await open(page, 'preauth')
      await press(page, 'Send')
      await replied(page, 'async-response')
      await page.getByRole('link', { name: 'status', exact: true }).click()
      // It is approved a moment after it was accepted.
      const isApproved = async () => {
        await press(page, 'Send')
        await replied(page, 'status-response')
        return (await page.locator('#result').getByText('auth_approved').count()) > 0
      }
      assert.ok(await until(isApproved, (approved) => approved, 60_000))
      const orderid = await page.locator('input[name=orderid]').inputValue()
      const name = await page.locator('input[name=client_orderid]').inputValue()
      await page.goto(`${origin}/docs/capture?${new URLSearchParams({ orderid, client_orderid: name }).toString()}`)
      await press(page, 'Send')
      await replied(page, 'async-response')
    }))

test('a call of v4 shows base string and header, and is let in', () =>
  browser.visit({}, async (page) => {
    await open(page, 'status-v4')
    await press(page, 'Make one')
    await page.getByText(/^POST&http%3A%2F%2F127\.0\.0\.1/).waitFor()
    await press(page, 'Send')
    await replied(page, 'status-response')
    await page.getByText(/^Authorization: OAuth oauth_consumer_key="sandbox"/).waitFor()
  }))

test('what a form lacks is said by the gateway, and what was typed stays', () =>
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

for (const [what, how] of visits)
  test(`no page is wider than the window, ${what}`, () =>
    browser.visit(how, async (page) => {
      for (const path of ['', '/sale', '/status', '/upload-pares-result']) {
        await page.goto(`${origin}/docs${path}`)
        if ((await page.getByRole('button', { name: 'Make one' }).count()) > 0) await press(page, 'Make one')
        if (path !== '') await press(page, 'Send')
        // What is measured is the page that comes then.
        if (path !== '') await page.getByRole('heading', { name: /^The reply: / }).waitFor()
        const { width } = page.viewportSize()!
        const box = await page.locator('main').boundingBox()
        assert.ok(box && box.x >= 0 && box.x + box.width <= width, `${path} fits`)
        for (const wide of await page.locator('main :is(section, form, table, pre, input)').all()) {
          const inside = await wide.boundingBox()
          assert.ok(
            !inside || inside.x + inside.width <= width + 1,
            `${path}: ${String(await wide.evaluate('one => one.outerHTML.slice(0, 100)'))}`,
          )
        }
      }
    }))
