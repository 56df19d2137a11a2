import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { send } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf } from '../operator/cli-run.ts'
import { signature } from '../../conformance/mobile/mobile.ts'
import { startMerchant, type Call } from './mobile-peer.ts'

/** A merchant's app and the server that hands it its signatures, for tests. */

export type Json = Record<string, unknown>

export interface Begun {
  kind: 'verification' | 'sale' | 'transfer'
  endpoint: number
  invoiceId: string
  body: Json
  accessToken: string
}

const otherNumber = '5555555555554444'
const device = 'device-1'

const cardOf = (number: string, securityCode = '123') => ({
  number,
  securityCode,
  expiry: { month: 12, year: new Date().getUTCFullYear() + 1 },
  holder: { printedName: 'ADA LOVELACE' },
})

interface Wish {
  endpoint?: number
  number?: string
  securityCode?: string
  reference?: Json
  /** For a transfer: the card that is credited, or its reference. */
  to?: Json
  amountCentis?: number
  currency?: string
  email?: string
  /** Instead of new ones. */
  invoiceId?: string
  nonce?: string
  accessToken?: string
  /** Into the body, after it was signed. */
  change?: (body: Json) => void
}

const usuallyServed = ({ endpoints }: World) => {
  const { plain, secure, yen, mobile_fee: fee, mobile_random_sum: randomSum } = endpoints
  return [plain, secure, yen, fee, randomSum]
}

/**
 * An app at a world whose endpoints plain, secure, yen, mobile_fee and mobile_random_sum call the
 * merchant's server of this test; or the endpoints that are given.
 */
export async function openApp(world: World, served = usuallyServed(world)) {
  const merchant = await startMerchant()
  const { controlKey } = world.merchant
  /** What the merchant's server hands to its app, and what the app then sends. */
  function begin(kind: Begun['kind'], wish: Wish = {}): Begun {
    const { nonce, ...begun } = beginFor(world, kind, wish)
    const { endpoint, invoiceId, accessToken } = begun
    merchant.add({ kind, endpoint, invoiceId, nonce, accessToken, device, controlKey })
    return begun
  }

  async function post(path: string, body: unknown): Promise<{ status: number; body: Json }> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await send('POST', `${world.baseUrl}/dapi/v1/${path}`, text, { 'content-type': 'application/json' })
    assert.equal(answer.contentType, 'application/json;charset=utf-8')
    return { status: answer.httpStatus, body: JSON.parse(answer.body) as Json }
  }

  const perform = ({ kind, endpoint, invoiceId, body }: Begun) => post(`${kind}/${endpoint}/${invoiceId}`, body)
  const status = ({ kind, endpoint, invoiceId, accessToken }: Begun, token: string) =>
    post(`${kind}/${endpoint}/${invoiceId}/status`, { session: { accessToken, token } })

  const complete = ({ endpoint, invoiceId, accessToken }: Begun, token: string, assignedId: string) =>
    post(`transfer/${endpoint}/${invoiceId}/${assignedId}`, { session: { accessToken, token } })

  async function accepted(one: Begun): Promise<string> {
    const { status: http, body } = await perform(one)
    assert.equal(http, 200, JSON.stringify(body))
    const { token } = body.session as { token: string }
    assert.deepEqual(body, { invoiceId: one.invoiceId, session: { token } })
    assert.ok(token.length >= 16 && token.length <= 36)
    return token
  }

  async function ended(one: Begun, token?: string): Promise<Json> {
    const its = token ?? (await accepted(one))
    const { body } = await until(
      () => status(one, its),
      ({ body: seen }) => seen.state !== 'PROCESSING',
      120_000,
    )
    assert.deepEqual([body.invoiceId, (body.session as Json).token], [one.invoiceId, its])
    return body
  }

  async function refused(one: Begun, cause: string, message: RegExp, http = 400): Promise<void> {
    const answer = await perform(one)
    const error = answer.body.error as Json
    assert.deepEqual([answer.status, error['cause'], answer.body.invoiceId], [http, cause, one.invoiceId], JSON.stringify(answer))
    assert.match(String(error['message']), message)
    assert.match(String(error['code']), /^[0-9a-f-]{36}$/)
  }

  /** The body of the notification of a card; fails unless it comes. */
  async function notified(kind: Begun['kind'], token: string): Promise<Json> {
    const isIt = ({ path, body }: Call) => path === `/${kind}/notification` && (body.session as Json).token === token
    const call = await until(() => merchant.calls.find(isIt), Boolean)
    assert.ok(call, `a notification of ${kind}`)
    return call.body
  }

  const { tell } = cliOf(() => world)
  /** A sandbox that starts again puts its own server at the endpoints of its own merchant. */
  async function serve(): Promise<void> {
    for (const id of served) await tell(['endpoint', 'set', String(id), '--merchant-server-url', merchant.url])
    await configurationRead(world)
  }
  await serve()
  return { merchant, serve, begin, post, perform, status, complete, accepted, ended, refused, notified }
}

export type App = Awaited<ReturnType<typeof openApp>>

/** An invoice with the signature of the merchant's server, and the nonce in it. */
function beginFor({ merchant, endpoints }: World, kind: Begun['kind'], wish: Wish): Begun & { nonce: string } {
  const { endpoint = endpoints.plain, number = '4111111111111111', securityCode, reference } = wish
  const { amountCentis = 1_050, email = 'ada@example.com', currency = endpoint === endpoints.yen ? 'JPY' : 'USD' } = wish
  const { invoiceId = randomUUID(), nonce = randomUUID().replaceAll('-', ''), accessToken = randomUUID() + randomUUID() } = wish
  const card = cardOf(number, securityCode)
  const body: Json = {
    consumer: { device: { serialNumber: device }, email },
    session: { accessToken, nonce },
    transaction: { currency, ...(kind === 'verification' ? {} : { amountCentis }) },
    ...(kind === 'verification' ? { sourceCard: card } : { sourceOfFunds: reference ? { reference } : { card } }),
    ...(kind === 'transfer' ? { destinationOfFunds: wish.to ?? { card: { number: otherNumber } } } : {}),
  }
  Object.assign(body['session'] as Json, { signature: signature(kind, endpoint, invoiceId, body, merchant.controlKey) })
  wish.change?.(body)
  return { kind, endpoint, invoiceId, body, accessToken, nonce }
}
