import type { GateRow } from '../merchant/merchant.ts'
import { insertGate, updateGate } from '../merchant/store.ts'
import { openIds } from '../storage/store-ids.ts'
import type { Desk } from './desk.ts'
import { Refused } from './refused.ts'
import { gateMisfit } from './gate.ts'
import { change } from './store-audit.ts'
import { gateNamed, listGates, type GateEntry } from './store-config.ts'

export async function addGate(desk: Desk, name: string, settings: GateRow): Promise<bigint> {
  refuseUnfit(settings)
  const gateId = await openIds(desk.pool, 'gate', 1).take()
  return change(desk, 'config', async (runner) => {
    if ((await listGates(runner)).some((g) => g.name === name)) throw new Refused({ what: 'taken', thing: 'gate', name })
    await insertGate(runner, { gateId, name, enabled: true, settings }, desk.clock.now())
    return { note: { action: 'gate add', subject: `gate ${gateId}`, details: { name, ...settings } }, result: gateId }
  })
}

export async function setGate(desk: Desk, name: string, wish: Partial<GateRow>): Promise<GateEntry> {
  return change(desk, 'config', async (runner) => {
    const gate = await gateNamed(runner, name)
    const after = { ...gate, settings: { ...gate.settings, ...wish } }
    refuseUnfit(after.settings)
    await updateGate(runner, after)
    const details = { before: gate.settings, after: after.settings }
    return { note: { action: 'gate set', subject: `gate ${gate.gateId}`, details }, result: after }
  })
}

export async function setGateEnabled(desk: Desk, name: string, enabled: boolean): Promise<GateEntry> {
  return change(desk, 'config', async (runner) => {
    const gate = { ...(await gateNamed(runner, name)), enabled }
    await updateGate(runner, gate)
    return { note: { action: enabled ? 'gate enable' : 'gate disable', subject: `gate ${gate.gateId}` }, result: gate }
  })
}

function refuseUnfit(settings: GateRow): void {
  const misfit = gateMisfit(settings)
  if (misfit) throw new Refused(misfit)
}
