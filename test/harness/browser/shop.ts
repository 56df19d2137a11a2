import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import {
  callbackControl,
  newOrderId,
  settled,
  statusOf,
  type Changes,
  type Fields,
  type Order,
} from '../../conformance/requests/client.ts'
import { until } from '../clock/until.ts'
import { issuerMessages, secureOrder, whatNow, type TestCard } from '../../conformance/three-d-secure/shopper.ts'
import { html, verbatim } from '../../../src/http/page.ts'
import type { World } from '../world/world.ts'

/**
 * A shop on a site of its own, http://shop.localhost: ports of one host are one site to a browser.
 */
export interface Shop {
  /**
   * Sells at the endpoint with 3-D Secure to a card of the sandbox, and waits until the status
   * names a page for the cardholder.
   */
  sell(card: Card, changes?: Changes): Promise<Sold>
  /** Opens the shop's page and follows its link to the payment. */
  pay(page: Page, sold: Sold): Promise<void>
  /**
   * Waits until the browser is back. Insists that what it posted names the order and is signed, its
   * status included.
   */
  back(page: Page, sold: Sold, path?: string): Promise<Fields>
  /** Waits for the first callback, however long the issuer takes. */
  called(sold: Sold): Promise<void>
  /** The outcome, of which one callback was sent. */
  outcome(sold: Sold): Promise<Fields>
  status(sold: Sold): Promise<Fields>
  /** The messages of this payment that the issuer got and sent, of a type. */
  messages(sold: Sold, type: string): Promise<Fields[]>
  /** Scripts a fault of the simulated issuer. */
  issuer(fault: object): Promise<void>
  /** What was posted to the shop at a path of this order, in the order in which it came. */
  posted(sold: OrderName, path: string): Fields[]
  /** An address of this shop at which it shows a page, as it is. */
  print(sold: OrderName, markup: string): string
  /** An address of this shop that records what is posted to it. */
  url(sold: OrderName, path: string): string
  close(): Promise<void>
}

type OrderName = Pick<Order, 'client_orderid'>

/** By name, as the sandbox lists them; of Visa unless said otherwise. */
export interface Card {
  scenario: string
  version?: '1.0.2' | '2.1.0' | '2.2.0'
}

export interface Sold extends Order {
  /** `redirect-to`. */
  page: string
  /** The fields of the status that named the page. */
  shown: Fields
}

export async function openShop(world: World): Promise<Shop> {
  const cards = (await (await fetch(`${world.acsUrl}/test-cards.json`)).json()) as TestCard[]
  const site = await openSite()
  const way = { path: world.endpoints.secure }
  return {
    ...site,
    status: (sold) => statusOf(world, sold, way),
    async sell(card, changes = {}) {
      const own = { client_orderid: changes.client_orderid ?? newOrderId() }
      const number = numberOf(card, cards)
      const fields = {
        ...own,
        credit_card_number: number,
        redirect_url: site.url(own, 'back'),
        server_callback_url: site.callbackUrl(own),
      }
      const made = await secureOrder(world, number, { ...fields, ...changes })
      const shown = await whatNow(world, made)
      assert.equal(shown['tds-status'], card.version === '1.0.2' ? 'PaReqForm' : 'MethodUrlFrame', JSON.stringify(shown))
      return { ...made, page: shown['redirect-to'] ?? '', shown }
    },
    messages: ({ shown }, type) => issuerMessages(world, shown['tds-method-url-frame-3ds-server-trans-id']!, type),
    async pay(page, sold) {
      const link = html`<a href="${sold.page}">Pay now</a>`
      await page.goto(site.print(sold, shopPage('Your basket', link.text)))
      await page.getByRole('link', { name: 'Pay now' }).click()
    },
    async back(page, sold, path = 'back') {
      await page.waitForURL(site.url(sold, path))
      await page.getByRole('heading', { name: 'Thank you' }).waitFor()
      const [form] = site.posted(sold, path)
      assert.ok(form, 'the browser posted something')
      const { status = '', orderid, client_orderid, control } = form
      assert.equal(control, callbackControl(status, sold.orderid, sold.client_orderid, world.merchant.controlKey))
      assert.deepEqual([orderid, client_orderid], [sold.orderid, sold.client_orderid])
      return form
    },
    async called(sold) {
      assert.ok((await callbacksOf(site, sold, 120_000)).length > 0, 'a callback')
    },
    async outcome(sold) {
      const reply = await settled(world, sold, way)
      const statuses = (await callbacksOf(site, sold)).map(({ status }) => status)
      assert.deepEqual(statuses, [reply.status], 'one callback, with the outcome')
      return reply
    },
    async issuer(fault) {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${world.acsUrl}/admin/faults`, { method: 'POST', headers, body: JSON.stringify(fault) })
      assert.equal(answer.status, 201, await answer.text())
    },
  }
}

function numberOf({ scenario, version = '2.2.0' }: Card, cards: readonly TestCard[]): string {
  const card = cards.find((one) => one.scenario === scenario && one.version === version && one.network === 'visa')
  assert.ok(card, `a card ${scenario} of ${version}`)
  return card.number
}

const callbacksOf = (site: Pick<Shop, 'posted'>, sold: Sold, withinMs?: number): Promise<Fields[]> =>
  until(
    () => site.posted(sold, 'callback'),
    ({ length }) => length > 0,
    withinMs,
  )

type Site = Pick<Shop, 'posted' | 'print' | 'url' | 'close'> & {
  /** Where the gateway calls the shop. It asks no name server for this address. */
  callbackUrl(sold: OrderName): string
}

/** The shop's web server: records what is posted to it, and shows what was printed. */
async function openSite(): Promise<Site> {
  const came = new Map<string, Fields[]>()
  const printed = new Map<string, string>()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const posted = request.method === 'POST' ? new URLSearchParams(Buffer.concat(chunks).toString('utf8')) : searchParams
    response.setHeader('content-type', 'text/html;charset=utf-8')
    const page = printed.get(pathname)
    if (page !== undefined) return void response.end(page)
    if (request.method === 'POST' || pathname.endsWith('/callback'))
      came.set(pathname, [...(came.get(pathname) ?? []), Object.fromEntries(posted)])
    response.end(shopPage('Thank you', 'The shop has your order.'))
  }
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const origin = `http://shop.localhost:${address.port}`
  const pathOf = ({ client_orderid }: OrderName, path: string) => `/${client_orderid}/${path}`
  return {
    posted: (sold, path) => came.get(pathOf(sold, path)) ?? [],
    url: (sold, path) => origin + pathOf(sold, path),
    callbackUrl: (sold) => `http://127.0.0.1:${address.port}${pathOf(sold, 'callback')}`,
    print(sold, markup) {
      const path = pathOf(sold, `page-${printed.size}`)
      printed.set(path, markup)
      return origin + path
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const shopPage = (title: string, content: string): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <title>${title}</title>
        <link rel="icon" href="data:," />
      </head>
      <body>
        <h1>${title}</h1>
        <p>${verbatim(content)}</p>
      </body>
    </html>`.text
