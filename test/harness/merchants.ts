import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom, uuid } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import type { EndpointSettings } from '../../src/merchant/merchant.ts'
import { insertEndpoint, insertGroup, insertMerchant, insertPublicKey, touchConfig } from '../../src/merchant/store.ts'
import { pemOf } from '../../src/operator/public-key.ts'
import { statement, type Pool, type Runner } from '../../src/storage/pool.ts'
import { openIds } from '../../src/storage/store-ids.ts'
import { openKeyRing } from '../../src/storage/store-keys.ts'
import { transaction } from '../../src/storage/transaction.ts'

interface Row {
  currency: string
  settings: Partial<EndpointSettings>
}

/**
 * The endpoints of a test's merchant. The first six are as the sandbox makes them, which has no
 * others.
 */
// oxfmt-ignore
const settingsOf = {
  plain:             { currency: 'USD', settings: {} },
  secure:            { currency: 'USD', settings: { threeDSecure: true } },
  euro:              { currency: 'EUR', settings: {} },
  mobile:            { currency: 'USD', settings: { threeDSecure: true } },
  mobile_fee:        { currency: 'USD', settings: { consumerDefinedRate: true } },
  mobile_random_sum: { currency: 'USD', settings: { randomSum: true } },
  disabled:          { currency: 'USD', settings: {} },
  strict:            { currency: 'USD', settings: { mandatoryFields: ['phone'] } },
  yen:               { currency: 'JPY', settings: {} },
  hundredths:        { currency: 'JPY', settings: { controlMinorUnits: 'hundredths' } },
} satisfies Record<string, Row>
const groupMembers = { multi: ['plain', 'euro'], multi_secure: ['secure', 'euro'] } as const
export type Endpoints = Record<keyof typeof settingsOf, number>
const beyondSandbox = ['disabled', 'strict', 'yen', 'hundredths'] as const
const calledByGateway = new Set(['mobile', 'mobile_fee', 'mobile_random_sum', 'euro'])

const usual: EndpointSettings = {
  threeDSecure: false,
  mandatoryFields: [],
  disabledOperations: [],
  controlMinorUnits: 'iso4217',
  plainHttpCallbacks: true,
}

export interface Account {
  login: string
  controlKey: string
}

/** What a test has to itself in a sandbox. */
export interface Own {
  merchant: Account
  endpoints: Endpoints
  groups: { multi: number; multi_secure: number }
  /** A second merchant with an endpoint of its own, in USD. */
  other: Account & { endpoint: number }
}

const gateRows = statement<{ gate_id: bigint; name: string }>(`select gate_id, name from gate`)
const sandboxRow = statement<{ merchant_id: bigint }>(`select merchant_id from merchant where login = 'sandbox'`)
const versionRow = statement<{ version: bigint }>(`select version from config_version`)
const settledGates = statement<{ gates: string }>(
  `select jsonb_agg(jsonb_build_object('id', gate_id, 'enabled', enabled, 'settings', settings))::text as gates from gate`,
)
const resettleGates = statement<object>(
  `update gate g set enabled = (b.gate ->> 'enabled')::boolean, settings = b.gate -> 'settings'
   from jsonb_array_elements($1::jsonb) b (gate) where g.gate_id = (b.gate ->> 'id')::bigint
     and (g.enabled, g.settings) is distinct from ((b.gate ->> 'enabled')::boolean, b.gate -> 'settings') returning gate_id`,
)
const forgetSums = statement<object>(`delete from wrong_sum`)
/** Cards, tokens and invoices belong to a consumer; calls to nobody. */
const emptyServer = statement<object>(`truncate merchant_server.consumers, merchant_server.calls cascade`)

/** Writes merchants into the configuration of the sandbox in this directory. */
export async function openMerchants(pool: Pool, directory: string) {
  const kek = secret(Buffer.from(readFileSync(join(directory, 'keys', 'master.key'), 'utf8'), 'base64'))
  const keys = await openKeyRing(pool, kek, systemClock, systemRandom)
  const gates = await pool.run(gateRows, [])
  const ids = openIds(pool, 'endpoint', 1)
  const merchantIds = openIds(pool, 'merchant', 1)

  async function draw<Name extends keyof Endpoints>(names: readonly Name[]): Promise<Pick<Endpoints, Name>> {
    const drawn: Partial<Endpoints> = {}
    for (const name of names) drawn[name] = Number(await ids.take())
    return drawn as Pick<Endpoints, Name>
  }

  async function addMerchant(runner: Runner, name: string, { login, controlKey }: Account): Promise<bigint> {
    const merchantId = await merchantIds.take()
    const merchant = { merchantId, login, name, controlKey: secret(controlKey) }
    await insertMerchant(runner, merchant, keys, systemRandom, systemClock.now())
    return merchantId
  }

  async function addEndpoints(runner: Runner, merchantId: bigint, named: Partial<Endpoints>, serverUrl?: string): Promise<void> {
    for (const [name, id] of Object.entries(named)) {
      const { currency, settings }: Row = settingsOf[name as keyof Endpoints]
      const fees = name === 'mobile_fee'
      const endpoint = {
        endpointId: BigInt(id),
        merchantId,
        name,
        enabled: name !== 'disabled',
        currency,
        gateIds: gates.filter((gate) => (gate.name !== 'sandbox acquirer') === fees).map((gate) => gate.gate_id),
        settings: { ...usual, ...settings, ...(serverUrl && calledByGateway.has(name) && { merchantServerUrl: serverUrl }) },
      }
      await insertEndpoint(runner, endpoint, systemClock.now())
    }
  }

  async function addOther(runner: Runner, account: Account): Promise<Own['other']> {
    const { plain } = await draw(['plain'])
    await addEndpoints(runner, await addMerchant(runner, 'Other Shop', account), { plain })
    return { ...account, endpoint: plain }
  }

  async function version(): Promise<number> {
    const [row] = await pool.run(versionRow, [])
    return Number(row!.version)
  }

  return {
    /**
     * What tests need beside the sandbox's own merchant: the endpoints that it lacks, and a second
     * merchant.
     */
    async beside(): Promise<{ endpoints: Pick<Endpoints, (typeof beyondSandbox)[number]>; other: Own['other'] }> {
      const [sandbox] = await pool.run(sandboxRow, [])
      const endpoints = await draw(beyondSandbox)
      const other = await transaction(pool, async (runner) => {
        await addEndpoints(runner, sandbox!.merchant_id, endpoints)
        const added = await addOther(runner, newAccount('other-merchant'))
        await touchConfig(runner)
        return added
      })
      return { endpoints, other }
    },
    /**
     * Two merchants whom nobody has used. `serve` starts the first one's server and returns its
     * URL.
     */
    async strangers(serve: (own: Omit<Own, 'other'>) => Promise<string>): Promise<Own> {
      const endpoints = await draw(Object.keys(settingsOf) as (keyof Endpoints)[])
      const groups = { multi: Number(await ids.take()), multi_secure: Number(await ids.take()) }
      const name = systemRandom.bytes(4).toString('hex')
      const merchant = newAccount(`shop-${name}`)
      const serverUrl = await serve({ merchant, endpoints, groups })
      const pem = pemOf(createPublicKey(readFileSync(join(directory, 'keys', 'oauth-private.pem'), 'utf8')))
      const other = await transaction(pool, async (runner) => {
        const now = systemClock.now()
        const merchantId = await addMerchant(runner, 'Sandbox Shop', merchant)
        await addEndpoints(runner, merchantId, endpoints, serverUrl)
        for (const [group, members] of Object.entries(groupMembers)) {
          const groupId = BigInt(groups[group as keyof Own['groups']])
          const endpointIds = members.map((member) => BigInt(endpoints[member]))
          await insertGroup(runner, { groupId, merchantId, name: group, enabled: true, endpointIds }, now)
        }
        await insertPublicKey(runner, { merchantId, keyNo: 1, name: 'keys/oauth-private.pem', pem }, now)
        const added = await addOther(runner, newAccount(`other-${name}`))
        await touchConfig(runner)
        return added
      })
      return { merchant, endpoints, groups, other }
    },
    version,
    /** The gates with their settings, as text. */
    async gates(): Promise<string> {
      const [row] = await pool.run(settledGates, [])
      return row!.gates
    },
    /**
     * Puts the gates as they were, and forgets what is kept without a merchant: wrong sums by card,
     * and the books of the merchant's server. The version of the configuration that has it.
     */
    async forget(before: string): Promise<number> {
      await transaction(pool, async (runner) => {
        await runner.run(emptyServer, [])
        await runner.run(forgetSums, [])
        const changed = await runner.run(resettleGates, [before])
        if (changed.length > 0) await touchConfig(runner)
      })
      return version()
    },
  }
}

const newAccount = (login: string): Account => ({ login, controlKey: uuid(systemRandom).toUpperCase() })
