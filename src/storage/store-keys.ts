import { secret, type Secret } from '../base/secret.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { KeyEncryption, WrappedKey } from './key-encryption.ts'
import { bytea, statement, timestamp, type Pool, type Runner } from './pool.ts'

/**
 * `pan`, `cvv2` and `control` seal; `fingerprint` and `digest` are keys of one-way hashes;
 * `receipt` encrypts the ids of receipts; `audit` is the Ed25519 seed that signs the audit trail.
 */
export type KeyPurpose = 'pan' | 'cvv2' | 'control' | 'fingerprint' | 'digest' | 'receipt' | 'audit'

/** Keys with versions that last until an operator replaces them. */
const lastingPurposes = ['pan', 'control', 'fingerprint', 'digest', 'receipt', 'audit'] as const

export interface NumberedKey {
  version: bigint
  key: Secret<Buffer>
}

/** The data keys of the vault, unwrapped, in memory. */
export interface KeyRing {
  current(purpose: KeyPurpose): NumberedKey
  /** Undefined when that key was destroyed. */
  version(purpose: KeyPurpose, version: bigint): Secret<Buffer> | undefined
  /** All versions that are used or were, the current one first. */
  versions(purpose: KeyPurpose): readonly NumberedKey[]
  /** Reads versions that were added, and forgets those that were destroyed. */
  refresh(): Promise<void>
  /**
   * Creates CVV2 keys of this hour and the next, destroys yesterday's. Call it every few minutes.
   */
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

const hourMs = 3_600_000
/** A CVV2 key is destroyed well within a day of its hour. */
const cvv2KeyHours = 20n

const add = statement<object>(
  `insert into key_version (purpose, version, wrapped, kek, created_at, active_at) values ($1, $2, $3, $4, $5, $6)
  on conflict (purpose, version) do nothing returning version`,
)
const all = statement<{ purpose: KeyPurpose; version: bigint; wrapped: Buffer; kek: string | null; active_at: number }>(
  `select purpose, version, wrapped, kek, active_at from key_version`,
)
const destroy = statement<object>(`delete from key_version where purpose = 'cvv2' and version < $1`)

interface HeldKey extends NumberedKey {
  activeAt: number
}

export const contextOf = (purpose: KeyPurpose, version: bigint): string => `key:${purpose}:${version}`

export const wrappedKey = ({ wrapped, kek }: { wrapped: Buffer; kek: string | null }): WrappedKey =>
  kek === null ? { wrapped } : { wrapped, kek }

/** Adds a new random key; false if there is one of that version. */
export async function addKey(
  runner: Runner,
  encryption: KeyEncryption,
  random: Random,
  { purpose, version, at, activeAt }: { purpose: KeyPurpose; version: bigint; at: number; activeAt: number },
): Promise<boolean> {
  const { wrapped, kek } = await encryption.wrap(random.bytes(32), contextOf(purpose, version))
  const values = [purpose, version, bytea(wrapped), kek, timestamp(at), timestamp(activeAt)]
  return (await runner.run(add, values)).length > 0
}

/**
 * Opens the ring with the key-encryption key. Throws a `WrongKek` if the keys of the database were
 * wrapped with another one.
 */
export async function openKeyRing(pool: Pool, encryption: KeyEncryption, clock: Clock, random: Random): Promise<KeyRing> {
  /** The versions of each purpose, the newest first. */
  let keys = new Map<KeyPurpose, readonly HeldKey[]>()
  const hour = () => BigInt(Math.floor(clock.now() / hourMs))
  const held = (purpose: KeyPurpose, version: bigint) => keys.get(purpose)?.find((one) => one.version === version)

  async function ensure(purpose: KeyPurpose, version: bigint, activeAt = clock.now()) {
    if (held(purpose, version)) return
    await addKey(pool, encryption, random, { purpose, version, at: clock.now(), activeAt })
  }

  async function refresh() {
    const rows = await pool.run(all)
    const read = await Promise.all(
      rows.map(async (row) => {
        const { purpose, version, active_at: activeAt } = row
        const known = held(purpose, version)
        const key = known?.key ?? secret(await encryption.unwrap(wrappedKey(row), contextOf(purpose, version)))
        return { purpose, version, key, activeAt }
      }),
    )
    read.sort((a, b) => (a.version < b.version ? 1 : -1))
    keys = new Map(
      (['cvv2', ...lastingPurposes] as const).map((purpose) => [purpose, read.filter((one) => one.purpose === purpose)]),
    )
  }

  async function turn() {
    const now = hour()
    for (const version of [now, now + 1n]) await ensure('cvv2', version, Number(version) * hourMs)
    const [pan] = keys.get('pan')!
    if (pan && pan.activeAt + panKeyMs < clock.now()) await ensure('pan', pan.version + 1n, clock.now() + activationMs)
    await pool.run(destroy, [now - cvv2KeyHours])
    await refresh()
  }

  await refresh()
  for (const purpose of lastingPurposes) if (keys.get(purpose)?.length === 0) await ensure(purpose, 1n)
  await turn()

  const active = (purpose: KeyPurpose) => {
    const now = clock.now()
    const [newest] = keys.get(purpose) ?? []
    // The usual case: no version waits for its time, and nothing is made for each sale.
    return newest && newest.activeAt <= now ? keys.get(purpose)! : (keys.get(purpose) ?? []).filter((one) => one.activeAt <= now)
  }
  return {
    current(purpose) {
      const found = purpose === 'cvv2' ? held('cvv2', hour()) : active(purpose)[0]
      if (!found) throw new Error(`there is no ${purpose} key for now`)
      return found
    },
    version: (purpose, version) => held(purpose, version)?.key,
    versions: active,
    refresh,
    turn,
  }
}
