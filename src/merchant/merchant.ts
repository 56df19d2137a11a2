import type { KeyObject } from 'node:crypto'
import type { Secret } from '../base/secret.ts'
import { switchedAs, type Operation } from '../spec/gateway/operations.ts'
import type { CellAddress } from '../storage/cells.ts'
import type { EndpointSettings } from './fields/endpoint.ts'
import type { FilterRule } from './filter.ts'
import type { GateRow } from './fields/gate.ts'
import type { MerchantPage } from './fields/page.ts'

/** The secrets that sign messages to a merchant; without any, messages are unsigned. */
export interface Signers {
  /** Signs callbacks by HMAC-SHA256; absent until an operator asks for one. */
  signingSecret?: Secret<Buffer> | undefined
  /** Signs callbacks by Ed25519 too; absent until an operator asks for one. */
  signingKey?: KeyObject | undefined
}

/** Its rows are copied; nothing is begun for it; what the other cell has left of it is removed. */
export type MoveState = 'copying' | 'closed' | 'clearing'

export interface Merchant extends Signers {
  merchantId: bigint
  login: string
  name: string
  enabled: boolean
  /** Where its orders are. */
  cellNo: number
  /** Present while it is moved to another cell. */
  moving?: MoveState | undefined
  /** The control key, and for a while after a rotation also the previous one. */
  controlKeys: readonly Secret<string>[]
  /** The keys that verify its OAuth signatures: those registered and not retired, oldest first. */
  publicKeys: readonly KeyObject[]
  /** The requests that are refused without a signature; none if absent. */
  signedRequests?: SignedRequests | undefined
  /** Absent is as empty. */
  page?: MerchantPage
}

/**
 * Which requests must be signed: captures, returns and voids; payments too; or everything. It is
 * set for a merchant, since most checksums hold at each of its endpoints.
 */
export const signedRequests = ['follow-ups', 'payments', 'all'] as const
export type SignedRequests = (typeof signedRequests)[number]

/** How a gate reaches its acquirer and what the acquirer allows. */
export interface Gate {
  gateId: bigint
  name: string
  enabled: boolean
  settings: GateRow
  secrets?: GateSecrets
}

/** The values that the database stores sealed. */
export interface GateSecrets {
  /** The private key of the client certificate, in PEM. */
  tlsKey?: Secret<string>
  /** The key of the MAC that the messages have. */
  macKey?: Secret<Buffer>
}

export interface Endpoint {
  endpointId: bigint
  merchantId: bigint
  name: string
  enabled: boolean
  currency: string
  gateIds: readonly bigint[]
  settings: EndpointSettings
}

export interface EndpointGroup {
  groupId: bigint
  merchantId: bigint
  name: string
  enabled: boolean
  endpointIds: readonly bigint[]
}

/** The target of an id in a path: one endpoint, or a group with a member for each currency. */
export interface Entry {
  pathId: bigint
  merchant: Merchant
  enabled: boolean
  endpoints: readonly Endpoint[]
}

/** Merchants, endpoints, groups and gates as of one moment; a change creates a new one. */
export type Registry = ReturnType<typeof registryOf>

export interface RegistryRows {
  version: bigint
  staleAt: number
  /** Cell 0 alone if absent. */
  cells?: readonly CellAddress[]
  merchants: readonly Merchant[]
  endpoints: readonly Endpoint[]
  groups: readonly EndpointGroup[]
  gates: readonly Gate[]
  filters?: readonly (FilterRule & { merchantId: bigint })[]
}

const noFilters: readonly FilterRule[] = []
const byNumber = (a: FilterRule, b: FilterRule): number => a.filterNo - b.filterNo

export function registryOf(rows: RegistryRows) {
  const byLogin = new Map(rows.merchants.map((m) => [m.login, m]))
  const merchants = new Map(rows.merchants.map((m) => [m.merchantId, m]))
  const endpoints = new Map(rows.endpoints.map((e) => [e.endpointId, e]))
  const gates = new Map(rows.gates.map((g) => [g.gateId, g]))
  const entries = new Map<string, Entry>()
  const filters = new Map<bigint, readonly FilterRule[]>()
  for (const { endpointId, merchantId } of rows.endpoints) {
    const own = (rows.filters ?? []).filter((f) => f.merchantId === merchantId && (f.endpointId ?? endpointId) === endpointId)
    if (own.length > 0) filters.set(endpointId, own.toSorted(byNumber))
  }
  for (const endpoint of rows.endpoints) {
    const merchant = merchants.get(endpoint.merchantId)!
    entries.set(`${endpoint.endpointId}`, {
      pathId: endpoint.endpointId,
      merchant,
      enabled: endpoint.enabled && merchant.enabled,
      endpoints: [endpoint],
    })
  }
  for (const group of rows.groups) {
    const merchant = merchants.get(group.merchantId)!
    const members = group.endpointIds.map((id) => endpoints.get(id)).filter((e) => e !== undefined)
    entries.set(`group/${group.groupId}`, {
      pathId: group.groupId,
      merchant,
      enabled: group.enabled && merchant.enabled,
      endpoints: members,
    })
  }
  const merchantsAt = new Map<bigint, Set<bigint>>()
  for (const { enabled, merchantId, gateIds } of rows.endpoints) {
    if (!enabled || !merchants.get(merchantId)?.enabled) continue
    for (const gateId of gateIds) merchantsAt.set(gateId, (merchantsAt.get(gateId) ?? new Set()).add(merchantId))
  }
  return {
    version: rows.version,
    /** When it becomes outdated without a change: a rotated control key is no longer accepted. */
    staleAt: rows.staleAt,
    /** All cells of the installation, in order. */
    cells: rows.cells ?? [{ cellNo: 0 }],
    merchantByLogin: (login: string): Merchant | undefined => byLogin.get(login),
    merchant: (id: bigint): Merchant | undefined => merchants.get(id),
    moving: rows.merchants.filter((m) => m.moving),
    endpoint: (id: bigint): Endpoint | undefined => endpoints.get(id),
    gate: (id: bigint): Gate | undefined => gates.get(id),
    gates: (): Iterable<Gate> => gates.values(),
    /** How many merchants that are switched on use it, with an endpoint that is. */
    merchantsAt: (id: bigint): number => merchantsAt.get(id)?.size ?? 0,
    /** The filters of the merchant and of the endpoint itself, by number. */
    filters: (id: bigint): readonly FilterRule[] => filters.get(id) ?? noFilters,
    /** By the id of a single path; with `group` by the id of a group path. */
    entry: (pathId: bigint, group: boolean): Entry | undefined => entries.get(group ? `group/${pathId}` : `${pathId}`),
  }
}

/** The number in a path that identifies an endpoint or group; undefined if the text is not one. */
export const idIn = (text: string): bigint | undefined => (/^[1-9][0-9]{0,17}$/.test(text) ? BigInt(text) : undefined)

/** The first member of an entry that is switched on and takes this currency. */
export const memberFor = (entry: Entry, currency: string): Endpoint | undefined =>
  entry.endpoints.find((e) => e.currency === currency && e.enabled) ?? entry.endpoints.find((e) => e.currency === currency)

/** By either name, if an operation has two. */
export const isSwitchedOff = ({ settings }: Endpoint, operation: Operation): boolean =>
  settings.disabledOperations.some((off) => switchedAs(off) === switchedAs(operation))
