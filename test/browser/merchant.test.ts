import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, notEmpty, type Fields } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { uploadCres, uploadMethod, waitsFor } from '../conformance/three-d-secure/shopper.ts'
import { standStill } from '../harness/browser/browser.ts'
import { atBank, say } from './bank.ts'
import { sharedStand } from './stand.ts'

/** A merchant with pages of its own: it prints `html`, and uploads what comes back. */

const { world, shop, browser } = await sharedStand()

/** Browsers that ran the method, as the issuer saw them. */
const prints = async (): Promise<Fields> =>
  ((await (await fetch(`${world.acsUrl}/admin/challenges`)).json()) as { methods: Fields }).methods

test('printed as they are, the method frame runs in the page and the challenge takes its place', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    // The issuer's page waits up to a second of its own clock for the print, and that clock stands
    // still.
    await standStill(page)
    // When the method returned, the printed page goes on to the gateway's, which would describe the
    // browser itself. That request is held, so that the shop's upload comes first.
    await page.route(/\/3ds\/[\w-]+\?method=/, () => undefined)
    const notified = page.waitForResponse((response) => /\/3ds\/[\w-]+\/method$/.test(response.url()))
    await page.goto(shop.print(sold, sold.shown.html ?? ''))
    assert.equal((await notified).status(), 200)
    assert.ok((await prints())[sold.shown['tds-method-url-frame-3ds-server-trans-id'] ?? ''])
    accepted(await uploadMethod(world, sold, sold.shown, { notificationURL: shop.url(sold, 'cres') }))
    const challenge = await waitsFor(world, sold, 'CReqForm')
    await page.goto(shop.print(sold, challenge.html ?? ''))
    await say(page, 'hint')
    await page.waitForURL(shop.url(sold, 'cres'))
    accepted(await uploadCres(world, sold, shop.posted(sold, 'cres')[0]?.cres ?? ''))
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
  }))

test('in a frame of the shop, the challenge comes back to the shop', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    accepted(await uploadMethod(world, sold, sold.shown, { notificationURL: shop.url(sold, 'cres') }))
    const challenge = await waitsFor(world, sold, 'CReqForm')
    const inside = shop.print(sold, challenge.html ?? '')
    await page.goto(shop.print(sold, frameOf(inside)))
    await say(atBank(page), 'hint')
    const [posted] = await until(() => shop.posted(sold, 'cres'), notEmpty)
    accepted(await uploadCres(world, sold, posted?.cres ?? ''))
    assert.equal((await shop.outcome(sold)).status, 'approved')
  }))

test('a shop without a notification URL of its own has the way out of its frame from the gateway', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    accepted(await uploadMethod(world, sold, sold.shown, { notificationURL: undefined }))
    const challenge = await waitsFor(world, sold, 'CReqForm')
    await page.goto(shop.print(sold, challenge.html ?? ''))
    await say(page, 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
  }))

test('a range without a method has the collector of the gateway in its place', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'no-method-frictionless' })
    assert.equal(sold.shown['tds-method-url-frame-3ds-method-url'], `${world.baseUrl}/3ds/collect`)
    const notified = page.waitForResponse((response) => /\/3ds\/[\w-]+\/method$/.test(response.url()))
    await page.goto(shop.print(sold, sold.shown.html ?? ''))
    assert.equal((await notified).status(), 200)
    accepted(await uploadMethod(world, sold, sold.shown))
    assert.equal((await shop.outcome(sold)).status, 'approved')
    assert.equal((await shop.messages(sold, 'AReq'))[0]?.threeDSCompInd, 'U')
  }))

const frameOf = (url: string): string =>
  `<!doctype html><title>Pay</title><link rel="icon" href="data:,">
   <iframe title="Your bank" width="500" height="600" src="${url}"></iframe>`
