import type { Random } from '../../base/random.ts'
import type { Secret } from '../../base/secret.ts'
import type { GateRow, GateSecrets } from '../../merchant/merchant.ts'
import { dropMacKey, dropTlsKey, insertGate, sealMacKey, sealTlsKey, updateGate } from '../../merchant/gate-rows.ts'
import type { Runner } from '../../storage/pool.ts'
import { openIds } from '../../storage/ids.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { Desk } from '../desk.ts'
import { isMisfit, Refused } from '../refused.ts'
import { gateMisfit } from './gate.ts'
import { macAfter, type MacWish } from './gate-mac.ts'
import { tlsAfter, type TlsWish } from './gate-tls.ts'
import { change } from '../audit/rows.ts'
import { gateNamed, listGates, type GateEntry } from './rows.ts'

/** A desk that can open the keys, for a gate with keys. */
export type GateDesk = Desk & { keys: () => Promise<KeyRing> }

/** Changes of what protects a line, with the content of files. */
export type LineWish = TlsWish & MacWish

export const isLineWish = (wish: LineWish): boolean => Object.values(wish).some((value) => value !== undefined)

export async function addGate(desk: GateDesk, name: string, settings: GateRow, line: LineWish = {}): Promise<bigint> {
  const { settings: whole, macKey } = gateAfter(settings, {}, line, desk.clock.now())
  const gateId = await openIds(desk.pool, 'gate', 1).take()
  const keys = await keysFor(desk, line)
  return change(desk, 'config', async (runner) => {
    if ((await listGates(runner)).some((g) => g.name === name)) throw new Refused({ what: 'taken', thing: 'gate', name })
    await insertGate(runner, { gateId, name, enabled: true, settings: whole }, desk.clock.now())
    if (keys) await sealKeys(runner, gateId, { tlsKey: line.tlsKey, macKey }, keys, desk.random)
    return { note: { action: 'gate add', subject: `gate ${gateId}`, details: { name, ...whole } }, result: gateId }
  })
}

export async function setGate(desk: GateDesk, name: string, wish: Partial<GateRow>, line: LineWish = {}): Promise<GateEntry> {
  const keys = await keysFor(desk, line)
  return change(desk, 'config', async (runner) => {
    const gate = await gateNamed(runner, name)
    const { settings, macKey } = gateAfter(gate.settings, wish, line, desk.clock.now())
    const after = { ...gate, settings }
    await updateGate(runner, after)
    if (keys) await sealKeys(runner, gate.gateId, { tlsKey: line.tlsKey, macKey }, keys, desk.random)
    if (line.tls === false) await dropTlsKey(runner, gate.gateId)
    if (line.mac === 'off') await dropMacKey(runner, gate.gateId)
    const replaced = { ...(line.tlsKey && { private_key: 'replaced' }), ...(macKey && { mac_key: 'replaced' }) }
    const details = { before: gate.settings, after: settings, ...replaced }
    return { note: { action: 'gate set', subject: `gate ${gate.gateId}`, details }, result: after }
  })
}

/** Opened before the transaction, since a key service may have to be asked. */
const keysFor = async (desk: GateDesk, { tlsKey, macKeyFile }: LineWish): Promise<KeyRing | undefined> =>
  tlsKey || macKeyFile ? desk.keys() : undefined

async function sealKeys(
  runner: Runner,
  gateId: bigint,
  { tlsKey, macKey }: { [K in keyof GateSecrets]: GateSecrets[K] | undefined },
  keys: KeyRing,
  random: Random,
): Promise<void> {
  if (tlsKey) await sealTlsKey(runner, gateId, tlsKey, keys, random)
  if (macKey) await sealMacKey(runner, gateId, macKey, keys, random)
}

export async function setGateEnabled(desk: Desk, name: string, enabled: boolean): Promise<GateEntry> {
  return change(desk, 'config', async (runner) => {
    const gate = { ...(await gateNamed(runner, name)), enabled }
    await updateGate(runner, gate)
    return { note: { action: enabled ? 'gate enable' : 'gate disable', subject: `gate ${gate.gateId}` }, result: gate }
  })
}

/** Throws when the settings would fit no line or no message. */
function gateAfter(
  { tls: tlsBefore, mac: macBefore, ...rest }: GateRow,
  wish: Partial<GateRow>,
  line: LineWish,
  now: number,
): { settings: GateRow; macKey?: Secret<Buffer> } {
  const tls = tlsAfter(tlsBefore, line, now)
  if (isMisfit(tls)) throw new Refused(tls)
  const authenticated = macAfter(macBefore, line)
  if (isMisfit(authenticated)) throw new Refused(authenticated)
  const { mac, ...key } = authenticated
  const settings = { ...rest, ...wish, ...(tls && { tls }), ...(mac && { mac }) }
  const misfit = gateMisfit(settings)
  if (misfit) throw new Refused(misfit)
  return { settings, ...key }
}
