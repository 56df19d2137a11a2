import { createPublicKey, type KeyObject } from 'node:crypto'
import { pick } from '../entity/json.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import { bytea, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { listCells } from '../storage/cell-rows.ts'
import type { KeyRing } from '../keys/ring.ts'
import { snapshot } from '../storage/transaction.ts'
import { openControlKey, sealControlKey } from './control-key.ts'
import type { RegistryReads } from './live.ts'
import type { FilterRule } from './filter.ts'
import { registryOf, type Endpoint, type EndpointGroup, type MoveState, type Registry, type SignedRequests } from './merchant.ts'
import { endpointFields } from './fields/endpoint.ts'
import { pageFields, type MerchantPage } from './fields/page.ts'
import { readGates } from './gate-rows.ts'
import { newSigningSecret, openSigners, replaceSigningSecret, type SealedSigners } from './signing-secret-rows.ts'

interface MerchantRow extends SealedSigners {
  merchantId: bigint
  login: string
  name: string
  enabled: boolean
  cellNo: number
  controlKeySealed: Buffer
  controlKeyVersion: bigint
  previousKeySealed?: Buffer
  previousKeyVersion?: bigint
  previousKeyUntil?: number
  signedRequests?: SignedRequests
  page: MerchantPage
  moving?: MoveState
}

const version = statement<{ version: bigint }>(`select version from config_version`)
const bump = statement<object>(`update config_version set version = version + 1`)
const merchants = entities<MerchantRow>(
  `select merchant_id, login, name, enabled, cell_no, control_key_sealed, control_key_version, previous_key_sealed,
    previous_key_version, previous_key_until, signing_secret_sealed, signing_secret_key, signing_seed_sealed,
    signing_seed_key, signed_requests, page, v.state as moving
   from merchant left join merchant_move v using (merchant_id)`,
)
const publicKeys = entities<{ merchantId: bigint; publicKey: string }>(
  `select merchant_id, public_key from merchant_key where retired_at is null order by merchant_id, key_no`,
)
const endpoints = entities<Omit<Endpoint, 'gateIds'> & { gateIds: string[] }>(
  `select endpoint_id, merchant_id, name, enabled, currency, gate_ids, settings from endpoint`,
)
const groups = entities<Omit<EndpointGroup, 'endpointIds'> & { endpointIds: string[] }>(
  `select group_id, merchant_id, name, enabled, endpoint_ids from endpoint_group`,
)
const filterRules = entities<Omit<MerchantFilter, 'entries'>>(
  `select merchant_id, filter_no, endpoint_id, name, code, score, rule as facts from filter_rule where removed_at is null`,
)
const filterEntries = entities<FilterName & { value: string }>(
  `select e.merchant_id, e.filter_no, e.value from filter_entry e
   join filter_rule r on r.merchant_id = e.merchant_id and r.filter_no = e.filter_no and r.removed_at is null`,
)

/**
 * Reads everything as of one moment: an endpoint whose merchant is missing, or a rule whose list is
 * missing, must not be served. It is small (rows written by operators) and read only when the
 * version has risen.
 */
export async function loadRegistry(pool: Pool, keys: KeyRing, now: number): Promise<Registry> {
  const [[at], cells, m, k, e, g, t, filters] = await snapshot(pool, (runner) =>
    Promise.all([
      runner.run(version),
      listCells(runner),
      runner.run(merchants),
      runner.run(publicKeys),
      runner.run(endpoints),
      runner.run(groups),
      readGates(runner, keys),
      readFilters(runner),
    ]),
  )
  const keysOf = new Map<bigint, KeyObject[]>(m.map((row) => [row.merchantId, []]))
  for (const row of k) keysOf.get(row.merchantId)?.push(createPublicKey(row.publicKey))
  return registryOf({
    version: at!.version,
    staleAt: Math.min(...m.map((row) => row.previousKeyUntil ?? Infinity).filter((until) => until > now)),
    cells,
    merchants: m.map((row) => ({
      ...pick(row, 'merchantId', 'login', 'name', 'enabled', 'cellNo', 'moving', 'signedRequests'),
      controlKeys: [
        { sealed: row.controlKeySealed, version: row.controlKeyVersion },
        ...(row.previousKeySealed && (row.previousKeyUntil ?? 0) > now
          ? [{ sealed: row.previousKeySealed, version: row.previousKeyVersion! }]
          : []),
      ].map((one) => openControlKey(one, row.merchantId, keys)),
      publicKeys: keysOf.get(row.merchantId)!,
      ...openSigners(row, row.merchantId, keys),
      page: pageFields.whole(row.page),
    })),
    endpoints: e.map((row) => ({ ...row, settings: endpointFields.whole(row.settings), gateIds: row.gateIds.map(BigInt) })),
    groups: g.map((row) => ({ ...row, endpointIds: row.endpointIds.map(BigInt) })),
    gates: t,
    filters,
  })
}

interface FilterName {
  merchantId: bigint
  filterNo: number
}
type MerchantFilter = FilterRule & FilterName

/** All that are not removed, with their lists. */
export async function readFilters(runner: Runner): Promise<MerchantFilter[]> {
  const [rows, listed] = await Promise.all([runner.run(filterRules), runner.run(filterEntries)])
  const keyOf = ({ merchantId, filterNo }: FilterName) => `${merchantId}/${filterNo}`
  const entries = new Map(rows.map((rule) => [keyOf(rule), new Set<string>()]))
  for (const one of listed) entries.get(keyOf(one))?.add(one.value)
  return rows.map((rule) => ({ ...rule, entries: entries.get(keyOf(rule))! }))
}

export const registryReads = (pool: Pool, keys: KeyRing): RegistryReads => ({
  version: async () => (await pool.run(version))[0]!.version,
  load: (now) => loadRegistry(pool, keys, now),
})

const addMerchant = statement<object>(
  `insert into merchant (merchant_id, login, name, enabled, control_key_sealed, control_key_version, created_at, cell_no)
  values ($1, $2, $3, true, $4, $5, $6, $7)`,
)
const addEndpoint = statement<object>(
  `insert into endpoint (endpoint_id, merchant_id, name, enabled, currency, gate_ids, settings, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`,
)
const addGroup = statement<object>(
  `insert into endpoint_group (group_id, merchant_id, name, enabled, endpoint_ids, created_at) values ($1, $2, $3, $4, $5, $6)`,
)
const setEndpoint = statement<object>(
  `update endpoint set name = $2, enabled = $3, gate_ids = $4, settings = $5 where endpoint_id = $1`,
)
const enableGroup = statement<object>(`update endpoint_group set enabled = $2 where group_id = $1`)
const enableMerchant = statement<object>(`update merchant set enabled = $2 where merchant_id = $1`)
/** The current key becomes the previous one. */
const rotateKey = statement<object>(`
  update merchant set control_key_sealed = $2, control_key_version = $3, previous_key_sealed = control_key_sealed,
    previous_key_version = control_key_version, previous_key_until = $4
  where merchant_id = $1`)

/** Makes every process reload the configuration; call it in the transaction of the change. */
export const touchConfig = (runner: Runner): Promise<object[]> => runner.run(bump)

export interface NewMerchant {
  merchantId: bigint
  login: string
  name: string
  /** 0 if absent. */
  cellNo?: number
  controlKey: Secret<string>
  /** Generated if absent. */
  signingSecret?: Secret<Buffer>
}

export async function insertMerchant(
  runner: Runner,
  merchant: NewMerchant,
  keys: KeyRing,
  random: Random,
  now: number,
): Promise<void> {
  const { merchantId, login, name, controlKey, cellNo = 0 } = merchant
  const key = sealControlKey(controlKey, merchantId, keys, random)
  await runner.run(addMerchant, [merchantId, login, name, bytea(key.sealed), key.version, timestamp(now), cellNo])
  const signingSecret = merchant.signingSecret ?? newSigningSecret(random)
  await replaceSigningSecret(runner, merchantId, signingSecret, keys, random)
}

/** Gives a merchant a new control key; the old one is also accepted until `keepUntil`. */
export async function replaceControlKey(
  runner: Runner,
  merchant: Pick<NewMerchant, 'merchantId' | 'controlKey'>,
  keepUntil: number,
  keys: KeyRing,
  random: Random,
): Promise<void> {
  const key = sealControlKey(merchant.controlKey, merchant.merchantId, keys, random)
  await runner.run(rotateKey, [merchant.merchantId, bytea(key.sealed), key.version, timestamp(keepUntil)])
}

export async function switchMerchant(runner: Runner, merchantId: bigint, enabled: boolean): Promise<void> {
  await runner.run(enableMerchant, [merchantId, enabled])
}

export async function insertEndpoint(runner: Runner, e: Endpoint, now: number): Promise<void> {
  await runner.run(addEndpoint, [
    e.endpointId,
    e.merchantId,
    e.name,
    e.enabled,
    e.currency,
    e.gateIds,
    JSON.stringify(endpointFields.stored(e.settings)),
    timestamp(now),
  ])
}

/**
 * Writes the fields of an endpoint that may change: everything but its merchant and its currency.
 */
export async function updateEndpoint(runner: Runner, e: Endpoint): Promise<void> {
  await runner.run(setEndpoint, [e.endpointId, e.name, e.enabled, e.gateIds, JSON.stringify(endpointFields.stored(e.settings))])
}

export async function switchGroup(runner: Runner, groupId: bigint, enabled: boolean): Promise<void> {
  await runner.run(enableGroup, [groupId, enabled])
}

export async function insertGroup(runner: Runner, g: EndpointGroup, now: number): Promise<void> {
  await runner.run(addGroup, [g.groupId, g.merchantId, g.name, g.enabled, g.endpointIds, timestamp(now)])
}
