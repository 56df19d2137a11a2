import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { entities, statement, timestamp, type Runner } from '../storage/pool.ts'
import type { KeyRing } from '../keys/ring.ts'
import { sealedColumn } from '../keys/sealed-column.ts'
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
const tlsKeys = sealedColumn({ table: 'gate', id: 'gate_id', sealed: 'secrets_sealed', version: 'secrets_key' }, 'gate secrets')
const macKeys = sealedColumn(
  { table: 'gate', id: 'gate_id', sealed: 'mac_key_sealed', version: 'mac_key_version' },
  'gate mac key',
)
export const sealedGateSecrets = tlsKeys.resealed
export const sealedMacKeys = macKeys.resealed

/** All gates with their secrets. Throws if a key of those is missing. */
export const readGates = async (runner: Runner, keys: Pick<KeyRing, 'version'>): Promise<Gate[]> =>
  (await runner.run(gates)).map(({ secretsSealed, secretsKey, macKeySealed, macKeyVersion, ...gate }) => {
    const tlsKey = tlsKeys.open({ sealed: secretsSealed, version: secretsKey }, gate.gateId, keys)
    const macKey = macKeys.open({ sealed: macKeySealed, version: macKeyVersion }, gate.gateId, keys)
    return {
      ...gate,
      settings: gateFields.whole(gate.settings),
      secrets: { ...(tlsKey && readSecrets(tlsKey)), ...(macKey && { macKey }) },
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
export const sealTlsKey = (
  runner: Runner,
  gateId: bigint,
  tlsKey: Secret<string>,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<void> =>
  tlsKeys.replace(runner, gateId, secret(Buffer.from(JSON.stringify({ tlsKey: tlsKey.reveal() }))), keys, random)

function readSecrets(opened: Secret<Buffer>): GateSecrets {
  const { tlsKey } = JSON.parse(opened.reveal().toString()) as { tlsKey?: string }
  return tlsKey === undefined ? {} : { tlsKey: secret(tlsKey) }
}

export const dropTlsKey = tlsKeys.drop
/** Replaces the key of a gate's MAC. */
export const sealMacKey = macKeys.replace
export const dropMacKey = macKeys.drop
