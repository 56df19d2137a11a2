import assert from 'node:assert/strict'
import { test } from 'node:test'
import { say } from './bank.ts'
import { sharedStand } from './stand.ts'

/** A browser without script pays too: the pages have buttons for it, and reload by themselves. */

const { shop, browser } = await sharedStand()

for (const { scenario, compInd } of [
  { scenario: 'frictionless', compInd: 'N' },
  { scenario: 'no-method-frictionless', compInd: 'U' },
])
  test(`the card ${scenario} of 2.2.0 gets the truth about the browser, and pays`, () =>
    browser.visit({ script: false }, async (page) => {
      const sold = await shop.sell({ scenario })
      await shop.pay(page, sold)
      assert.match(await page.locator('noscript p').innerText(), /Scripts are switched off/)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('button', { name: 'Return to the shop' }).click()
      assert.equal((await shop.back(page, sold)).status, 'approved')
      const [areq] = await shop.messages(sold, 'AReq')
      assert.ok(areq)
      const said = ['threeDSCompInd', 'browserJavascriptEnabled', 'browserScreenWidth', 'browserTZ'].map((name) => areq[name])
      assert.deepEqual(said, [compInd, false, undefined, undefined])
    }))

for (const { what, card, buttons } of [
  { what: 'a challenge, in the whole window', card: { scenario: 'challenge' }, buttons: ['Continue', 'Continue to your bank'] },
  { what: '1.0.2, which needs no script', card: { scenario: '1.0.2', version: '1.0.2' }, buttons: ['Continue to your bank'] },
] as const)
  test(what, () =>
    browser.visit({ script: false }, async (page) => {
      const sold = await shop.sell(card)
      await shop.pay(page, sold)
      for (const name of buttons) await page.getByRole('button', { name, exact: true }).click()
      await say(page, 'wrong')
      await page.getByText('2 tries are left').waitFor()
      await say(page, 'hint')
      for (const name of ['Continue', 'Return to the shop']) await page.getByRole('button', { name }).click()
      assert.equal((await shop.back(page, sold)).status, 'approved')
      assert.equal((await shop.outcome(sold))['verified-3d-status'], 'AUTHENTICATED')
    }),
  )

test('2.1.0 cannot do without script: a clear decline, and no invented screen', () =>
  browser.visit({ script: false }, async (page) => {
    const sold = await shop.sell({ scenario: 'frictionless', version: '2.1.0' })
    await shop.pay(page, sold)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Payment declined' }).waitFor()
    await page.getByRole('button', { name: 'Return to the shop' }).click()
    const form = await shop.back(page, sold)
    assert.deepEqual([form.status, form.error_code], ['declined', '2008'])
    assert.deepEqual(await shop.messages(sold, 'AReq'), [])
    assert.equal((await shop.outcome(sold))['verified-3d-status'], 'UNSUPPORTED')
  }))
