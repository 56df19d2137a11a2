import { createHash } from 'node:crypto'
import { secret, type Secret } from '../../base/secret.ts'
import { openControlKey } from '../../merchant/control-key.ts'
import { WrongKek, type KeyEncryption } from '../../keys/encryption.ts'
import { migrations } from '../../storage/migrate.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import { contextOf, type StoredPurpose, type KeyRing } from '../../keys/ring.ts'
import type { Clock } from '../../base/clock.ts'
import type { OdditySum } from '../../three-d-secure/oddities.ts'
import { cellWork, type CellWork } from './work-rows.ts'

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

/** The work of cell 0, and what the installation has for all cells. */
export interface WorkFacts extends CellWork {
  keys: bigint
  merchants: bigint
  hasBins: boolean
  /** Switched-on endpoints of which no gate is switched on. */
  gateless: readonly bigint[]
  /**
   * Switched-on endpoints that take v4 signatures over the parameters alone, of merchants with a
   * key.
   */
  parameterSigned: readonly bigint[]
}

export interface DirectoryFacts {
  /** All directory servers that any gateway was given, by name. */
  directories: readonly DirectoryFact[]
  /** What came through directory servers, was taken and does not fit, most often first. */
  oddities: readonly OdditySum[]
  /** Switched-on endpoints with 3-D Secure. */
  secureEndpoints: readonly bigint[]
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
  /**
   * Entries of the last full load that cannot be used: how many, and the first of them with the
   * reason.
   */
  leftOut: { count: number; entries: readonly string[] }
}

const server = statement<{ version: string; number: string; now: number; fsync: string; commit: string }>(`
  select current_setting('server_version') as version, current_setting('server_version_num') as number, clock_timestamp() as now,
    current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`)

export async function serverFacts(pool: Pool, clock: Clock): Promise<DatabaseFacts> {
  // The first query also opens the connection, so the second is measured.
  await pool.run(server)
  const [began, wall] = [clock.monotonic(), clock.now()]
  const [row] = await pool.run(server)
  const roundTripMs = clock.monotonic() - began
  return {
    version: row!.version.split(' ')[0]!,
    versionNumber: Number(row!.number),
    roundTripMs,
    aheadMs: row!.now - (wall + roundTripMs / 2),
    fsync: row!.fsync === 'on',
    synchronousCommit: row!.commit !== 'off',
  }
}

const hasLedger = statement<{ there: boolean }>(`select to_regclass('migration') is not null as there`)
const ledger = statement<{ name: string; sha256: string }>(`select name, sha256 from migration`)

export async function migrationFacts(pool: Pool): Promise<MigrationFacts> {
  const known = new Map(migrations().map((m) => [m.name, createHash('sha256').update(m.sql).digest('hex')]))
  const [there] = await pool.run(hasLedger)
  const applied = there!.there ? await pool.run(ledger) : []
  return {
    missing: [...known.keys()].filter((name) => !applied.some((a) => a.name === name)),
    foreign: applied.filter((a) => !known.has(a.name)).map((a) => a.name),
    changed: applied.filter((a) => known.has(a.name) && known.get(a.name) !== a.sha256).map((a) => a.name),
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

/**
 * Which keys the key-encryption key does not open, and how many are still wrapped by an older one.
 * Opening the ring would also create and destroy hourly keys, and the doctor must not
 * change anything.
 */
export async function keysOpen(pool: Pool, encryption: KeyEncryption): Promise<{ unopened: WrappedVersion[]; byOlder: number }> {
  const keys = await pool.run(wrapped)
  const id = await encryption.id()
  const unopened: WrappedVersion[] = []
  for (const key of keys) if (!(await openedKey(key, encryption))) unopened.push(key)
  const byOlder = keys.filter((key) => key.kek !== id && !unopened.includes(key)).length
  return { unopened, byOlder }
}

const openedKey = (key: WrappedVersion, encryption: KeyEncryption): Promise<Buffer | undefined> =>
  encryption.unwrap(key, contextOf(key.purpose, key.version)).catch((error: unknown) => {
    if (error instanceof WrongKek) return undefined
    throw error
  })

const controlKeys = entities<{ merchantId: bigint; login: string; sealed: Buffer; version: bigint }>(
  `select merchant_id, login, control_key_sealed as sealed, control_key_version as version from merchant order by login`,
)

/** Keys to look with: opened without the ring, for the same reason. */
export async function openedKeys(pool: Pool, encryption: KeyEncryption): Promise<Pick<KeyRing, 'version'>> {
  const opened = new Map<string, Secret<Buffer>>()
  for (const key of await pool.run(wrapped)) {
    const bytes = await openedKey(key, encryption)
    if (bytes) opened.set(contextOf(key.purpose, key.version), secret(bytes))
  }
  return { version: (purpose, version) => (purpose === 'cvv2' ? undefined : opened.get(contextOf(purpose, version))) }
}

/** The control key of every merchant. */
export async function controlKeysOf(
  pool: Pool,
  keys: Pick<KeyRing, 'version'>,
): Promise<{ login: string; controlKey: Secret<string> }[]> {
  const rows = await pool.run(controlKeys)
  return rows.map((row) => ({ login: row.login, controlKey: openControlKey(row, row.merchantId, keys) }))
}

const keyCount = statement<{ n: bigint }>(`select count(*) as n from key_version`)
export const countKeys = async (pool: Pool): Promise<bigint> => (await pool.run(keyCount))[0]!.n

const merchantCount = statement<{ n: bigint; bins: boolean }>(`
  select count(*) as n, exists (select from bin_range) as bins from merchant`)
const gateless = entities<{ endpointId: bigint }>(`
  select endpoint_id from endpoint e
  where e.enabled and not exists (select from gate g where g.gate_id = any (e.gate_ids) and g.enabled) order by endpoint_id`)
const parameterSigned = entities<{ endpointId: bigint }>(`
  select endpoint_id from endpoint e
  where e.enabled and e.settings ->> 'parameterSignatures' is distinct from 'false'
    and exists (select from merchant_key k where k.merchant_id = e.merchant_id and k.retired_at is null) order by endpoint_id`)

const idsOf = (rows: readonly { endpointId: bigint }[]) => rows.map((row) => row.endpointId)

export async function workFacts(pool: Pool): Promise<WorkFacts> {
  const [work, keys, [counts], lonely, signed] = await Promise.all([
    cellWork(pool, pool, 0),
    countKeys(pool),
    pool.run(merchantCount),
    pool.run(gateless),
    pool.run(parameterSigned),
  ])
  const { n: merchants, bins: hasBins } = counts!
  return { ...work, keys, merchants, hasBins, gateless: idsOf(lonely), parameterSigned: idsOf(signed) }
}

/** The same name of the duty as in three-d-secure/range-rows.ts. */
const directories = entities<Omit<DirectoryFact, 'leftOut'> & { leftOut: string[]; leftOutCount: number }>(`
  select s.directory as name, s.version > 0 as loaded, s.refreshed_at, s.left_out_count, s.left_out, d.due_at,
    coalesce(d.tries, 0) as tries, d.error,
    (select count(*) from card_range c where c.directory = s.directory) as ranges
  from directory_state s left join duty d on d.name = 'card ranges ' || s.directory order by s.directory`)
const oddities = entities<OdditySum>(
  `select directory, what, count::float8 as count, last_at from directory_oddity order by directory, count desc, what`,
)
const secure = entities<{ endpointId: bigint }>(
  `select endpoint_id from endpoint where enabled and (settings ->> 'threeDSecure')::boolean order by endpoint_id`,
)

export async function directoryFacts(pool: Pool): Promise<DirectoryFacts> {
  const [found, odd, endpoints] = await Promise.all([pool.run(directories), pool.run(oddities), pool.run(secure)])
  return {
    oddities: odd,
    directories: found.map(({ leftOut, leftOutCount, ...one }) => ({
      ...one,
      leftOut: { count: leftOutCount, entries: leftOut },
    })),
    secureEndpoints: idsOf(endpoints),
  }
}
