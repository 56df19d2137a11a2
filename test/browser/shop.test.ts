import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../harness/clock/until.ts'
import { pressAt, say } from './bank.ts'
import { follow } from '../harness/browser/browser.ts'
import { sharedStand } from './stand.ts'

/** The sandbox's shop, just opened from the banner's link. `visit` fails when a page complains. */

const { world, browser } = await sharedStand()

interface Purchase {
  scenario: string
  hosted?: true
  cvv2?: string
  /** Under which name the shop is opened; the banner's unless said otherwise. */
  host?: '127.0.0.1'
}

async function buy(page: Page, { scenario, hosted, host, cvv2 = '123' }: Purchase): Promise<void> {
  await page.goto(`http://${host ?? 'shop.localhost'}:${new URL(world.shopUrl).port}/`)
  await page.getByLabel('What the card does').selectOption(scenario)
  await page.locator(`label[for=cvv2-${cvv2}]`).click()
  if (hosted) await page.getByText('The gateway', { exact: false }).and(page.locator('label')).click()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
}

/** The issuer's page in the shop's frame. */
const bankIn = (page: Page) => page.frameLocator(`iframe[title="Your bank's page"]`)

/** Waits for the outcome as the page shows it. */
async function headline(page: Page, text: string): Promise<void> {
  await page.getByRole('status').filter({ hasText: text }).waitFor()
}

interface Story {
  status: string
  messages: { from: string; to: string; name: string; control_holds?: boolean }[]
}

/** The names of all messages, once these are among them: journals of others come a little later. */
async function told(page: Page, ...expected: string[]): Promise<string[]> {
  const json = world.shopUrl + new URL(page.url()).pathname + '.json'
  const names = async () =>
    ((await (await fetch(json)).json()) as Story).messages.map(({ from, to, name }) => `${from} > ${to}: ${name}`)
  const has = (all: string[]) => expected.every((one) => all.includes(one))
  const all = await until(names, has)
  assert.ok(has(all), `${expected.join(', ')} in\n${all.join('\n')}`)
  return all
}

/** Nothing of the page lies beside the window. */
async function staysWithin(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
  assert.ok(wide <= window, `${wide} pixels in a window of ${window}`)
}

function arrow(page: Page, name: string) {
  const title = page.locator('b').getByText(name, { exact: true })
  return page.locator('#steps > li').filter({ has: title }).first()
}

test('frictionless: approved without a question, and the keyboard opens the messages', () =>
  browser.visit({ moving: true }, async (page) => {
    await buy(page, { scenario: 'frictionless' })
    await headline(page, 'Approved')
    await told(page, 'gateway > directory: AReq', 'gateway > merchant: callback')
    await arrow(page, 'callback').waitFor()
    const sale = arrow(page, 'sale')
    await sale.locator('summary').focus()
    await page.keyboard.press('Enter')
    await sale.getByText('String to sign').waitFor()
    await sale.getByText('‹control key›').waitFor()
    assert.match(await sale.getByText('400000').innerText(), /^400000\*{6}\d{4}$/)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    const next = arrow(page, 'async-response')
    assert.deepEqual([await sale.locator('details[open]').count(), await next.locator('details[open]').count()], [1, 1])
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    assert.equal(await sale.locator('details[open]').count(), 0)
  }))

const hosts = [undefined, '127.0.0.1'] as const

test('a challenge is shown in the page and passed, under the name in the banner and under the address in sandbox.json', () =>
  browser.visit({}, async (page) => {
    for (const host of hosts) {
      await buy(page, { scenario: 'challenge', ...(host && { host }) })
      await say(bankIn(page), 'hint')
      await headline(page, 'Approved')
      await told(
        page,
        'shopper > merchant: method notification',
        'issuer > shopper: CRes',
        'merchant > gateway: upload-cres-result',
      )
    }
  }))

test('a failed challenge with the right password, and a cancelled one, are declined with a reason', () =>
  browser.visit({}, async (page) => {
    await buy(page, { scenario: 'challenge-failed' })
    await say(bankIn(page), 'hint')
    await headline(page, 'Declined')
    assert.match(await page.locator('#stage').innerText(), /NOT_AUTHENTICATED/)
    await buy(page, { scenario: 'challenge' })
    await pressAt(bankIn(page), 'Cancel')
    await headline(page, 'Declined')
    assert.match(await page.locator('#stage').innerText(), /2002/)
  }))

test('when the bank has answered, its page goes, though its result never comes to the gateway', () =>
  browser.visit({}, async (page) => {
    await buy(page, { scenario: 'challenge-no-result' })
    const uploaded = told(page, 'shopper > merchant: CRes')
    await say(bankIn(page), 'hint')
    await uploaded
    await headline(page, 'Your bank has answered')
    assert.equal(await page.locator('iframe').count(), 0)
    assert.doesNotMatch(await page.locator('.side').innerText(), /hint/)
    // The gateway still waits for the result, so this was not the end of it.
    const { status } = (await (await fetch(`${world.shopUrl}${new URL(page.url()).pathname}.json`)).json()) as Story
    assert.equal(status, 'processing')
  }))

// oxfmt-ignore
const ends: readonly (readonly [purchase: Purchase, says: string, money: string])[] = [
  [{ scenario: 'plain' },                        'Approved',      '24.00 USD was charged.'],
  [{ scenario: 'plain', cvv2: '116' },           'Declined',      'Nothing was charged.'],
  [{ scenario: 'frictionless-denied' },          'Declined',      'Nothing was charged.'],
  [{ scenario: 'frictionless-denied', hosted: true }, 'Declined', 'Nothing was charged.'],
]

test('every end says what happened to the money, under one heading and in a status region', () =>
  browser.visit({}, async (page) => {
    for (const [purchase, says, money] of ends) {
      await buy(page, purchase)
      await headline(page, says)
      await page.getByRole('status').getByText(money, { exact: true }).waitFor()
      assert.deepEqual(await page.getByRole('heading', { level: 1 }).allInnerTexts(), ['Idempotency key'])
    }
  }))

test('without an answer of the acquirer the page says what is not known, and at last that nothing was charged', async () => {
  const ask = async (method: string, path: string, body?: object) => {
    const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    await (await fetch(world.acquirerAdminUrl + path, { method, ...json })).text()
  }
  await ask('POST', '/line', { slow_reversal_ms: 0 })
  await ask('POST', '/faults', { match: { message: 'reversal' }, do: { hold: true } })
  try {
    await browser.visit({}, async (page) => {
      await buy(page, { scenario: 'plain', cvv2: '217' })
      await headline(page, 'It may have been charged.')
      await ask('DELETE', '/faults')
      await headline(page, 'Nothing was charged: the acquirer has confirmed that the payment is undone.')
    })
  } finally {
    await ask('DELETE', '/faults')
    await ask('POST', '/line', { slow_reversal_ms: 30_000 })
  }
})

test('another card is tried for the same product, and what was chosen stays when the form is refused', () =>
  browser.visit({ expects: [/status of 400/] }, async (page) => {
    await page.goto(`http://shop.localhost:${new URL(world.shopUrl).port}/`)
    await page.getByText('Reconciliation mug').click()
    await page.getByText('The gateway', { exact: false }).and(page.locator('label')).click()
    await page.getByLabel('What the card does').selectOption('plain')
    await page.locator('label[for=cvv2-116]').click()
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await follow(page, page.getByRole('link', { name: 'Try another card' }))
    assert.deepEqual(await chosen(page), ['mug', 'challenge', 'visa', '123', 'hosted', 'USD'])
    await page.evaluate(`document.querySelector('#cvv2-209').value = '999'`)
    await page.locator('label[for=network-mastercard]').click()
    await page.locator('label[for=cvv2-209]').click()
    await follow(page, page.getByRole('button', { name: 'Pay', exact: true }))
    await page.getByRole('alert').getByText('Please choose a CVV2 of the list.').waitFor()
    assert.deepEqual(await chosen(page), ['mug', 'challenge', 'mastercard', '123', 'hosted', 'USD'])
  }))

const chosen = (page: Page): Promise<string[]> =>
  page.evaluate(
    `['product', 'scenario', 'network', 'cvv2', 'way', 'currency'].map((name) => new FormData(document.forms[0]).get(name))`,
  )

test("the gateway's page takes over and brings the shopper back, with and without a challenge", () =>
  browser.visit({}, async (page) => {
    for (const scenario of ['frictionless', 'challenge']) {
      await buy(page, { scenario, hosted: true })
      if (scenario === 'challenge') await say(page.frameLocator('iframe[title^="Your bank"]'), 'hint')
      await headline(page, 'Approved')
      await told(page, 'merchant > shopper: redirect-to', 'shopper > merchant: return to redirect_url')
    }
  }))

test('1.0.2, server to server, under the name and under the address: the bank asks again, and the XML opens as a list', () =>
  browser.visit({}, async (page) => {
    for (const host of hosts) {
      await buy(page, { scenario: '1.0.2', ...(host && { host }) })
      const bank = bankIn(page)
      await say(bank, 'wrong')
      await bank.getByText('2 tries are left').waitFor()
      await say(bank, 'hint')
      await headline(page, 'Approved')
      await told(page, 'directory > gateway: VERes', 'issuer > shopper: PARes', 'merchant > gateway: upload-pares-result')
      for (const [name, element, value] of [
        ['VEReq', 'pan', /^400000\*{6}9003$/],
        ['VERes', 'CH/enrolled', /^Y$/],
        ['PAReq', 'CH/expiry', /^\*\*\*$/],
        ['PARes', 'TX/cavv', /^\*\*\*$/],
      ] as const) {
        const message = arrow(page, name)
        await message.locator('summary').click()
        const row = message.locator('.facts > div').filter({ has: page.locator('dt code').getByText(element, { exact: true }) })
        assert.match(await row.locator('dd').innerText(), value, `${name} ${element}`)
      }
      const upload = arrow(page, 'upload-pares-result')
      await upload.locator('summary').focus()
      await page.keyboard.press('Enter')
      assert.match(await upload.locator('.signing').innerText(), /✓ holds/)
    }
  }))

test("1.0.2 on the gateway's page, and cards of it whose bank does not ask", () =>
  browser.visit({}, async (page) => {
    await buy(page, { scenario: '1.0.2', hosted: true })
    await say(page, 'hint')
    await headline(page, 'Approved')
    await told(
      page,
      'directory > gateway: VERes',
      'issuer > shopper: password page',
      'shopper > merchant: return to redirect_url',
    )
    for (const outcome of ['Approved', 'Declined'] as const) {
      await buy(page, { scenario: outcome === 'Approved' ? '1.0.2-attempt' : '1.0.2-failed' })
      await headline(page, outcome)
      const all = await told(page, 'issuer > shopper: PARes', 'merchant > gateway: upload-pares-result')
      assert.ok(!all.includes('issuer > shopper: password page'))
    }
  }))

test('without scripts, 1.0.2 and a challenge have a button wherever one is needed', () =>
  browser.visit({ script: false }, async (page) => {
    for (const scenario of ['1.0.2', 'challenge']) {
      await buy(page, { scenario })
      // By key: the page reloads by itself, and a click would be lost between press and release.
      if (scenario === 'challenge') await pressAt(page, 'Go on without scripts')
      const bank = bankIn(page)
      await pressAt(bank, /^Go on to your bank$|^Continue to your bank$/)
      await say(bank, 'hint')
      await pressAt(bank, 'Continue')
      await bank.locator('noscript p').filter({ hasText: 'Follow the link below' }).waitFor()
      await page.getByRole('link', { name: 'Go on when your bank is done' }).click()
      await headline(page, 'Approved')
    }
  }))

test('on a phone nothing lies beside the window: not in the choice, not while the bank asks, not in any message', () =>
  browser.visit({ phone: true }, async (page) => {
    for (const scenario of ['challenge', '1.0.2']) {
      await buy(page, { scenario })
      await bankIn(page).getByLabel('One-time password').waitFor()
      await staysWithin(page)
      await say(bankIn(page), 'hint')
      await headline(page, 'Approved')
      await told(page, 'gateway > merchant: callback')
      await arrow(page, 'callback').waitFor()
      await page.evaluate(`document.querySelectorAll('#steps details').forEach((one) => { one.open = true })`)
      await staysWithin(page)
      await labelsAreAtTheirArrows(page)
      await page.goto(`http://shop.localhost:${new URL(world.shopUrl).port}/`)
      await staysWithin(page)
    }
  }))

/** Each label covers a part of its arrow's width, and stands above it. */
async function labelsAreAtTheirArrows(page: Page): Promise<void> {
  const away = await page.evaluate<string[]>(`[...document.querySelectorAll('#steps > li')].flatMap((row) => {
    const [label, arrow] = ['.name > span', '.arrow'].map((one) => row.querySelector(one).getBoundingClientRect())
    const isOver = label.left < arrow.right - 5 && label.right > arrow.left + 5 && label.bottom <= arrow.top + 3
    return isOver ? [] : [row.innerText]
  })`)
  assert.deepEqual(away, [])
}
