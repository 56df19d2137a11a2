import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodePairs, formType, settled, notEmpty, type Fields, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { atMethod, issuerMessages, load, whatNow } from '../../conformance/three-d-secure/shopper.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** The hosted page, and when its browser does not come back; the browser is played by hand. */

const world = await openWorld()

const screen: Fields = {
  javascriptEnabled: 'true',
  javaEnabled: 'false',
  language: 'en-GB',
  colorDepth: '24',
  screenHeight: '900',
  screenWidth: '1400',
  timeZone: '-60',
}
/** The same, as the sale has it. */
const described: Fields = {
  customer_browser_info: 'true',
  customer_browser_javascript_enabled: 'true',
  customer_browser_java_enabled: 'false',
  customer_browser_color_depth: '24',
  customer_browser_screen_height: '900',
  customer_browser_screen_width: '1366',
  customer_browser_time_zone: '-60',
  customer_accept_language: 'en-GB',
  customer_user_agent: 'From the sale/1',
  customer_accept: 'text/html',
}

interface Sold {
  made: Order
  page: string
  id: string
}
async function sell(card: string, changes: Fields = {}): Promise<Sold> {
  const { made, seen } = await atMethod(world, card, changes)
  return { made, page: seen['redirect-to'] ?? '', id: seen['tds-method-url-frame-3ds-server-trans-id'] ?? '' }
}
const post = (sold: Sold, path: string, fields: Fields, headers: Fields = {}) =>
  fetch(`${sold.page}/${path}`, {
    method: 'POST',
    headers: { 'content-type': formType, accept: 'text/html', 'user-agent': 'Browser/1', ...headers },
    body: encodePairs(Object.entries(fields)),
    redirect: 'manual',
  })
const areqs = ({ id }: Sold): Promise<Fields[]> => issuerMessages(world, id, 'AReq')
const isAtMethod = async ({ made }: Sold) => (await whatNow(world, made))['tds-status'] === 'MethodUrlFrame'

test('HEAD of a hosted page has the status and headers of GET, no body, and moves nothing', async () => {
  const sold = await sell('frictionless')
  for (const [path, status] of [
    ['', 200],
    ['/state', 200],
    ['/challenge', 303],
    ['x', 404],
  ] as const) {
    const [got, headed] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(sold.page + path, { method, redirect: 'manual' })),
    )
    assert.deepEqual([got!.status, headed!.status], [status, status], path)
    assert.equal(await headed!.text(), '')
    const headers = ({ headers: all }: Response) =>
      [...all]
        .filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name))
        .map(([name, value]) => [name, value.replaceAll(/nonce-[^']*/g, 'nonce')])
    assert.deepEqual(headers(headed!), headers(got!), path)
  }
  assert.ok(await isAtMethod(sold))
  assert.deepEqual(await areqs(sold), [])
})

test('ten seconds after the hosted page began the method the gateway goes on alone, once, if it knows the browser', async () => {
  // Nothing but its headers is known of this browser: it began before all others, and is waited for
  // after them.
  const unknown = await sell('frictionless')
  await load(unknown.page)
  const bySale = await sell('frictionless', described)
  assert.doesNotMatch((await load(bySale.page)).body, /data-begun="/)
  const byPage = await sell('frictionless')
  assert.match((await load(byPage.page)).body, /data-begun="/)
  assert.equal((await post(byPage, 'begun', screen)).status, 200)
  assert.doesNotMatch((await load(byPage.page)).body, /data-begun="/)
  const older = await sell('4000000000001109', described)
  await load(older.page)

  for (const [sold, screenWidth] of [
    [bySale, '1366'],
    [byPage, '1400'],
    [older, '1366'],
  ] as const) {
    const final = await settled(world, sold.made)
    assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
    const told = (await areqs(sold)).map((areq) => [areq.threeDSCompInd, areq.browserScreenWidth, areq.browserIP])
    assert.deepEqual(told, [['N', screenWidth, '203.0.113.7']])
  }
  // The browser comes back after all.
  assert.equal((await post(byPage, 'browser', { ...screen, methodReturned: 'true' })).status, 303)
  assert.equal((await areqs(byPage)).length, 1)

  assert.ok(await isAtMethod(unknown), 'nothing could be said of its browser')
  assert.equal((await post(unknown, 'browser', { ...screen, methodReturned: 'true' })).status, 303)
  const [asked, ...more] = await until(() => areqs(unknown), notEmpty)
  assert.deepEqual([asked?.threeDSCompInd, more], ['Y', []])
})

test('the collector reports to the gateway and to hosts of the merchant alone, while the payment awaits its method', async () => {
  const sold = await sell('no-method-frictionless', { redirect_url: 'https://shop.example/back' })
  const statusAt = async (threeDSMethodNotificationURL: string, threeDSServerTransID = sold.id) => {
    const data = Buffer.from(JSON.stringify({ threeDSServerTransID, threeDSMethodNotificationURL })).toString('base64url')
    const url = `${world.baseUrl}/3ds/collect`
    const form = encodePairs([['threeDSMethodData', data]])
    return (await fetch(url, { method: 'POST', headers: { 'content-type': formType }, body: form })).status
  }
  assert.equal(await statusAt(`${sold.page}/method`), 200)
  assert.equal(await statusAt('https://shop.example/3ds/method'), 200)
  assert.equal(await statusAt('https://shop.example/3ds/method', sold.id.toUpperCase()), 200)
  assert.equal(await statusAt('https://shop.example.elsewhere.example/'), 400)
  assert.equal(await statusAt(`${world.baseUrl}/3ds/${'A'.repeat(22)}/method`), 400)
  assert.equal(await statusAt('https://shop.example/3ds/method', '0739d5aa-1111-4222-8333-0123456789ab'), 400)
  assert.equal((await post(sold, 'browser', { ...screen })).status, 303)
  await settled(world, sold.made)
  assert.equal(await statusAt('https://shop.example/3ds/method'), 400)
})
