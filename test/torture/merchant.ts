import { createHash } from 'node:crypto'
import { Agent, request } from 'undici'
import { pick } from './plan.ts'

/** What a merchant knows of its gateway. */
export interface Shop {
  base_url: string
  merchant: { login: string; control_key: string }
  endpoints: Record<string, number>
}

export interface Sale {
  clientOrderid: string
  endpoint: number
  form: string
}

/**
 * No reply: the connection was refused or broke, or nothing came in time. The request may have
 * arrived or not.
 */
export type Reply = Readonly<Record<string, string>> | undefined

/** Longer than the gateway is ever paused. */
const withinMs = 20_000
const email = 'jane@example.com'
// oxfmt-ignore
const currencies = [
  { endpoint: 'plain', currency: 'USD' },
  { endpoint: 'euro',  currency: 'EUR' },
] as const
/**
 * 123 and 111 are approved, 101 and 116 declined, 217 is approved and never answered; most others
 * are declined.
 */
const cvv2s = [...Array<string>(12).fill('123'), '116', '116', '101', '217', '111', 'random', 'random']

/**
 * A merchant of the sandbox, written from the specification: it shares no code with the gateway.
 */
export class Merchant {
  readonly file: Shop
  readonly #origin: () => string
  readonly #agent = new Agent({ connections: 160, keepAliveTimeout: 30_000, headersTimeout: withinMs, bodyTimeout: withinMs })
  #names = 0
  replies = 0
  lost = 0

  /** `origin` chooses a gateway for each request, where there are several. */
  constructor(file: Shop, origin = () => file.base_url) {
    this.file = file
    this.#origin = origin
  }

  /** A sale with a new client_orderid. */
  sale(draw: () => number, callbackUrl: string): Sale {
    const clientOrderid = `t${++this.#names}-${Math.floor(draw() * 2 ** 32).toString(36)}`
    const { endpoint: name, currency } = pick(draw, currencies)
    const endpoint = this.file.endpoints[name]!
    const minor = 100 + Math.floor(draw() * 99_900)
    const amount = `${Math.floor(minor / 100)}.${String(minor % 100).padStart(2, '0')}`
    const cvv2 = pick(draw, cvv2s)
    const fields = {
      client_orderid: clientOrderid,
      order_desc: 'A sale under torture',
      amount,
      currency,
      email,
      ipaddress: '203.0.113.7',
      credit_card_number: pick(draw, ['4111111111111111', '5555555555554444']),
      card_printed_name: 'JANE DOE',
      expire_month: '12',
      // Now and then a card that has expired: declined without an attempt.
      expire_year: draw() < 0.02 ? '2020' : '2035',
      cvv2: cvv2 === 'random' ? String(Math.floor(draw() * 1_000)).padStart(3, '0') : cvv2,
      server_callback_url: callbackUrl,
      control: this.control(endpoint, clientOrderid, minor, email),
    }
    return { clientOrderid, endpoint, form: new URLSearchParams(fields).toString() }
  }

  /** By order id or, without one, of the newest order of the name. */
  status(sale: Sale, orderid?: string): Promise<Reply> {
    const { login } = this.file.merchant
    const fields = {
      login,
      client_orderid: sale.clientOrderid,
      ...(orderid === undefined ? {} : { orderid }),
      control: this.control(login, sale.clientOrderid, orderid ?? ''),
    }
    return this.post(`/api/v2/status/${sale.endpoint}`, new URLSearchParams(fields).toString())
  }

  send({ endpoint, form }: Sale, origin?: string): Promise<Reply> {
    return this.post(`/api/v2/sale/${endpoint}`, form, origin)
  }

  control(...parts: (string | number)[]): string {
    return createHash('sha1')
      .update(parts.join('') + this.file.merchant.control_key)
      .digest('hex')
  }

  private async post(path: string, body: string, origin = this.#origin()): Promise<Reply> {
    try {
      const reply = await request(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
        dispatcher: this.#agent,
      })
      const text = await reply.body.text()
      // A gateway that is still starting has done nothing: the request is sent again.
      if (reply.statusCode === 503 && reply.headers['retry-after'] !== undefined) {
        this.lost++
        return undefined
      }
      this.replies++
      const pairs = [...new URLSearchParams(text)].map(([name, value]) => [name, value.trim()])
      return { ...Object.fromEntries(pairs), 'http-status': String(reply.statusCode) }
    } catch {
      this.lost++
      return undefined
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}
