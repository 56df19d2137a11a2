import { isDeepStrictEqual } from 'node:util'
import type { Wishes } from '../../entity/fields.ts'
import { judgeTarget, type TargetPolicy } from '../../http/address.ts'
import { endpointFields, type EndpointSettings } from '../../merchant/fields/endpoint.ts'
import { insertEndpoint, insertGroup, loadRegistry, switchGroup, updateEndpoint } from '../../merchant/rows.ts'
import { openIds } from '../../storage/ids.ts'
import type { Runner } from '../../storage/pool.ts'
import { change, type Versions } from '../change.ts'
import type { Desk } from '../desk.ts'
import { changeEntity, made, type SettingsOf } from '../history/entity.ts'
import type { Office } from '../office.ts'
import { orRefused, Refused, type Misfit } from '../refused.ts'
import { servesMobile } from './control-key.ts'
import {
  endpointOf,
  gateNamed,
  listEndpoints,
  listGates,
  listGroups,
  merchantNamed,
  ofMerchant,
  type EndpointEntry,
  type GroupEntry,
} from '../known.ts'

/** Changes of an endpoint's settings, its name and its gates. */
export type EndpointWish = Wishes<typeof endpointFields.table> & {
  name?: string
  /** By id or name, the preferred first. */
  gate?: readonly string[]
}

type EndpointStored = EndpointSettings & { name: string; enabled: boolean; gateIds: readonly string[] }

export const endpointKept: SettingsOf<EndpointEntry, EndpointStored, Office> = {
  entity: 'endpoint',
  subject: ({ endpointId }) => `endpoint ${endpointId}`,
  key: ({ endpointId: entityId, merchantId }) => ({ entityId, merchantId }),
  fields: ({ name, enabled, gateIds, settings }) => ({ ...settings, name, enabled, gateIds: gateIds.map(String) }),
  with(one, { name, enabled, gateIds, ...settings }) {
    return { ...one, name, enabled, gateIds: gateIds.map(BigInt), settings: endpointFields.whole(settings) }
  },
  async write(runner, office, { before, after }) {
    if (after.name !== before.name) await refuseTakenName(runner, before.login, after.name)
    // It can be switched off, whatever its settings are.
    if (!isDeepStrictEqual(after.settings, before.settings)) await refuseUnfit(after, office)
    await updateEndpoint(runner, after)
  },
  table: endpointFields.table,
}

export const groupKept: SettingsOf<GroupEntry, { enabled: boolean }> = {
  entity: 'group',
  subject: ({ groupId }) => `group ${groupId}`,
  key: ({ groupId: entityId, merchantId }) => ({ entityId, merchantId }),
  fields: ({ enabled }) => ({ enabled }),
  with: (one, { enabled }) => ({ ...one, enabled }),
  write: (runner, _, { after }) => switchGroup(runner, after.groupId, after.enabled),
}

export async function addEndpoint(
  office: Office,
  {
    merchant,
    currency,
    name = currency.toLowerCase(),
    gate = [],
    ...wish
  }: EndpointWish & { merchant: string; currency: string },
): Promise<EndpointEntry> {
  const endpointId = await openIds(office.pool, 'endpoint', 1).take()
  return change(office, 'config', async (runner) => {
    const { merchantId, login } = await merchantNamed(runner, merchant)
    await refuseTakenName(runner, login, name)
    const endpoint: EndpointEntry = {
      endpointId,
      merchantId,
      login,
      name,
      enabled: true,
      currency,
      gateIds: gate.length === 0 ? await onlyGate(runner) : await idsOf(runner, gate),
      settings: endpointFields.after(endpointFields.whole({}), wish),
      createdAt: office.clock.now(),
    }
    await refuseUnfit(endpoint, office)
    await insertEndpoint(runner, endpoint, endpoint.createdAt)
    return { ...made(endpointKept, endpoint, { merchant, ...endpointKept.fields(endpoint), currency }), result: endpoint }
  })
}

export async function setEndpoint(
  office: Office,
  { endpoint, ...wish }: EndpointWish & { endpoint: bigint },
): Promise<Versions<EndpointEntry>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'endpoint' })
  const find = (runner: Runner) => endpointOf(runner, endpoint)
  return changeEntity(office, endpointKept, find, async (runner, before) => {
    const { name = before.name, gate } = wish
    const gates = gate === undefined ? before.gateIds : await idsOf(runner, gate)
    return { after: { ...before, name, gateIds: gates, settings: endpointFields.after(before.settings, wish) } }
  })
}

export async function addGroup(
  desk: Desk,
  { merchant, name, endpoint: endpointIds }: { merchant: string; name: string; endpoint: readonly bigint[] },
): Promise<GroupEntry> {
  const groupId = await openIds(desk.pool, 'endpoint', 1).take()
  return change(desk, 'config', async (runner) => {
    const { merchantId, login } = await merchantNamed(runner, merchant)
    if ((await ofMerchant(runner, login, listGroups)).some((g) => g.name === name))
      throw new Refused({ what: 'taken of merchant', thing: 'group', login, name })
    const own = await ofMerchant(runner, login, listEndpoints)
    const foreign = endpointIds.find((id) => !own.some(({ endpointId }) => endpointId === id))
    if (foreign !== undefined) throw new Refused({ what: 'unknown of merchant', thing: 'endpoint', login, name: String(foreign) })
    const group = { groupId, merchantId, login, name, enabled: true, endpointIds, createdAt: desk.clock.now() }
    await insertGroup(runner, group, group.createdAt)
    const details = { merchant: login, name, endpoints: endpointIds.map(Number) }
    return { ...made(groupKept, group, details), result: group }
  })
}

async function refuseTakenName(runner: Runner, login: string, name: string): Promise<void> {
  const taken = (await ofMerchant(runner, login, listEndpoints)).find((e) => e.name === name)
  if (taken) throw new Refused({ what: 'taken of merchant', thing: 'endpoint', login, name, id: taken.endpointId })
}

/**
 * The URLs of an endpoint are judged with the targets that it allows; the addresses that they
 * resolve to are judged at each call.
 */
export function endpointMisfit(settings: EndpointSettings, { plainHttp, ...policy }: TargetPolicy): Misfit | undefined {
  for (const field of ['callbackUrl', 'merchantServerUrl'] as const) {
    const url = settings[field]
    const verdict = url && judgeTarget(url, { ...policy, plainHttp: plainHttp || settings.plainHttpCallbacks })
    if (!verdict || verdict instanceof URL) continue
    const allow = verdict.refused === 'the URL must be https' ? { allow: 'plainHttpCallbacks' } : {}
    return { what: 'unusable URL', field, why: verdict.refused, ...allow }
  }
  return undefined
}

/** The mobile API needs a control key that it can use. */
async function refuseUnfit({ merchantId, login, settings }: EndpointEntry, office: Office): Promise<void> {
  orRefused(endpointMisfit(settings, office.callbackPolicy))
  if (settings.merchantServerUrl === undefined) return
  const registry = await loadRegistry(office.pool, await office.keys(), office.clock.now())
  if (!servesMobile(registry.merchant(merchantId)!.controlKeys[0]!)) throw new Refused({ what: 'key unfit for mobile', login })
}

async function idsOf(runner: Runner, names: readonly string[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (const name of names) ids.push((await gateNamed(runner, name)).gateId)
  return [...new Set(ids)]
}

async function onlyGate(runner: Runner): Promise<bigint[]> {
  const all = (await listGates(runner)).filter((g) => g.enabled)
  if (all.length === 1) return [all[0]!.gateId]
  throw new Refused({ what: 'gate to choose', gates: all.map(({ gateId, name }) => ({ gateId, name })) })
}
