import { systemClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { systemRandom, uuid } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { Endpoint, GateRow } from '../merchant/merchant.ts'
import {
  insertEndpoint,
  insertGate,
  insertGroup,
  insertMerchant,
  loadRegistry,
  touchConfig,
  updateGate,
} from '../merchant/store.ts'
import type { Pool } from '../storage/pool.ts'
import { openIds } from '../storage/store-ids.ts'
import { openKeyRing, type KeyRing } from '../storage/store-keys.ts'
import { transaction } from '../storage/transaction.ts'

/** Who and what the sandbox has: ids as numbers, as they go into sandbox.json. */
export interface SandboxWorld {
  login: string
  controlKey: Secret<string>
  endpoints: { plain: number; euro: number }
  groups: { multi: number }
}

const login = 'sandbox'
const gateName = 'sandbox acquirer'

/** A merchant, a gate to the simulated acquirer, endpoints and a group: made at the first start, found at the next ones, the gate pointed to where the acquirer listens now. */
export async function settleWorld(pool: Pool, kek: Secret<Buffer>, acquirerPort: number, log: Log): Promise<SandboxWorld> {
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
    await makeWorld(pool, keys, settings, now)
    log.info({ login }, 'the sandbox merchant was registered')
  }
  const registry = await loadRegistry(pool, keys, now)
  const merchant = registry.merchantByLogin(login)!
  const gate = [...registry.gates()].find((g) => g.name === gateName)
  if (!gate) throw new Error(`the gate "${gateName}" is gone from this database; use another TOLLGATE_DIR or database`)
  await transaction(pool, async (runner) => {
    await updateGate(runner, { ...gate, settings: { ...gate.settings, port: acquirerPort } })
    await touchConfig(runner)
  })
  const named = await names(pool, merchant.merchantId)
  return {
    login,
    controlKey: merchant.controlKeys[0]!,
    endpoints: { plain: named('plain'), euro: named('euro') },
    groups: { multi: named('multi') },
  }
}

async function makeWorld(pool: Pool, keys: KeyRing, settings: GateRow, now: number): Promise<void> {
  const merchantId = await openIds(pool, 'merchant', 1).take()
  const gateId = await openIds(pool, 'gate', 1).take()
  const ids = openIds(pool, 'endpoint', 1)
  const endpoint = async (name: string, currency: string): Promise<Endpoint> => ({
    endpointId: await ids.take(),
    merchantId,
    name,
    enabled: true,
    currency,
    gateIds: [gateId],
    settings: {
      threeDSecure: false,
      mandatoryFields: [],
      disabledOperations: [],
      controlMinorUnits: 'iso4217',
      plainHttpCallbacks: true,
    },
  })
  const plain = await endpoint('plain', 'USD')
  const euro = await endpoint('euro', 'EUR')
  const groupId = await ids.take()
  const controlKey = secret(uuid(systemRandom).toUpperCase())
  await transaction(pool, async (runner) => {
    await insertMerchant(runner, { merchantId, login, name: 'Sandbox Shop', controlKey }, keys, systemRandom, now)
    await insertGate(runner, { gateId, name: gateName, enabled: true, settings }, now)
    for (const e of [plain, euro]) await insertEndpoint(runner, e, now)
    const endpointIds = [plain.endpointId, euro.endpointId]
    await insertGroup(runner, { groupId, merchantId, name: 'multi', enabled: true, endpointIds }, now)
    await touchConfig(runner)
  })
}

async function names(pool: Pool, merchantId: bigint): Promise<(name: string) => number> {
  const rows = await pool.run<{ name: string; id: bigint }>(
    {
      name: '',
      text: `select name, endpoint_id as id from endpoint where merchant_id = $1 union all select name, group_id from endpoint_group where merchant_id = $1`,
    },
    [merchantId],
  )
  return (name) => {
    const row = rows.find((r) => r.name === name)
    if (!row) throw new Error(`the sandbox's "${name}" is gone from this database; use another TOLLGATE_DIR or database`)
    return Number(row.id)
  }
}
