import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { order, settled } from '../conformance/requests/client.ts'
import { cliOf } from '../wire/operator/cli-run.ts'
import { sharedStand } from './stand.ts'

/** The console and other pages as people meet them: on a phone and at a desk, light and dark. */

const { world, browser } = await sharedStand()
const { tell, json } = cliOf(() => world)
const file = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as { console_url: string }
const at = (path: string) => new URL(path, file.console_url).href
const paid = await order(world)
const receipt = (await settled(world, paid))['receipt-id']
const user = `looks-${process.pid}`
await tell(['user', 'add', user, '--role', 'owner'])

const inConsole = [
  '/',
  '/order/find',
  '/order/find?status=approved&currency=USD',
  `/order/show?id=${paid.orderid}`,
  `/order/return?id=${paid.orderid}`,
  '/delivery/list',
  '/gate/list',
  '/gate/add',
  '/endpoint/set?endpoint=plain',
  '/audit/list',
  '/me',
]
const others = [
  world.shopUrl,
  `${world.merchantServerUrl}/`,
  `${world.merchantServerUrl}/app`,
  `${world.baseUrl}/view-receipt/${world.endpoints.plain}/${receipt}/`,
  new URL('/docs', world.baseUrl).href,
  new URL('/docs/sale', world.baseUrl).href,
  new URL('/docs/mobile/perform-sale', world.baseUrl).href,
  world.acsUrl,
  world.acquirerAdminUrl,
  world.directoryServerUrl,
]

/**
 * What WCAG 2.2 asks and a program can see: contrasts (1.4.3, 1.4.11), names (4.1.2), sizes of what
 * is pressed (2.5.8), nothing that sticks out (1.4.10). Runs in the page.
 */
const complaints = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => (part * a + below[i] * (255 - a)) / 255)
  const paper = (one) => {
    if (!one) return [255, 255, 255]
    const colour = rgba(getComputedStyle(one).backgroundColor)
    return colour[3] === 255 ? colour.slice(0, 3) : over(colour, paper(one.parentElement))
  }
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (colour, on) => {
    const [dark, light] = [luminance(over(rgba(colour), on)), luminance(on)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const said = []
  const isSeen = (one) => one.checkVisibility() && !one.closest('.unseen')
  const is = (one) => one.outerHTML.slice(0, 90)
  const least = (one, what, colour, on, ratio) => {
    const has = contrast(colour, on)
    if (has < ratio) said.push(what + ' ' + has.toFixed(2) + ': ' + is(one))
  }
  for (const one of document.querySelectorAll('body *')) {
    if (!isSeen(one)) continue
    const style = getComputedStyle(one)
    const hasText = [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '')
    const size = parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700)
    if (hasText) least(one, 'contrast', style.color, paper(one), isLarge ? 3 : 4.5)
    if (one.placeholder) least(one, 'placeholder', getComputedStyle(one, '::placeholder').color, paper(one), 4.5)
    if (one.matches('input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea'))
      least(one, 'edge', style.borderTopColor, paper(one.parentElement), 3)
    const isPressed = one.matches('button, select, input, textarea, summary, .chips a, .places a')
    const { width, height } = one.getBoundingClientRect()
    if (isPressed && !/^(checkbox|radio)$/.test(one.type) && (width < 24 || height < 24)) said.push('size: ' + is(one))
    const name = one.labels?.length || one.ariaLabel || one.innerText?.trim()
    if (one.matches('a, button, input, select, textarea, summary') && !name) said.push('name: ' + is(one))
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  said.push(...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => 'twice: ' + id))
  if (document.querySelectorAll('h1').length !== 1) said.push('not one h1')
  const wide = document.documentElement.scrollWidth - innerWidth
  if (wide > 0) said.push('sticks out by ' + wide)
  return said
})()`

async function assertFit(page: Page, path: string): Promise<void> {
  assert.equal((await page.goto(at(path)))?.status(), 200, path)
  assert.deepEqual(await page.evaluate(complaints), [], `${path} at ${page.viewportSize()!.width}`)
}

for (const dark of [false, true])
  for (const width of dark ? [390, 1280] : [390, 1280, 2560])
    test(`${dark ? 'dark' : 'light'} at ${width}: text can be read, controls have names and sizes, nothing sticks out`, () =>
      browser.visit({ width, phone: width === 390, ...(dark && { dark }) }, async (page) => {
        await assertFit(page, '/sign-in')
        const { path } = await json<{ path: string }>('user', 'invite', user)
        await assertFit(page, path)
        await page.getByRole('button').click()
        await page.getByRole('heading', { name: 'Overview' }).waitFor()
        for (const one of [...inConsole, ...others]) await assertFit(page, one)
        await assertFit(page, `/order/show?id=${paid.orderid}`)
        for (const summary of await page.locator('summary').all()) await summary.click()
        assert.deepEqual(await page.evaluate(complaints), [], 'what was folded')
      }))

test('the console works without script, and loads one style', () =>
  browser.visit({ script: false }, async (page, context) => {
    const loaded: string[] = []
    context.on('request', (request) => loaded.push(request.resourceType()))
    await page.goto(at('/sign-in'))
    assert.deepEqual(loaded, ['document', 'stylesheet'])
  }))
