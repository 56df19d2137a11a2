import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Visit } from '../harness/browser/browser.ts'
import { configurationRead } from '../harness/world/configuration.ts'
import { connectOwn } from '../harness/postgres/own-rows.ts'
import { closing } from '../harness/world/opening.ts'
import { openApp, type App } from '../wire/mobile/mobile-app.ts'
import { openSumPage, type Asked } from '../wire/mobile/mobile-sum-page.ts'
import { cliOf } from '../wire/operator/cli-run.ts'
import { sharedStand } from './stand.ts'

/** A cardholder names the sum that was held on the card, in a real browser. */

const { world, browser } = await sharedStand()
const database = closing(await connectOwn(world))
const endpoint = world.endpoints.mobile_random_sum
let app: App
let sums: ReturnType<typeof openSumPage>

const numbers = ['4111111111111111', '5555555555554444', '4012888888881881', '4222222222222220']
const asked = () => sums.asked(app.begin('sale', { endpoint, number: numbers.pop()!, amountCentis: 12_990 }))
const confirm = async (page: Page, sum: string) => {
  await page.getByLabel('Sum that is held, in USD').fill(sum)
  await page.getByRole('button', { name: 'Confirm' }).click()
}
const wrongFor = ({ sum }: Asked) => (sum === '9.99' ? '1.00' : '9.99')
const overflow = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')

const ways: readonly (readonly [string, Visit])[] = [
  ['on a phone', { phone: true }],
  ['on a phone, in the dark, without script', { phone: true, dark: true, script: false }],
  ['at a desk', {}],
]
describe('at an endpoint that calls a server of the test', () => {
  before(async () => {
    app = await openApp(world, [endpoint])
    sums = openSumPage(world, app, database)
  })
  after(async () => {
    await cliOf(() => world).tell(['endpoint', 'set', String(endpoint), '--merchant-server-url', world.merchantServerUrl])
    await configurationRead(world)
    await app.merchant.close()
  })

  for (const [what, visit] of ways)
    test(`${what}: a wrong sum, what is no sum, a reload, and the right one`, () =>
      browser.visit(visit, async (page) => {
        const one = await asked()
        await page.goto(one.url)
        await page.getByText('129.90').waitFor()
        // A slow machine may have used one or two of the thirty minutes.
        await page.getByText(/^3 tries and (?:30|29|28) minutes left\.$/).waitFor()
        assert.equal(await page.getByRole('alert').count(), 0)
        await confirm(page, wrongFor(one))
        await page.getByRole('alert').getByText('That was not the sum.').waitFor()
        await page.getByText('2 tries').waitFor()
        await page.reload()
        await page.getByText('2 tries').waitFor()
        await confirm(page, 'three')
        await page.getByRole('alert').getByText('That was no sum.').waitFor()
        await page.getByText('2 tries').waitFor()
        if (visit.script !== false) assert.equal(await overflow(page), false)
        await confirm(page, one.sum.replace('.', ','))
        await page.getByRole('heading', { name: 'Payment approved' }).waitFor()
        await page.goBack()
        await page.goto(one.url)
        await page.getByRole('heading', { name: 'Payment approved' }).waitFor()
        assert.equal((await sums.final(one)).state, 'APPROVED')
      }))

  test('three wrong sums end on a page that says that nothing was charged', () =>
    browser.visit({ phone: true }, async (page) => {
      const one = await asked()
      await page.goto(one.url)
      for (const left of ['2 tries', '1 try']) {
        await confirm(page, wrongFor(one))
        await page.getByText(left).waitFor()
      }
      await confirm(page, wrongFor(one))
      await page.getByRole('heading', { name: 'Payment declined' }).waitFor()
      await page.getByText('Nothing is charged').waitFor()
      assert.equal((await sums.final(one)).errorCode, 4007)
    }))
})
