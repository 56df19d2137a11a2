import type { TargetPolicy } from '../../http/address.ts'
import type { Registry } from '../../merchant/merchant.ts'
import { insertEndpoint, insertGroup, switchGroup, updateEndpoint } from '../../merchant/rows.ts'
import type { Runner } from '../../storage/pool.ts'
import { openIds } from '../../storage/ids.ts'
import { servesMobile } from './control-key.ts'
import type { Desk } from '../desk.ts'
import { Refused } from '../refused.ts'
import { endpointMisfit, settingsAfter, usualEndpoint, type EndpointWish } from './settings.ts'
import { change } from '../audit/rows.ts'
import {
  endpointOf,
  gateNamed,
  groupOf,
  listEndpoints,
  listGates,
  listGroups,
  merchantNamed,
  type EndpointEntry,
} from './rows.ts'

/** What an endpoint is checked against, besides its own settings. */
export interface EndpointRules {
  policy: TargetPolicy
  /** Needed only if a control key decides: whether the mobile API can use it. */
  registry: () => Promise<Registry>
}

export interface NewEndpoint {
  login: string
  name: string
  currency: string
  /** By id or name; empty means the only gate that exists. */
  gates: readonly string[]
  wish: EndpointWish
}

export async function addEndpoint(desk: Desk, asked: NewEndpoint, rules: EndpointRules): Promise<EndpointEntry> {
  const endpointId = await openIds(desk.pool, 'endpoint', 1).take()
  return change(desk, 'config', async (runner) => {
    const { merchantId, login } = await merchantNamed(runner, asked.login)
    await refuseTakenName(runner, merchantId, asked.name)
    const endpoint: EndpointEntry = {
      endpointId,
      merchantId,
      login,
      name: asked.name,
      enabled: true,
      currency: asked.currency,
      gateIds: asked.gates.length === 0 ? await onlyGate(runner) : await gateIds(runner, asked.gates),
      settings: settingsAfter(usualEndpoint, asked.wish),
      createdAt: desk.clock.now(),
    }
    await refuseUnfit(endpoint, rules)
    await insertEndpoint(runner, endpoint, endpoint.createdAt)
    return { note: { action: 'endpoint add', subject: `endpoint ${endpointId}`, details: detailsOf(endpoint) }, result: endpoint }
  })
}

export interface EndpointChange {
  name?: string
  gates?: readonly string[]
  wish: EndpointWish
}

export async function setEndpoint(
  desk: Desk,
  endpointId: bigint,
  asked: EndpointChange,
  rules: EndpointRules,
): Promise<EndpointEntry> {
  return change(desk, 'config', async (runner) => {
    const before = await endpointOf(runner, endpointId)
    if (asked.name !== undefined && asked.name !== before.name) await refuseTakenName(runner, before.merchantId, asked.name)
    const after: EndpointEntry = {
      ...before,
      name: asked.name ?? before.name,
      gateIds: asked.gates === undefined ? before.gateIds : await gateIds(runner, asked.gates),
      settings: settingsAfter(before.settings, asked.wish),
    }
    await refuseUnfit(after, rules)
    await updateEndpoint(runner, after)
    const details = { before: detailsOf(before), after: detailsOf(after) }
    return { note: { action: 'endpoint set', subject: `endpoint ${endpointId}`, details }, result: after }
  })
}

export async function setEndpointEnabled(desk: Desk, endpointId: bigint, enabled: boolean): Promise<void> {
  await change(desk, 'config', async (runner) => {
    await updateEndpoint(runner, { ...(await endpointOf(runner, endpointId)), enabled })
    return {
      note: { action: enabled ? 'endpoint enable' : 'endpoint disable', subject: `endpoint ${endpointId}` },
      result: undefined,
    }
  })
}

export async function addGroup(desk: Desk, login: string, name: string, endpointIds: readonly bigint[]): Promise<bigint> {
  const groupId = await openIds(desk.pool, 'endpoint', 1).take()
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    if ((await listGroups(runner)).some((g) => g.merchantId === merchantId && g.name === name))
      throw new Refused({ what: 'taken of merchant', thing: 'group', login, name })
    const own = new Map((await listEndpoints(runner)).filter((e) => e.merchantId === merchantId).map((e) => [e.endpointId, e]))
    const foreign = endpointIds.find((id) => !own.has(id))
    if (foreign !== undefined) throw new Refused({ what: 'unknown of merchant', thing: 'endpoint', login, name: String(foreign) })
    await insertGroup(runner, { groupId, merchantId, name, enabled: true, endpointIds }, desk.clock.now())
    const details = { merchant: login, name, endpoints: endpointIds.map(Number) }
    return { note: { action: 'group add', subject: `group ${groupId}`, details }, result: groupId }
  })
}

export async function setGroupEnabled(desk: Desk, groupId: bigint, enabled: boolean): Promise<void> {
  await change(desk, 'config', async (runner) => {
    await groupOf(runner, groupId)
    await switchGroup(runner, groupId, enabled)
    return { note: { action: enabled ? 'group enable' : 'group disable', subject: `group ${groupId}` }, result: undefined }
  })
}

async function refuseTakenName(runner: Runner, merchantId: bigint, name: string): Promise<void> {
  const taken = (await listEndpoints(runner)).find((e) => e.merchantId === merchantId && e.name === name)
  if (taken) throw new Refused({ what: 'taken of merchant', thing: 'endpoint', login: taken.login, name, id: taken.endpointId })
}

async function refuseUnfit(endpoint: EndpointEntry, rules: EndpointRules): Promise<void> {
  const misfit = endpointMisfit(endpoint.settings, rules.policy)
  if (misfit) throw new Refused(misfit)
  if (endpoint.settings.merchantServerUrl === undefined) return
  const key = (await rules.registry()).merchant(endpoint.merchantId)!.controlKeys[0]!
  if (!servesMobile(key)) throw new Refused({ what: 'key unfit for mobile', login: endpoint.login })
}

async function gateIds(runner: Runner, names: readonly string[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (const name of names) ids.push((await gateNamed(runner, name)).gateId)
  return [...new Set(ids)]
}

async function onlyGate(runner: Runner): Promise<bigint[]> {
  const all = (await listGates(runner)).filter((g) => g.enabled)
  if (all.length === 1) return [all[0]!.gateId]
  throw new Refused({ what: 'gate to choose', gates: all.map(({ gateId, name }) => ({ gateId, name })) })
}

const detailsOf = (e: EndpointEntry) => ({
  merchant: e.login,
  name: e.name,
  currency: e.currency,
  gates: e.gateIds.map(Number),
  ...e.settings,
})
