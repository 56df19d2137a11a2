import { reasonOf } from '../../../src/base/log.ts'
import type { Secret } from '../../../src/base/secret.ts'
import { decimalToMinor } from '../../../src/base/money.ts'
import { shownFields, signedBy, toneOf, type Note } from './message.ts'
import type { StoryField, Signed } from '../../../src/look/story.ts'

/** The calls that a merchant sends to the gateway: a form, its control, and a reply of pairs. */

export interface GatewayAccount {
  login: string
  controlKey: Secret<string>
  /** Including its path, such as `http://127.0.0.1:8080/gateway`. */
  baseUrl: string
}

export interface Call {
  name: string
  url: string
  pairs: readonly (readonly [string, string])[]
  signed: Signed
}

const timeoutMs = 15_000
const part = (name: string, value: string): StoryField => ({ name, value })

/** The sale; the card is only in here, and is sent with the call. */
export interface SaleWish {
  endpoint: string
  clientOrderid: string
  amount: string
  currency: string
  email: string
  card: Secret<Record<string, string>>
  more: Readonly<Record<string, string>>
}

export function saleCall({ controlKey, baseUrl }: GatewayAccount, wish: SaleWish): Call {
  const { endpoint, clientOrderid, amount, currency, email, card, more } = wish
  const signed = signedBy(controlKey, [
    part('endpoint id', endpoint),
    part('client_orderid', clientOrderid),
    part('amount in minor units', String(decimalToMinor(amount, 2))),
    part('email', email),
  ])
  const fields = { client_orderid: clientOrderid, amount, currency, email, ...card.reveal(), ...more, control: signed.control }
  return { name: 'sale', url: `${baseUrl}/api/v2/sale/${endpoint}`, pairs: Object.entries(fields), signed }
}

export interface Placed {
  endpoint: string
  clientOrderid: string
  orderid: string
}

const identified = ({ login, controlKey }: GatewayAccount, { clientOrderid, orderid }: Placed, name: string) =>
  signedBy(controlKey, [part('login', login), part(name, clientOrderid), part('orderid', orderid)])

export function statusCall(account: GatewayAccount, placed: Placed): Call {
  const signed = identified(account, placed, 'client_orderid')
  const { endpoint, clientOrderid, orderid } = placed
  const fields = { login: account.login, client_orderid: clientOrderid, orderid, control: signed.control }
  return { name: 'status', url: `${account.baseUrl}/api/v2/status/${endpoint}`, pairs: Object.entries(fields), signed }
}

export type Upload = 'method-url' | 'cres' | 'pares'

/** The uploads of 3-D Secure: what the browser brought back from the issuer. */
export function uploadCall(account: GatewayAccount, placed: Placed, kind: Upload, more: Readonly<Record<string, string>>): Call {
  const name = `upload-${kind}-result`
  const signed = identified(account, placed, 'client-order-id')
  const { endpoint, clientOrderid, orderid } = placed
  const own = { login: account.login, 'client-order-id': clientOrderid, orderid, control: signed.control }
  return { name, url: `${account.baseUrl}/api/3ds/v1/${name}/${endpoint}`, pairs: Object.entries({ ...own, ...more }), signed }
}

/** Never rejects: an unreachable gateway gives a reply of type `unreachable`. */
export async function send({ url, pairs }: Call): Promise<Map<string, string>> {
  try {
    const body = new URLSearchParams(Object.fromEntries(pairs))
    const reply = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(timeoutMs) })
    return new Map(new URLSearchParams((await reply.text()).trim()))
  } catch (thrown) {
    return new Map([
      ['type', 'unreachable'],
      ['error-message', `The gateway cannot be reached: ${reasonOf(thrown)}`],
    ])
  }
}

/** A call as the story shows it. */
export const askedWith = ({ name, url, pairs, signed }: Call): Note => ({
  from: 'merchant',
  to: 'gateway',
  via: 'gateway API',
  name,
  address: `POST ${url}`,
  fields: shownFields(pairs),
  signed,
})

/** A reply as the story shows it. A next action is more useful than the status. */
export function answeredWith(reply: ReadonlyMap<string, string>): Note {
  const type = reply.get('type') ?? 'no reply'
  const isRefused = type !== 'async-response' && type !== 'status-response'
  const note = {
    from: 'gateway',
    to: 'merchant',
    via: 'gateway API',
    name: type,
    isReply: true,
    fields: shownFields(reply),
  } as const
  if (isRefused)
    return { ...note, says: [reply.get('error-code'), reply.get('error-message')].filter(Boolean).join(' '), tone: 'bad' }
  const todo = type === 'status-response' ? reply.get('tds-status') : undefined
  if (todo !== undefined) return { ...note, says: todo, tone: 'wait' }
  return { ...note, says: reply.get('status') ?? '', tone: toneOf(reply.get('status')) }
}
