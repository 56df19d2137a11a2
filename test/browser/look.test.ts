import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { order, settled } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { standStill } from '../harness/browser/browser.ts'
import { image } from '../harness/browser/images.ts'
import { openPages, over, working } from '../harness/three-d-secure/three-d-secure-pages.ts'
import { atBank, say, type Bank } from './bank.ts'
import { sharedStand } from './stand.ts'

/** The pages as people meet them: by eye, by ear, by keyboard. */

const { world, shop, browser } = await sharedStand()

/** A browser tells the frame of another site a moment later that it has the keyboard. */
const inField = (bank: Bank) => bank.getByLabel('One-time password').and(bank.locator(':focus')).waitFor()

test('by keyboard alone', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await page.goto(shop.print(sold, `<title>Shop</title><link rel="icon" href="data:,"><a href="${sold.page}">Pay</a>`))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    // The bank has the focus as soon as it is there, so the next stop is its field.
    const bank = atBank(page)
    await bank.getByLabel('One-time password').waitFor()
    await page.waitForFunction(`document.activeElement.tagName === 'IFRAME'`)
    await page.keyboard.press('Tab')
    await inField(bank)
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await bank.getByText('2 tries are left').waitFor()
    await bank.getByLabel('One-time password').focus()
    await inField(bank)
    await page.keyboard.type('hint')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal((await shop.back(page, sold)).status, 'approved')
  }))

/** The text that a screen reader reads out. */
const heard = async (page: Page) => (await page.locator('main').ariaSnapshot()).split('\n').map((line) => line.trim())
// The frame of a method that hangs keeps a page loading.
const soon = { waitUntil: 'commit' } as const
/** Lets time pass for a page whose clock stands still, until something is shown there. */
async function passUntil(page: Page, shown: Locator): Promise<void> {
  const isShown = async () => (await page.clock.runFor(200), shown.isVisible())
  assert.ok(await until(isShown, (so) => so, 60_000))
  // The script of the page comes after what it shows, and begins to wait only then.
  await page.waitForLoadState()
}

test('by ear: merchant, amount and what happens have names and roles', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await page.route(/\/method\//, () => undefined)
    await standStill(page)
    await page.goto(sold.page, soon)
    const payment = ['- main:', '- heading "Payment to Sandbox Shop" [level=1]', '- paragraph: USD 10.50']
    await page.getByText('Contacting').waitFor()
    assert.deepEqual(await heard(page), [...payment, '- status: Contacting your bank…'])
    assert.equal(await page.title(), 'Payment to Sandbox Shop')
    assert.equal(await page.locator('html').getAttribute('lang'), 'en')
    await page.route(/\/challenge$/, (route) => route.abort())
    await page.clock.runFor(10_000)
    await page.clock.resume()
    await page.getByText('Your bank asks you').waitFor()
    const then = await heard(page)
    assert.deepEqual(then.slice(0, 5), [...payment, '- status: Your bank asks you to confirm this payment.', '- iframe'])
    assert.ok(then.includes('- button "Open your bank in the whole window"'))
    assert.equal(await page.getByTitle('Your bank: confirm the payment').count(), 1)
  }))

test("the bank's words are text, stay long enough to be read, and a button goes on", () =>
  browser.visit({}, async (page) => {
    const says = `<img src=x onerror=alert(1)>"&amp;'</p><script>alert(2)</script> Call us.`
    await shop.issuer({ times: 1, cardholder_info: says })
    const sold = await shop.sell({ scenario: 'frictionless-rejected' })
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.dismiss()
    })
    await standStill(page)
    await shop.pay(page, sold)
    await passUntil(page, page.getByRole('heading', { name: 'Payment declined' }))
    assert.equal(await page.locator('.notice p').innerText(), says)
    assert.deepEqual(shop.posted(sold, 'back'), [])
    await page.getByRole('button', { name: 'Return to the shop' }).click()
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code, asked.length], ['declined', '2004', 0])
  }))

test("the page with the bank's words goes on by itself after ten seconds", () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'frictionless-rejected' })
    await standStill(page)
    await shop.pay(page, sold)
    const declined = page.getByRole('heading', { name: 'Payment declined' })
    await passUntil(page, declined)
    await page.clock.runFor(9_000)
    assert.ok(await declined.isVisible())
    assert.deepEqual(shop.posted(sold, 'back'), [])
    await page.clock.runFor(1_000)
    assert.equal((await shop.back(page, sold)).status, 'declined')
  }))

test('dark where the cardholder likes it dark, and still where motion disturbs', () =>
  browser.visit({ dark: true, phone: true }, async (page) => {
    const sold = await shop.sell({ scenario: 'silent-method' })
    await standStill(page)
    await page.goto(sold.page, soon)
    await page.locator('.spinner').waitFor()
    const style = (of: string, what: string) => page.evaluate(`getComputedStyle(document.querySelector('${of}')).${what}`)
    assert.equal(await style('main', 'backgroundColor'), 'rgb(26, 32, 39)')
    assert.equal(await style('.spinner', 'animationName'), 'none')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0)
  }))

test('no other site shows the payment in a frame', () =>
  browser.visit({ expects: [/frame-ancestors/] }, async (page) => {
    const sold = await shop.sell({ scenario: 'frictionless' })
    const thief = `<title>Thief</title><link rel="icon" href="data:,"><iframe src="${sold.page}"></iframe>`
    await page.goto(shop.print(sold, thief))
    assert.equal(await page.frameLocator('iframe').getByText('Payment to').count(), 0)
    await page.goto(sold.page)
    assert.equal((await shop.back(page, sold)).status, 'approved')
  }))

test('a payment passes on the screen of a small phone', () =>
  browser.visit({ phone: true, width: 320, height: 480 }, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await say(page, 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
  }))

for (const [locale, missing, receipt, date, phone] of [
  ['en-GB', 'There is no such payment', 'Payment approved', 'Date', false],
  ['de-CH', 'Diese Zahlung gibt es nicht', 'Zahlung erfolgreich', 'Datum', true],
  ['fr-CA', 'Ce paiement n’existe pas', 'Paiement accepté', 'Date', false],
  ['es-419', 'Este pago no existe', 'Pago aceptado', 'Fecha', true],
  ['ru-RU', 'Такого платежа нет', 'Платёж принят', 'Дата', true],
  ['ja-JP', 'There is no such payment', 'Payment approved', 'Date', false],
] as const)
  test(`a browser of ${locale} reads its language, where no payment is too, and its receipt prints in black on white`, () =>
    browser.visit({ locale, phone, dark: true, expects: [/status of 404/] }, async (page) => {
      await page.goto(`${world.baseUrl}/3ds/${'A'.repeat(22)}`)
      await page.getByRole('heading', { name: missing }).waitFor()
      const paid = await settled(world, await order(world, {}))
      await page.goto(`${world.baseUrl}/view-receipt/${world.endpoints.plain}/${paid['receipt-id']}/`)
      await page.getByRole('heading', { name: receipt, level: 1 }).waitFor()
      await page.locator('dt', { hasText: date }).waitFor()
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0)
      await page.emulateMedia({ media: 'print' })
      const colours = await page.evaluate<string[]>(
        `[...document.querySelectorAll('h1, .amount, dt, dd')].map((one) => getComputedStyle(one).color)`,
      )
      assert.deepEqual([...new Set(colours)], ['rgb(0, 0, 0)'])
    }))

test("the shop's logo, name and colour are shown as they are, and run nothing; a print has no buttons", () =>
  browser.visit({ dark: true }, async (page) => {
    const logo = image('png', 200, 60)
    const pages = await openPages(logo)
    try {
      const name = `<img src=x onerror=alert(1)>"'</h1><script>document.title = 'run'</script>`
      const { type, width, height } = { type: 'png', width: 200, height: 60 } as const
      const brand = { colour: '#ffcc00', logo: { type, width, height, bytes: logo.length, sha256: '' } }
      const shown = { merchantName: name, merchant: { merchantId: 1n, page: brand } }
      const { back: later } = over
      await page.goto(pages.at(pages.put({ ...working, ...shown, later })))
      assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), `Payment to ${name}`)
      assert.equal(await page.evaluate(`document.querySelector('.logo').naturalWidth`), 200)
      const { back: _, ...last } = over
      await page.goto(pages.at(pages.put({ ...last, ...shown, status: 'declined', why: 'expired' })))
      assert.deepEqual(await page.locator('h1').allInnerTexts(), ['Payment declined'])
      assert.equal(await page.getByRole('status').count(), 0)
      // An outcome with words of the bank stays for ten seconds, with its button.
      await page.goto(pages.at(pages.put({ ...over, ...shown, cardholderInfo: 'Call us.' })))
      const button = page.getByRole('button', { name: 'Return to the shop' })
      const style = (what: string) => page.evaluate(`getComputedStyle(document.querySelector('button')).${what}`)
      assert.deepEqual([await style('backgroundColor'), await style('color')], ['rgb(255, 204, 0)', 'rgb(0, 0, 0)'])
      await page.emulateMedia({ media: 'print' })
      assert.equal(await button.isVisible(), false)
      assert.ok(await page.locator('.logo').isVisible())
    } finally {
      await pages.close()
    }
  }))
