// npm run pictures: sells in a sandbox of its own, in a browser without a window, and photographs
// the shop's page of an order and pages of the console.
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { startSandbox, until } from './walk/sandbox.mjs'

const help = `npm run pictures   makes docs/shop.png and docs/pictures/ anew

It builds, starts a sandbox in a temporary directory on free ports, pays in a Chromium, and removes everything but the pictures.
Ends with 0 when it was done, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const folder = join(root, 'docs', 'pictures')
const desk = { width: 1280, height: 720 }
const phone = { phone: true }
/** Pictures in a repository are carried by everybody who clones it. */
const mostBytes = 150_000
const mostBytesOfStory = 300_000
const settlesWithinMs = 60_000

const visa = '4111111111111111'
const mastercard = '5555555555554444'
const amex = '378282246310005'
// oxfmt-ignore
const sales = [
  // amount    card        cvv2
  ['24.00',    visa,       '123'],
  ['129.00',   mastercard, '123'],
  ['15.99',    visa,       '116'],
  ['10.42',    visa,       '123'],
  ['49.90',    amex,       '1234'],
  ['15.99',    mastercard, '123'],
  ['258.00',   visa,       '209'],
  ['24.00',    visa,       '123'],
  ['10.42',    mastercard, '999'],
  ['31.98',    visa,       '123'],
  ['48.00',    visa,       '123'],
  ['99.00',    mastercard, '123'],
]

readArguments(help)
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt.abort())
build()
try {
  await take()
} catch (thrown) {
  console.error(interrupt.signal.aborted ? 'Interrupted.' : `The pictures failed: ${thrown.stack}`)
  process.exitCode = interrupt.signal.aborted ? 130 : 1
}

async function take() {
  const { openBrowser } = await import('../dist/test/harness/browser/browser.js')
  // First, since it says what is missing where there is none.
  const browser = await openBrowser()
  try {
    const { file, said, stop } = await startSandbox(interrupt.signal)
    try {
      await browser.visit(desk, (page) => buy(page, siteOf(file.shop_url)))
      await trade(file)
      const link = /http:\S+\/come-in\/\S+/.exec(said())[0]
      let inside
      await browser.visit(desk, async (page) => void (inside = await photographConsole(page, file, link)))
      await browser.visit(phone, async (page, context) => {
        await context.addCookies(inside.cookies)
        await page.goto(inside.payment)
        await save(page, join(folder, 'payment-phone.png'), {}, mostBytes)
      })
    } finally {
      await stop()
    }
  } finally {
    await browser.close()
  }
}

/** As in the banner: under a name of its own the shop is a site apart from gateway and issuer. */
function siteOf(shopUrl) {
  const url = new URL(shopUrl)
  url.hostname = 'shop.localhost'
  return url.href
}

/** A payment that the bank asks about: the first order there is. */
async function buy(page, shop) {
  await page.goto(shop)
  await page.getByText('Reconciliation mug').click()
  await page.getByRole('button', { name: 'Pay' }).click()
  const bank = page.frameLocator('iframe[title="Your bank\'s page"]')
  await bank.getByLabel('One-time password').fill('hint')
  await bank.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('status').filter({ hasText: 'Approved' }).waitFor()
  await until('everything is shown', settlesWithinMs, interrupt.signal, () => page.locator('main[data-settled]').count())
  await page.evaluate(() => scrollTo(0, 0))
  await save(page, join(root, 'docs', 'shop.png'), { fullPage: true }, mostBytesOfStory)
}

/** Sales that end in different ways, one of a kept card, and money that goes back. */
async function trade({ base_url: baseUrl, merchant, endpoints, merchant_server_url: server }) {
  const { openClient } = await import('../dist/client/client.js')
  const client = openClient({ baseUrl, login: merchant.login, controlKey: merchant.control_key, endpoint: endpoints.plain })
  const customer = {
    email: 'jane@example.com',
    first_name: 'Jane',
    last_name: 'Doe',
    phone: '+12125550123',
    ipaddress: '203.0.113.7',
  }
  const expiry = { expire_month: 12, expire_year: new Date().getUTCFullYear() + 3 }
  const ordered = { order_desc: 'Toll barrier lamp', currency: 'USD', ...customer, card_printed_name: 'JANE DOE', ...expiry }
  const finished = async (reply) => {
    if (reply.is !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(reply)}`)
    await client.finish(reply)
    return reply.order
  }
  const sold = []
  for (const [i, [amount, credit_card_number, cvv2]] of sales.entries()) {
    // One of the merchant's addresses answers nothing.
    const server_callback_url = i % 5 === 1 ? 'http://127.0.0.1:9/callback' : `${server}/callback`
    const own = { client_orderid: `basket-${1001 + i}`, amount, credit_card_number, cvv2, server_callback_url }
    sold.push(await finished(await client.sale({ ...ordered, ...own })))
  }
  const kept = await client.createCardRef(sold[0])
  const monthly = { order_desc: 'Lamp of the month', amount: '19.00', currency: 'USD', ipaddress: customer.ipaddress }
  const how = { recurrent_scenario: 'REGULAR', recurrent_initiator: 'MERCHANT', server_callback_url: `${server}/callback` }
  await finished(await client.makeRebillSale({ ...monthly, ...how, client_orderid: 'basket-1013', cardrefid: kept.cardRefId }))
  await finished(await client.return({ ...sold[1], amount: '29.00', currency: 'USD', comment: 'one was broken' }))
}

async function photographConsole(page, file, link) {
  const go = (path) => page.goto(new URL(path, file.console_url).href)
  const press = async (name) => {
    await page.getByRole('button', { name, exact: true }).click()
    await page.waitForLoadState('load')
  }
  const shoot = (name, options) => save(page, join(folder, `${name}.png`), options, mostBytes)
  mkdirSync(folder, { recursive: true })
  await page.goto(link)
  await press('Sign in')
  await shoot('overview')
  await go('/order/find?status=approved&currency=USD')
  await shoot('payments')
  await go('/order/find')
  await page.locator('tbody tr').last().getByRole('link').first().click()
  await page.waitForLoadState('load')
  await shoot('payment')
  const payment = page.url()
  await go('/delivery/list')
  await shoot('callbacks')
  await go(`/endpoint/set?endpoint=${file.endpoints.plain}`)
  await page.getByLabel('Mandatory fields').fill('city')
  await press('See what would change')
  await shoot('change')
  await go('/signature/explain')
  await page.locator('#request').fill(wronglySigned(file))
  await press('Show')
  await shoot('signature-doctor')
  await page.emulateMedia({ colorScheme: 'dark' })
  await go('/')
  await shoot('overview-dark')
  return { payment, cookies: await page.context().cookies() }
}

/** The amount is signed as it is written, not in minor units. */
function wronglySigned({ merchant, endpoints }) {
  const sale = {
    client_orderid: 'basket-1014',
    order_desc: 'Toll barrier lamp',
    amount: '129.00',
    currency: 'USD',
    email: 'jane@example.com',
    ipaddress: '203.0.113.7',
  }
  const signed = [endpoints.plain, sale.client_orderid, sale.amount, sale.email, merchant.control_key]
  const control = createHash('sha1').update(signed.join('')).digest('hex')
  return `POST /gateway/api/v2/sale/${endpoints.plain}\n\n${new URLSearchParams({ ...sale, control })}`
}

async function save(page, path, options, most) {
  const aside = `${path}.new`
  try {
    await page.screenshot({ path: aside, type: 'png', animations: 'disabled', ...options })
    const { size } = statSync(aside)
    if (size > most) throw new Error(`${path} has ${size} bytes, and ${most} are the most`)
    renameSync(aside, path)
    console.log(`${relative(root, path)} is made, ${Math.round(size / 1000)} kB.`)
  } finally {
    rmSync(aside, { force: true })
  }
}
