// npm run picture: makes a payment with a challenge in the shop of a sandbox of its own, in a
// browser without a window, and photographs the page of the order.
import { renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { startSandbox, until } from './walk/sandbox.mjs'

const help = `npm run picture   makes docs/shop.png anew

It builds, starts a sandbox in a temporary directory on free ports, pays in a Chromium, and removes everything but the picture.
Ends with 0 when it was done, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const picture = join(root, 'docs', 'shop.png')
const width = 1280
/** A picture in a repository is carried by everybody who clones it. */
const mostBytes = 300_000
const settlesWithinMs = 60_000

readArguments(help)
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt.abort())
build()
try {
  await take()
  console.log(`docs/shop.png is made, ${Math.round(statSync(picture).size / 1000)} kB.`)
} catch (thrown) {
  console.error(interrupt.signal.aborted ? 'Interrupted.' : `The picture failed: ${thrown.stack}`)
  process.exitCode = interrupt.signal.aborted ? 130 : 1
}

async function take() {
  const { openBrowser } = await import('../dist/test/harness/browser/browser.js')
  const { file, stop } = await startSandbox(interrupt.signal)
  try {
    const browser = await openBrowser()
    try {
      await browser.visit({ width, height: 900 }, (page) => photograph(page, siteOf(file.shop_url)))
    } finally {
      await browser.close()
    }
  } finally {
    await stop()
  }
}

/** As in the banner: under a name of its own the shop is a site apart from gateway and issuer. */
function siteOf(shopUrl) {
  const url = new URL(shopUrl)
  url.hostname = 'shop.localhost'
  return url.href
}

async function photograph(page, shop) {
  await page.goto(shop)
  await page.getByText('Reconciliation mug').click()
  await page.getByRole('button', { name: 'Pay' }).click()
  const bank = page.frameLocator('iframe[title="Your bank\'s page"]')
  await bank.getByLabel('One-time password').fill('hint')
  await bank.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('status').filter({ hasText: 'Approved' }).waitFor()
  await until('everything is told', settlesWithinMs, interrupt.signal, () => page.locator('main[data-settled]').count())
  await page.evaluate(() => scrollTo(0, 0))
  const aside = `${picture}.new`
  try {
    await page.screenshot({ path: aside, type: 'png', fullPage: true, animations: 'disabled' })
    const { size } = statSync(aside)
    if (size > mostBytes) throw new Error(`the picture has ${size} bytes, and ${mostBytes} are the most`)
    renameSync(aside, picture)
  } finally {
    rmSync(aside, { force: true })
  }
}
