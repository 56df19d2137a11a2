import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { bytea, statement, timestamp, type Pool } from './pool.ts'

/**
 * `pan`, `cvv2` and `control` seal; `fingerprint` and `digest` are keys of one-way hashes;
 * `receipt` encrypts the ids of receipts.
 */
export type KeyPurpose = 'pan' | 'cvv2' | 'control' | 'fingerprint' | 'digest' | 'receipt'

export interface NumberedKey {
  version: bigint
  key: Secret<Buffer>
}

/** The data keys of the vault, unwrapped, in memory. */
export interface KeyRing {
  current(purpose: KeyPurpose): NumberedKey
  /** Undefined when that key was destroyed. */
  version(purpose: KeyPurpose, version: bigint): Secret<Buffer> | undefined
  /**
   * Creates CVV2 keys of this hour and the next, destroys yesterday's. Call it every few minutes.
   */
  turn(): Promise<void>
}

const hourMs = 3_600_000
/** A CVV2 key is destroyed well within a day of its hour. */
const cvv2KeyHours = 20n

const add = statement<object>(
  `insert into key_version (purpose, version, wrapped, created_at) values ($1, $2, $3, $4)
  on conflict (purpose, version) do nothing`,
)
const all = statement<{ purpose: KeyPurpose; version: bigint; wrapped: Buffer }>(
  `select purpose, version, wrapped from key_version`,
)
const destroy = statement<object>(`delete from key_version where purpose = 'cvv2' and version < $1`)

/**
 * Opens the ring with the key-encryption key. Throws if the keys of the database were wrapped with
 * another one.
 */
export async function openKeyRing(pool: Pool, kek: Secret<Buffer>, clock: Clock, random: Random): Promise<KeyRing> {
  const keys = new Map<string, NumberedKey>()
  const newest = new Map<KeyPurpose, NumberedKey>()
  const hour = () => BigInt(Math.floor(clock.now() / hourMs))
  const contextOf = (purpose: KeyPurpose, version: bigint) => `key:${purpose}:${version}`

  async function ensure(purpose: KeyPurpose, version: bigint) {
    if (keys.has(`${purpose}:${version}`)) return
    const wrapped = seal(kek, random.bytes(32), contextOf(purpose, version), random)
    await pool.run(add, [purpose, version, bytea(wrapped), timestamp(clock.now())])
  }

  async function load() {
    for (const { purpose, version, wrapped } of await pool.run(all)) {
      if (keys.has(`${purpose}:${version}`)) continue
      keys.set(`${purpose}:${version}`, { version, key: secret(unwrap(purpose, version, wrapped)) })
    }
    newest.clear()
    for (const [name, key] of keys) {
      const purpose = name.split(':')[0] as KeyPurpose
      const best = newest.get(purpose)
      if (purpose !== 'cvv2' && (!best || best.version < key.version)) newest.set(purpose, key)
    }
  }

  function unwrap(purpose: KeyPurpose, version: bigint, wrapped: Buffer): Buffer {
    try {
      return unseal(kek, wrapped, contextOf(purpose, version))
    } catch {
      throw new Error('the key-encryption key is not the one this database was sealed with')
    }
  }

  async function turn() {
    const now = hour()
    for (const version of [now, now + 1n]) await ensure('cvv2', version)
    await pool.run(destroy, [now - cvv2KeyHours])
    for (const name of keys.keys()) if (name.startsWith('cvv2:') && BigInt(name.slice(5)) < now - cvv2KeyHours) keys.delete(name)
    await load()
  }

  await load()
  const lasting = ['pan', 'control', 'fingerprint', 'digest', 'receipt'] as const
  for (const purpose of lasting) if (!newest.has(purpose)) await ensure(purpose, 1n)
  await turn()

  return {
    current(purpose) {
      const found = purpose === 'cvv2' ? keys.get(`cvv2:${hour()}`) : newest.get(purpose)
      if (!found) throw new Error(`there is no ${purpose} key for now`)
      return found
    },
    version: (purpose, version) => keys.get(`${purpose}:${version}`)?.key,
    turn,
  }
}
