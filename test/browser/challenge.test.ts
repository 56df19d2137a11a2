import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledger } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { decoded } from '../conformance/three-d-secure/shopper.ts'
import type { Sold } from '../harness/browser/shop.ts'
import { atBank, creqsOf, say, typeIn } from './bank.ts'
import { sharedStand } from './stand.ts'

/** The challenge on the gateway's own page: framed where it fits, whatever the cardholder does. */

const { world, shop, browser } = await sharedStand()

const approvedOnce = async (sold: Sold) => {
  assert.equal((await shop.outcome(sold)).status, 'approved')
  const books = await ledger(world, sold.orderid)
  assert.deepEqual(
    books.map(({ state }) => state),
    ['approved'],
    'one message to the acquirer',
  )
}

for (const { width, height, size, frame } of [
  { width: 1_280, height: 900, size: '03', frame: [500, 600] },
  { width: 1_280, height: 560, size: '04', frame: [600, 400] },
  { width: 640, height: 700, size: '03', frame: [500, 600] },
])
  test(`a window of ${width}×${height} has the issuer in a frame of ${frame.join('×')}, and the issuer knows`, () =>
    browser.visit({ width, height }, async (page) => {
      const creqs = creqsOf(page)
      const sold = await shop.sell({ scenario: 'challenge' })
      await shop.pay(page, sold)
      const bank = atBank(page)
      await bank.getByRole('heading', { name: 'Confirm your payment' }).waitFor()
      assert.deepEqual(
        creqs().map((creq) => decoded(creq).challengeWindowSize),
        [size],
      )
      const inside = page.frames().find((one) => one.name() === 'three-d-secure-challenge')
      // The frame of another site gets its size a moment after it is there.
      const sizeInside = () => inside?.evaluate<number[]>('[window.innerWidth, window.innerHeight]')
      assert.deepEqual(await until(sizeInside, (seen) => seen?.join() === frame.join()), frame)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0, 'nothing sticks out')
      await say(bank, 'hint')
      await shop.back(page, sold)
      await approvedOnce(sold)
    }))

test('a phone has the issuer in the whole window', () =>
  browser.visit({ phone: true }, async (page) => {
    const creqs = creqsOf(page)
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await page.waitForURL(`${world.acsUrl}/challenge`)
    assert.deepEqual(
      creqs().map((creq) => decoded(creq).challengeWindowSize),
      ['05'],
    )
    await say(page, 'hint')
    await shop.back(page, sold)
    await approvedOnce(sold)
  }))

test('a reload goes on where the challenge was, with an identical CReq', () =>
  browser.visit({}, async (page) => {
    const creqs = creqsOf(page)
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await say(atBank(page), 'wrong')
    await atBank(page).getByText('2 tries are left').waitFor()
    // What was chosen stays, where it still fits.
    await page.setViewportSize({ width: 1_100, height: 800 })
    await page.reload()
    await say(atBank(page), 'wrong')
    await atBank(page).getByText('1 try is left').waitFor()
    const [first, second, ...more] = creqs()
    assert.deepEqual([second, more], [first, []])
    await say(atBank(page), 'hint')
    await shop.back(page, sold)
    await approvedOnce(sold)
  }))

// Without a method nothing comes before the challenge.
for (const scenario of ['challenge', 'no-method-challenge'])
  test(`back during the challenge: the cardholder is not sent forward against his will, and may go on (${scenario})`, () =>
    browser.visit({ phone: true }, async (page) => {
      const sold = await shop.sell({ scenario })
      await shop.pay(page, sold)
      await page.waitForURL(`${world.acsUrl}/challenge`)
      await page.goBack()
      await page.getByRole('button', { name: 'Continue to your bank' }).click()
      await page.waitForURL(`${world.acsUrl}/challenge`)
      await say(page, 'hint')
      await shop.back(page, sold)
      await approvedOnce(sold)
    }))

test('back after the end shows the outcome, with a way to the shop, and nothing happens twice', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await say(atBank(page), 'hint')
    await shop.back(page, sold)
    await page.goBack()
    await page.getByRole('heading', { name: 'Payment approved' }).waitFor()
    assert.equal(shop.posted(sold, 'back').length, 1)
    await page.getByRole('button', { name: 'Return to the shop' }).click()
    await shop.back(page, sold)
    assert.deepEqual(
      shop.posted(sold, 'back').map(({ status }) => status),
      ['approved', 'approved'],
    )
    await approvedOnce(sold)
  }))

test('a password that is sent twice counts once', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    const bank = atBank(page)
    await typeIn(bank, 'hint')
    // Without the pointer, as `say` presses it.
    const inside = page.frames().find((one) => one.name() === 'three-d-secure-challenge')
    const confirm = `[...document.querySelectorAll('button')].find((one) => one.textContent.includes('Confirm'))`
    assert.equal(
      await inside?.evaluate(`{ const one = ${confirm}; one.click(); setTimeout(() => one.click(), 20); one.name }`),
      'action',
    )
    await shop.back(page, sold)
    await approvedOnce(sold)
    assert.equal((await shop.messages(sold, 'RReq')).length, 1)
  }))

test('two tabs of one payment: a confirmation in one shows in the other', () =>
  browser.visit({}, async (page, context) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await atBank(page).getByLabel('One-time password').waitFor()
    const other = await context.newPage()
    await other.goto(sold.page)
    await say(atBank(other), 'hint')
    await other.waitForURL(shop.url(sold, 'back'))
    await page.waitForURL(shop.url(sold, 'back'))
    await approvedOnce(sold)
  }))

test('a tab that is closed at the bank leaves the payment to settle, and a new one finds it where it was', () =>
  browser.visit({}, async (page, context) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await atBank(page).getByLabel('One-time password').waitFor()
    await page.close()
    const next = await context.newPage()
    await next.goto(sold.page)
    // The password goes off, and the browser with it: the result comes by the issuer's own way.
    await next.route(/\/challenge\/answer$/, async (route) => {
      await route.fetch().catch(() => undefined)
      await next.close()
    })
    await say(atBank(next), 'hint').catch(() => undefined)
    await approvedOnce(sold)
    assert.deepEqual(shop.posted(sold, 'back'), [])
  }))

test('an issuer that does not show in a frame has the whole window at the press of a button', () =>
  browser.visit({}, async (page) => {
    const creqs = creqsOf(page)
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await atBank(page).getByLabel('One-time password').waitFor()
    await page.getByRole('button', { name: 'Open your bank in the whole window' }).click()
    await page.waitForURL(`${world.acsUrl}/challenge`)
    assert.deepEqual(
      creqs().map((creq) => decoded(creq).challengeWindowSize),
      ['03', '05'],
    )
    await say(page, 'hint')
    await shop.back(page, sold)
    await approvedOnce(sold)
  }))

test('errors that an issuer sends in place of a result end the challenge in its frame too', () =>
  browser.visit({}, async (page) => {
    await shop.issuer({ times: 1, erro_instead_of_cres: 'erro' })
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await say(atBank(page), 'hint')
    await shop.back(page, sold)
    // The issuer informed the directory server before the browser.
    await approvedOnce(sold)
  }))

test('a challenge that ends without its browser ends on the page as well', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    const bank = atBank(page)
    await bank.getByLabel('One-time password').waitFor()
    const [ares] = await shop.messages(sold, 'ARes')
    // As by an app of the bank's, on another device.
    const body = new URLSearchParams({ id: ares?.acsTransID ?? '', action: 'submit', password: 'hint' })
    await fetch(`${world.acsUrl}/challenge/answer`, { method: 'POST', body })
    await shop.back(page, sold)
    await approvedOnce(sold)
  }))

for (const phone of [false, true])
  test(`an issuer that redirects in place of posting leads back to the payment (${phone ? 'whole window' : 'frame'})`, () =>
    browser.visit({ phone, expects: [/status of 400/] }, async (page) => {
      const sold = await shop.sell({ scenario: 'challenge' })
      const url = shop.print(sold, `<script>location.href = '${sold.page}/challenge'</script>`)
      let posts = 0
      // A route with `times: 1` would be taken away while other requests are on their way.
      await page.route(/\/challenge\/answer$/, (route) => route.continue(posts++ === 0 ? { url } : {}))
      await shop.pay(page, sold)
      const bank = phone ? page : atBank(page)
      await say(bank, 'hint')
      await bank.getByText('Your payment is where it was.').waitFor()
      await bank.getByRole('link').click()
      await say(bank, 'hint')
      await shop.back(page, sold)
      await approvedOnce(sold)
    }))
