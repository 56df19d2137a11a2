import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { request } from 'node:http'
import type { World } from '../../harness/world/world.ts'
import { until } from '../../harness/clock/until.ts'

/**
 * A merchant's client, written from the text of the specification alone. It shares no line with the
 * gateway: were encoding, reading or checksums borrowed from there, a mistake would cancel itself
 * out.
 */

export type Fields = Record<string, string>
/** What a test changes in a request; undefined leaves the field out. */
export type Changes = Record<string, string | undefined>
/** The last part of an operation's path: an endpoint, or `group/` and a group. */
export type Path = number | string
export interface Merchant {
  login: string
  controlKey: string
}
export interface Way {
  path?: Path
  as?: Merchant
}
export interface Answer {
  httpStatus: number
  contentType: string
  body: string
}
export interface Order {
  orderid: string
  client_orderid: string
  serial: string
}

// ---- bytes --------------------------------------------------------------------------------------

const plainBytes = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._'))

/**
 * Form encoding of one name or value: UTF-8, `+` for a space, %XX for all that is not a letter, a
 * digit or one of `*-._`.
 */
export function encode(text: string): string {
  let out = ''
  for (const byte of Buffer.from(text, 'utf8')) {
    if (byte === 0x20) out += '+'
    else if (plainBytes.has(byte)) out += String.fromCharCode(byte)
    else out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

export function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

export function encodePairs(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
}

export const formType = 'application/x-www-form-urlencoded'

/**
 * One HTTP request on a connection of its own, so that no kept-alive socket of another case
 * matters. A header set to undefined is not sent.
 */
export function send(method: string, url: string, body: string | Buffer = '', headers: Changes = {}): Promise<Answer> {
  const bytes = Buffer.from(body)
  const all: Changes =
    method === 'GET' ? headers : { 'content-type': formType, 'content-length': String(bytes.length), ...headers }
  const sent = Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent: false, headers: sent, timeout: 60_000 }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const contentType = incoming.headers['content-type'] ?? ''
        resolve({ httpStatus: incoming.statusCode ?? 0, contentType, body: Buffer.concat(chunks).toString('utf8') })
      })
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url} within 60 s`)))
    outgoing.on('error', reject)
    outgoing.end(method === 'GET' ? undefined : bytes)
  })
}

/**
 * Reads a reply and insists on the wire format: HTTP 200, the content type to the letter, pairs
 * joined by `&` and nothing else between them, form encoding (a space is `+`), each name once, no
 * pair without a value, a serial-number always.
 */
export function readReply(answer: Answer): Fields {
  const { httpStatus, contentType, body } = answer
  assert.equal(httpStatus, 200, `HTTP status of: ${body}`)
  assert.equal(contentType, 'text/html;charset=utf-8')
  const fields: Fields = {}
  for (const pair of body.split('&')) {
    assert.match(pair, /^[A-Za-z0-9_-]+=(?:[A-Za-z0-9*._~-]|\+|%[0-9A-Fa-f]{2})+$/, `pair of the reply ${body}`)
    const name = pair.slice(0, pair.indexOf('='))
    assert.ok(!(name in fields), `${name} comes once in ${body}`)
    fields[name] = decode(pair.slice(name.length + 1))
  }
  assert.match(fields['serial-number'] ?? '', serialShape)
  assert.ok(fields.type, `type in ${body}`)
  return fields
}

export const serialShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

// ---- checksums ----------------------------------------------------------------------------------

export const sha1 = (...parts: string[]): string => createHash('sha1').update(parts.join(''), 'utf8').digest('hex')

/**
 * Amount in the highest unit -> minor units, by moving the point in the text; zeros beyond the
 * exponent fall away.
 */
export function minorUnits(amount: string, exponent: number): string {
  const [units = '', fraction = ''] = amount.split('.')
  const digits = units + fraction.slice(0, exponent).padEnd(exponent, '0')
  return /^[0-9]+$/.test(digits) ? BigInt(digits).toString() : '0'
}

const exponents: Record<string, number> = { USD: 2, EUR: 2, JPY: 0, KWD: 3 }

export const saleControl = (path: Path, clientOrderId: string, amountMinor: string, email: string, key: string): string =>
  sha1(String(path).replace('group/', ''), clientOrderId, amountMinor, email, key)

export const statusControl = (login: string, clientOrderId: string, orderId: string, key: string): string =>
  sha1(login, clientOrderId, orderId, key)

export const callbackControl = (outcome: string, orderId: string, clientOrderId: string, key: string): string =>
  sha1(outcome, orderId, clientOrderId, key)

// ---- operations ---------------------------------------------------------------------------------

export const newOrderId = (): string => `c-${randomUUID()}`
export const nextYear = new Date().getUTCFullYear() + 1
/** A card that ends with this month, or with the next if this one is over before a test is. */
export function endingMonth(): Changes {
  const soon = new Date(Date.now() + 300_000)
  return { expire_month: String(soon.getUTCMonth() + 1), expire_year: String(soon.getUTCFullYear()) }
}

/** A sale with every mandatory field and no other, approved by the sandbox. */
export function saleFields(changes: Changes = {}): Fields {
  const fields: Changes = {
    client_orderid: newOrderId(),
    order_desc: 'Two tickets',
    amount: '10.50',
    currency: 'USD',
    ipaddress: '203.0.113.7',
    email: 'ada@example.com',
    credit_card_number: '4111111111111111',
    card_printed_name: 'ADA LOVELACE',
    expire_month: '12',
    expire_year: String(nextYear),
    cvv2: '123',
    ...changes,
  }
  return Object.fromEntries(Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined))
}

/** The fields with their control, unless the changes name one of their own (undefined: none). */
export function signedSale(world: World, changes: Changes = {}, way: Way = {}): Fields {
  const fields = saleFields(changes)
  if ('control' in changes) return fields
  const clientOrderId = fields.client_orderid ?? fields['client-order-id'] ?? ''
  const minor = minorUnits(fields.amount ?? '', exponents[fields.currency ?? ''] ?? 2)
  const key = (way.as ?? world.merchant).controlKey
  return { ...fields, control: saleControl(way.path ?? world.endpoints.plain, clientOrderId, minor, fields.email ?? '', key) }
}

export const saleUrl = (world: World, path: Path = world.endpoints.plain): string => `${world.baseUrl}/api/v2/sale/${path}`
export const statusUrl = (world: World, path: Path = world.endpoints.plain): string => `${world.baseUrl}/api/v2/status/${path}`

export async function postSale(world: World, fields: Fields, path?: Path): Promise<Fields> {
  return readReply(await send('POST', saleUrl(world, path), encodePairs(Object.entries(fields))))
}

export function sale(world: World, changes: Changes = {}, way: Way = {}): Promise<Fields> {
  return postSale(world, signedSale(world, changes, way), way.path)
}

/** Sends a sale that must be accepted. */
export async function order(world: World, changes: Changes = {}, way: Way = {}): Promise<Order> {
  return accepted(await sale(world, changes, way))
}

/**
 * Insists that the reply accepts the request, with the fields that the specification names and no
 * word of an error.
 */
export function accepted(reply: Fields): Order {
  assert.equal(reply.type, 'async-response', JSON.stringify(reply))
  assert.match(reply['gateway-order-id'] ?? '', /^[1-9][0-9]*$/)
  assert.ok(reply['merchant-order-id'], 'merchant-order-id')
  assert.equal(reply['error-code'], undefined)
  assert.equal(reply['error-message'], undefined)
  return {
    orderid: reply['gateway-order-id'] ?? '',
    client_orderid: reply['merchant-order-id'] ?? '',
    serial: reply['serial-number'] ?? '',
  }
}

/** Insists on a validation-error with this code and message (a text: to the letter). */
export function refused(reply: Fields, code: number, message?: string | RegExp): void {
  assert.equal(reply['error-code'], String(code), JSON.stringify(reply))
  assert.equal(reply.type, 'validation-error')
  assert.equal(reply['gateway-order-id'], undefined, 'a refusal makes no order')
  if (typeof message === 'string') assert.equal(reply['error-message'], message)
  else assert.match(reply['error-message'] ?? '', message ?? /./)
}

export const required = (name: string): string => `Parameter ${name} is required`
export const invalid = (name: string): RegExp => new RegExp(`^Parameter ${name} is invalid: \\S`)

/** The fields of a status request for an order, with their control unless the changes name one. */
export function signedStatus(world: World, changes: Changes, way: Way = {}): Fields {
  const who = way.as ?? world.merchant
  const all: Changes = { login: who.login, ...changes }
  const given = Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
  if ('control' in changes) return given
  const clientOrderId = given.client_orderid ?? given['client-order-id'] ?? ''
  return { ...given, control: statusControl(given.login ?? '', clientOrderId, given.orderid ?? '', who.controlKey) }
}

export async function status(world: World, changes: Changes, way: Way = {}): Promise<Fields> {
  const fields = signedStatus(world, changes, way)
  return readReply(await send('POST', statusUrl(world, way.path), encodePairs(Object.entries(fields))))
}

export function statusOf(world: World, { orderid, client_orderid }: Order, way: Way = {}): Promise<Fields> {
  return status(world, { client_orderid, orderid }, way)
}

export const notEmpty = ({ length }: { length: number }): boolean => length > 0

export const untilStatus = (world: World, made: Order, good: (seen: Fields) => boolean, withinMs?: number): Promise<Fields> =>
  until(() => statusOf(world, made), good, withinMs)

/** Polls the status as a merchant does, until it is no longer processing. */
export async function settled(world: World, made: Order, way: Way = {}): Promise<Fields> {
  const reply = await until(
    () => statusOf(world, made, way),
    (seen) => seen.status !== 'processing',
  )
  assert.equal(reply.type, 'status-response', JSON.stringify(reply))
  return reply
}

/**
 * How long the acquirer lets reversals wait of what it never answered (CVV2 217): such an order
 * ends only then.
 */
export async function reversalsAfter(world: World, ms: number): Promise<void> {
  const wish = JSON.stringify({ slow_reversal_ms: ms })
  const answer = await send('POST', `${world.acquirerAdminUrl}/line`, wish, { 'content-type': 'application/json' })
  assert.equal(answer.httpStatus, 200, answer.body)
}

/** What the acquirer's own books say of an order. */
export async function ledger(world: World, orderid: string): Promise<Fields[]> {
  const answer = await send('GET', `${world.acquirerAdminUrl}/ledger?order_id=${orderid}`)
  const read: { entries: Fields[] } = JSON.parse(answer.body)
  return read.entries
}

/** Numbers with a valid check digit: the digits given, and the one that fits. */
export function cardNumber(digits: string): string {
  let sum = 0
  for (const [index, digit] of digits.split('').reverse().entries()) {
    const doubled = Number(digit) * (index % 2 === 0 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return `${digits}${(10 - (sum % 10)) % 10}`
}
