import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { standStill } from '../harness/browser/browser.ts'
import { makeLineCertificates } from '../harness/acquirer/line-certificates.ts'
import { closing } from '../harness/world/opening.ts'
import { challenge, method, openPages, over, working } from '../harness/three-d-secure/three-d-secure-pages.ts'
import { until } from '../harness/clock/until.ts'
import { sharedBrowser } from './stand.ts'

/**
 * Shops and issuers answer a page of the gateway with another host, an app or a window. No app is
 * installed here: what counts is that the browser asks for it and complains of nothing.
 */

const pages = closing(await openPages())
const browser = await sharedBrowser()
const { cert, key } = (await makeLineCertificates()).acquirer
const ports = { http: await listening(createServer(site)), https: await listening(createSecureServer({ cert, key }, site)) }

const shopApp = 'shopapp://paid?order=1'
const bankApp = 'bankid:///?autostart=1'
const intent = 'intent://paid#Intent;scheme=shopapp;end'
/** An address that no other row of the same visit asks for. */
const only = (url: string, mark: string) => url.replace(/#|$/, (end) => `${url.includes('?') ? '&' : '?'}only=${mark}${end}`)
/** The fragment is not part of what a browser asks for. */
const asked = (url: string) => url.split('#')[0]
const at = (host: string, path: string, to = '', scheme: keyof typeof ports = 'http') =>
  `${scheme}://${host}.localhost:${ports[scheme]}/${path}?to=${encodeURIComponent(to)}`
const help = at('help', 'end')

/** A shop and an issuer, by path: how the browser is led to `to`. */
function site(...[request, response]: Parameters<RequestListener>): void {
  const ways: Readonly<Record<string, (to: string) => string>> = {
    end: () => '<h1>Arrived</h1>',
    link: (to) => `<a href="${to}">Go</a>`,
    script: (to) => `<script>location.href = ${JSON.stringify(to)}</script>`,
    blank: (to) => `<a href="${to}" target="_blank">Go</a>`,
    open: (to) => `<button onclick="window.open('${to}')">Go</button>`,
    // An issuer, and its window, that would put another page in place of the gateway's.
    away: (to) => `<button onclick="top.location.href = '${to}'">Go</button>`,
    'open-away': (to) => `<button onclick="window.open('/opened?to=${encodeURIComponent(to)}')">Go</button>`,
    opened: (to) => `<h1>Arrived</h1><script>opener.top.location.href = '${to}'</script>`,
  }
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
  const [way, to] = [pathname.slice(1), searchParams.get('to') ?? '']
  if (/^30\d$/.test(way)) return void response.writeHead(Number(way), { location: to }).end()
  response.setHeader('content-type', 'text/html;charset=utf-8')
  response.end(`<!doctype html><title>Site</title><link rel="icon" href="data:,">${ways[way]?.(to) ?? ''}`)
}

async function listening(server: Server): Promise<number> {
  closing(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** What a page, its frames and new windows ask for from now on, as it grows. */
async function wantedBy(page: Page, context: BrowserContext): Promise<Set<string>> {
  const wanted = new Set<string>()
  const follow = async (target: Parameters<BrowserContext['newCDPSession']>[0]) => {
    const session = await context.newCDPSession(target)
    session.on('Network.requestWillBeSent', ({ request: { url } }) => wanted.add(url))
    session.on('Page.windowOpen', ({ url }) => wanted.add(asked(url)!))
    await Promise.all([session.send('Network.enable'), session.send('Page.enable')])
  }
  await follow(page)
  // A frame of another site may have a session of its own, or share that of the page.
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame()) follow(frame).catch(() => undefined)
  })
  return wanted
}

/** Opens the page of an order. */
async function open(page: Page, order: Parameters<typeof pages.put>[0], waitUntil: 'commit' | 'load' = 'commit'): Promise<void> {
  await page.goto((await pages.get(pages.put(order))).url, { waitUntil }).catch(goneOn)
}

/** A page that goes on immediately may do so before it was seen. */
const goneOn = (error: Error) => assert.match(error.message, /interrupted|ERR_ABORTED|context was destroyed/)

const asks = (wanted: Set<string>, url: string, how: string, meanwhile?: () => Promise<void>) =>
  until(
    async () => {
      await meanwhile?.()
      return wanted.has(asked(url)!)
    },
    (is) => is,
  ).then((is) => assert.ok(is, `${how}: the browser asks for ${url}, not only for ${[...wanted].join(' ')}`))

// oxfmt-ignore
const returns = [
  ['an app',                           'http',  shopApp],
  ['an app of Android',                'https', intent],
  ['another host',                     'http',  at('other', 'end')],
  ['another host, from http to https', 'http',  at('other', 'end', '', 'https')],
  ['another host, from https to http', 'https', at('other', 'end')],
  ['another host, both https',         'https', at('other', 'end', '', 'https')],
] as const

for (const [name, from, to] of returns)
  test(`a shop may redirect a cardholder who comes back to ${name}`, () =>
    browser.visit({ trusting: true }, async (page, context) => {
      const wanted = await wantedBy(page, context)
      for (const status of ['302', '303', '307']) {
        const goal = only(to, status)
        await open(page, { ...over, back: { ...over.back, url: at('shop', status, goal, from) } })
        await asks(wanted, goal, status)
        if (to.startsWith('http')) await page.getByRole('heading', { name: 'Arrived' }).waitFor()
        else await page.getByRole('button', { name: 'Return to the shop' }).waitFor()
      }
    }))

for (const phone of [false, true])
  for (const way of ['link', 'script', '302', 'blank', 'open'])
    test(`a challenge in ${phone ? 'the whole window' : 'a frame'} opens the bank's app, and a help page (${way})`, () =>
      browser.visit({ phone }, async (page, context) => {
        const wanted = await wantedBy(page, context)
        for (const to of [bankApp, intent, help]) {
          await open(page, { ...challenge, acsUrl: at('bank', way, to) })
          const bank = phone ? page : page.frameLocator('iframe')
          if (['link', 'blank', 'open'].includes(way)) await bank.getByText('Go').click()
          await asks(wanted, to, way)
        }
      }))

test('an issuer that answers with its app leaves a way to the bank, and the page goes on once the app confirmed', () =>
  browser.visit({ phone: true }, async (page, context) => {
    const wanted = await wantedBy(page, context)
    await open(page, { ...challenge, acsUrl: at('bank', '302', bankApp) })
    await asks(wanted, bankApp, '302')
    await page.getByRole('button', { name: 'Continue to your bank' }).waitFor()
    pages.put(working, page.url().split('/').at(-1))
    await page.getByText('Your payment is being processed').waitFor()
  }))

test('neither a frame nor a window that it opened can put another page in place of the payment', async () => {
  for (const way of ['away', 'open-away'])
    await browser.visit({ expects: [/Unsafe attempt|does not have permission to navigate/] }, async (page, context) => {
      await open(page, { ...challenge, acsUrl: at('bank', way, help) })
      const here = page.url()
      await page.frameLocator('iframe').getByText('Go').click()
      if (way === 'open-away')
        await until(
          () => context.pages().length,
          (many) => many === 2,
        )
      await page.frameLocator('iframe').getByText('Go').waitFor()
      assert.equal(page.url(), here)
    })
})

const back = { ...over.back, url: at('shop', 'end') }
const atBank = { ...challenge, acsUrl: at('bank', 'end') }
const atMethod = { ...method, methodUrl: at('bank', 'end') }
const atOldBank = { ...working, is: 'payer', acsUrl: at('bank', 'end'), fields: [['PaReq', 'x']] } as const
const done = { ...over, back }
const [toBank, toShop] = ['Continue to your bank', 'Return to the shop']

test('back from the bank or the shop, the page shows where the payment stands, with a way on, and stays', async () => {
  // oxfmt-ignore
  const rows = [
  //  script  left        is then     words                              way on
    [true,   atBank,     atBank,     'Your bank asks you to confirm',   toBank],
    [true,   atBank,     done,       'Payment approved',                toShop],
    [true,   atBank,     working,    'Your payment is being processed', undefined],
    [true,   { ...done, cardholderInfo: 'Call us.' }, done, 'Payment approved', toShop],
    [true,   { ...done, cardholderInfo: 'Call us.' }, { ...done, cardholderInfo: 'Call us.' }, 'Call us.', toShop],
    [false,  atBank,     atBank,     'Payment to Acme Toys',            toBank],
    [false,  atOldBank,  atOldBank,  'Payment to Acme Toys',            toBank],
    [false,  atOldBank,  done,       'Payment approved',                toShop],
    [false,  done,       done,       'Payment approved',                toShop],
  ] as const
  for (const visit of [{ phone: true }, { phone: true, script: false }] as const)
    await browser.visit(visit, async (page) => {
      for (const [script, left, then, words, way] of rows) {
        if (script === 'script' in visit) continue
        const token = pages.put(left)
        await page.goto((await pages.get(token)).url).catch(goneOn)
        if (!script || left !== atBank) await page.getByRole('button').click()
        await page.getByRole('heading', { name: 'Arrived' }).waitFor()
        pages.put(then, token)
        await page.goBack()
        await page.getByText(words).filter({ visible: true }).first().waitFor()
        assert.ok(page.url().includes(token), words)
        if (way === undefined) continue
        assert.equal(await page.getByText('You are going back').isVisible(), false)
        await page.getByRole('button', { name: way }).click()
        await page.getByRole('heading', { name: 'Arrived' }).waitFor()
      }
    })
})

test('a page that a browser kept, and shows again, is loaded again and leads no further', async () => {
  const here = { ...over, back: { ...over.back, url: at('shop', '302', shopApp) } }
  const bankHere = { ...challenge, acsUrl: at('bank', '302', bankApp) }
  const oldBankHere = { ...atOldBank, acsUrl: at('bank', '302', bankApp) }
  // oxfmt-ignore
  const rows = [
  //  kept          is then      words                               asks for once
    [atMethod,     working,     'Your payment is being processed',  undefined],
    [working,      done,        'Payment approved',                 undefined],
    [here,         here,        'Payment approved',                 shopApp],
    [bankHere,     bankHere,    'Your bank asks you to confirm',    bankApp],
    [bankHere,     done,        'Payment approved',                 bankApp],
    [oldBankHere,  oldBankHere, 'Payment to Acme Toys',             bankApp],
  ] as const
  await browser.visit({ phone: true }, async (page, context) => {
    await standStill(page)
    const wanted = await wantedBy(page, context)
    for (const [kept, then, words, app] of rows) {
      wanted.clear()
      // Its script has run by then: the page is loaded, or has gone on.
      await open(page, kept, app === undefined ? 'load' : 'commit')
      if (app === undefined) {
        // The first time that it asks, it is answered before there is anything new.
        const answered = kept === working && page.waitForResponse(/\/state/)
        await page.clock.runFor(500)
        await answered
      } else await asks(wanted, app, words, () => page.clock.runFor(1_000))
      wanted.clear()
      pages.put(then, page.url().split('/').at(-1)!.split('?')[0])
      const again = page
        .waitForRequest((request) => request.isNavigationRequest() && request.frame() === page.mainFrame())
        .then(() => page.waitForEvent('load'))
      // The page goes while it runs this, so the answer may be lost; that it goes is `again`.
      await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`).catch(goneOn)
      await again
      await page.getByText(words).filter({ visible: true }).first().waitFor()
      await page.clock.runFor(60_000)
      assert.deepEqual(
        [...wanted].filter((url) => !url.includes('/3ds/')),
        [],
        words,
      )
    }
  })
})

test('back in the frame of the bank leaves the payment around it, with a way to the bank', () =>
  browser.visit({}, async (page) => {
    await page.goto((await pages.get(pages.put({ ...challenge, acsUrl: at('bank', 'link', help) }))).url)
    const inside = page.frameLocator('iframe')
    await inside.getByText('Go').click()
    await inside.getByText('Arrived').waitFor()
    await page.evaluate('history.back()')
    await page.getByText('Your bank asks you to confirm').waitFor()
    await page.getByRole('button', { name: 'Open your bank in the whole window' }).click()
    await page.getByText('Go').waitFor()
    assert.equal(new URL(page.url()).hostname, 'bank.localhost')
  }))
