/** Merchants, endpoints, groups, gates, users and tokens for operators: no key is opened. */
import type { Endpoint, EndpointGroup, Gate, SignedRequests } from '../merchant/merchant.ts'
import { endpointFields } from '../merchant/fields/endpoint.ts'
import { gateFields } from '../merchant/fields/gate.ts'
import { pageFields, type MerchantPage } from '../merchant/fields/page.ts'
import { entities, type Runner } from '../storage/pool.ts'
import type { OperatorRole } from './permissions.ts'
import { orUnknown, type Unknown } from './refused.ts'

export interface MerchantEntry {
  merchantId: bigint
  login: string
  name: string
  enabled: boolean
  cellNo: number
  /** Until then the previous control key is accepted too. */
  previousKeyUntil?: number
  /** The requests that must be signed; none if absent. */
  signedRequests?: SignedRequests | undefined
  page: MerchantPage
  createdAt: number
}

export interface EndpointEntry extends Endpoint {
  login: string
  createdAt: number
}

export interface GroupEntry extends EndpointGroup {
  login: string
  createdAt: number
}

/** Without its secrets, which are never shown. */
export interface GateEntry extends Omit<Gate, 'secrets'> {
  createdAt: number
}

/** Who may use the API; `login` is of the one merchant that a user works for. */
export interface UserEntry {
  userId: bigint
  name: string
  role: OperatorRole
  merchantId?: bigint
  login?: string
  enabled: boolean
  createdAt: number
}

/** A token of a user, without its digest. */
export interface TokenEntry extends Omit<UserEntry, 'name' | 'enabled'> {
  tokenId: bigint
  user: string
  expiresAt: number
  revokedAt?: number
}

const merchants = entities<MerchantEntry>(`
  select merchant_id, login, name, enabled, cell_no, previous_key_until, signed_requests, page, created_at
  from merchant order by login`)
const endpoints = entities<Omit<EndpointEntry, 'gateIds'> & { gateIds: string[] }>(`
  select e.endpoint_id, e.merchant_id, m.login, e.name, e.enabled, e.currency, e.gate_ids, e.settings, e.created_at
  from endpoint e join merchant m on m.merchant_id = e.merchant_id order by e.endpoint_id`)
const groups = entities<Omit<GroupEntry, 'endpointIds'> & { endpointIds: string[] }>(`
  select g.group_id, g.merchant_id, m.login, g.name, g.enabled, g.endpoint_ids, g.created_at
  from endpoint_group g join merchant m on m.merchant_id = g.merchant_id order by g.group_id`)
const gates = entities<GateEntry>(`select gate_id, name, enabled, settings, created_at from gate order by gate_id`)

const users = entities<UserEntry>(`
  select u.user_id, u.name, u.role, u.merchant_id, m.login, u.enabled, u.created_at
  from operator_user u left join merchant m on m.merchant_id = u.merchant_id order by u.name`)
const tokens = entities<TokenEntry>(`
  select t.token_id, t.user_id, u.name as user, t.role, t.merchant_id, m.login, t.expires_at, t.revoked_at, t.created_at
  from operator_token t join operator_user u on u.user_id = t.user_id left join merchant m on m.merchant_id = t.merchant_id
  order by t.token_id desc`)

export const listUsers = (runner: Runner): Promise<UserEntry[]> => runner.run(users)
/** Newest first. */
export const listTokens = (runner: Runner): Promise<TokenEntry[]> => runner.run(tokens)

export const listMerchants = async (runner: Runner): Promise<MerchantEntry[]> =>
  (await runner.run(merchants)).map((m) => ({ ...m, page: pageFields.whole(m.page) }))

export const listEndpoints = async (runner: Runner): Promise<EndpointEntry[]> =>
  (await runner.run(endpoints)).map((e) => ({ ...e, gateIds: e.gateIds.map(BigInt), settings: endpointFields.whole(e.settings) }))

export const listGroups = async (runner: Runner): Promise<GroupEntry[]> =>
  (await runner.run(groups)).map((g) => ({ ...g, endpointIds: g.endpointIds.map(BigInt) }))

export const listGates = async (runner: Runner): Promise<GateEntry[]> =>
  (await runner.run(gates)).map((g) => ({ ...g, settings: gateFields.whole(g.settings) }))

/** Those of one merchant, or all. */
export async function ofMerchant<One extends { merchantId?: bigint }>(
  runner: Runner,
  login: string | undefined,
  all: (runner: Runner) => Promise<One[]>,
): Promise<One[]> {
  if (login === undefined) return all(runner)
  const { merchantId } = await merchantNamed(runner, login)
  return (await all(runner)).filter((one) => one.merchantId === merchantId)
}

/** Finds one; refuses a name that none has. */
const finder =
  <One, Name extends string | bigint>(thing: Unknown, all: (runner: Runner) => Promise<One[]>, nameOf: (one: One) => Name) =>
  async (runner: Runner, name: Name): Promise<One> => {
    const found = (await all(runner)).find((one) => nameOf(one) === name)
    return orUnknown(found, thing, name)
  }

export const merchantNamed = finder('merchant', listMerchants, ({ login }) => login)
export const endpointOf = finder('endpoint', listEndpoints, ({ endpointId }) => endpointId)
export const groupOf = finder('group', listGroups, ({ groupId }) => groupId)
export const userNamed = finder('user', listUsers, ({ name }) => name)
export const tokenNumbered = finder('token', listTokens, ({ tokenId }) => tokenId)

/** By id or by name. */
export async function gateNamed(runner: Runner, name: string): Promise<GateEntry> {
  const all = await listGates(runner)
  const found = all.find((g) => String(g.gateId) === name) ?? all.find((g) => g.name === name)
  return orUnknown(found, 'gate', name)
}
