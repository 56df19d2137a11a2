import type { KeyObject } from 'node:crypto'
import { systemClock } from '../base/clock.ts'
import { privateKeyOf } from '../base/ed25519.ts'
import type { Log } from '../base/log.ts'
import { systemRandom, uuid } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { EndpointSettings, GateRow, Registry } from '../merchant/merchant.ts'
import {
  insertEndpoint,
  insertGroup,
  insertMerchant,
  insertPublicKey,
  loadRegistry,
  touchConfig,
  updateEndpoint,
} from '../merchant/store.ts'
import { insertGate, sealMacKey, sealTlsKey, updateGate } from '../merchant/store-gates.ts'
import {
  holdSigners,
  newSigningSecret,
  replaceSigningKey,
  replaceSigningSecret,
  signingKeyText,
  signingSecretText,
} from '../merchant/store-signing-secrets.ts'
import { fingerprintOf, pemOf } from '../operator/public-key.ts'
import { endpointOf } from '../operator/store-config.ts'
import { listMerchantKeys } from '../operator/store-merchant-keys.ts'
import type { Pool } from '../storage/pool.ts'
import type { SecureLine } from './simulators.ts'
import { openIds } from '../storage/store-ids.ts'
import type { KeyEncryption } from '../storage/key-encryption.ts'
import { openKeyRing, type KeyRing } from '../storage/store-keys.ts'
import { transaction } from '../storage/transaction.ts'

/** The sandbox's merchant, gate and endpoints: ids as numbers, as written to sandbox.json. */
export interface SandboxWorld {
  login: string
  controlKey: Secret<string>
  /** As receivers' libraries read it. */
  signingSecret: Secret<string>
  /** Of signatures by Ed25519, as receivers' libraries read it. */
  signingPublicKey: string
  endpoints: { plain: number; secure: number; euro: number; mobile: number; mobile_fee: number; mobile_random_sum: number }
  groups: { multi: number; multi_secure: number }
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
  const settings: GateRow = {
    host: '127.0.0.1',
    port: acquirerPort,
    terminalId: 'TOLLGT01',
    cardAcceptorId: 'TOLLGATESANDBOX',
    cardAcceptorName: 'Tollgate Sandbox Shop',
    acquirerId: '400001',
    mcc: '5999',
    descriptor: 'TOLLGATE*SANDBOX',
    answerTimeoutMs: 5_000,
    partialCapture: true,
    partialReversal: true,
    recognisesRepeats: false,
    maxOpen: 1_000,
  }
  const before = await loadRegistry(pool, keys, now)
  if (!before.merchantByLogin(login)) {
    await makeMerchant(pool, keys, settings, now)
    log.info({ login }, 'the sandbox merchant was registered')
  }
  await makeFeeGates(pool, await loadRegistry(pool, keys, now), settings, now)
  await makeEndpoints(pool, await loadRegistry(pool, keys, now), now)
  const registry = await loadRegistry(pool, keys, now)
  const merchant = registry.merchantByLogin(login)!
  const gate = [...registry.gates()].find((g) => g.name === gateName)
  if (!gate) throw new Error(`the gate "${gateName}" is gone from this database; use another TOLLGATE_DIR or database`)
  await registerKey(pool, merchant.merchantId, oauthKey, now)
  const signers = await settleSigners(pool, keys, merchant.merchantId)
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
  return {
    login,
    controlKey: merchant.controlKeys[0]!,
    ...signers,
    endpoints: {
      plain: named('plain'),
      secure: named('secure'),
      euro: named('euro'),
      mobile: named('mobile'),
      mobile_fee: named('mobile_fee'),
      mobile_random_sum: named('mobile_random_sum'),
    },
    groups: { multi: named('multi'), multi_secure: named('multi_secure') },
  }
}

async function makeMerchant(pool: Pool, keys: KeyRing, settings: GateRow, now: number): Promise<void> {
  const merchantId = await openIds(pool, 'merchant', 1).take()
  const gateId = await openIds(pool, 'gate', 1).take()
  const controlKey = secret(uuid(systemRandom).toUpperCase())
  await transaction(pool, async (runner) => {
    await insertMerchant(runner, { merchantId, login, name: 'Sandbox Shop', controlKey }, keys, systemRandom, now)
    await insertGate(runner, { gateId, name: gateName, enabled: true, settings }, now)
    await touchConfig(runner)
  })
}

/** The merchant of a sandbox of an older version has none yet. */
const settleSigners = (
  pool: Pool,
  keys: KeyRing,
  merchantId: bigint,
): Promise<Pick<SandboxWorld, 'signingSecret' | 'signingPublicKey'>> =>
  transaction(pool, async (runner) => {
    const present = await holdSigners(runner, merchantId, keys)
    const signingSecret = present.signingSecret ?? newSigningSecret(systemRandom)
    if (!present.signingSecret) await replaceSigningSecret(runner, { merchantId, signingSecret }, keys, systemRandom)
    const seed = secret(systemRandom.bytes(32))
    const signingKey = present.signingKey ?? privateKeyOf(seed)
    if (!present.signingKey) await replaceSigningKey(runner, merchantId, seed, keys, systemRandom)
    return { signingSecret: secret(signingSecretText(signingSecret)), signingPublicKey: signingKeyText(signingKey) }
  })

/** Creates the missing ones. */
async function makeFeeGates(pool: Pool, registry: Registry, usualGate: GateRow, now: number): Promise<void> {
  const there = new Set([...registry.gates()].map((gate) => gate.name))
  const ids = openIds(pool, 'gate', 1)
  const missing = feeGates.filter(({ name }) => !there.has(name))
  const fresh = await Promise.all(missing.map(async (gate) => ({ ...gate, gateId: await ids.take() })))
  await transaction(pool, async (runner) => {
    for (const { gateId, name, settings } of fresh)
      await insertGate(runner, { gateId, name, enabled: true, settings: { ...usualGate, ...settings } }, now)
    await touchConfig(runner)
  })
}

/** A retired key stays retired. */
async function registerKey(pool: Pool, merchantId: bigint, key: KeyObject, now: number): Promise<void> {
  const known = await listMerchantKeys(pool, merchantId)
  const fingerprint = fingerprintOf(key)
  if (known.some((one) => one.fingerprint === fingerprint)) return
  const keyNo = (known.at(-1)?.keyNo ?? 0) + 1
  await insertPublicKey(pool, { merchantId, keyNo, name: 'keys/oauth-private.pem', pem: pemOf(key) }, now)
}

const usual: EndpointSettings = {
  threeDSecure: false,
  mandatoryFields: [],
  disabledOperations: [],
  controlMinorUnits: 'iso4217',
  plainHttpCallbacks: true,
}

const endpoints = [
  { name: 'plain', currency: 'USD', settings: usual },
  { name: 'euro', currency: 'EUR', settings: usual },
  { name: 'secure', currency: 'USD', settings: { ...usual, threeDSecure: true } },
] as const
const mobile = [
  { name: 'mobile', currency: 'USD', settings: { ...usual, threeDSecure: true } },
  { name: 'mobile_fee', currency: 'USD', settings: { ...usual, consumerDefinedRate: true } },
  { name: 'mobile_random_sum', currency: 'USD', settings: { ...usual, randomSum: true } },
] as const
const groups = [
  { name: 'multi', members: ['plain', 'euro'] },
  { name: 'multi_secure', members: ['secure', 'euro'] },
] as const

/** Creates the missing ones, so that a sandbox of an older version gains those of the newer one. */
async function makeEndpoints(pool: Pool, registry: Registry, now: number): Promise<void> {
  const { merchantId } = registry.merchantByLogin(login)!
  const idsOf = (called: readonly string[]) => [...registry.gates()].filter((g) => called.includes(g.name)).map((g) => g.gateId)
  const ids = openIds(pool, 'endpoint', 1)
  const there = await namesOf(pool, merchantId)
  await transaction(pool, async (runner) => {
    const make = async ({ name, currency, settings }: (typeof endpoints)[number] | (typeof mobile)[number]) => {
      if (there.has(name)) return
      const endpointId = await ids.take()
      there.set(name, endpointId)
      const gateIds = idsOf(name === 'mobile_fee' ? feeGates.map((gate) => gate.name) : [gateName])
      await insertEndpoint(runner, { endpointId, merchantId, name, enabled: true, currency, gateIds, settings }, now)
    }
    for (const endpoint of endpoints) await make(endpoint)
    for (const { name, members } of groups) {
      if (there.has(name)) continue
      const endpointIds = members.map((member) => there.get(member)!)
      await insertGroup(runner, { groupId: await ids.take(), merchantId, name, enabled: true, endpointIds }, now)
    }
    for (const endpoint of mobile) await make(endpoint)
    await touchConfig(runner)
  })
}

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
  const there = await namesOf(pool, merchantId)
  return (name) => {
    const id = there.get(name)
    if (id === undefined)
      throw new Error(`the sandbox's "${name}" is gone from this database; use another TOLLGATE_DIR or database`)
    return Number(id)
  }
}

async function namesOf(pool: Pool, merchantId: bigint): Promise<Map<string, bigint>> {
  const rows = await pool.run<{ name: string; id: bigint }>(
    {
      name: '',
      text: `
        select name, endpoint_id as id from endpoint where merchant_id = $1
        union all select name, group_id from endpoint_group where merchant_id = $1`,
    },
    [merchantId],
  )
  return new Map(rows.map((r) => [r.name, r.id]))
}
