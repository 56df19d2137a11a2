import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { secret } from '../../src/base/secret.ts'
import { jsonName } from '../../src/entity/json.ts'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { offers, type Offer } from '../../src/operator/offered.ts'
import { isOperation } from '../../src/spec/gateway/operations.ts'
import { order, settled, signedSale } from '../conformance/requests/client.ts'
import { follow } from '../harness/browser/browser.ts'
import { complaintsOf, makeReady, sticksOut } from '../harness/browser/looks.ts'
import { openPages, over, working } from '../harness/three-d-secure/three-d-secure-pages.ts'
import { openShop } from '../harness/browser/shop.ts'
import { closing, openHttp, openWorld } from '../harness/world/opening.ts'
import { cliOf } from '../wire/operator/cli-run.ts'
import { atBank } from './bank.ts'
import { sharedBrowser } from './stand.ts'

/** Every page, on a phone and at a desk, light and dark, by axe-core and rules of our own. */

const browser = await sharedBrowser()
const world = await openWorld({ own: true })
const shop = closing(await openShop(world))
const { tell, json } = cliOf(() => world)
const file = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as { console_url: string }
const at = (path: string) => new URL(path, file.console_url).href
const paid = await order(world)
const receipt = (await settled(world, paid))['receipt-id']
await settled(world, await order(world, { cvv2: '116' }))
const { login } = world.merchant
await tell(['filter', 'add', 'amount', '--merchant', login, '--currency', 'USD', '--most', '5000'])
const { token_id } = await json<{ token_id: number }>('token', 'add', '--user', 'sandbox')
const [{ filter } = { filter: 0 }] = await json<{ filter: number }[]>('filter', 'list', '--merchant', login)

const refused = new URLSearchParams(signedSale(world, { control: '0'.repeat(40) })).toString()
/** What there is, by the names of inputs: a page that needs them shows something. */
const there: Readonly<Record<string, string>> = {
  login,
  merchant: login,
  endpoint: String(world.endpoints.plain),
  group: String(world.groups.multi),
  gate: '1',
  number: String(filter),
  id: paid.orderid,
  what: paid.orderid,
  email: 'ada@example.com',
  digits: '411111',
  card: '4111111111111111',
  user: 'sandbox',
  token: String(token_id),
  request: `POST /gateway/api/v2/sale/${world.endpoints.plain}\n\n${refused}`,
}
const addressOf = ({ path, action: { takes } }: Offer): string => {
  const query = Object.entries(takes).flatMap(([name, { argument, needed, piped }]): [string, string][] =>
    there[name] !== undefined && (argument || needed || piped || name === 'email') ? [[jsonName(name), there[name]]] : [],
  )
  return `/${path}?${new URLSearchParams(query).toString()}`
}
const all = await offers()

/** How long a challenge takes is not up to the issuer's page, which says so when it is over. */
const isTimeOut = (one: string): boolean => /meta-refresh: .*url=\/challenge\/state/.test(one)

type Look = (page: Page, url?: string) => Promise<void>
/** Goes through pages on a phone and at a desk, both in parallel. */
async function looked(pages: (page: Page, look: Look) => Promise<void>): Promise<void> {
  const said: string[] = []
  const look: Look = async (page, url) => {
    if (url !== undefined) {
      await page.goto(url)
      assert.equal(new URL(page.url()).pathname, new URL(url).pathname)
    }
    said.push(...(await complaintsOf(page)).filter((one) => !isTimeOut(one)))
  }
  const visits = [390, 1_280].map((width) =>
    browser.visit({ width, phone: width === 390, expects: [/status of 4\d\d/] }, async (page) => {
      await makeReady(page)
      await pages(page, look)
    }),
  )
  await Promise.all(visits)
  assert.deepEqual(said, [])
}

let made = 0
/** Comes in as a new user; returns the name, and the link, which is used. */
async function comeIn(page: Page, merchant: readonly string[] = []): Promise<{ name: string; link: string }> {
  const name = `looks-${made++}`
  await tell(['user', 'add', name, '--role', 'owner', ...merchant])
  const link = at((await json<{ path: string }>('user', 'invite', name)).path)
  await page.goto(link)
  await follow(page, page.getByRole('button'))
  return { name, link }
}

const press = (page: Page, name: string) => follow(page, page.getByRole('button', { name, exact: true }))

test('the console: each action, the overview, a dry run, a refusal and a proposal', (t) => {
  const set = (returns: string) => tell(['proposal', 'set-rules', '--returns', returns])
  t.after(() => set('none'))
  return looked(async (page, look) => {
    await look(page, at('/sign-in'))
    const { link } = await comeIn(page)
    for (const path of ['/', '/me', '/order/find?status=approved&currency=USD', '/no/such-page']) await look(page, at(path))
    for (const offer of all) await look(page, at(addressOf(offer)))
    await page.goto(at('/gate/add'))
    await Promise.all([page.waitForNavigation(), page.evaluate(`document.querySelector('main form').submit()`)])
    await page.getByText('It must be there').first().waitFor()
    await look(page)
    await page.goto(at(`/endpoint/set?endpoint=${world.endpoints.plain}`))
    await page.getByLabel('Mandatory fields').fill('phone')
    await press(page, 'See what would change')
    assert.match(await page.locator('main').innerText(), /A dry run/)
    await look(page)
    await set('0.01 USD')
    await page.goto(at(`/order/return?id=${paid.orderid}`))
    await page.getByLabel('Reason').fill('one was broken')
    await press(page, 'Return')
    assert.match(await page.locator('main').innerText(), /waits until/)
    await look(page)
    await follow(page, page.getByRole('link', { name: /^proposal show/ }))
    await look(page)
    await look(page, at('/proposal/list'))
    await page.context().clearCookies()
    await look(page, link)
    await follow(page, page.getByRole('button'))
    await look(page)
  })
})

test("a merchant's console, the pages closed to its users, and their ways in", () =>
  looked(async (page, look) => {
    const { name } = await comeIn(page, ['--merchant', login])
    const places = await page.locator('.places a').evaluateAll((links) => links.map((link) => String(link.getAttribute('href'))))
    assert.ok(places.length > 10)
    for (const path of [...places, '/gate/list', '/me']) await look(page, at(path))
    const password = 'a phrase that is long'
    await page.locator('#password').fill(password)
    await page.locator('#again').fill(password)
    await press(page, 'Set password')
    await look(page)
    const key = secret(Buffer.from(await page.locator('[name=key]').inputValue(), 'base64url'))
    await page.locator('#code').fill(codeAt(key, stepAt(Date.now())))
    await press(page, 'Add')
    assert.equal(await page.locator('.notice li').count(), 10)
    await look(page)
    await press(page, 'Sign out')
    for (const tried of ['wrong', password]) {
      await page.locator('#name').fill(name)
      await page.locator('#password').fill(tried)
      await press(page, 'Sign in')
      await look(page)
    }
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
  }))

test('hosted pages, shop, app, reference, and the simulators', async () => {
  const hosted = closing(await openPages())
  const { back: later, ...last } = over
  const states = [
    { ...working, later },
    { ...last, status: 'declined', why: 'expired' } as const,
    { ...over, cardholderInfo: 'Call us.' },
  ]
  const { origin } = new URL(world.baseUrl)
  await looked(async (page, look) => {
    for (const state of states) await look(page, hosted.at(hosted.put(state)))
    await look(page, `${world.baseUrl}/3ds/${'A'.repeat(22)}`)
    await look(page, `${world.baseUrl}/view-receipt/${world.endpoints.plain}/${receipt}/`)
    await page.goto((await shop.sell({ scenario: 'challenge' })).page)
    // On a phone the bank has the whole window.
    const bank = page.viewportSize()!.width === 390 ? page : atBank(page)
    await bank.getByLabel('One-time password').waitFor()
    await look(page)
    await page.goto(world.shopUrl)
    await look(page)
    await page.getByLabel('What the card does').selectOption('frictionless')
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.locator('main[data-settled]').waitFor()
    await look(page)
    for (const url of ['/', '/app'].map((path) => world.merchantServerUrl + path)) await look(page, url)
    for (const url of [world.acsUrl, world.acquirerAdminUrl, world.directoryServerUrl, `${origin}/docs`]) await look(page, url)
    const links = await page
      .locator('main a, nav a')
      .evaluateAll((found) => found.map((link) => String(link.getAttribute('href'))))
    // Every page with a form; and one of each kind of the others, which one program makes.
    const others = /^\/docs\/(?:tutorials\/sale|install|architecture|reference\/(?:errors|mobile-(?:perform|check)-sale))$/
    const reference = '/docs/reference/'
    const pages = [...new Set(links)].filter((link) => others.test(link) || isOperation(link.replace(reference, '')))
    assert.ok(pages.length > 20)
    for (const path of pages) await look(page, origin + path)
  })
})

test('nothing sticks out on any screen between a phone and a wall', () =>
  browser.visit({}, async (page) => {
    await comeIn(page)
    const paths = ['/', '/me', '/order/find', `/order/show?id=${paid.orderid}`, '/gate/set?gate=1', '/audit/list', '/doctor']
    const elsewhere = [world.shopUrl, `${world.merchantServerUrl}/app`, new URL('/docs/reference/sale', world.baseUrl).href]
    const said: string[] = []
    for (const url of [...paths.map(at), ...elsewhere]) {
      await page.goto(url)
      said.push(...(await sticksOut(page)))
    }
    assert.deepEqual(said, [])
  }))

/** Pale when light, dark when dark, a field without a name, something wide. */
const ugly = `<!doctype html><html lang="en"><title>Ugly</title><link rel="icon" href="data:,"><style>
  @media (prefers-color-scheme: dark) { body { background: #222 } p { color: #333 } } div { width: 3000px; height: 1em }
</style><main><h1>Ugly</h1><input id="a"><details><summary>More</summary><p>Some</p><b style="color: #bbb">Pale</b>
<b style="color: #bbb">Pale too</b></details>
<div></div></main></html>`

test('a page with such mistakes is complained about, whatever its policy', async () => {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
  const { origin } = await openHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy }).end(ugly)
  })
  await browser.visit({}, async (page) => {
    await makeReady(page)
    await page.goto(origin)
    const said = (await complaintsOf(page)).join('\n')
    for (const one of [
      'label: <input',
      'color-contrast: <b',
      'color-contrast: <p',
      'size: <input',
      'sticks out',
      '>Pale<',
      '>Pale too<',
    ])
      assert.ok(said.includes(one), `${one} in\n${said}`)
    // What was measured before and did not pass is measured again.
    await page.goto(origin)
    assert.deepEqual((await complaintsOf(page)).toSorted(), said.split('\n').toSorted())
  })
})

test('an id is copied by one press, and times are exact when asked', () =>
  browser.visit({}, async (page, context) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await comeIn(page)
    await page.goto(at(`/order/show?id=${paid.orderid}`))
    for (const id of [paid.orderid, paid.client_orderid]) {
      await page.getByRole('button', { name: `Copy ${id}` }).press('Enter')
      await page.getByRole('button', { name: `Copy ${id}` }).waitFor({ state: 'detached' })
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), id)
    }
    await page.goto(at('/order/find'))
    const time = page.locator('time').first()
    assert.match(await time.ariaSnapshot(), /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC/)
    const exact = time.locator('span')
    assert.ok((await exact.boundingBox())!.width < 2)
    await page.keyboard.press('t')
    assert.ok((await exact.boundingBox())!.width > 100)
    await time.click()
    assert.ok((await exact.boundingBox())!.width < 2)
  }))

test('the console works without script, and loads one style', () =>
  browser.visit({ script: false }, async (page, context) => {
    const loaded: string[] = []
    context.on('request', (request) => loaded.push(request.resourceType()))
    await page.goto(at('/sign-in'))
    assert.deepEqual(loaded, ['document', 'stylesheet'])
  }))
