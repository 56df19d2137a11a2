import type { KeyObject } from 'node:crypto'
import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom, uuid } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { endpointFields } from '../merchant/fields/endpoint.ts'
import { gateFields, type GateRow } from '../merchant/fields/gate.ts'
import { registerPublicKey } from '../merchant/public-key-rows.ts'
import { insertEndpoint, insertGroup, insertMerchant, loadRegistry, touchConfig, updateEndpoint } from '../merchant/rows.ts'
import { insertGate, sealMacKey, sealTlsKey, updateGate } from '../merchant/gate-rows.ts'
import { holdSigners, replaceSigningKey, signingKeyText, signingSecretText } from '../merchant/signing-secret-rows.ts'
import { endpointOf } from '../operator/known.ts'
import type { Pool, Runner } from '../storage/pool.ts'
import type { SecureLine } from './simulators.ts'
import { openIds } from '../storage/ids.ts'
import type { KeyEncryption } from '../keys/encryption.ts'
import { openKeyRing, type KeyRing } from '../keys/ring.ts'
import { transaction } from '../storage/transaction.ts'

/** The sandbox's merchant, gate and endpoints: ids as numbers, as written to sandbox.json. */
export interface SandboxWorld {
  login: string
  controlKey: Secret<string>
  /** As receivers' libraries read it. */
  signingSecret: Secret<string>
  /** The public key for signatures by Ed25519, as receivers' libraries read it. */
  signingPublicKey: string
  endpoints: Record<(typeof endpoints)[number]['name'], number>
  groups: Record<(typeof groups)[number]['name'], number>
}

const login = 'sandbox'
const gateName = 'sandbox acquirer'
/** Two gates to the same acquirer, between which the consumer of a transfer chooses. */
const feeGates = [
  { name: 'economy', settings: { terminalId: 'TOLLGT02', commissionFixedMinor: 50, commissionBasisPoints: 100 } },
  { name: 'express', settings: { terminalId: 'TOLLGT03', commissionFixedMinor: 200, commissionBasisPoints: 150 } },
] as const

/** The port in clear, and the one by TLS with what it needs. */
interface AcquirerLines {
  acquirerPort: number
  secureLine: SecureLine
}

/** The gate whose line is by TLS and has MACs. */
const secureGate = 'express'

/**
 * A merchant, a gate to the simulated acquirer, endpoints and a group: created at the first start,
 * found at later ones. The gate is pointed to where the acquirer listens now.
 */
export async function settleWorld(
  pool: Pool,
  kek: KeyEncryption,
  { acquirerPort, secureLine, oauthKey }: AcquirerLines & { oauthKey: KeyObject },
  log: Log,
): Promise<SandboxWorld> {
  const keys = await openKeyRing(pool, kek, systemClock, systemRandom)
  const now = systemClock.now()
  const settings = gateFields.whole({
    host: '127.0.0.1',
    port: acquirerPort,
    terminalId: 'TOLLGT01',
    cardAcceptorId: 'TOLLGATESANDBOX',
    cardAcceptorName: 'Tollgate Sandbox Shop',
    acquirerId: '400001',
    mcc: '5999',
    descriptor: 'TOLLGATE*SANDBOX',
    answerTimeoutMs: 5_000,
    maxOpen: 1_000,
  })
  if (!(await loadRegistry(pool, keys, now)).merchantByLogin(login)) {
    await makeWorld(pool, keys, settings, now)
    log.info({ login }, 'the sandbox merchant was registered')
  }
  const registry = await loadRegistry(pool, keys, now)
  const merchant = registry.merchantByLogin(login)!
  const gate = [...registry.gates()].find((g) => g.name === gateName)
  if (!gate) throw new Error(`the gate "${gateName}" is gone from this database; use another TOLLGATE_DIR or database`)
  const signers = await transaction(pool, async (runner) => {
    // A retired key stays retired.
    await registerPublicKey(runner, merchant.merchantId, oauthKey, now, 'keys/oauth-private.pem')
    return signersOf(runner, merchant.merchantId, keys)
  })
  const own = [...registry.gates()].filter(({ name }) => name === gateName || feeGates.some((one) => one.name === name))
  await transaction(pool, async (runner) => {
    for (const one of own)
      await updateGate(runner, {
        ...one,
        settings: { ...one.settings, ...(one.name === secureGate ? secureLine.settings : { port: acquirerPort }) },
      })
    const secured = own.find(({ name }) => name === secureGate)
    if (secured) {
      await sealTlsKey(runner, secured.gateId, secureLine.secrets.tlsKey, keys, systemRandom)
      await sealMacKey(runner, secured.gateId, secureLine.secrets.macKey, keys, systemRandom)
    }
    await touchConfig(runner)
  })
  const named = await names(pool, merchant.merchantId)
  const idsOf = <Name extends string>(...all: readonly Name[]) =>
    Object.fromEntries(all.map((name) => [name, named(name)])) as Record<Name, number>
  return {
    login,
    controlKey: merchant.controlKeys[0]!,
    ...signers,
    endpoints: idsOf('plain', 'secure', 'euro', 'mobile', 'mobile_fee', 'mobile_random_sum'),
    groups: idsOf('multi', 'multi_secure'),
  }
}

/** All of it in one transaction, so that a start that was killed leaves nothing half made. */
async function makeWorld(pool: Pool, keys: KeyRing, settings: GateRow, now: number): Promise<void> {
  const merchantId = await openIds(pool, 'merchant', 1).take()
  const controlKey = secret(uuid(systemRandom).toUpperCase())
  const [gateIds, endpointIds] = [openIds(pool, 'gate', 1), openIds(pool, 'endpoint', 1)]
  const gates = await Promise.all(
    [{ name: gateName, settings: {} }, ...feeGates].map(async (gate) => ({ ...gate, gateId: await gateIds.take() })),
  )
  const idsOf = (called: readonly string[]) => gates.filter(({ name }) => called.includes(name)).map(({ gateId }) => gateId)
  const made = new Map<string, bigint>()
  for (const { name } of [...endpoints, ...groups]) made.set(name, await endpointIds.take())
  await transaction(pool, async (runner) => {
    await insertMerchant(runner, { merchantId, login, name: 'Sandbox Shop', controlKey }, keys, systemRandom, now)
    await replaceSigningKey(runner, merchantId, secret(systemRandom.bytes(32)), keys, systemRandom)
    for (const { gateId, name, settings: own } of gates)
      await insertGate(runner, { gateId, name, enabled: true, settings: { ...settings, ...own } }, now)
    for (const { name, currency, settings: own } of endpoints)
      await insertEndpoint(
        runner,
        {
          endpointId: made.get(name)!,
          merchantId,
          name,
          enabled: true,
          currency,
          settings: own,
          gateIds: idsOf(name === 'mobile_fee' ? feeGates.map((gate) => gate.name) : [gateName]),
        },
        now,
      )
    for (const { name, members } of groups)
      await insertGroup(
        runner,
        { groupId: made.get(name)!, merchantId, name, enabled: true, endpointIds: members.map((member) => made.get(member)!) },
        now,
      )
    await touchConfig(runner)
  })
}

async function signersOf(
  runner: Runner,
  merchantId: bigint,
  keys: KeyRing,
): Promise<Pick<SandboxWorld, 'signingSecret' | 'signingPublicKey'>> {
  const { signingSecret, signingKey } = await holdSigners(runner, merchantId, keys)
  if (!signingSecret || !signingKey) throw new Error(`the merchant "${login}" does not sign; see npx tollgate merchant --help`)
  return { signingSecret: secret(signingSecretText(signingSecret)), signingPublicKey: signingKeyText(signingKey) }
}

const usual = endpointFields.whole({ disabledOperations: [], plainHttpCallbacks: true })

const endpoints = [
  { name: 'plain', currency: 'USD', settings: usual },
  { name: 'euro', currency: 'EUR', settings: usual },
  { name: 'secure', currency: 'USD', settings: { ...usual, threeDSecure: true } },
  { name: 'mobile', currency: 'USD', settings: { ...usual, threeDSecure: true } },
  { name: 'mobile_fee', currency: 'USD', settings: { ...usual, consumerDefinedRate: true } },
  { name: 'mobile_random_sum', currency: 'USD', settings: { ...usual, randomSum: true } },
] as const
const groups = [
  { name: 'multi', members: ['plain', 'euro'] },
  { name: 'multi_secure', members: ['secure', 'euro'] },
] as const

/** The merchant's server listens at another address at each start. */
export async function pointMobile(pool: Pool, endpointIds: readonly number[], merchantServerUrl: string): Promise<void> {
  await transaction(pool, async (runner) => {
    for (const id of endpointIds) {
      const endpoint = await endpointOf(runner, BigInt(id))
      await updateEndpoint(runner, { ...endpoint, settings: { ...endpoint.settings, merchantServerUrl } })
    }
    await touchConfig(runner)
  })
}

async function names(pool: Pool, merchantId: bigint): Promise<(name: string) => number> {
  const rows = await pool.run<{ name: string; id: bigint }>(
    {
      name: '',
      text: `
        select name, endpoint_id as id from endpoint where merchant_id = $1
        union all select name, group_id from endpoint_group where merchant_id = $1`,
    },
    [merchantId],
  )
  return (name) => {
    const row = rows.find((one) => one.name === name)
    if (!row) throw new Error(`the sandbox's "${name}" is gone from this database; use another TOLLGATE_DIR or database`)
    return Number(row.id)
  }
}
