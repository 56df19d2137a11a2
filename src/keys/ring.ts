import { secret, type Secret } from '../base/secret.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { HourKeys, NumberedKey } from './hour-keys.ts'
import { WrongKek, type KeyEncryption, type WrappedKey } from './encryption.ts'
import { bytea, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'

/**
 * `pan`, `cvv2` and `control` seal; `card-id`, `fingerprint` and `digest` make one-way hashes;
 * `receipt` encrypts the ids of receipts; `audit` is the Ed25519 seed that signs the audit trail.
 */
export type KeyPurpose = StoredPurpose | 'cvv2'

/** Keys in the database, with versions that last until an operator replaces them. */
const storedPurposes = ['pan', 'control', 'card-id', 'fingerprint', 'digest', 'receipt', 'audit'] as const
export type StoredPurpose = (typeof storedPurposes)[number]

/** The data keys of the vault, unwrapped, in memory. */
export interface KeyRing {
  current(purpose: KeyPurpose): NumberedKey
  /** Undefined when that key was destroyed. */
  version(purpose: KeyPurpose, version: bigint): Secret<Buffer> | undefined
  /** All versions that are used or were, the current one first. */
  versions(purpose: StoredPurpose): readonly NumberedKey[]
  /**
   * Reads versions that were added, and forgets those that were destroyed. If it fails, the ring
   * goes on with the versions it has.
   */
  refresh(): Promise<void>
  /** Replaces the keys whose time is over. Call it every few minutes. */
  turn(): Promise<void>
}

/** How often each process reads the versions again. */
export const refreshMs = 2_000
/**
 * A new version is used so long after it was added: by then every process has read it, and can open
 * what another one seals with it.
 */
export const activationMs = 5 * refreshMs

/**
 * A key for card numbers is replaced by itself after a week. It takes a new random value for each
 * card, of which NIST SP 800-38D allows 2^32 under one key: 7,100 cards a second for a week.
 */
const panKeyMs = 7 * 24 * 3_600_000

const add = statement<object>(
  `insert into key_version (purpose, version, wrapped, kek, created_at, active_at) values ($1, $2, $3, $4, $5, $6)
  on conflict (purpose, version) do nothing returning version`,
)
interface KeyRow extends WrappedKey {
  purpose: StoredPurpose
  version: bigint
  activeAt: number
}
const all = entities<KeyRow>(`select purpose, version, wrapped, kek, active_at from key_version`)

interface HeldKey extends NumberedKey {
  activeAt: number
}

export const contextOf = (purpose: StoredPurpose, version: bigint): string => `key:${purpose}:${version}`

interface NewKey extends WrappedKey {
  purpose: StoredPurpose
  version: bigint
}

/** A random key, wrapped. Not called in a transaction: a key service may wrap it. */
export const newKey = async (
  encryption: KeyEncryption,
  random: Random,
  purpose: StoredPurpose,
  version: bigint,
): Promise<NewKey> => ({ purpose, version, ...(await encryption.wrap(random.bytes(32), contextOf(purpose, version))) })

/** False if there is one of that version. */
export async function addKey(runner: Runner, key: NewKey, { at, activeAt }: { at: number; activeAt: number }): Promise<boolean> {
  const { purpose, version, wrapped, kek } = key
  return (await runner.run(add, [purpose, version, bytea(wrapped), kek, timestamp(at), timestamp(activeAt)])).length > 0
}

type ReadKey = HeldKey & { purpose: StoredPurpose }

/** The newest first. */
function byPurpose(read: ReadKey[]): Map<StoredPurpose, readonly HeldKey[]> {
  read.sort((a, b) => (a.version < b.version ? 1 : -1))
  return new Map(storedPurposes.map((purpose) => [purpose, read.filter((one) => one.purpose === purpose)]))
}

/** Undefined for a version that cannot be opened and may be left out. */
async function opened(encryption: KeyEncryption, row: KeyRow, mayLeaveOut: boolean): Promise<Secret<Buffer> | undefined> {
  try {
    return secret(await encryption.unwrap(row, contextOf(row.purpose, row.version)))
  } catch (error) {
    if (error instanceof WrongKek && mayLeaveOut) return undefined
    throw error
  }
}

/**
 * Opens the ring with the key-encryption key. Throws a `WrongKek` if it does not open a version
 * that is in use. A version of the future is left out, and so is one that is added later: a member
 * of `tollgate_serve` can add rows of garbage, which must not keep others from rotations. Only
 * processes that serve have the keys of CVV2: without `hours`, none is found, and sealing a CVV2
 * throws.
 */
export async function openKeyRing(
  pool: Pool,
  encryption: KeyEncryption,
  clock: Clock,
  random: Random,
  hours?: HourKeys,
): Promise<KeyRing> {
  /** The versions of each purpose, the newest first. */
  let keys = new Map<StoredPurpose, readonly HeldKey[]>()
  let unopened = new Set<string>()
  const held = (purpose: StoredPurpose, version: bigint) => keys.get(purpose)?.find((one) => one.version === version)

  async function ensure(purpose: StoredPurpose, version: bigint, activeAt = clock.now()) {
    if (held(purpose, version)) return
    await addKey(pool, await newKey(encryption, random, purpose, version), { at: clock.now(), activeAt })
  }

  async function refresh() {
    const read = await Promise.all(
      (await pool.run(all)).map(async (row) => {
        const mayLeaveOut = keys.size > 0 || row.activeAt > clock.now()
        const key = held(row.purpose, row.version)?.key ?? (await opened(encryption, row, mayLeaveOut))
        return { purpose: row.purpose, version: row.version, key, activeAt: row.activeAt }
      }),
    )
    unopened = new Set(read.filter(({ key }) => !key).map(({ purpose, version }) => contextOf(purpose, version)))
    keys = byPurpose(read.filter((one): one is ReadKey => one.key !== undefined))
  }

  async function turn() {
    await hours?.turn()
    const [pan] = keys.get('pan')!
    let next = (pan?.version ?? 0n) + 1n
    while (unopened.has(contextOf('pan', next))) next += 1n
    if (pan && pan.activeAt + panKeyMs < clock.now()) await ensure('pan', next, clock.now() + activationMs)
    await refresh()
  }

  await refresh()
  try {
    for (const purpose of storedPurposes) if (keys.get(purpose)?.length === 0) await ensure(purpose, 1n)
    await turn()
  } catch (error) {
    // A user of the database who may only read goes on with the keys that there are.
    const insufficientPrivilege = '42501'
    if ((error as { code?: string }).code !== insufficientPrivilege) throw error
  }

  const active = (purpose: StoredPurpose): readonly NumberedKey[] => {
    const now = clock.now()
    const [newest] = keys.get(purpose) ?? []
    // The usual case: no version waits for its time, and nothing is made for each sale.
    return newest && newest.activeAt <= now ? keys.get(purpose)! : (keys.get(purpose) ?? []).filter((one) => one.activeAt <= now)
  }
  return {
    current(purpose) {
      const found = purpose === 'cvv2' ? hours?.current() : active(purpose)[0]
      if (!found) throw new Error(`the ${purpose} key is not available at the moment`)
      return found
    },
    version: (purpose, version) => (purpose === 'cvv2' ? hours?.version(version) : held(purpose, version)?.key),
    versions: active,
    refresh,
    turn,
  }
}
