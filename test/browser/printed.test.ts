import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { accepted } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { uploadMethod, waitsFor } from '../conformance/three-d-secure/shopper.ts'
import { standStill } from '../harness/browser/browser.ts'
import type { Sold } from '../harness/browser/shop.ts'
import { atBank, say } from './bank.ts'
import { sharedStand } from './stand.ts'

/**
 * A merchant's client that knows one way: it prints the `html` of the status reply as the whole
 * page, and waits. Nothing is uploaded.
 */

const { world, shop, browser } = await sharedStand()

const htmlOf = ({ shown }: Sold): string => shown.html ?? ''
const compInd = async (sold: Sold) => (await shop.messages(sold, 'AReq')).map(({ threeDSCompInd }) => threeDSCompInd)
const head = '<!doctype html><title>Pay</title><link rel="icon" href="data:,">'
/** A text in a script of a page. */
const inScript = (text: string): string => JSON.stringify(text).replaceAll('<', '\\u003c')
// The frame of a method that hangs keeps a page loading.
const soon = { waitUntil: 'commit' } as const

/**
 * Opens a page on a clock that stands still, and waits until the browser is on the hosted page,
 * with what it adds to the address.
 */
async function goesOnFrom(page: Page, url: string, sold: Sold): Promise<string> {
  await standStill(page)
  const hosted = page.waitForRequest((request) => request.url().startsWith(`${sold.page}?`))
  await page.goto(url, soon)
  const query = new URL((await hosted).url()).search
  await page.clock.resume()
  return query
}

test('printed as the whole page, the method leads on to the hosted challenge and back to the shop, and runs once', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    let methods = 0
    page.on('request', (request) => (methods += request.url().endsWith('/method/works') ? 1 : 0))
    assert.equal(await goesOnFrom(page, shop.print(sold, htmlOf(sold)), sold), '?method=returned')
    await say(atBank(page), 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
    assert.deepEqual([await compInd(sold), methods], [['Y'], 1])
  }))

test('a range without a method goes on as well', () =>
  browser.visit({ phone: true }, async (page) => {
    const sold = await shop.sell({ scenario: 'no-method-frictionless' })
    assert.equal(await goesOnFrom(page, shop.print(sold, htmlOf(sold)), sold), '?method=returned')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.deepEqual(await compInd(sold), ['U'])
  }))

test('a hanging method delays the printed page by at most ten seconds', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'silent-method' })
    await standStill(page)
    const asked = page.waitForRequest(/\/method\//)
    await page.goto(shop.print(sold, htmlOf(sold)), soon)
    await asked
    await page.clock.runFor(9_900)
    assert.equal(new URL(page.url()).origin, new URL(shop.url(sold, '')).origin)
    const hosted = page.waitForRequest((request) => request.url().startsWith(sold.page))
    await page.clock.runFor(200)
    assert.equal((await hosted).url(), `${sold.page}?method=late`)
    await page.clock.resume()
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.deepEqual(await compInd(sold), ['N'])
  }))

test('in a hidden frame the printed page passes the message on to the page around it alone', async () => {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const shapes: readonly ((sold: Sold) => string)[] = [
    (sold) => `src="${shop.print(sold, htmlOf(sold))}"`,
    (sold) => `srcdoc="${escaped(htmlOf(sold))}"`,
  ]
  const listens = `<script>came = []; addEventListener('message', ({ data, source }) =>
    came.push([data, source === document.querySelector('iframe').contentWindow]))</script>`
  await browser.visit({}, async (page) => {
    await standStill(page)
    for (const scenario of ['challenge', 'no-method-frictionless'])
      for (const frame of shapes) {
        const sold = await shop.sell({ scenario })
        await page.goto(
          shop.print(sold, `${head}${listens}<h1>Please wait</h1><iframe title="Method" hidden ${frame(sold)}></iframe>`),
        )
        const came = await until(
          () => page.evaluate<unknown[]>('came'),
          ({ length }) => length > 0,
        )
        const token = sold.page.split('/').at(-1)
        assert.deepEqual(came, [[{ type: 'three-d-secure method returned', token }, true]], scenario)
        // What others post to it goes no further.
        await page.evaluate(`frames[0].postMessage({ type: 'three-d-secure method returned', token: 'x' }, '*')`)
        await page.clock.runFor(1_000)
        assert.equal((await page.evaluate<unknown[]>('came')).length, 1)
      }
  })
})

test('in a hidden frame the printed page stays where it is, and the shop uploads the result', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await standStill(page)
    const left: string[] = []
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith(sold.page) && !request.url().endsWith('/method'))
        left.push(request.url())
    })
    const notified = page.waitForResponse((response) => /\/3ds\/[\w-]+\/method$/.test(response.url()))
    const inside = shop.print(sold, htmlOf(sold))
    const around = shop.print(sold, `${head}<h1>Please wait</h1><iframe title="Method" hidden src="${inside}"></iframe>`)
    await page.goto(around)
    assert.equal((await notified).status(), 200)
    await page.clock.runFor(60_000)
    assert.deepEqual([page.url(), page.frames().some((frame) => frame.url() === inside), left], [around, true, []])
    assert.ok(await page.frameLocator('iframe').getByText('Continue with the payment').isHidden())
    assert.equal((await shop.status(sold))['tds-status'], 'MethodUrlFrame')
    accepted(await uploadMethod(world, sold, sold.shown))
    await waitsFor(world, sold, 'CReqForm')
  }))

test('the payment works among scripts of the shop that run before and after the page is loaded', async () => {
  const written = (sold: Sold) => `document.open(); document.write(${inScript(htmlOf(sold))}); document.close()`
  const script = (text: string) => `${head}<script>${text}</script>`
  const shapes: readonly (readonly [string, (sold: Sold) => string])[] = [
    ['written while the page is read', (sold) => script(`document.write(${inScript(htmlOf(sold))})`)],
    ['written once the page is there', (sold) => script(`addEventListener('DOMContentLoaded', () => { ${written(sold)} })`)],
    ['written once it is loaded', (sold) => script(`addEventListener('load', () => setTimeout(() => { ${written(sold)} }))`)],
    [
      'among names of the shop, whose script submits the form once more',
      (sold) =>
        `${head}<script>var form = 1, link = 2, frame = 3, submit = 4, printed = 5, parent = 6, self = 7
          addEventListener('load', () => document.forms[0].submit())</script>${htmlOf(sold)}`,
    ],
    ['inside a form of the shop, which leaves none of the method', (sold) => `${head}<form>${htmlOf(sold)}</form>`],
    ['in a page of the shop', (sold) => `${head}<h1>Shop</h1><div>${htmlOf(sold)}</div><script>var link = 1</script>`],
  ]
  for (const [shape, page] of shapes)
    await browser.visit({}, async (tab) => {
      const sold = await shop.sell({ scenario: 'challenge' })
      await standStill(tab)
      const hosted = tab.waitForRequest((request) => request.url().startsWith(`${sold.page}?`))
      await tab.goto(shop.print(sold, page(sold)), soon)
      const isThere = () => hosted.then(() => true)
      const passes = async () => (await tab.clock.runFor(500), false)
      // The page waits on its own clock, which hardly moves: a moment for scripts that wait for
      // one, ten seconds where no form is left.
      assert.ok(await until(() => Promise.race([isThere(), passes()]), Boolean), shape)
      await tab.clock.resume()
      await say(atBank(tab), 'hint')
      assert.equal((await shop.back(tab, sold)).status, 'approved', shape)
      await shop.outcome(sold)
      assert.equal((await compInd(sold)).length, 1, shape)
    })
})

test('where the shop forbids scripts, or none run, a link leads on', async () => {
  const forbidding = `<meta http-equiv="Content-Security-Policy" content="script-src 'none'">`
  //  how                                                       page
  const rows = [
    [{ expects: [/Content Security Policy/], phone: true }, (sold: Sold) => `${head}${forbidding}${htmlOf(sold)}`],
    [{ script: false as const }, htmlOf],
  ] as const
  for (const [how, printed] of rows)
    await browser.visit(how, async (page) => {
      const sold = await shop.sell({ scenario: 'frictionless' })
      await page.goto(shop.print(sold, printed(sold)))
      await page.getByRole('link', { name: 'Continue with the payment' }).click()
      if ('script' in how) {
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByRole('button', { name: 'Return to the shop' }).click()
      }
      assert.equal((await shop.back(page, sold)).status, 'approved')
    })
})

/**
 * Goes to a page of the shop by its link, as a customer does. The address of the basket that has
 * the link.
 */
async function follow(page: Page, sold: Sold, url: string): Promise<string> {
  const basket = shop.print(sold, `${head}<h1>Basket</h1><a href="${url}">Pay</a>`)
  await page.goto(basket)
  await page.getByRole('link', { name: 'Pay' }).click()
  return basket
}

test('back after the end: each page shows the outcome or leads to the shop with it, and the way back to the basket is open', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    const basket = await follow(page, sold, shop.print(sold, htmlOf(sold)))
    await say(atBank(page), 'hint')
    await shop.back(page, sold)
    await page.goBack()
    await page.getByRole('heading', { name: 'Payment approved' }).waitFor()
    // A frame that went on after the page around it was loaded left an entry, of the printed page
    // or of the gateway's, which does not begin the method again.
    await page.goBack({ waitUntil: 'commit' })
    if (page.url().includes('/3ds/')) {
      await page.getByRole('heading', { name: 'Payment approved' }).waitFor()
      await page.goBack({ waitUntil: 'commit' })
    }
    if (page.url() !== basket) {
      assert.equal((await shop.back(page, sold)).status, 'approved')
      await page.goBack()
    }
    await page.getByRole('heading', { name: 'Basket' }).waitFor()
    // Printed once more, the same page runs the method, which counts no more, and leads to the
    // outcome.
    await page.getByRole('link', { name: 'Pay' }).click()
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
    assert.equal((await compInd(sold)).length, 1)
  }))

test('back from the bank to the basket, a challenge that is printed again goes on, and ends at redirect_url', () =>
  browser.visit({ phone: true }, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    accepted(await uploadMethod(world, sold, sold.shown, { notificationURL: undefined }))
    const challenge = await waitsFor(world, sold, 'CReqForm')
    await follow(page, sold, shop.print(sold, challenge.html ?? ''))
    await page.getByLabel('One-time password').waitFor()
    await page.goBack()
    await page.getByRole('link', { name: 'Pay' }).click()
    await say(page, 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
  }))

test('1.0.2: printed as the whole page, the form of the bank leads back to the shop', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: '1.0.2', version: '1.0.2' })
    await page.goto(shop.print(sold, htmlOf(sold)))
    await say(page, 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
  }))
