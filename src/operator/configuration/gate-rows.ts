import { defined } from '../../base/defined.ts'
import type { Random } from '../../base/random.ts'
import type { Wishes } from '../../entity/fields.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { dropMacKey, dropTlsKey, insertGate, sealMacKey, sealTlsKey, updateGate } from '../../merchant/gate-rows.ts'
import { gateFields, type GateRow } from '../../merchant/fields/gate.ts'
import type { GateSecrets } from '../../merchant/merchant.ts'
import { openIds } from '../../storage/ids.ts'
import type { Runner } from '../../storage/pool.ts'
import { change, type Versions } from '../change.ts'
import type { Office } from '../office.ts'
import { orRefused, Refused } from '../refused.ts'
import { refuseStale } from '../version.ts'
import type { LineWish } from './gate-line.ts'
import { macAfter } from './gate-mac.ts'
import { lineMisfit, tlsAfter } from './gate-tls.ts'
import { gateNamed, listGates, type GateEntry } from '../known.ts'

/** Changes of a gate and of what protects its line. */
type GateWish = Wishes<typeof gateFields.table> & LineWish

export async function addGate(office: Office, { name, ...wish }: GateWish & { name: string }): Promise<GateEntry> {
  const fields = gateFields.missing(wish)
  if (fields.length > 0) throw new Refused({ what: 'needed', of: 'gate', fields })
  const now = office.clock.now()
  const { settings, secrets } = gateAfter(gateFields.whole({}) as GateRow, wish, now)
  const gateId = await openIds(office.pool, 'gate', 1).take()
  const gate: GateEntry = { gateId, name, enabled: true, settings, createdAt: now }
  const keys = await keysFor(office, wish)
  return change(office, 'config', async (runner) => {
    if ((await listGates(runner)).some((g) => g.name === name)) throw new Refused({ what: 'taken', thing: 'gate', name })
    await insertGate(runner, gate, now)
    if (keys) await sealKeys(runner, gateId, secrets, keys, office.random)
    return { note: { subject: `gate ${gateId}`, details: { name, ...settings } }, result: gate }
  })
}

export async function setGate(
  office: Office,
  { gate: named, ...wish }: GateWish & { gate: string },
): Promise<Versions<GateEntry>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'gate' })
  const keys = await keysFor(office, wish)
  return change(office, 'config', async (runner) => {
    const before = await gateNamed(runner, named)
    refuseStale(office, before)
    const { gateId } = before
    const { settings, secrets } = gateAfter(before.settings, wish, office.clock.now())
    const after = { ...before, settings }
    await updateGate(runner, after)
    if (keys) await sealKeys(runner, gateId, secrets, keys, office.random)
    if (wish.tls === false) await dropTlsKey(runner, gateId)
    if (wish.mac === 'off') await dropMacKey(runner, gateId)
    const replaced = { private_key: secrets.tlsKey && 'replaced', mac_key: secrets.macKey && 'replaced' }
    const details = { before: before.settings, after: settings, ...defined(replaced) }
    return { note: { subject: `gate ${gateId}`, details }, result: { before, after } }
  })
}

/** Opened before the transaction, since a key service may have to be asked. */
const keysFor = async (office: Office, { tlsKey, macKeyFile }: GateWish): Promise<KeyRing | undefined> =>
  tlsKey || macKeyFile ? office.keys() : undefined

async function sealKeys(runner: Runner, gateId: bigint, { tlsKey, macKey }: GateSecrets, keys: KeyRing, random: Random) {
  if (tlsKey) await sealTlsKey(runner, gateId, tlsKey, keys, random)
  if (macKey) await sealMacKey(runner, gateId, macKey, keys, random)
}

/** Refuses settings that would fit no line. */
function gateAfter(before: GateRow, wish: GateWish, now: number): { settings: GateRow; secrets: GateSecrets } {
  const { tls: tlsBefore, mac: macBefore, ...rest } = before
  const tls = orRefused(tlsAfter(tlsBefore, wish, now))
  const { mac, macKey } = orRefused(macAfter(macBefore, wish))
  const settings = { ...gateFields.after(rest, wish), ...(tls && { tls }), ...(mac && { mac }) }
  orRefused(lineMisfit(settings))
  return { settings, secrets: defined({ tlsKey: wish.tlsKey, macKey }) }
}
