import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { accepted } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { altered, lasting, uploadCres, uploadMethod } from '../conformance/three-d-secure/shopper.ts'
import { standStill } from '../harness/browser/browser.ts'
import type { Sold } from '../harness/browser/shop.ts'
import { atBank, pressAt, say } from './bank.ts'
import { sharedStand } from './stand.ts'

/** A shop sends its customer to `redirect-to`, and gets him back. */

const { world, shop, browser } = await sharedStand()

/** Pays on a clock that stands still until the browser goes on from the method. */
async function payInNoTime(page: Page, sold: Sold): Promise<void> {
  await standStill(page)
  const goesOn = page.waitForRequest(/\/3ds\/[\w-]+\/browser$/)
  await shop.pay(page, sold)
  await goesOn
  await page.clock.resume()
}

test('frictionless: the cardholder is back at the shop without having done a thing', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'frictionless' })
    await payInNoTime(page, sold)
    assert.equal((await shop.back(page, sold)).status, 'approved')
    const outcome = await shop.outcome(sold)
    assert.deepEqual([outcome.status, outcome['verified-3d-status']], ['approved', 'AUTHENTICATED'])
    const [areq] = await shop.messages(sold, 'AReq')
    assert.ok(areq)
    const said = ['threeDSCompInd', 'browserLanguage', 'browserTZ', 'browserScreenWidth', 'browserJavascriptEnabled', 'browserIP']
    assert.deepEqual(
      said.map((name) => areq[name]),
      ['Y', 'en-GB', '-345', '1280', true, '203.0.113.7'],
    )
  }))

test('a card range without a method costs no wait', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'no-method-frictionless' })
    await payInNoTime(page, sold)
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.messages(sold, 'AReq'))[0]?.threeDSCompInd, 'U')
  }))

for (const { scenario, expects } of [
  { scenario: 'slow-method', expects: [] },
  { scenario: 'silent-method', expects: [] },
  { scenario: 'broken-method', expects: [/status of 500/] },
])
  test(`a method like that of the card ${scenario} delays the payment by at most ten seconds`, () =>
    browser.visit({ expects }, async (page) => {
      const sold = await shop.sell({ scenario })
      await standStill(page)
      // The gateway gets no notice that the method begins, or its own ten seconds would run beside
      // those of the page.
      await page.route(/\/3ds\/[\w-]+\/begun$/, (route) => route.fulfill({ body: '' }))
      const asked = page.waitForRequest(/\/method\//)
      await shop.pay(page, sold)
      await asked
      await page.clock.runFor(9_900)
      assert.equal((await shop.status(sold))['tds-status'], 'MethodUrlFrame')
      assert.match(await page.getByRole('status').innerText(), /Contacting your bank/)
      const goesOn = page.waitForRequest(/\/3ds\/[\w-]+\/browser$/)
      await page.clock.runFor(200)
      await goesOn
      await page.clock.resume()
      assert.equal((await shop.back(page, sold)).status, 'approved')
      assert.equal((await shop.messages(sold, 'AReq'))[0]?.threeDSCompInd, 'N')
    }))

test('a challenge that is passed', () =>
  browser.visit({ moving: true }, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await say(atBank(page), 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
  }))

test('a challenge that fails after three wrong passwords', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    const bank = atBank(page)
    await say(bank, 'wrong')
    await bank.getByText('2 tries are left').waitFor()
    await say(bank, 'wrong')
    await bank.getByText('1 try is left').waitFor()
    await say(bank, 'wrong')
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code], ['declined', '2001'])
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'NOT_AUTHENTICATED')
  }))

test('a challenge that the cardholder cancels', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    await pressAt(atBank(page), 'Cancel')
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code], ['declined', '2002'])
    await shop.outcome(sold)
  }))

test('a challenge with a method that is missing goes to its frame as well', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'no-method-challenge', version: '2.1.0' })
    await shop.pay(page, sold)
    await say(atBank(page), 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
  }))

test("1.0.2: the bank's page takes the whole window, and the right password after a wrong one is the end of it", () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: '1.0.2', version: '1.0.2' })
    await shop.pay(page, sold)
    await say(page, 'wrong')
    await page.getByText('2 tries are left').waitFor()
    await say(page, 'hint')
    assert.equal((await shop.back(page, sold)).status, 'approved')
    const outcome = await shop.outcome(sold)
    assert.deepEqual([outcome['verified-3d-status'], outcome.eci], ['AUTHENTICATED', '05'])
  }))

test('1.0.2: three wrong passwords, Cancel, and a bank that does not ask at all', async () => {
  // oxfmt-ignore
  const rows = [
  //  scenario           button     status      error_code
    ['1.0.2',           'Confirm', 'declined', '2001'],
    ['1.0.2',           'Cancel',  'declined', '2001'],
    ['1.0.2-attempt',   undefined, 'approved', undefined],
    ['1.0.2-failed',    undefined, 'declined', '2001'],
  ] as const
  await browser.visit({ phone: true }, async (page) => {
    for (const [scenario, button, status, code] of rows) {
      const sold = await shop.sell({ scenario, version: '1.0.2' })
      await shop.pay(page, sold)
      if (button === 'Cancel') await page.getByRole('button', { name: button }).click()
      for (const left of button === 'Confirm' ? ['2 tries', '1 try', undefined] : []) {
        await say(page, 'wrong')
        if (left !== undefined) await page.getByText(`${left} `).waitFor()
      }
      const form = await shop.back(page, sold)
      assert.deepEqual([form.status, form.error_code], [status, code], `${scenario} ${button ?? ''}`)
      await shop.outcome(sold)
    }
  })
})

test('1.0.2: an answer for another payment does not pay this one', () =>
  browser.visit({}, async (page) => {
    const legacy = { scenario: '1.0.2', version: '1.0.2' } as const
    const [cheap, dear] = [await shop.sell(legacy), await shop.sell(legacy)]
    await shop.pay(page, cheap)
    const posted = page.waitForRequest((request) => request.method() === 'POST' && /\/3ds\/[\w-]+\/pares$/.test(request.url()))
    await say(page, 'hint')
    const answer = new URLSearchParams((await posted).postData() ?? '')
    assert.equal((await shop.back(page, cheap)).status, 'approved')
    const fields = { PaRes: answer.get('PaRes') ?? '', MD: dear.shown['tds-pareq-form-md'] ?? '' }
    await page.goto(shop.print(dear, postOf(`${dear.page}/pares`, fields)))
    const form = await shop.back(page, dear)
    assert.equal(form.status, 'declined')
    assert.notEqual((await shop.outcome(dear))['verified-3d-status'], 'AUTHENTICATED')
  }))

test('each outcome has its way back', async () => {
  const urls = (client_orderid: string) => ({
    client_orderid,
    redirect_success_url: shop.url({ client_orderid }, 'success'),
    redirect_fail_url: shop.url({ client_orderid }, 'fail'),
  })
  //  card                     status      path
  const rows = [
    ['frictionless', 'approved', 'success'],
    ['frictionless-denied', 'declined', 'fail'],
    ['error', 'declined', 'fail'],
  ] as const
  await browser.visit({}, async (page) => {
    for (const [scenario, status, path] of rows) {
      const sold = await shop.sell({ scenario }, urls(`way-${scenario}-${Date.now()}`))
      await shop.pay(page, sold)
      assert.equal((await shop.back(page, sold, path)).status, status)
      assert.equal((await shop.outcome(sold)).status, status)
      assert.equal(shop.posted(sold, path).length, 1)
    }
  })
})

test('an error goes to redirect_url: the result of the challenge never came', () =>
  browser.visit({}, async (page) => {
    const client_orderid = `error-${Date.now()}`
    const fail = shop.url({ client_orderid }, 'fail')
    const sold = await shop.sell({ scenario: 'challenge-no-result' }, { client_orderid, redirect_fail_url: fail })
    await shop.pay(page, sold)
    await say(atBank(page), 'hint')
    await page.getByText('Your payment is being processed').waitFor()
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code], ['error', '2010'])
    await shop.outcome(sold)
  }))

test('a payment without an outcome after a minute goes to redirect_url as processing', (t) =>
  browser.visit({}, async (page) => {
    const client_orderid = `slow-${Date.now()}`
    // Else the reversal is answered half a minute later, and the payment has an outcome.
    await reversalsTake(600_000)
    t.after(() => reversalsTake(30_000))
    const sold = await shop.sell(
      { scenario: 'frictionless' },
      { client_orderid, cvv2: '217', redirect_fail_url: shop.url({ client_orderid }, 'fail') },
    )
    await shop.pay(page, sold)
    await page.waitForURL(/\?since=\d{13}$/)
    await until(
      () => shop.status(sold),
      ({ status }) => status === 'unknown',
    )
    const since = Number(new URL(page.url()).searchParams.get('since'))
    assert.equal(await page.getByText('Your payment is being processed').count(), 1)
    // A minute earlier, as the page would have it had the browser come then.
    await page.goto(`${sold.page}?since=${since - 60_000}`)
    await page.waitForURL(shop.url(sold, 'back'), { timeout: 30_000 })
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code], ['processing', undefined])
    assert.deepEqual([(await shop.status(sold)).status, shop.posted(sold, 'callback').length], ['unknown', 0])
  }))

/** How long the acquirer takes to answer a reversal. */
async function reversalsTake(slow_reversal_ms: number): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ slow_reversal_ms })
  assert.equal((await fetch(`${world.acquirerAdminUrl}/line`, { method: 'POST', headers, body })).status, 200)
}

test('uploads after the gateway did everything are answered, and change nothing', () =>
  browser.visit({}, async (page) => {
    const sold = await shop.sell({ scenario: 'challenge' })
    await shop.pay(page, sold)
    const returned = page.waitForRequest(
      (request) => request.method() === 'POST' && /\/3ds\/[\w-]+\/challenge$/.test(request.url()),
    )
    await say(atBank(page), 'hint')
    const cres = new URLSearchParams((await returned).postData() ?? '').get('cres') ?? ''
    await shop.back(page, sold)
    const outcome = await shop.outcome(sold)
    accepted(await uploadMethod(world, sold, sold.shown))
    accepted(await uploadCres(world, sold, cres))
    accepted(await uploadCres(world, sold, altered(cres, { transStatus: 'N' })))
    accepted(await uploadCres(world, sold, cres))
    assert.deepEqual(lasting(await shop.status(sold)), lasting(outcome))
    // Nor does the browser, when it takes the result to the page once more.
    await page.goto(shop.print(sold, postOf(`${sold.page}/challenge`, { cres: altered(cres, { transStatus: 'N' }) })))
    await shop.back(page, sold)
    assert.deepEqual(lasting(await shop.status(sold)), lasting(outcome))
    assert.equal(shop.posted(sold, 'callback').length, 1)
  }))

test('a result of another payment leads nowhere, and not into a loop', () =>
  browser.visit({ width: 400, expects: [/status of 400/] }, async (page) => {
    await shop.issuer({ times: 1, cres_foreign_ids: true })
    const sold = await shop.sell({ scenario: 'challenge-no-result' })
    await shop.pay(page, sold)
    await say(page, 'hint')
    await page.getByRole('heading', { name: 'That could not be read' }).waitFor()
    assert.equal((await shop.status(sold))['tds-status'], 'CReqForm')
  }))

const postOf = (action: string, fields: Record<string, string>): string =>
  `<title>x</title><link rel="icon" href="data:,"><form method="post" action="${action}">${Object.entries(fields)
    .map(([name, value]) => `<input name="${name}" value="${value}">`)
    .join('')}</form><script>document.forms[0].submit()</script>`
