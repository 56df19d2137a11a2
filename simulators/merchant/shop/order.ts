import { sleep, type Clock } from '../../../src/base/clock.ts'
import { secret } from '../../../src/base/secret.ts'
import { goodUntil } from '../../../src/spec/gateway/examples.ts'
import {
  answeredWith,
  askedWith,
  saleCall,
  send,
  statusCall,
  uploadCall,
  type Call,
  type GatewayAccount,
  type Placed,
  type Upload,
} from './gateway.ts'
import { foldRepeat, shownFields, signedBy, statusInWords, toneOf, type Note } from './message.ts'
import type { StoryMessage } from '../../../src/look/story.ts'
import type { Product } from './catalogue.ts'
import { cresStatus, paresRead, shownTo, transIdIn, type Mode } from './reading.ts'

export interface Purchase {
  product: Product
  currency: 'USD' | 'EUR'
  way: 'server-to-server' | 'hosted'
  /** In words, for people. */
  scenario: string
  network: string
  cardNumber: string
  cvv2: string
  endpoint: string
}

interface Browser {
  userAgent: string
  accept: string
  language: string
  ip: string
}

/**
 * What an order needs from its surroundings. `base` is the shop's own address, as seen by the
 * shopper's browser.
 */
export interface OrderWorld {
  account: GatewayAccount
  callbackUrl: string
  base: string
  clock: Clock
}

const email = 'jane@example.com'
const givesUpMs = 20 * 60_000
/** The pause between two polls, by the time since something happened: as the client does it. */
export const pauseAfter = (ms: number) => (ms < 2_000 ? 250 : ms < 15_000 ? 1_000 : ms < 120_000 ? 2_000 : 10_000)
/** The steps of `tds-status`: the mode that shows each, and the upload that ends it. */
const steps: Readonly<Record<string, readonly [Mode, Upload]>> = {
  MethodUrlFrame: ['method', 'method-url'],
  CReqForm: ['challenge', 'cres'],
  PaReqForm: ['payer', 'pares'],
}
const finals = new Set(['approved', 'declined', 'error', 'filtered'])

/**
 * One payment from the merchant's side. *paying*: the gateway is working. *method*: the browser
 * runs the issuer's method and reports its data. *challenge*: the issuer's page is shown. *payer*:
 * the same with an issuer of 1.0.2. *answered*: the browser came back from one of these, and the
 * gateway looks at what it brought. *away*: the shopper is on the gateway's own pages. *over*:
 * there is an outcome, the sale was refused, or the shop has stopped asking. Status replies change
 * the mode, and so does the shopper's return; *over* is never left.
 */
export class ShopOrder {
  readonly id: string
  readonly clientOrderid: string
  readonly startedAt: number
  readonly product: Product
  readonly amount: string
  readonly currency: string
  readonly way: Purchase['way']
  readonly scenario: string
  readonly network: string
  readonly endpoint: string
  readonly messages: StoryMessage[] = []
  /** The ids of the authentications, the newest last; for 1.0.2 the id of their messages. */
  readonly transIds: string[] = []
  readonly #world: OrderWorld
  readonly #browser: Browser
  #mode: Mode = 'paying'
  #seen = new Map<string, string>()
  #orderid = ''
  #methodReturned = false
  /** The uploads that are done or in progress, for each authentication. */
  #uploaded = new Set<string>()
  /** Wakes the polling when a change is expected. */
  #nap = new AbortController()
  #newsAt: number
  #isBack = false
  #stopped = false
  /** Incremented by every event of this order. */
  #changes = 0

  constructor(id: string, clientOrderid: string, purchase: Purchase, browser: Browser, world: OrderWorld) {
    this.id = id
    this.clientOrderid = clientOrderid
    this.startedAt = this.#newsAt = world.clock.now()
    this.product = purchase.product
    this.currency = purchase.currency
    this.amount = purchase.product.prices[purchase.currency]
    this.way = purchase.way
    this.scenario = purchase.scenario
    this.network = purchase.network
    this.endpoint = purchase.endpoint
    this.#browser = browser
    this.#world = world
  }

  get mode() {
    return this.#mode
  }

  /** The last reply of the gateway. */
  get seen(): ReadonlyMap<string, string> {
    return this.#seen
  }

  get orderid(): string {
    return this.#orderid
  }

  get changes(): number {
    return this.#changes
  }

  get url(): string {
    return `${this.#world.base}/orders/${this.id}`
  }

  stop(): void {
    this.#stopped = true
    this.#nap.abort()
  }

  /** Sells, and follows the order to its end. Never rejects. */
  async run({ cardNumber, cvv2 }: Pick<Purchase, 'cardNumber' | 'cvv2'>): Promise<void> {
    const { amount, currency, product, endpoint, clientOrderid, way } = this
    const browsed = { product: product.name, price: `${amount} ${currency}`, card: `${this.network}, ${this.scenario}`, way }
    const fields = shownFields(Object.entries(browsed))
    this.note({ from: 'shopper', to: 'merchant', name: 'Pay', says: `${amount} ${currency}`, fields })
    const card = {
      credit_card_number: cardNumber,
      card_printed_name: 'JANE DOE',
      expire_month: '12',
      expire_year: goodUntil(this.startedAt),
      cvv2,
    }
    const more = {
      order_desc: product.name,
      ipaddress: this.#browser.ip,
      redirect_url: `${this.url}/return`,
      server_callback_url: this.#world.callbackUrl,
    }
    const wish = { endpoint, clientOrderid, amount, currency, email, card: secret<Record<string, string>>(card), more }
    const reply = await this.#call(saleCall(this.#world.account, wish))
    this.#orderid = reply.get('gateway-order-id') ?? ''
    this.#seen = reply
    if (reply.get('type') !== 'async-response') return this.#become('over')
    await this.#poll()
  }

  /** The issuer's method came back to us. */
  methodNotified(fields: Iterable<readonly [string, string]>): void {
    this.#methodReturned = true
    this.note({ from: 'shopper', to: 'merchant', name: 'method notification', fields: shownFields(fields) })
  }

  /** The browser data that the page collected; a second post is ignored. */
  async browserCollected(form: URLSearchParams): Promise<void> {
    const transId = this.transIds.at(-1)
    if (this.#mode !== 'method' || transId === undefined) return
    const facts = ['ColorDepth', 'JavaEnabled', 'TZ', 'ScreenHeight', 'ScreenWidth', 'Language'].flatMap((name) => {
      const value = form.get(`browser${name}`)
      return value ? [[`browser${name}`, value.slice(0, 64)] as const] : []
    })
    this.note({ from: 'shopper', to: 'merchant', name: 'browser data', fields: shownFields(form) })
    const { userAgent, accept, language, ip } = this.#browser
    const fields = {
      threeDSServerTransID: transId,
      threeDSCompInd: this.#methodReturned ? 'Y' : 'N',
      notificationURL: `${this.url}/challenge-result`,
      browserLanguage: language,
      browserJavascriptEnabled: form.get('browserJavascriptEnabled') === 'true' ? 'true' : 'false',
      browserIP: ip,
      browserUserAgent: userAgent,
      browserAcceptHeader: accept,
      ...Object.fromEntries(facts),
    }
    await this.#upload('method-url', fields)
  }

  /** The browser is back from the challenge, with a CRes or with an Erro of the issuer. */
  async challengeReturned(form: URLSearchParams): Promise<void> {
    const cres = form.get('cres') ?? form.get('CRes')
    const decoded = cresStatus(cres)
    this.note({
      from: 'shopper',
      to: 'merchant',
      name: cres === null ? 'back from the bank' : 'CRes',
      fields: shownFields(form),
      ...(decoded === undefined ? {} : { says: statusInWords(decoded), tone: decoded === 'Y' ? 'good' : 'bad' }),
    })
    if (cres === null) return
    await this.#upload('cres', { cres })
  }

  /** The browser is back from an issuer of 1.0.2. The gateway checks its answer. */
  async paresReturned(form: URLSearchParams): Promise<void> {
    const [paRes, md] = [form.get('PaRes'), form.get('MD') ?? '']
    const read = paresRead(paRes)
    this.note({ from: 'shopper', to: 'merchant', ...read, fields: [...shownFields(form), ...read.fields] })
    if (paRes !== null) await this.#upload('pares', { paRes, md })
  }

  /**
   * The browser is back from the gateway's own pages. Its fields are trusted only because of their
   * control.
   */
  returned(fields: ReadonlyMap<string, string>): boolean {
    const parts = ['status', 'orderid', 'client_orderid'].map((name) => ({ name, value: fields.get(name) ?? '' }))
    const signed = signedBy(this.#world.account.controlKey, parts, fields.get('control') ?? '')
    const holds = signed.holds && fields.get('client_orderid') === this.clientOrderid
    this.note({
      from: 'shopper',
      to: 'merchant',
      name: 'return to redirect_url',
      signed,
      fields: shownFields(fields),
      says: holds ? (fields.get('status') ?? '') : 'control does not hold',
      tone: holds ? toneOf(fields.get('status')) : 'bad',
    })
    if (holds) {
      this.#isBack = true
      this.#become('paying')
      this.#wake()
    }
    return holds
  }

  note(message: Note): StoryMessage {
    // A new id every time: a folded message is removed with its id.
    const id = `shop-${++this.#changes}`
    const noted: StoryMessage = {
      id,
      at: this.#world.clock.now(),
      via: 'browser',
      tone: 'plain',
      isReply: false,
      times: 1,
      ...message,
    }
    this.messages.push(noted)
    return noted
  }

  async #upload(kind: Upload, fields: Record<string, string>): Promise<void> {
    const step = `${kind} ${this.transIds.at(-1)}`
    this.#uploaded.add(step)
    this.#become('answered')
    const reply = await this.#call(uploadCall(this.#world.account, this.#placed(), kind, fields))
    // A refused upload changes nothing: the step is still to be done.
    if (reply.get('type') !== 'async-response') this.#uploaded.delete(step)
    this.#wake()
  }

  #wake(): void {
    this.#newsAt = this.#world.clock.now()
    this.#nap.abort()
    this.#nap = new AbortController()
  }

  #placed(): Placed {
    return { endpoint: this.endpoint, clientOrderid: this.clientOrderid, orderid: this.#orderid }
  }

  async #call(call: Call): Promise<Map<string, string>> {
    const asked = this.note(askedWith(call))
    const reply = await send(call)
    const answered = this.note(answeredWith(reply))
    // A merchant polls, and most polls get the same reply: those are shown as one counted pair of
    // arrows.
    if (call.name === 'status' && reply.get('type') === 'status-response') foldRepeat(this.messages, asked, answered)
    return reply
  }

  async #poll(): Promise<void> {
    const { clock, account } = this.#world
    const until = clock.now() + givesUpMs
    while (!this.#stopped && clock.now() < until) {
      const reply = await this.#call(statusCall(account, this.#placed()))
      if (reply.get('type') === 'status-response') this.#follow(reply)
      if (this.#mode === 'over') return
      await sleep(clock, pauseAfter(clock.now() - this.#newsAt), this.#nap.signal)
    }
    if (!this.#stopped) this.#become('over')
  }

  #follow(reply: Map<string, string>): void {
    this.#seen = reply
    if (finals.has(reply.get('status') ?? '')) return this.#become('over')
    const step = steps[reply.get('tds-status') ?? '']
    // A second authentication, which an acquirer may demand, begins with its challenge.
    const transId = transIdIn(reply)
    if (transId !== undefined && !this.transIds.includes(transId)) {
      this.transIds.push(transId)
      this.#methodReturned = false
    }
    if (this.way === 'hosted') {
      this.#become(reply.has('redirect-to') && !this.#isBack ? 'away' : 'paying')
    } else if (step === undefined) this.#become('paying')
    else this.#become(this.#uploaded.has(`${step[1]} ${transId}`) ? 'answered' : step[0])
  }

  #become(mode: Mode): void {
    if (mode === this.#mode || this.#mode === 'over') return
    this.#mode = mode
    this.#newsAt = this.#world.clock.now()
    this.#changes++
    const next = shownTo(mode, this.#seen)
    if (next !== undefined) this.note({ from: 'merchant', to: 'shopper', tone: 'wait', ...next })
  }
}
