import assert from 'node:assert/strict'
import type { World } from '../../harness/world/world.ts'
import {
  accepted,
  encodePairs,
  ledger,
  minorUnits,
  readReply,
  refused,
  saleFields,
  send,
  settled,
  sha1,
  signedSale,
  status,
} from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Changes, Fields, Order, Path, Way } from '../requests/client.ts'

/** The merchant's client for preauth, account verification, capture, return and void. */

export type Initial = 'sale' | 'preauth' | 'account-verification'
export type FollowUp = 'capture' | 'return' | 'void'
export interface Asked extends Way {
  headers?: Changes
}

export const url = (world: World, operation: string, path: Path = world.endpoints.plain): string =>
  `${world.baseUrl}/api/v2/${operation}/${path}`

export async function post(world: World, operation: string, fields: Fields, { path, headers = {} }: Asked = {}): Promise<Fields> {
  return readReply(await send('POST', url(world, operation, path), encodePairs(Object.entries(fields)), headers))
}

/** What sends a request under this Idempotency-Key. */
export const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

const given = (changes: Changes): Fields =>
  Object.fromEntries(Object.entries(changes).filter((pair): pair is [string, string] => pair[1] !== undefined))

// ---- what begins an order ----------------------------------------------------------------------

/** An account verification names no amount and no currency, unless the changes do. */
export function verificationFields(world: World, changes: Changes = {}, way: Way = {}): Fields {
  const fields = saleFields({ amount: undefined, currency: undefined, ...changes })
  if ('control' in changes) return fields
  const id = String(way.path ?? world.endpoints.plain).replace('group/', '')
  return { ...fields, control: sha1(id, fields.client_orderid ?? '', fields.email ?? '', (way.as ?? world.merchant).controlKey) }
}

export function begin(world: World, operation: Initial, changes: Changes = {}, way: Asked = {}): Promise<Fields> {
  const make = operation === 'account-verification' ? verificationFields : signedSale
  return post(world, operation, make(world, changes, way), way)
}

/** Begins an order, which must come to be approved. */
export async function approved(world: World, operation: Initial, changes: Changes = {}, way: Asked = {}): Promise<Order> {
  const made = accepted(await begin(world, operation, changes, way))
  assert.equal((await settled(world, made, way)).status, 'approved')
  return made
}

// ---- what follows ------------------------------------------------------------------------------

const exponents: Record<string, number> = { USD: 2, EUR: 2, JPY: 0 }

export const followUpControl = (
  login: string,
  made: Pick<Order, 'client_orderid' | 'orderid'>,
  money: string,
  key: string,
): string => sha1(login, made.client_orderid, made.orderid, money, key)

/** With the control, unless the changes replace it (undefined: none). A void signs no amount. */
export function followUpFields(world: World, operation: FollowUp, made: Order, changes: Changes = {}, way: Way = {}): Fields {
  const { login, controlKey } = way.as ?? world.merchant
  const fields = given({ login, client_orderid: made.client_orderid, orderid: made.orderid, ...changes })
  if ('control' in changes) return fields
  const { amount, currency = '' } = fields
  const signsMoney = amount !== undefined && amount !== '' && operation !== 'void'
  const money = signsMoney ? minorUnits(amount, exponents[currency] ?? 2) + currency : ''
  const named = { client_orderid: fields.client_orderid ?? '', orderid: fields.orderid ?? '' }
  return { ...fields, control: followUpControl(fields.login ?? '', named, money, controlKey) }
}

export function follow(world: World, operation: FollowUp, made: Order, changes: Changes = {}, way: Asked = {}): Promise<Fields> {
  return post(world, operation, followUpFields(world, operation, made, changes, way), way)
}

/** Sends a follow-up and waits for its end: the serial of the request and the final status. */
export async function followed(world: World, operation: FollowUp, made: Order, changes: Changes = {}, way: Asked = {}) {
  const { orderid, serial } = accepted(await follow(world, operation, made, changes, way))
  assert.equal(orderid, made.orderid, 'the answer names the order that it is about')
  return { serial, seen: await settled(world, made) }
}

export const part = (amount: string, changes: Changes = {}): Changes => ({ amount, currency: 'USD', ...changes })

/** Insists on code 9 with its message. */
export const notAllowed = (reply: Fields, operation: FollowUp, { orderid }: Order): void =>
  refused(reply, 9, `Order ${orderid} does not allow ${operation}`)

export const bySerial = (world: World, { client_orderid, orderid }: Order, serial: string): Promise<Fields> =>
  status(world, { client_orderid, orderid, 'by-request-sn': serial })

export const untilDeclined = (world: World, made: Order, serial: string): Promise<Fields> =>
  until(
    () => bySerial(world, made, serial),
    (seen) => seen.status === 'declined',
  )

/** Status, stage and transaction-type, in one line. */
export const line = (seen: Fields): string => [seen.status, seen['order-stage'], seen['transaction-type']].join(' ')

// ---- the acquirer's books ----------------------------------------------------------------------

/** The acquirer's entries of an order, oldest first: kind, minor units and state. */
export async function booked(world: World, { orderid }: Order): Promise<string[]> {
  return (await ledger(world, orderid)).map(({ kind, amountMinor, state }) => `${kind} ${amountMinor} ${state}`)
}

export const untilBooked = (world: World, made: Order, entries: number): Promise<string[]> =>
  until(
    () => booked(world, made),
    ({ length }) => length === entries,
  )

/** What the acquirer charged, gave back and holds, in minor units. Only approved entries count. */
export async function moved(world: World, { orderid }: Order): Promise<{ charged: number; returned: number; held: number }> {
  const standing = (await ledger(world, orderid)).filter(({ state }) => state === 'approved')
  const sum = (...kinds: string[]): number =>
    standing.filter(({ kind = '' }) => kinds.includes(kind)).reduce((total, { amountMinor }) => total + Number(amountMinor), 0)
  return { charged: sum('sale', 'capture'), returned: sum('return'), held: sum('preauth') }
}

export const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))
