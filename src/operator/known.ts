/** Merchants, endpoints, groups and gates for operators: no key is opened. */
import type { Endpoint, EndpointGroup, Gate, SignedRequests } from '../merchant/merchant.ts'
import { endpointFields } from '../merchant/fields/endpoint.ts'
import { gateFields } from '../merchant/fields/gate.ts'
import { pageFields, type MerchantPage } from '../merchant/fields/page.ts'
import { entities, type Runner } from '../storage/pool.ts'
import { orUnknown } from './refused.ts'

export interface MerchantEntry {
  merchantId: bigint
  login: string
  name: string
  enabled: boolean
  cellNo: number
  /** Until then the previous control key is accepted too. */
  previousKeyUntil?: number
  /** The requests that must be signed; none if absent. */
  signedRequests?: SignedRequests
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

export const listMerchants = async (runner: Runner): Promise<MerchantEntry[]> =>
  (await runner.run(merchants)).map((m) => ({ ...m, page: pageFields.whole(m.page) }))

export const listEndpoints = async (runner: Runner): Promise<EndpointEntry[]> =>
  (await runner.run(endpoints)).map((e) => ({ ...e, gateIds: e.gateIds.map(BigInt), settings: endpointFields.whole(e.settings) }))

export const listGroups = async (runner: Runner): Promise<GroupEntry[]> =>
  (await runner.run(groups)).map((g) => ({ ...g, endpointIds: g.endpointIds.map(BigInt) }))

export const listGates = async (runner: Runner): Promise<GateEntry[]> =>
  (await runner.run(gates)).map((g) => ({ ...g, settings: gateFields.whole(g.settings) }))

/** Those of one merchant, or all. */
export async function ofMerchant<One extends { merchantId: bigint }>(
  runner: Runner,
  login: string | undefined,
  all: (runner: Runner) => Promise<One[]>,
): Promise<One[]> {
  if (login === undefined) return all(runner)
  const { merchantId } = await merchantNamed(runner, login)
  return (await all(runner)).filter((one) => one.merchantId === merchantId)
}

export async function merchantNamed(runner: Runner, login: string): Promise<MerchantEntry> {
  const found = (await listMerchants(runner)).find((m) => m.login === login)
  return orUnknown(found, 'merchant', login)
}

export async function endpointOf(runner: Runner, endpointId: bigint): Promise<EndpointEntry> {
  const found = (await listEndpoints(runner)).find((e) => e.endpointId === endpointId)
  return orUnknown(found, 'endpoint', endpointId)
}

export async function groupOf(runner: Runner, groupId: bigint): Promise<GroupEntry> {
  const found = (await listGroups(runner)).find((g) => g.groupId === groupId)
  return orUnknown(found, 'group', groupId)
}

/** By id or by name. */
export async function gateNamed(runner: Runner, name: string): Promise<GateEntry> {
  const all = await listGates(runner)
  const found = all.find((g) => String(g.gateId) === name) ?? all.find((g) => g.name === name)
  return orUnknown(found, 'gate', name)
}
