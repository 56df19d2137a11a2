import type { GateRow } from '../merchant/merchant.ts'
import { dropGateSecrets, insertGate, sealGateSecrets, updateGate } from '../merchant/store-gates.ts'
import { openIds } from '../storage/store-ids.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { Desk } from './desk.ts'
import { isMisfit, Refused } from './refused.ts'
import { gateMisfit } from './gate.ts'
import { isLineWish, tlsAfter, type LineWish } from './gate-tls.ts'
import { change } from './store-audit.ts'
import { gateNamed, listGates, type GateEntry } from './store-config.ts'

/** A desk that can open the keys, for a gate with a private key. */
export type GateDesk = Desk & { keys: () => Promise<KeyRing> }

export async function addGate(desk: GateDesk, name: string, settings: GateRow, line: LineWish = {}): Promise<bigint> {
  const whole = settingsAfter(settings, {}, line, desk.clock.now())
  const gateId = await openIds(desk.pool, 'gate', 1).take()
  const keys = line.tlsKey && (await desk.keys())
  return change(desk, 'config', async (runner) => {
    if ((await listGates(runner)).some((g) => g.name === name)) throw new Refused({ what: 'taken', thing: 'gate', name })
    await insertGate(runner, { gateId, name, enabled: true, settings: whole }, desk.clock.now())
    if (keys && line.tlsKey) await sealGateSecrets(runner, gateId, { tlsKey: line.tlsKey }, keys, desk.random)
    return { note: { action: 'gate add', subject: `gate ${gateId}`, details: { name, ...whole } }, result: gateId }
  })
}

export async function setGate(desk: GateDesk, name: string, wish: Partial<GateRow>, line: LineWish = {}): Promise<GateEntry> {
  const keys = line.tlsKey && (await desk.keys())
  return change(desk, 'config', async (runner) => {
    const gate = await gateNamed(runner, name)
    const after = { ...gate, settings: settingsAfter(gate.settings, wish, line, desk.clock.now()) }
    await updateGate(runner, after)
    if (keys && line.tlsKey) await sealGateSecrets(runner, gate.gateId, { tlsKey: line.tlsKey }, keys, desk.random)
    if (line.tls === false) await dropGateSecrets(runner, gate.gateId)
    const details = { before: gate.settings, after: after.settings, ...(line.tlsKey && { private_key: 'replaced' }) }
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

/** Throws when the settings would fit no line or no message. */
function settingsAfter({ tls: before, ...rest }: GateRow, wish: Partial<GateRow>, line: LineWish, now: number): GateRow {
  const tls = isLineWish(line) ? tlsAfter(before, line, now) : before
  if (isMisfit(tls)) throw new Refused(tls)
  const settings = { ...rest, ...wish, ...(tls && { tls }) }
  const misfit = gateMisfit(settings)
  if (misfit) throw new Refused(misfit)
  return settings
}
