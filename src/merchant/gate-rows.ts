import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import { bytea, entities, statement, timestamp, type Runner } from '../storage/pool.ts'
import type { SealedTable } from '../keys/reseal.ts'
import type { KeyRing } from '../keys/ring.ts'
import { gateFields } from './fields/gate.ts'
import type { Gate, GateSecrets } from './merchant.ts'

interface SealedGate extends Omit<Gate, 'secrets'> {
  secretsSealed?: Buffer
  secretsKey?: bigint
  macKeySealed?: Buffer
  macKeyVersion?: bigint
}

const gates = entities<SealedGate>(
  `select gate_id, name, enabled, settings, secrets_sealed, secrets_key, mac_key_sealed, mac_key_version from gate`,
)
const addGate = statement<object>(`insert into gate (gate_id, name, enabled, settings, created_at) values ($1, $2, $3, $4, $5)`)
const setGate = statement<object>(`update gate set settings = $2, enabled = $3 where gate_id = $1`)
const setSecrets = statement<object>(`update gate set secrets_sealed = $2, secrets_key = $3 where gate_id = $1`)
const setMacKey = statement<object>(`update gate set mac_key_sealed = $2, mac_key_version = $3 where gate_id = $1`)

/** All gates with their secrets. Throws if a key of those is missing. */
export const readGates = async (runner: Runner, keys: Pick<KeyRing, 'version'>): Promise<Gate[]> =>
  (await runner.run(gates)).map(({ secretsSealed, secretsKey, macKeySealed, macKeyVersion, ...gate }) => {
    const { gateId } = gate
    const opened = (sealed: Buffer | undefined, version: bigint | undefined, context: string): Buffer | undefined => {
      if (sealed === undefined || version === undefined) return undefined
      const key = keys.version('control', version)
      if (!key) throw new Error(`control key ${version}, which seals the secrets of gate ${gateId}, is missing`)
      return unseal(key, sealed, context)
    }
    const secrets = opened(secretsSealed, secretsKey, contextOf(gateId))
    const macKey = opened(macKeySealed, macKeyVersion, macContextOf(gateId))
    return {
      ...gate,
      settings: gateFields.whole(gate.settings),
      secrets: { ...(secrets && readSecrets(secrets)), ...(macKey && { macKey: secret(macKey) }) },
    }
  })

export async function insertGate(runner: Runner, g: Omit<Gate, 'secrets'>, now: number): Promise<void> {
  await runner.run(addGate, [g.gateId, g.name, g.enabled, JSON.stringify(gateFields.stored(g.settings)), timestamp(now)])
}

/** Writes the settings and the state of a gate, not its secrets. */
export async function updateGate(runner: Runner, g: Omit<Gate, 'secrets'>): Promise<void> {
  await runner.run(setGate, [g.gateId, JSON.stringify(gateFields.stored(g.settings)), g.enabled])
}

/** Replaces the private key of a gate. */
export async function sealTlsKey(
  runner: Runner,
  gateId: bigint,
  tlsKey: Secret<string>,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<void> {
  const { key, version } = keys.current('control')
  const sealed = seal(key, Buffer.from(JSON.stringify({ tlsKey: tlsKey.reveal() })), contextOf(gateId), random)
  await runner.run(setSecrets, [gateId, bytea(sealed), version])
}

export async function dropTlsKey(runner: Runner, gateId: bigint): Promise<void> {
  await runner.run(setSecrets, [gateId, null, null])
}

/** Replaces the key of a gate's MAC. */
export async function sealMacKey(
  runner: Runner,
  gateId: bigint,
  macKey: Secret<Buffer>,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<void> {
  const { key, version } = keys.current('control')
  await runner.run(setMacKey, [gateId, bytea(seal(key, macKey.reveal(), macContextOf(gateId), random)), version])
}

export async function dropMacKey(runner: Runner, gateId: bigint): Promise<void> {
  await runner.run(setMacKey, [gateId, null, null])
}

function readSecrets(opened: Buffer): GateSecrets {
  const { tlsKey } = JSON.parse(opened.toString()) as { tlsKey?: string }
  return tlsKey === undefined ? {} : { tlsKey: secret(tlsKey) }
}

const contextOf = (gateId: bigint) => `gate secrets:${gateId}`
const macContextOf = (gateId: bigint) => `gate mac key:${gateId}`

export const sealedGateSecrets: SealedTable = {
  table: 'gate',
  purpose: 'control',
  id: { gate_id: 'bigint' },
  version: 'secrets_key',
  sealed: { secrets_sealed: contextOf },
}

export const sealedMacKeys: SealedTable = {
  table: 'gate',
  purpose: 'control',
  id: { gate_id: 'bigint' },
  version: 'mac_key_version',
  sealed: { mac_key_sealed: macContextOf },
}
