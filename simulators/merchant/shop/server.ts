import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../../../src/base/clock.ts'
import { reasonOf, type Log } from '../../../src/base/log.ts'
import type { Random } from '../../../src/base/random.ts'
import { isThisMachine } from '../../this-machine.ts'
import type { CallbackBook } from '../callbacks/book.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { ownPolicy } from '../../page.ts'
import { plain, sendPage } from '../sending.ts'
import { answers, plainCards, products, scenarios, type TestCard } from './catalogue.ts'
import { frontPage } from './front.ts'
import { bankReturned, challengeFrame, methodFrame, methodReturned, payerFrame, type FramePage } from './frames.ts'
import type { GatewayAccount } from './gateway.ts'
import type { Journals } from './journals.ts'
import { ShopOrder, type Purchase } from './order.ts'
import { orderPage } from './order-page.ts'
import { Telling } from './telling.ts'

export interface ShopOptions {
  host: string
  /** 0 picks a free port. */
  port: number
  account: GatewayAccount
  endpoints: { plain: string; secure: string; euro: string }
  journals: Journals
  /** The merchant server receives the callbacks; the shop reads them from here. */
  book: CallbackBook
  callbackUrl: string
  places: BarPages
  clock: Clock
  random: Random
  log: Log
}

interface Shop {
  url: string
  close(): Promise<void>
}

const keptOrders = 200

interface Kept {
  order: ShopOrder
  telling: Telling
}

/**
 * The shop: a merchant with a page, for people who want to see a payment. Orders are in memory,
 * with unguessable ids; there are no cookies, because browsers withhold those when a bank's page
 * posts back.
 */
export async function startShop(options: ShopOptions): Promise<Shop> {
  const orders = new Map<string, Kept>()
  const app = Fastify({ bodyLimit: 262_144, exposeHeadRoutes: false, forceCloseConnections: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request, reply) => {
    if (!isThisMachine(request.hostname)) await plain(reply, 421, `This is the shop of the sandbox; open ${url}/`)
  })
  app.setNotFoundHandler((_request, reply) => plain(reply, 404, 'There is nothing here, or no longer. The shop is at /'))
  app.setErrorHandler((thrown, _request, reply) => {
    const status =
      thrown instanceof Error && 'statusCode' in thrown && typeof thrown.statusCode === 'number' ? thrown.statusCode : 500
    if (status >= 500) options.log.error({ reason: reasonOf(thrown) }, 'A request to the shop failed.')
    return plain(reply, status, status >= 500 ? 'Internal error' : reasonOf(thrown))
  })
  frontRoutes(app, options, orders)
  orderRoutes(app, options, orders)
  frameRoutes(app, options, orders)
  await app.listen({ host: options.host, port: options.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  const url = `http://${options.host}:${port}`
  const close = async () => {
    for (const { order } of orders.values()) order.stop()
    await app.close()
  }
  return { url, close }
}

function frontRoutes(app: FastifyInstance, options: ShopOptions, orders: Map<string, Kept>): void {
  const { random, account } = options
  const front = async (reply: FastifyReply, status: number, chosen: URLSearchParams, complaint?: string) => {
    const nonce = nonceOf(random)
    const page = { nonce, chosen, places: options.places, cards: await testCards(options) }
    return sendPage(
      reply.code(status),
      frontPage({ ...page, ...(complaint === undefined ? {} : { complaint }) }),
      ownPolicy(nonce, "'self'"),
    )
  }
  app.get('/', ({ url }, reply) => front(reply, 200, new URL(url, account.baseUrl).searchParams))
  app.post('/orders', async (request, reply) => {
    if (request.headers['sec-fetch-site'] === 'cross-site') return plain(reply, 403, 'Orders are made in the shop alone.')
    const form = formOf(request)
    const purchase = purchaseOf(form, await testCards(options), options.endpoints)
    if (typeof purchase === 'string') return front(reply, 400, form, purchase)
    const order = open(request, purchase, options)
    orders.set(order.id, { order, telling: new Telling(order, options) })
    const [oldest] = orders
    if (orders.size > keptOrders && oldest !== undefined) {
      oldest[1].order.stop()
      orders.delete(oldest[0])
    }
    void order.run(purchase)
    return reply.redirect(`/orders/${order.id}`, 303)
  })
}

function open(request: FastifyRequest, purchase: Purchase, { random, clock, account, callbackUrl }: ShopOptions): ShopOrder {
  const id = random.bytes(18).toString('base64url')
  const clientOrderid = `shop-${clock.now().toString(36)}-${random.bytes(3).toString('hex')}`
  const browser = {
    userAgent: headerOf(request, 'user-agent') ?? 'unknown',
    accept: headerOf(request, 'accept') ?? '*/*',
    language: headerOf(request, 'accept-language')?.split(/[,;]/)[0]?.slice(0, 8) || 'en',
    ip: request.ip,
  }
  return new ShopOrder(id, clientOrderid, purchase, browser, { account, callbackUrl, base: `http://${request.host}`, clock })
}

const headerOf = ({ headers }: FastifyRequest, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value.slice(0, 1_024) : undefined
}

/** A text is the error message. */
function purchaseOf(form: URLSearchParams, cards: readonly TestCard[], endpoints: ShopOptions['endpoints']): Purchase | string {
  const product = products.find(({ id }) => id === form.get('product'))
  const answer = answers.find(([cvv2]) => cvv2 === form.get('cvv2'))
  const scenario = form.get('scenario') ?? ''
  const network = form.get('network') ?? ''
  const isPlain = scenario === 'plain'
  const says = isPlain ? 'without 3-D Secure' : scenarios.flatMap((group) => group.cards).find(([name]) => name === scenario)?.[1]
  const fitting = cards.filter((card) => card.scenario === scenario && card.network === network)
  const card = fitting.find(({ version }) => version === form.get('version')) ?? fitting[0]
  const cardNumber = isPlain ? plainCards[network] : card?.number
  if (product === undefined) return 'Please choose a product.'
  if (cardNumber === undefined || says === undefined) return 'The issuer has no such card; please choose another.'
  if (answer === undefined) return 'Please choose a CVV2 of the list.'
  const currency = form.get('currency') === 'EUR' ? 'EUR' : 'USD'
  return {
    product,
    currency,
    way: form.get('way') === 'hosted' ? 'hosted' : 'server-to-server',
    scenario: says,
    network,
    cardNumber,
    cvv2: answer[0],
    endpoint: currency === 'EUR' ? endpoints.euro : isPlain ? endpoints.plain : endpoints.secure,
  }
}

async function testCards({ journals, log }: ShopOptions): Promise<TestCard[]> {
  try {
    const reply = await fetch(`${journals.acsUrl}/test-cards.json`, { signal: AbortSignal.timeout(2_000) })
    const cards = (await reply.json()) as Partial<TestCard>[]
    return cards.filter((card): card is TestCard => typeof card.version === 'string' && typeof card.number === 'string')
  } catch (thrown) {
    log.warn({ reason: reasonOf(thrown) }, 'The test cards of the issuer cannot be read.')
    return []
  }
}

type OrderRequest = FastifyRequest<{ Params: { id: string } }>

function orderRoutes(app: FastifyInstance, options: ShopOptions, orders: Map<string, Kept>): void {
  const { random, account, journals } = options
  const origins = [journals.acsUrl, account.baseUrl].map((url) => new URL(url).origin).join(' ')
  app.get('/orders/:id.json', async (request: OrderRequest, reply) => {
    const kept = orders.get(request.params.id)
    if (kept === undefined) return reply.callNotFound()
    return reply.header('cache-control', 'no-store').send(await kept.telling.asJson())
  })
  app.get('/orders/:id', async (request: OrderRequest, reply) => {
    const kept = orders.get(request.params.id)
    if (kept === undefined) return reply.callNotFound()
    const { order, telling } = kept
    const story = await telling.now()
    void reply.headers({ etag: story.revision, 'cache-control': 'no-cache' })
    if (request.headers['if-none-match'] === story.revision) return reply.code(304).send()
    const nonce = nonceOf(random)
    const receiptUrl = telling.receiptUrl()
    const page = orderPage({ ...story, nonce, order, receiptUrl, places: options.places })
    return sendPage(reply, page, `${ownPolicy(nonce, "'self'")}; frame-src 'self' ${origins}`)
  })
  app.post('/orders/:id/browser', async (request: OrderRequest, reply) => {
    const kept = orders.get(request.params.id)
    if (kept === undefined) return reply.callNotFound()
    await kept.order.browserCollected(formOf(request))
    return reply.redirect(`/orders/${kept.order.id}`, 303)
  })
  app.post('/orders/:id/return', async (request: OrderRequest, reply) => {
    const kept = orders.get(request.params.id)
    if (kept === undefined) return reply.callNotFound()
    const holds = kept.order.returned(new Map(formOf(request)))
    if (!holds) options.log.warn({ client_orderid: kept.order.clientOrderid }, 'A shopper returned with a wrong control.')
    return reply.redirect(`/orders/${kept.order.id}`, 303)
  })
}

function frameRoutes(app: FastifyInstance, { random }: ShopOptions, orders: Map<string, Kept>): void {
  type FrameOf = (order: ShopOrder, form: URLSearchParams) => Promise<FramePage | undefined>
  const route = (method: 'GET' | 'POST', name: string, page: FrameOf) =>
    app.route({
      method,
      url: `/orders/:id/${name}`,
      handler: async (request: OrderRequest, reply) => {
        const found = orders.get(request.params.id)
        if (found === undefined) return reply.callNotFound()
        const made = await page(found.order, formOf(request))
        void reply.header('cache-control', 'no-store')
        // A frame may be requested after its step is over; it then stays unchanged.
        return made === undefined ? reply.code(204).send() : sendPage(reply, made.html, made.policy)
      },
    })
  route('GET', 'method-frame', async ({ seen, url, transIds }) =>
    methodFrame(
      seen.get('tds-method-url-frame-3ds-method-url') ?? '',
      transIds.at(-1) ?? '',
      `${url}/method-result`,
      nonceOf(random),
    ),
  )
  route('POST', 'method-result', async (order, form) => {
    order.methodNotified(form)
    return methodReturned(nonceOf(random))
  })
  route('GET', 'challenge-frame', async ({ seen }) =>
    challengeFrame(seen.get('html') ?? '', seen.get('tds-creq-form-acs-url') ?? ''),
  )
  route('POST', 'challenge-result', async (order, form) => {
    await order.challengeReturned(form)
    return bankReturned
  })
  route('GET', 'payer-frame', async ({ seen, url }) => payerFrame(seen, `${url}/pares-result`, nonceOf(random)))
  route('POST', 'pares-result', async (order, form) => {
    await order.paresReturned(form)
    return bankReturned
  })
}

const formOf = ({ body }: FastifyRequest): URLSearchParams => new URLSearchParams(typeof body === 'string' ? body : '')
const nonceOf = (random: Random): string => random.bytes(16).toString('base64')
