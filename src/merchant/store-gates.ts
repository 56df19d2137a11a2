import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import { bytea, statement, timestamp, type Runner } from '../storage/pool.ts'
import type { SealedTable } from '../storage/reseal.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { Gate, GateSecrets } from './merchant.ts'

interface GateColumns {
  gate_id: bigint
  name: string
  enabled: boolean
  settings: Gate['settings']
  secrets_sealed: Buffer | null
  secrets_key: bigint | null
}

const gates = statement<GateColumns>(`select gate_id, name, enabled, settings, secrets_sealed, secrets_key from gate`)
const addGate = statement<object>(`insert into gate (gate_id, name, enabled, settings, created_at) values ($1, $2, $3, $4, $5)`)
const setGate = statement<object>(`update gate set settings = $2, enabled = $3 where gate_id = $1`)
const setSecrets = statement<object>(`update gate set secrets_sealed = $2, secrets_key = $3 where gate_id = $1`)

/** All gates with their secrets. Throws if a key of those is missing. */
export const readGates = async (runner: Runner, keys: Pick<KeyRing, 'version'>): Promise<Gate[]> =>
  (await runner.run(gates)).map(({ gate_id: gateId, name, enabled, settings, secrets_sealed: sealed, secrets_key: version }) => {
    const gate = { gateId, name, enabled, settings }
    if (sealed === null || version === null) return gate
    const key = keys.version('control', version)
    if (!key) throw new Error(`control key ${version}, which seals the secrets of gate ${gateId}, is missing`)
    return { ...gate, secrets: openGateSecrets(key, sealed, gateId) }
  })

export async function insertGate(runner: Runner, g: Omit<Gate, 'secrets'>, now: number): Promise<void> {
  await runner.run(addGate, [g.gateId, g.name, g.enabled, JSON.stringify(g.settings), timestamp(now)])
}

/** Writes the settings and the state of a gate, not its secrets. */
export async function updateGate(runner: Runner, g: Omit<Gate, 'secrets'>): Promise<void> {
  await runner.run(setGate, [g.gateId, JSON.stringify(g.settings), g.enabled])
}

/** Replaces all secrets of a gate. */
export async function sealGateSecrets(
  runner: Runner,
  gateId: bigint,
  { tlsKey }: GateSecrets,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<void> {
  const { key, version } = keys.current('control')
  const sealed = seal(key, Buffer.from(JSON.stringify({ tlsKey: tlsKey?.reveal() })), contextOf(gateId), random)
  await runner.run(setSecrets, [gateId, bytea(sealed), version])
}

export async function dropGateSecrets(runner: Runner, gateId: bigint): Promise<void> {
  await runner.run(setSecrets, [gateId, null, null])
}

function openGateSecrets(key: Secret<Buffer>, sealed: Buffer, gateId: bigint): GateSecrets {
  const { tlsKey } = JSON.parse(unseal(key, sealed, contextOf(gateId)).toString()) as { tlsKey?: string }
  return tlsKey === undefined ? {} : { tlsKey: secret(tlsKey) }
}

const contextOf = (gateId: bigint) => `gate secrets:${gateId}`

export const sealedGateSecrets: SealedTable = {
  table: 'gate',
  purpose: 'control',
  id: { gate_id: 'bigint' },
  version: 'secrets_key',
  sealed: { secrets_sealed: contextOf },
}
