import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom, uuid } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { endpointFields, type EndpointSettings } from '../../../src/merchant/fields/endpoint.ts'
import { registerPublicKey } from '../../../src/merchant/public-key-rows.ts'
import { insertEndpoint, insertGroup, insertMerchant, touchConfig } from '../../../src/merchant/rows.ts'
import { newSigningSecret, signingSecretText } from '../../../src/merchant/signing-secret-rows.ts'
import { statement, type Pool, type Runner } from '../../../src/storage/pool.ts'
import { openIds } from '../../../src/storage/ids.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { transaction } from '../../../src/storage/transaction.ts'

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
  dinars:            { currency: 'KWD', settings: { controlMinorUnits: 'hundredths' } },
} satisfies Record<string, Row>
const groupMembers = { multi: ['plain', 'euro'], multi_secure: ['secure', 'euro'] } as const
export type Endpoints = Record<keyof typeof settingsOf, number>
const beyondSandbox = ['disabled', 'strict', 'yen', 'hundredths', 'dinars'] as const
/** Where the merchants of tests have their orders: npm test runs the same tests over any cell. */
export const cellNo = Number(process.env.TOLLGATE_TEST_CELL ?? 0)
const calledByGateway = new Set(['mobile', 'mobile_fee', 'mobile_random_sum', 'euro'])

const usual = endpointFields.whole({ disabledOperations: [], plainHttpCallbacks: true })

export interface Account {
  login: string
  controlKey: string
  /** `whsec_` and base64. */
  signingSecret: string
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
/** The port moves with each start of the acquirer. */
const resettleGates = statement<object>(
  `update gate g set enabled = b.enabled, settings = b.settings || jsonb_build_object('port', g.settings -> 'port')
   from jsonb_to_recordset($1::jsonb) b (id bigint, enabled boolean, settings jsonb) where g.gate_id = b.id
     and (g.enabled, g.settings - 'port') is distinct from (b.enabled, b.settings - 'port') returning gate_id`,
)
const forgetSums = statement<object>(`delete from wrong_sum`)
/** Cards, tokens and invoices belong to a consumer; calls do not. */
const emptyServer = statement<object>(`truncate merchant_server.consumers, merchant_server.calls cascade`)

/** Writes merchants into the configuration of the sandbox in this directory. */
export async function openMerchants(pool: Pool, directory: string) {
  const ids = openIds(pool, 'endpoint', 1)
  const add = await openWriter(pool, directory)
  const drawAll = async <Name extends keyof Endpoints>(names: readonly Name[]): Promise<Pick<Endpoints, Name>> => {
    const drawn: Partial<Endpoints> = {}
    for (const name of names) drawn[name] = Number(await ids.take())
    return drawn as Pick<Endpoints, Name>
  }

  async function addOther(runner: Runner, account: Account): Promise<Own['other']> {
    const { plain } = await drawAll(['plain'])
    await add.endpoints(runner, await add.merchant(runner, 'Other Shop', account), { plain })
    return { ...account, endpoint: plain }
  }

  return {
    /**
     * What tests need beside the sandbox's own merchant: the endpoints that it lacks, and a second
     * merchant.
     */
    async beside(): Promise<{ endpoints: Pick<Endpoints, (typeof beyondSandbox)[number]>; other: Own['other'] }> {
      const [sandbox] = await pool.run(sandboxRow, [])
      const endpoints = await drawAll(beyondSandbox)
      const other = await transaction(pool, async (runner) => {
        await add.endpoints(runner, sandbox!.merchant_id, endpoints)
        const added = await addOther(runner, newAccount('other-merchant'))
        await touchConfig(runner)
        return added
      })
      return { endpoints, other }
    },
    /**
     * Two unused merchants. `serve` starts the first one's server and returns its
     * URL.
     */
    async strangers(serve: (own: Omit<Own, 'other'>) => Promise<string>): Promise<Own> {
      const endpoints = await drawAll(Object.keys(settingsOf) as (keyof Endpoints)[])
      const groups = { multi: Number(await ids.take()), multi_secure: Number(await ids.take()) }
      const name = systemRandom.bytes(4).toString('hex')
      const merchant = newAccount(`shop-${name}`)
      const serverUrl = await serve({ merchant, endpoints, groups })
      const other = await transaction(pool, async (runner) => {
        const merchantId = await add.merchant(runner, 'Sandbox Shop', merchant)
        await add.endpoints(runner, merchantId, endpoints, serverUrl)
        await addGroups(runner, merchantId, groups, endpoints)
        await addSandboxKey(runner, merchantId, directory)
        const added = await addOther(runner, newAccount(`other-${name}`))
        await touchConfig(runner)
        return added
      })
      return { merchant, endpoints, groups, other }
    },
    ...sharedState(pool),
  }
}

/** What all files of a run share in a sandbox, to be the same before each of them. */
function sharedState(pool: Pool) {
  const version = async (): Promise<number> => Number((await pool.run(versionRow, []))[0]!.version)
  return {
    version,
    /** The gates with their settings, as text. */
    gates: async (): Promise<string> => (await pool.run(settledGates, []))[0]!.gates,
    /**
     * Restores the gates, and forgets what belongs to no merchant: wrong sums by card, and the
     * books of the merchant's server. Returns the version of the configuration after that.
     */
    async forget(gatesBefore: string): Promise<number> {
      await transaction(pool, async (runner) => {
        await runner.run(emptyServer, [])
        await runner.run(forgetSums, [])
        const changed = await runner.run(resettleGates, [gatesBefore])
        if (changed.length > 0) await touchConfig(runner)
      })
      return version()
    },
  }
}

/** Inserts merchants and their endpoints, with the keys and gates of the sandbox. */
async function openWriter(pool: Pool, directory: string) {
  const kek = secret(Buffer.from(readFileSync(join(directory, 'keys', 'master.key'), 'utf8'), 'base64'))
  const keys = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
  const gates = await pool.run(gateRows, [])
  const merchantIds = openIds(pool, 'merchant', 1)
  return {
    async merchant(runner: Runner, name: string, { login, controlKey, signingSecret }: Account): Promise<bigint> {
      const merchantId = await merchantIds.take()
      const merchant = {
        merchantId,
        login,
        name,
        cellNo,
        controlKey: secret(controlKey),
        signingSecret: secret(Buffer.from(signingSecret.replace('whsec_', ''), 'base64')),
      }
      await insertMerchant(runner, merchant, keys, systemRandom, systemClock.now())
      return merchantId
    },
    async endpoints(runner: Runner, merchantId: bigint, ids: Partial<Endpoints>, serverUrl?: string): Promise<void> {
      for (const [name, id] of Object.entries(ids)) {
        const { currency, settings }: Row = settingsOf[name as keyof Endpoints]
        const hasFees = name === 'mobile_fee'
        const endpoint = {
          endpointId: BigInt(id),
          merchantId,
          name,
          enabled: name !== 'disabled',
          currency,
          gateIds: gates.filter((gate) => (gate.name !== 'sandbox acquirer') === hasFees).map((gate) => gate.gate_id),
          settings: { ...usual, ...settings, ...(serverUrl && calledByGateway.has(name) && { merchantServerUrl: serverUrl }) },
        }
        await insertEndpoint(runner, endpoint, systemClock.now())
      }
    },
  }
}

async function addGroups(runner: Runner, merchantId: bigint, groups: Own['groups'], endpoints: Endpoints): Promise<void> {
  for (const [name, members] of Object.entries(groupMembers)) {
    const groupId = BigInt(groups[name as keyof Own['groups']])
    const endpointIds = members.map((member) => BigInt(endpoints[member]))
    await insertGroup(runner, { groupId, merchantId, name, enabled: true, endpointIds }, systemClock.now())
  }
}

/** The public half of the key with which the sandbox's merchant signs by OAuth. */
async function addSandboxKey(runner: Runner, merchantId: bigint, directory: string): Promise<void> {
  const key = createPublicKey(readFileSync(join(directory, 'keys', 'oauth-private.pem'), 'utf8'))
  await registerPublicKey(runner, merchantId, key, systemClock.now(), 'keys/oauth-private.pem')
}

const newAccount = (login: string): Account => ({
  login,
  controlKey: uuid(systemRandom).toUpperCase(),
  signingSecret: signingSecretText(newSigningSecret(systemRandom)),
})
