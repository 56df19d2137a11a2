import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../harness/clock/until.ts'
import { say } from './bank.ts'
import { sharedStand } from './stand.ts'

/** The demo app, by whoever tries it: each test is a consumer of its own. */

const { world, browser } = await sharedStand()

async function open(page: Page, consumer: string, endpoint = 'mobile'): Promise<void> {
  await page.goto(`${world.merchantServerUrl}/app?consumer=${consumer}`)
  await page.getByLabel('Endpoint').selectOption(endpoint)
  await screen(page).getByText(consumer).waitFor()
}

const phone = (page: Page) => page.getByLabel('The app on a phone')
/** The one that is shown. */
const screen = (page: Page) => phone(page).locator('[data-screen]:not([hidden])')
const press = (page: Page, name: string) => screen(page).getByRole('button', { name, exact: true }).click()
const reads = (page: Page, heading: string) => screen(page).getByRole('heading', { name: heading, exact: true }).waitFor()

/** A row of the list of calls. */
const call = (page: Page, path: RegExp) => page.locator('#calls > li').filter({ has: page.locator('.path', { hasText: path }) })
/**
 * What a new page shows. It asks the merchant now and then what was signed, so that may appear
 * after the call and the payment.
 */
async function opened(page: Page, path: RegExp, signature?: string): Promise<string> {
  const row = call(page, path)
  // The row is drawn again when that comes, and would lose a click that it meets.
  const signed = signature === undefined ? undefined : row.getByText(`= ${signature}`, { exact: true })
  await signed?.waitFor({ state: 'attached' })
  await row.locator('summary').click()
  await signed?.waitFor()
  return row.innerText()
}

/** Every access token and session token that the page is given from now on. */
function tokensOf(page: Page): Set<string> {
  const secrets = new Set<string>()
  page.on('response', (response) => {
    if (response.request().method() !== 'POST') return
    const take = ({ session }: { session?: { accessToken?: string; token?: string } }) => {
      for (const secret of [session?.accessToken, session?.token]) if (secret !== undefined) secrets.add(secret)
    }
    // The body of a reply that comes while the page closes is gone.
    response.json().then(take, () => undefined)
  })
  return secrets
}

test('a card is registered and pays by its name, beside every call with its signed text and no secret', () =>
  browser.visit({ moving: true }, async (page) => {
    const secrets = tokensOf(page)
    await open(page, 'registers')
    await screen(page).getByText('No card yet').waitFor()
    await press(page, 'Register a card')
    await press(page, 'No questions asked')
    await press(page, 'Register')
    await reads(page, 'Registered')
    await press(page, 'Done')
    await call(page, /^POST \/verification\/notification$/).waitFor()
    await press(page, 'Register a card')
    await press(page, '‹ Back')
    await screen(page).getByRole('list', { name: 'Saved cards' }).getByText('411111…').waitFor()

    await press(page, 'Pay')
    await screen(page).getByLabel('Amount').fill('12.5')
    await press(page, 'Pay')
    await reads(page, 'Paid')
    await screen(page).getByText('12.50 USD').waitFor()
    const initiate = await opened(page, /initiate-sale$/, 'session.signature')
    const perform = await opened(page, /\/gateway\/dapi\/v1\/sale\/\d+\/[^/]+$/)
    const check = await opened(page, /\/check$/, 'session.checkSignature')
    assert.match(initiate, /app ▸ merchant[^]*"amountCentis": 1250[^]*= session\.signature\s+[0-9A-F]{40}/)
    assert.match(perform, /app ▸ gateway[^]*"signature": "[0-9A-F]{40}"[^]*"clientCardId"/)
    assert.match(
      check,
      /gateway ▸ merchant[^]*sourceOfFunds\.reference\.serverCardId\s+\d+\s+= session\.checkSignature\s+[0-9A-F]{40}/,
    )
    // With what is in rows that are closed.
    const shown = (await page.locator('#calls').textContent()) ?? ''
    assert.match(shown, /request-access-token/)
    assert.doesNotMatch(shown, /4111 ?1111 ?1111|"securityCode": "\d/)
    // The bodies of answers are read beside the page.
    await until(
      () => secrets.size,
      (size) => size >= 3,
    )
    assert.ok(secrets.size >= 3)
    for (const secret of secrets) assert.ok(!shown.includes(secret))
  }))

test("the bank's page opens in a window of its own, which the app closes when the payment is over", () =>
  browser.visit({}, async (page) => {
    await open(page, 'challenged')
    await press(page, 'Pay')
    await press(page, 'The bank asks')
    await press(page, 'Pay')
    const popup = page.waitForEvent('popup')
    await press(page, 'Open the page')
    const view = await popup
    const closed = view.waitForEvent('close')
    await say(view, 'hint')
    await reads(page, 'Paid')
    await screen(page).getByText('AUTHENTICATED', { exact: true }).waitFor()
    await closed
    const status = page.locator('#calls > li').filter({ hasText: 'REDIRECT_REQUEST' }).first()
    await status.locator('summary').click()
    const shown = await status.innerText()
    assert.match(shown, /"redirectUrl": "/)
    assert.doesNotMatch(shown, /"redirectUrl": "[^"]*\/[\w-]{20,}"/)
  }))

test('a phone shows the reason of a decline, with the calls below', () =>
  browser.visit({ phone: true, dark: true }, async (page) => {
    await open(page, 'broke')
    await press(page, 'Pay')
    await press(page, 'No money left')
    await press(page, 'Pay')
    const popup = page.waitForEvent('popup')
    await press(page, 'Open the page')
    await popup
    await reads(page, 'Declined')
    await phone(page)
      .getByText(/not sufficient funds/i)
      .waitFor()
    await screen(page).getByText('Nothing was charged.').waitFor()
    await call(page, /\/check$/).waitFor()
    const under = await page.locator('#calls').boundingBox()
    const above = await phone(page).boundingBox()
    assert.ok(under!.y >= above!.y + above!.height)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'), 0)
    await press(page, 'Try another card')
    assert.equal(await screen(page).getByLabel('Card number', { exact: true }).inputValue(), '5555 5555 5555 4444')
  }))

test("a transfer waits for the consumer's choice, and offers its cards for the next one", () =>
  browser.visit({ phone: true }, async (page) => {
    await open(page, 'sends', 'mobile_fee')
    await press(page, 'Send money')
    await press(page, 'Send')
    await screen(page).getByText('express').click()
    await press(page, 'Complete transfer')
    await reads(page, 'Sent')
    await screen(page).getByText('2.38 USD').waitFor()
    await call(page, /\/express$/).waitFor()
    await call(page, /^POST \/transfer\/notification$/).waitFor()
    await press(page, 'Done')
    await press(page, 'Send money')
    const to = screen(page).getByRole('group', { name: 'To' }).getByRole('radio')
    await to.nth(2).waitFor()
    assert.equal(await to.count(), 3, 'two cards and another one')
    const from = screen(page).getByRole('group', { name: 'Pay from' }).getByRole('radio')
    assert.equal(await from.count(), 2, 'the card that paid and another one: the one that received cannot pay')
    await screen(page).getByRole('group', { name: 'To' }).getByText('555555…').click()
    await press(page, 'Send')
    await press(page, 'Complete transfer')
    await reads(page, 'Sent')
    await screen(page).getByText('0.75 USD').waitFor()
    const check = await opened(page, /\/check$/, 'session.checkSignature')
    assert.match(
      check,
      /destinationOfFunds\.reference\.serverCardId\s+\d+\s+endpointId[^]*sourceOfFunds\.reference\.serverCardId\s+\d+/,
    )
  }))

test('the cardholder reads the held sum at the bank and pays by naming it', () =>
  browser.visit({ dark: true }, async (page) => {
    await open(page, 'named', 'mobile_random_sum')
    await press(page, 'Pay')
    await press(page, 'Pay')
    const says = await screen(page).getByText('are held on your card').innerText()
    const popup = page.waitForEvent('popup')
    await press(page, 'Open the page')
    const view = await popup
    await view.getByLabel('Sum that is held').fill(/\d\.\d\d/.exec(says)![0])
    await view.getByRole('button', { name: 'Confirm' }).click()
    await reads(page, 'Paid')
    await screen(page).getByText('AUTHENTICATED', { exact: true }).waitFor()
  }))

test('a refused form names its mistakes and keeps the typed values', () =>
  browser.visit({ expects: [/status of 400/] }, async (page) => {
    await open(page, 'mistaken')
    await press(page, 'Pay')
    await screen(page).getByLabel('Amount').fill('0')
    await press(page, 'Pay')
    assert.equal(await page.evaluate(`document.querySelector('#pay-amount').validationMessage`), 'An amount such as 4.20')
    await screen(page).getByLabel('Amount').fill('1.00')
    const message = (id: string) => page.evaluate(`document.querySelector('#${id}').validationMessage`)
    await screen(page).getByLabel('Card number', { exact: true }).fill('4111 1111 1111 1112')
    await press(page, 'Pay')
    assert.match(String(await message('pay-number')), /no card number/)
    await press(page, 'No money left')
    await screen(page).getByLabel('Expires').fill('13/40')
    await press(page, 'Pay')
    assert.match(String(await message('pay-expiry')), /month and a year/)
    await screen(page).getByLabel('Expires').fill('12/40')
    // What only the gateway can tell: the number changes on its way there.
    await page.route('**/app/gateway/sale/*/*', (route) => {
      const postData = route.request().postData() ?? ''
      return route.continue({ postData: postData.replace('5555555555554444', '5555555555554445') })
    })
    await press(page, 'Pay')
    await screen(page).getByRole('alert').getByText('Nothing was charged. INVALID_REQUEST').waitFor()
    assert.equal(await screen(page).getByLabel('Card number', { exact: true }).inputValue(), '5555 5555 5555 4444')
    assert.equal(await screen(page).getByLabel('Expires').inputValue(), '12/40')
  }))

test('only its own page may use the way to the gateway, and only under names of this machine', async () => {
  const url = `${world.merchantServerUrl}/app/gateway/sale/${world.endpoints.mobile}/one`
  const post = async (to: string, headers: Record<string, string> = {}) =>
    (await fetch(to, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' })).status
  assert.equal(await post(url), 400)
  for (const site of ['cross-site', 'same-site']) assert.equal(await post(url, { 'sec-fetch-site': site }), 403)
  assert.equal(await post(url.replace('/sale/', '/refund/')), 404)
  assert.equal(await post(url.replace('/one', '/%2e%2e')), 404)
  const page = await fetch(`${world.merchantServerUrl}/app`)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; style-src 'nonce-[^']+'; script-src 'nonce-[^']+'; img-src data:; /)
  assert.match(policy, / img-src data:; connect-src 'self'; form-action 'none'/)
  assert.doesNotMatch(await page.text(), new RegExp(world.merchant.controlKey))
})
