/** The queries of the doctor on the database of the installation. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { WrongKek, type KeyEncryption } from '../../keys/encryption.ts'
import { contextOf, type StoredPurpose, type KeyRing } from '../../keys/ring.ts'
import { openControlKey } from '../../merchant/control-key.ts'
import { migrations } from '../../storage/migrate.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import type { OdditySum } from '../../three-d-secure/oddities.ts'

export interface DatabaseFacts {
  /** As the server reports it, such as 18.4; and 180004. */
  version: string
  versionNumber: number
  roundTripMs: number
  /** Time of the database minus time of this machine, at the middle of the round trip. */
  aheadMs: number
  fsync: boolean
  synchronousCommit: boolean
}

export interface MigrationFacts {
  /** Known here, not applied there. */
  missing: readonly string[]
  /** Applied there, not known here. */
  foreign: readonly string[]
  /** Applied there from a different text. */
  changed: readonly string[]
}

export interface ConfigurationFacts {
  merchants: bigint
  hasBins: boolean
  /** Switched-on endpoints of which no gate is switched on. */
  gateless: readonly string[]
  /**
   * Switched-on endpoints that take v4 signatures over the parameters alone, of merchants with a
   * key.
   */
  parameterSigned: readonly string[]
  /** Switched-on endpoints with 3-D Secure. */
  secure: readonly string[]
}

export interface DirectoryFact {
  name: string
  ranges: bigint
  /** At least one full load was stored. */
  loaded: boolean
  refreshedAt?: number
  /** When to ask again; a gateway that owns the duty moves this on. */
  dueAt?: number
  /** Tries since the last success, and how the last one ended. */
  tries: number
  error?: string
  /** How many entries of the last full load cannot be used; the first of them with the reason. */
  leftOutCount: number
  leftOut: readonly string[]
}

const server = entities<Omit<DatabaseFacts, 'roundTripMs' | 'aheadMs'> & { now: number }>(`
  select split_part(current_setting('server_version'), ' ', 1) as version,
    current_setting('server_version_num')::int as version_number, clock_timestamp() as now,
    current_setting('fsync') = 'on' as fsync, current_setting('synchronous_commit') <> 'off' as synchronous_commit`)

export async function serverFacts(pool: Pool, clock: Clock): Promise<DatabaseFacts> {
  // The first query also opens the connection, so the second is measured.
  await pool.run(server)
  const [began, wall] = [clock.monotonic(), clock.now()]
  const [row] = await pool.run(server)
  const roundTripMs = clock.monotonic() - began
  return { ...row!, roundTripMs, aheadMs: row!.now - (wall + roundTripMs / 2) }
}

const hasLedger = statement<{ there: boolean }>(`select to_regclass('migration') is not null as there`)
const ledger = statement<{ name: string; sha256: string }>(`select name, sha256 from migration`)

export async function migrationFacts(pool: Pool): Promise<MigrationFacts> {
  const known = new Map(migrations().map((m) => [m.name, createHash('sha256').update(m.sql).digest('hex')]))
  const [there] = await pool.run(hasLedger)
  const applied = new Map(there!.there ? (await pool.run(ledger)).map((a) => [a.name, a.sha256]) : [])
  const both = [...applied.keys()].filter((name) => known.has(name))
  return {
    missing: [...known.keys()].filter((name) => !applied.has(name)),
    foreign: [...applied.keys()].filter((name) => !known.has(name)),
    changed: both.filter((name) => known.get(name) !== applied.get(name)),
  }
}

interface WrappedVersion {
  purpose: StoredPurpose
  version: bigint
  wrapped: Buffer
  kek: string
  active: boolean
}
const wrapped = entities<WrappedVersion>(
  `select purpose, version, wrapped, kek, active_at <= now() as active from key_version order by purpose, version`,
)

export type OpenKeys = Pick<KeyRing, 'version'>

export interface OpenedKeys {
  count: number
  /** Which ones the key-encryption key does not open, and how many an older one still wraps. */
  unopened: readonly WrappedVersion[]
  byOlder: number
  opened: OpenKeys
}

/**
 * Opens the keys of a database without its ring, which would also create and destroy hourly keys:
 * whoever looks must not change anything.
 */
export async function openKeys(pool: Pool, encryption: KeyEncryption): Promise<OpenedKeys> {
  const keys = await pool.run(wrapped)
  const byContext = new Map<string, Secret<Buffer>>()
  const unopened: WrappedVersion[] = []
  for (const key of keys) {
    const context = contextOf(key.purpose, key.version)
    const bytes = await encryption.unwrap(key, context).catch(unlessWrong)
    if (bytes) byContext.set(context, secret(bytes))
    else unopened.push(key)
  }
  const id = keys.length === 0 ? '' : await encryption.id()
  return {
    count: keys.length,
    unopened,
    byOlder: keys.filter((key) => key.kek !== id && !unopened.includes(key)).length,
    opened: { version: (purpose, version) => (purpose === 'cvv2' ? undefined : byContext.get(contextOf(purpose, version))) },
  }
}

function unlessWrong(error: unknown): undefined {
  if (!(error instanceof WrongKek)) throw error
}

const controlKeys = entities<{ merchantId: bigint; login: string; sealed: Buffer; version: bigint }>(
  `select merchant_id, login, control_key_sealed as sealed, control_key_version as version from merchant order by login`,
)

export const controlKeysOf = async (pool: Pool, keys: OpenKeys): Promise<{ login: string; controlKey: Secret<string> }[]> =>
  (await pool.run(controlKeys)).map((row) => ({ login: row.login, controlKey: openControlKey(row, row.merchantId, keys) }))

/** The ids of switched-on endpoints of which this holds. */
const endpointsWhere = (holds: string) =>
  `array(select e.endpoint_id::text from endpoint e where e.enabled and ${holds} order by e.endpoint_id)`
const hasNoGate = `not exists (select from gate g where g.gate_id = any (e.gate_ids) and g.enabled)`
const takesParameterSignatures = `e.settings ->> 'parameterSignatures' is distinct from 'false'
  and exists (select from merchant_key k where k.merchant_id = e.merchant_id and k.retired_at is null)`
const configuration = entities<ConfigurationFacts>(`
  select (select count(*) from merchant) as merchants, exists (select from bin_range) as has_bins,
    ${endpointsWhere(hasNoGate)} as gateless, ${endpointsWhere(takesParameterSignatures)} as parameter_signed,
    ${endpointsWhere(`(e.settings ->> 'threeDSecure')::boolean`)} as secure`)
export const configurationFacts = async (pool: Pool): Promise<ConfigurationFacts> => (await pool.run(configuration))[0]!

/**
 * All directory servers that any gateway was given, by name. The same name of the duty as in
 * three-d-secure/range-rows.ts.
 */
export const directories = entities<DirectoryFact>(`
  select s.directory as name, s.version > 0 as loaded, s.refreshed_at, s.left_out_count, s.left_out, d.due_at,
    coalesce(d.tries, 0) as tries, d.error,
    (select count(*) from card_range c where c.directory = s.directory) as ranges
  from directory_state s left join duty d on d.name = 'card ranges ' || s.directory order by s.directory`)
/** Unfit values that came through them and were accepted, most frequent first. */
export const oddities = entities<OdditySum>(
  `select directory, what, count::float8 as count, last_at from directory_oddity order by directory, count desc, what`,
)
