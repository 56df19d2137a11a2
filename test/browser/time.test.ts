import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openShop, type Shop } from '../harness/browser/shop.ts'
import { startWorld } from '../harness/sandbox/start.ts'
import type { World } from '../harness/world/world.ts'
import { sharedBrowser } from './stand.ts'

const browser = await sharedBrowser()

/**
 * No cardholder answers the issuer. It waits 30 s for the cardholder instead of ten minutes, and
 * 1.5 s for the browser instead of 30 s.
 */
describe('in a world whose time is short', () => {
  let world: World
  let shop: Shop
  before(async () => {
    world = await startWorld({ env: { TOLLGATE_TIME_SCALE: '0.05' } })
    shop = await openShop(world)
  })
  after(async () => {
    await shop.close()
    await world.stop()
  })

  test('when the time of a challenge ends, cardholder and shop see it, with the tab open or closed', async () => {
    const timedOut = { status: 'declined', error_code: '2003' }
    await Promise.all([
      browser.visit({}, async (page) => {
        const sold = await shop.sell({ scenario: 'challenge' })
        await shop.pay(page, sold)
        // On a busy machine the browser may be too late for the password. The page reads the same.
        await page.waitForURL(shop.url(sold, 'back'), { timeout: 90_000 })
        const { status, error_code } = await shop.back(page, sold)
        assert.deepEqual({ status, error_code }, timedOut)
        await shop.outcome(sold)
      }),
      browser.visit({ phone: true }, async (page) => {
        const sold = await shop.sell({ scenario: 'challenge' })
        await shop.pay(page, sold)
        // The same here: then the issuer asks for none, returns by itself, and there is no tab to
        // close.
        const password = page.getByLabel('One-time password')
        await password.or(page.getByRole('heading', { name: 'Thank you' })).waitFor()
        const inTime = await password.isVisible()
        await page.close()
        await shop.called(sold)
        const { status, 'error-code': error_code } = await shop.outcome(sold)
        assert.deepEqual({ status, error_code }, timedOut)
        if (inTime) assert.deepEqual(shop.posted(sold, 'back'), [])
      }),
    ])
  })

  test('a tab that is closed before it comes to the bank', () =>
    browser.visit({}, async (page) => {
      const sold = await shop.sell({ scenario: 'challenge' })
      await page.route(/\/challenge$/, (route) => route.abort())
      const asked = page.waitForRequest(/\/challenge$/)
      await page.goto(sold.page)
      await asked
      await page.close()
      const { status, 'error-code': code } = await shop.outcome(sold)
      assert.deepEqual([status, code], ['declined', '2003'])
    }))
})
