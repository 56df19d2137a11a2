import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { signatureHeaders } from '../../client/message-signature.ts'
import { secret, type Secret } from '../../src/base/secret.ts'
import { controlOf } from '../../src/merchant/control.ts'
import { openConnections, type Connections, type ServerName } from './connections.ts'
import type { StoredOrders } from './stored-orders.ts'

/** The sandbox merchant's data, as it goes to the load process. */
export interface Site {
  /** With `/gateway`. */
  baseUrl: string
  login: string
  controlKey: string
  endpoints: Readonly<Record<string, number>>
  /** Where the sandbox's merchant server takes callbacks. */
  callbackUrl: string
  /** Requests are signed as a whole with it, if it is there. */
  signingSecret?: string
  /** Whom the gateway of an https URL has to be. */
  server?: ServerName
  /** Orders that were written without the gateway. */
  stored?: StoredOrders
  /** Merchants who sell by turns with this one, at the same gateway. */
  others?: readonly Site[]
}

/** A merchant's client over connections that are kept. */
export interface Merchant {
  site: Site
  key: Secret<string>
  /** Posts a form and gives the reply as it came. Rejects when there is none. */
  post(path: string, form: string): Promise<string>
  postJson(path: string, body: string): Promise<string>
  /**
   * Asks for the status until it is final and gives it, or in words what happened instead.
   * `accepted` is the reply to the first request, `began` the time of that request by
   * performance.now(). `meanwhile` does what the cardholder has to do, once for each `tds-status`;
   * a text is what went wrong.
   */
  untilFinal(endpoint: string, clientOrderid: string, accepted: string, began: number, meanwhile?: Meanwhile): Promise<string>
  /**
   * Asks again and again until there is an ending, with longer and longer pauses, which begin anew
   * after `anew`.
   */
  untilEnd(began: number, ask: Asking): Promise<string>
  /** Posts a form to another origin, as a cardholder's browser does, and gives the page. */
  browse(url: string, form: string): Promise<string>
  /** `status` requests sent. */
  polls(): number
  close(): void
}

/** Sends one `status`; what came of it. */
type Asking = () => Promise<{ ending: string } | 'later' | 'anew'>

/**
 * `status` as it came, and the fields that name and sign further requests about its order:
 * `login=…&client_orderid=…&orderid=…&control=…`.
 */
export type Meanwhile = (tdsStatus: string, status: string, signed: string) => Promise<string | undefined>

/**
 * Pauses before one `status` and the next: 4, 8, 16, 32, 64, 64 … ms. What is final in a few
 * milliseconds is seen as such, what takes longer is asked about a handful of times: the end of a
 * sale is seen late by at most as long as it took, and by no more than 64 ms. A fixed pause of 4 ms
 * would have the gateway answer dozens of requests a sale under load.
 */
const firstPauseMs = 4
const longestPauseMs = 64

const form = 'application/x-www-form-urlencoded'

/** The ending of a payment that the gateway refuses because of load, which is code 20. */
export const refusedForLoad = 'refused: too many requests'

export function openMerchant(site: Site, withinMs: number): Merchant {
  const { origin, pathname } = new URL(site.baseUrl)
  const gateway = openConnections(origin, withinMs, site.server)
  /** The issuers' servers that a cardholder's browser is sent to, by origin. */
  const others = new Map<string, Connections>()
  const key = secret(site.controlKey)
  let polls = 0

  const post = async (path: string, body: string) =>
    (await gateway.post(pathname + path, form, body, signatureOf(site, path, body))).body

  async function untilEnd(began: number, ask: Asking): Promise<string> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await pause(pauseMs)
      polls++
      const answer = await ask()
      if (typeof answer === 'object') return answer.ending
      if (performance.now() - began > withinMs) return `not final within ${withinMs / 1_000} s`
      if (answer === 'anew') pauseMs = firstPauseMs / 2
    }
  }

  return {
    site,
    key,
    post,
    postJson: async (path, body) => (await gateway.post(pathname + path, 'application/json', body)).body,
    untilEnd,
    async untilFinal(endpoint, clientOrderid, accepted, began, meanwhile) {
      const orderid = fieldOf(accepted, 'gateway-order-id')
      if (fieldOf(accepted, 'type') !== 'async-response' || orderid === undefined)
        return fieldOf(accepted, 'error-code') === '20' ? refusedForLoad : `refused: ${errorOf(accepted)}`
      const asks = orderForm({ site, key }, clientOrderid, orderid)
      let done: string | undefined
      return untilEnd(began, async () => {
        const reply = await post(`/api/v2/status/${endpoint}`, asks)
        const status = fieldOf(reply, 'status')
        if (status === undefined) return { ending: `status was refused: ${errorOf(reply)}` }
        if (status !== 'processing') return { ending: status }
        const tdsStatus = meanwhile && fieldOf(reply, 'tds-status')
        if (tdsStatus === undefined || tdsStatus === done) return 'later'
        const wrong = await meanwhile!(tdsStatus, reply, asks)
        if (wrong !== undefined) return { ending: wrong }
        done = tdsStatus
        return 'anew'
      })
    },
    async browse(url, body) {
      const { origin: other, pathname: path, search } = new URL(url)
      let connections = others.get(other)
      if (connections === undefined) others.set(other, (connections = openConnections(other, withinMs)))
      return (await connections.post(path + search, form, body)).body
    },
    polls: () => polls,
    close() {
      for (const one of [gateway, ...others.values()]) one.close()
    },
  }
}

/** The lines of the head by which a request is signed as a whole. */
function signatureOf({ baseUrl, login, signingSecret: key }: Site, path: string, body: string): string {
  if (key === undefined) return ''
  const moment = { nonce: randomUUID(), timestampSeconds: Math.floor(Date.now() / 1_000) }
  const message = { method: 'POST', url: baseUrl + path, body, headers: {}, login, key, ...moment }
  const headers = Object.entries(signatureHeaders(message))
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

/**
 * Asks by its name alone for the final status of a sale whose end was not seen; undefined while
 * there is none.
 */
export async function lookUp(
  { site, key, post }: Merchant,
  endpoint: string,
  clientOrderid: string,
): Promise<string | undefined> {
  const control = controlOf([site.login, clientOrderid], key)
  const asks = `login=${site.login}&client_orderid=${clientOrderid}&control=${control}`
  const status = fieldOf(await post(`/api/v2/status/${endpoint}`, asks), 'status')
  return status === 'processing' ? undefined : status
}

/** The fields that name and sign a request about an order. */
export function orderForm({ site, key }: Pick<Merchant, 'site' | 'key'>, clientOrderid: string, orderid: string): string {
  const control = controlOf([site.login, clientOrderid, orderid], key)
  return `login=${site.login}&client_orderid=${clientOrderid}&orderid=${orderid}&control=${control}`
}

export const errorOf = (reply: string): string =>
  decodeURIComponent(fieldOf(reply, 'error-message') ?? reply.slice(0, 80)).replaceAll('+', ' ')

/**
 * One value of a reply, still encoded. Reading all forty fields of each would cost the load process
 * more than sending the request.
 */
export function fieldOf(reply: string, name: string): string | undefined {
  const at = reply.startsWith(`${name}=`) ? 0 : reply.indexOf(`&${name}=`) + 1
  if (at === 0 && !reply.startsWith(`${name}=`)) return undefined
  const start = at + name.length + 1
  const end = reply.indexOf('&', start)
  return reply.slice(start, end < 0 ? undefined : end).trimEnd()
}
