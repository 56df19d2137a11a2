import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { configurationRead } from '../../harness/world/configuration.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { nextYear, send, serialShape, type Answer, type Merchant } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, changed, hmac, openMerchantServer, textAt } from './mobile-merchant.ts'
import type { Invoice, Json, Kind, MerchantServer } from './mobile-merchant.ts'

/** An app, and what its merchant's server signs for it, as the specification has them. */

export interface Mobile {
  world: World
  shop: MerchantServer
}
/** An endpoint, its owner if not the first merchant, and how this merchant differs. */
export interface Way extends Partial<Pick<Invoice, 'check' | 'notification' | 'source' | 'destination' | 'invoiceId'>> {
  endpoint?: number
  as?: Merchant
}
/** A transaction that the merchant's server has initiated. */
export interface Made {
  kind: Kind
  endpoint: number
  invoiceId: string
  body: Json
}
export interface Session {
  accessToken: unknown
  token: unknown
}
export interface Told {
  httpStatus: number
  json: Json
}

/** Gives endpoints a merchant's server, and waits until the gateway has read that. */
export async function openMobile(world: World, endpoints: readonly number[] = [world.endpoints.plain]): Promise<Mobile> {
  const shop = await openMerchantServer()
  const { tell } = cliOf(() => world)
  await Promise.all(endpoints.map((id) => tell(['endpoint', 'set', String(id), '--merchant-server-url', shop.url])))
  await configurationRead(world)
  return { world, shop }
}

// ---- requests ----------------------------------------------------------------------------------

export const newInvoiceId = (): string => `m-${randomUUID()}`
export const newToken = (length = 64): string => randomBytes(length).toString('hex').slice(0, length)

export const mastercard = '5555555555554444'

export const card = (): Json => ({
  expiry: { month: 12, year: nextYear },
  holder: { printedName: 'ADA LOVELACE' },
  number: '4111111111111111',
  securityCode: '123',
})

/** Where the source card stands in a request. */
export const cardAt = (kind: Kind): string => (kind === 'verification' ? 'sourceCard' : 'sourceOfFunds.card')

/** Every mandatory field and no other. */
function usual(kind: Kind): Json {
  const body = changed(
    {
      consumer: { device: { serialNumber: `device-${newToken(8)}` }, email: 'ada@example.com' },
      session: { accessToken: newToken(), nonce: newToken(40) },
      transaction: kind === 'verification' ? { currency: 'USD' } : { amountCentis: 1050, currency: 'USD' },
    },
    { [cardAt(kind)]: card() },
  )
  return kind === 'transfer' ? { ...body, destinationOfFunds: { card: { number: mastercard } } } : body
}

export function signature(kind: Kind, endpoint: number, invoiceId: string, body: Json, controlKey: string): string {
  const text = (path: string): string => textAt(body, path)
  const amount = kind === 'verification' ? [] : [text('transaction.amountCentis')]
  const parts = [text('session.accessToken'), text('consumer.device.serialNumber'), endpoint, text('session.nonce'), invoiceId]
  return hmac(controlKey, ...parts, ...amount, text('transaction.currency'))
}

/** A request with changes, signed over what it has then; the merchant's server knows of it. */
export function initiate({ world, shop }: Mobile, kind: Kind, changes: Json = {}, way: Way = {}): Made {
  const { endpoint = world.endpoints.plain, as = world.merchant, invoiceId = newInvoiceId(), ...knows } = way
  const body = changed(usual(kind), changes)
  const signed = { 'session.signature': signature(kind, endpoint, invoiceId, body, as.controlKey) }
  shop.add({
    kind,
    endpoint,
    invoiceId,
    nonce: textAt(body, 'session.nonce'),
    accessToken: textAt(body, 'session.accessToken'),
    device: textAt(body, 'consumer.device.serialNumber'),
    controlKey: as.controlKey,
    ...knows,
  })
  const hasSession = typeof at(body, 'session') === 'object' && !('session.signature' in changes)
  return { kind, endpoint, invoiceId, body: hasSession ? changed(body, signed) : body }
}

export const urlOf = ({ world }: Mobile, { kind, endpoint, invoiceId }: Omit<Made, 'body'>, more = ''): string =>
  `${world.baseUrl}/dapi/v1/${kind}/${endpoint}/${encodeURIComponent(invoiceId)}${more}`

export const json = { 'content-type': 'application/json' }

export function read({ httpStatus, contentType, body }: Answer): Told {
  assert.match(contentType, /^application\/json\b/i, `${httpStatus} ${body}`)
  const parsed: unknown = JSON.parse(body)
  assert.ok(typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed), body)
  return { httpStatus, json: { ...parsed } }
}

export const post = async (url: string, body: Json | string | Buffer): Promise<Told> =>
  read(await send('POST', url, typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body), json))

export const perform = (mobile: Mobile, made: Made): Promise<Told> => post(urlOf(mobile, made), made.body)

// ---- answers -----------------------------------------------------------------------------------

/** Asserts an accepted request or completion with exactly its fields. Returns the session token. */
export function accepted({ httpStatus, json: told }: Told, { invoiceId }: Pick<Made, 'invoiceId'>): string {
  assert.equal(httpStatus, 200, JSON.stringify(told))
  const token = at(told, 'session.token')
  assert.ok(typeof token === 'string' && token.length >= 16 && token.length <= 36, JSON.stringify(told))
  assert.deepEqual(told, { invoiceId, session: { token } })
  return token
}

export type Cause =
  | 'INVALID_REQUEST'
  | 'INVALID_CONFIGURATION'
  | 'INTERNAL_ERROR'
  | 'PROCESSING_FAILED'
  | 'FILTERED'
  | 'ORDER_NOT_FOUND'

const codes = new Set<string>()

/** Asserts a failure: HTTP status, no other fields, and a new code. Returns the code. */
export function refused({ httpStatus, json: told }: Told, cause: Cause, message: string | RegExp, invoiceId?: string): string {
  const code = textAt(told, 'error.code')
  const said = at(told, 'error.message')
  const body = { error: { cause, code, message: said }, invoiceId: invoiceId ?? at(told, 'invoiceId') }
  assert.deepEqual(told, body)
  assert.equal(httpStatus, cause === 'INVALID_REQUEST' || cause === 'ORDER_NOT_FOUND' ? 400 : 500)
  assert.match(code, serialShape)
  assert.ok(!codes.has(code), `${code} is unique`)
  codes.add(code)
  if (typeof message === 'string') assert.equal(said, message)
  else assert.match(textAt(told, 'error.message'), message)
  return code
}

const literal = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
/** A message that begins with this path and says something of it. */
export const about = (path: string): RegExp => new RegExp(`^${literal(path)}\\S* \\S`)
export const empty = (path: string): string => `${path} may not be empty`

export interface Accepted extends Made {
  session: Session
}

/** Initiates and performs what must be accepted. */
export async function begin(mobile: Mobile, kind: Kind, changes: Json = {}, way: Way = {}): Promise<Accepted> {
  const made = initiate(mobile, kind, changes, way)
  const token = accepted(await perform(mobile, made), made)
  return { ...made, session: { accessToken: at(made.body, 'session.accessToken'), token } }
}

export const askStatus = (mobile: Mobile, made: Omit<Made, 'body'>, session: Session): Promise<Told> =>
  post(urlOf(mobile, made, '/status'), { session })

/** The status, which must be answered. */
export async function statusOf(mobile: Mobile, made: Accepted): Promise<Json> {
  const { httpStatus, json: told } = await askStatus(mobile, made, made.session)
  assert.equal(httpStatus, 200, JSON.stringify(told))
  assert.deepEqual([told.invoiceId, at(told, 'session.token')], [made.invoiceId, made.session.token])
  return told
}

/** Polls as an app does, until the state is no longer PROCESSING. */
export async function rested(mobile: Mobile, made: Accepted, but: readonly unknown[] = [], withinMs = 60_000): Promise<Json> {
  const moves = new Set(['PROCESSING', ...but])
  const told = await until(
    () => statusOf(mobile, made),
    ({ state }) => !moves.has(state),
    withinMs,
  )
  assert.ok(!moves.has(told.state), `at rest within ${withinMs} ms: ${JSON.stringify(told)}`)
  return told
}

/** Begins, and insists on this end. */
export async function ends(mobile: Mobile, state: string, kind: Kind, changes: Json = {}, way: Way = {}) {
  const made = await begin(mobile, kind, changes, way)
  const told = await rested(mobile, made)
  assert.equal(told.state, state, JSON.stringify(told))
  return { made, told }
}

/** The number of the order: of `orderId`, or as the sandbox's processor names it. */
export const orderOf = (told: Json): string => textAt(told, 'orderId') || textAt(told, 'bankOrderId').replace('SIM-', '')
