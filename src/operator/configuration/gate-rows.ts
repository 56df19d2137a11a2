import { isDeepStrictEqual } from 'node:util'
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
import { changeEntity, made, type SettingsOf } from '../history/entity.ts'
import type { Office } from '../office.ts'
import { orRefused, Refused } from '../refused.ts'
import type { LineWish } from './gate-line.ts'
import { macAfter } from './gate-mac.ts'
import { certificateMisfit, lineMisfit, tlsAfter } from './gate-tls.ts'
import { gateNamed, listGates, type GateEntry } from '../known.ts'

/** Changes of a gate and of what protects its line. */
type GateWish = Wishes<typeof gateFields.table> & LineWish

export const gateKept: SettingsOf<GateEntry, GateRow & { enabled: boolean }> = {
  entity: 'gate',
  subject: ({ gateId }) => `gate ${gateId}`,
  key: ({ gateId: entityId }) => ({ entityId }),
  fields: ({ enabled, settings }) => ({ ...settings, enabled }),
  with: (one, { enabled, ...settings }) => ({ ...one, enabled, settings: gateFields.whole(settings) }),
  async write(runner, { clock }, { before, after }) {
    const { tls, mac } = after.settings
    if (!isDeepStrictEqual(after.settings, before.settings)) orRefused(lineMisfit(after.settings))
    if (tls && tls.ca !== before.settings.tls?.ca) orRefused(certificateMisfit('tlsCa', tls.ca, clock.now()))
    await updateGate(runner, after)
    if (before.settings.tls && !tls) await dropTlsKey(runner, after.gateId)
    if (before.settings.mac && !mac) await dropMacKey(runner, after.gateId)
  },
  table: gateFields.table,
}

export async function addGate(office: Office, { name, ...wish }: GateWish & { name: string }): Promise<GateEntry> {
  const fields = gateFields.missing(wish)
  if (fields.length > 0) throw new Refused({ what: 'needed', of: 'gate', fields })
  const now = office.clock.now()
  const { settings, secrets } = gateAfter(gateFields.whole({}) as GateRow, wish, now)
  orRefused(lineMisfit(settings))
  const gateId = await openIds(office.pool, 'gate', 1).take()
  const gate: GateEntry = { gateId, name, enabled: true, settings, createdAt: now }
  const keys = await keysFor(office, wish)
  return change(office, 'config', async (runner) => {
    if ((await listGates(runner)).some((g) => g.name === name)) throw new Refused({ what: 'taken', thing: 'gate', name })
    await insertGate(runner, gate, now)
    if (keys) await sealKeys(runner, gateId, secrets, keys, office.random)
    return { ...made(gateKept, gate, { name, ...settings }), result: gate }
  })
}

export async function setGate(
  office: Office,
  { gate: named, ...wish }: GateWish & { gate: string },
): Promise<Versions<GateEntry>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'gate' })
  const keys = await keysFor(office, wish)
  const find = (runner: Runner) => gateNamed(runner, named)
  return changeEntity(office, gateKept, find, async (runner, before) => {
    const { settings, secrets } = gateAfter(before.settings, wish, office.clock.now())
    if (keys) await sealKeys(runner, before.gateId, secrets, keys, office.random)
    const { tls, mac } = before.settings
    const privateKey = secrets.tlsKey || (tls?.certificate !== undefined && !settings.tls) ? ['private key'] : []
    const macKey = secrets.macKey || (mac && !settings.mac) ? ['key of the MAC'] : []
    return { after: { ...before, settings }, secrets: [...privateKey, ...macKey] }
  })
}

/** Opened before the transaction, since a key service may have to be asked. */
const keysFor = async (office: Office, { tlsKey, macKeyFile }: GateWish): Promise<KeyRing | undefined> =>
  tlsKey || macKeyFile ? office.keys() : undefined

async function sealKeys(runner: Runner, gateId: bigint, { tlsKey, macKey }: GateSecrets, keys: KeyRing, random: Random) {
  if (tlsKey) await sealTlsKey(runner, gateId, tlsKey, keys, random)
  if (macKey) await sealMacKey(runner, gateId, macKey, keys, random)
}

function gateAfter(before: GateRow, wish: GateWish, now: number): { settings: GateRow; secrets: GateSecrets } {
  const { tls: tlsBefore, mac: macBefore, ...rest } = before
  const tls = orRefused(tlsAfter(tlsBefore, wish, now))
  const { mac, macKey } = orRefused(macAfter(macBefore, wish))
  const settings = { ...gateFields.after(rest, wish), ...(tls && { tls }), ...(mac && { mac }) }
  return { settings, secrets: defined({ tlsKey: wish.tlsKey, macKey }) }
}
