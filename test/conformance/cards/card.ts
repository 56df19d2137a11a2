import assert from 'node:assert/strict'
import type { World } from '../../harness/world/world.ts'
import { accepted, encodePairs, minorUnits, newOrderId, order, readReply, send, settled, sha1 } from '../requests/client.ts'
import type { Changes, Fields, Order, Path, Way } from '../requests/client.ts'

/** Card registration, card information and recurrent payments, as the specification has them. */

export type Rebill = 'make-rebill-sale' | 'make-rebill-preauth' | 'make-rebill'
export type Operation = Rebill | 'create-card-ref' | 'get-card-info'
export interface RebillWay extends Way {
  operation?: Rebill
}
export interface Registered {
  made: Order
  ref: string
}

export const nowhere = 999_999_999
export const wrongControl = '0123456789012345678901234567890123456789'

export const urlOf = (world: World, operation: Operation, path: Path = world.endpoints.plain): string =>
  `${world.baseUrl}/api/v2/${operation}/${path}`

export async function call(world: World, operation: Operation, fields: Fields, path?: Path): Promise<Fields> {
  return readReply(await send('POST', urlOf(world, operation, path), encodePairs(Object.entries(fields))))
}

const present = (all: Changes): Fields =>
  Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))

// ---- registration ------------------------------------------------------------------------------

export type Named = Pick<Order, 'orderid' | 'client_orderid'>

export function signedRegistration(world: World, named: Named, changes: Changes = {}, way: Way = {}): Fields {
  const { login, controlKey } = way.as ?? world.merchant
  const fields = present({ login, client_orderid: named.client_orderid, orderid: named.orderid, ...changes })
  if ('control' in changes) return fields
  return { ...fields, control: sha1(fields.login ?? '', fields.client_orderid ?? '', fields.orderid ?? '', controlKey) }
}

export const register = (world: World, named: Named, changes: Changes = {}, way: Way = {}): Promise<Fields> =>
  call(world, 'create-card-ref', signedRegistration(world, named, changes, way), way.path)

/** Insists on a registration; its card-ref-id. */
export function refOf(reply: Fields): string {
  assert.deepEqual([reply.type, reply.status], ['create-card-ref-response', 'approved'], JSON.stringify(reply))
  assert.match(reply['card-ref-id'] ?? '', /^[0-9]{1,20}$/)
  return reply['card-ref-id'] ?? ''
}

/** A first payment that is approved, and the reference to its card. */
export async function registered(world: World, changes: Changes = {}, way: Way = {}): Promise<Registered> {
  const made = await order(world, changes, way)
  assert.equal((await settled(world, made, way)).status, 'approved')
  return { made, ref: refOf(await register(world, made, {}, way)) }
}

/** Insists on the answer to a registration that the first payment does not allow. */
export function notRegistered(reply: Fields, status: 'declined' | 'error', { orderid }: Named): void {
  assert.deepEqual(
    [reply.type, reply.status, reply['error-code']],
    ['create-card-ref-response', status, '9'],
    JSON.stringify(reply),
  )
  assert.match(reply['error-message'] ?? '', new RegExp(`^Order ${orderid} does not allow \\S`))
  for (const name of Object.keys(reply)) assert.doesNotMatch(name, /card-ref-id$|recurring-payment-id$/, 'no ids')
}

// ---- card information --------------------------------------------------------------------------

export function signedInfo(world: World, ref: string, changes: Changes = {}, way: Way = {}): Fields {
  const { login, controlKey } = way.as ?? world.merchant
  const fields = present({ login, cardrefid: ref, ...changes })
  return 'control' in changes ? fields : { ...fields, control: sha1(fields.login ?? '', fields.cardrefid ?? '', controlKey) }
}

export const cardInfo = (world: World, ref: string, changes: Changes = {}, way: Way = {}): Promise<Fields> =>
  call(world, 'get-card-info', signedInfo(world, ref, changes, way), way.path)

// ---- recurrent payments ------------------------------------------------------------------------

/** The checksum of a recurrent payment. `first` is empty, or the endpoint or group. */
export function rebillControl(fields: Fields, minor: string, key: string, first = ''): string {
  const { login = '', client_orderid = '', cardrefid = '', currency = '' } = fields
  return sha1(first, login, client_orderid, cardrefid, minor, currency, key)
}

/** A recurrent payment with every mandatory field and no other. */
export function signedRebill(world: World, ref: string, changes: Changes = {}, way: RebillWay = {}): Fields {
  const { login, controlKey } = way.as ?? world.merchant
  const fields = present({
    client_orderid: newOrderId(),
    login,
    cardrefid: ref,
    order_desc: 'The second month',
    amount: '10.50',
    currency: 'USD',
    ipaddress: '203.0.113.7',
    ...changes,
  })
  if ('control' in changes) return fields
  const minor = minorUnits(fields.amount ?? '', fields.currency === 'JPY' ? 0 : 2)
  return { ...fields, control: rebillControl(fields, minor, controlKey) }
}

export const rebill = (world: World, ref: string, changes: Changes = {}, way: RebillWay = {}): Promise<Fields> =>
  call(world, way.operation ?? 'make-rebill-sale', signedRebill(world, ref, changes, way), way.path)

/** A recurrent payment that must be accepted. */
export const rebillOrder = async (world: World, ref: string, changes: Changes = {}, way: RebillWay = {}): Promise<Order> =>
  accepted(await rebill(world, ref, changes, way))
