/** Merchants, endpoints, groups and gates for operators: no key is opened. */
import type {
  Endpoint,
  EndpointGroup,
  EndpointSettings,
  Gate,
  GateRow,
  MerchantPage,
  SignedRequests,
} from '../merchant/merchant.ts'
import { statement, type Runner } from '../storage/pool.ts'
import { Refused } from './refused.ts'

export interface MerchantEntry {
  merchantId: bigint
  login: string
  name: string
  enabled: boolean
  /** Where its orders are. */
  cellNo: number
  /** Until then the previous control key is accepted too. */
  previousKeyUntil?: number
  /** The requests that must be signed; none if absent. */
  signedRequests?: SignedRequests
  /** What hosted pages show of it. */
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

/** Without its secrets, which nobody is shown. */
export interface GateEntry extends Omit<Gate, 'secrets'> {
  createdAt: number
}

interface Dated {
  name: string
  enabled: boolean
  created_at: number
}

const merchants = statement<
  Dated & {
    merchant_id: bigint
    login: string
    cell_no: number
    previous_key_until: number | null
    signed_requests: SignedRequests | null
    page: MerchantPage
  }
>(`
  select merchant_id, login, name, enabled, cell_no, previous_key_until, signed_requests, page, created_at
  from merchant order by login`)
const endpoints = statement<
  Dated & {
    endpoint_id: bigint
    merchant_id: bigint
    login: string
    currency: string
    gate_ids: string[]
    settings: EndpointSettings
  }
>(`
  select e.endpoint_id, e.merchant_id, m.login, e.name, e.enabled, e.currency, e.gate_ids, e.settings, e.created_at
  from endpoint e join merchant m on m.merchant_id = e.merchant_id order by e.endpoint_id`)
const groups = statement<Dated & { group_id: bigint; merchant_id: bigint; login: string; endpoint_ids: string[] }>(`
  select g.group_id, g.merchant_id, m.login, g.name, g.enabled, g.endpoint_ids, g.created_at
  from endpoint_group g join merchant m on m.merchant_id = g.merchant_id order by g.group_id`)
const gates = statement<Dated & { gate_id: bigint; settings: GateRow }>(
  `select gate_id, name, enabled, settings, created_at from gate order by gate_id`,
)

export async function listMerchants(runner: Runner): Promise<MerchantEntry[]> {
  return (await runner.run(merchants)).map((r) => ({
    merchantId: r.merchant_id,
    login: r.login,
    name: r.name,
    enabled: r.enabled,
    cellNo: r.cell_no,
    ...(r.previous_key_until === null ? {} : { previousKeyUntil: r.previous_key_until }),
    ...(r.signed_requests === null ? {} : { signedRequests: r.signed_requests }),
    page: r.page,
    createdAt: r.created_at,
  }))
}

export async function listEndpoints(runner: Runner): Promise<EndpointEntry[]> {
  return (await runner.run(endpoints)).map((r) => ({
    endpointId: r.endpoint_id,
    merchantId: r.merchant_id,
    login: r.login,
    name: r.name,
    enabled: r.enabled,
    currency: r.currency,
    gateIds: r.gate_ids.map(BigInt),
    settings: r.settings,
    createdAt: r.created_at,
  }))
}

export async function listGroups(runner: Runner): Promise<GroupEntry[]> {
  return (await runner.run(groups)).map((r) => ({
    groupId: r.group_id,
    merchantId: r.merchant_id,
    login: r.login,
    name: r.name,
    enabled: r.enabled,
    endpointIds: r.endpoint_ids.map(BigInt),
    createdAt: r.created_at,
  }))
}

export async function listGates(runner: Runner): Promise<GateEntry[]> {
  return (await runner.run(gates)).map((r) => ({
    gateId: r.gate_id,
    name: r.name,
    enabled: r.enabled,
    settings: r.settings,
    createdAt: r.created_at,
  }))
}

export async function merchantNamed(runner: Runner, login: string): Promise<MerchantEntry> {
  const found = (await listMerchants(runner)).find((m) => m.login === login)
  if (!found) throw new Refused({ what: 'unknown', thing: 'merchant', name: login })
  return found
}

export async function endpointOf(runner: Runner, endpointId: bigint): Promise<EndpointEntry> {
  const found = (await listEndpoints(runner)).find((e) => e.endpointId === endpointId)
  if (!found) throw new Refused({ what: 'unknown', thing: 'endpoint', name: String(endpointId) })
  return found
}

export async function groupOf(runner: Runner, groupId: bigint): Promise<GroupEntry> {
  const found = (await listGroups(runner)).find((g) => g.groupId === groupId)
  if (!found) throw new Refused({ what: 'unknown', thing: 'group', name: String(groupId) })
  return found
}

/** By id or by name. */
export async function gateNamed(runner: Runner, name: string): Promise<GateEntry> {
  const all = await listGates(runner)
  const found = all.find((g) => String(g.gateId) === name) ?? all.find((g) => g.name === name)
  if (!found) throw new Refused({ what: 'unknown', thing: 'gate', name })
  return found
}
