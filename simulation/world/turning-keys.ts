import type { Clock } from '../../src/base/clock.ts'
import { hmacSha256 } from '../../src/base/digest.ts'
import type { Random } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import type { KeyPurpose, KeyRing } from '../../src/keys/ring.ts'

/** Short, so that many repeats meet a rotation. */
const periodMs = 120_000
/** How many older versions limits are looked up under: enough for the longest window of a rule. */
const olderDigests = 3

export interface TurningKeys extends KeyRing {
  /** The machine starts again: the keys of the hour are gone, and new ones are made. */
  loseHourKeys(): void
}

/**
 * Keys of a simulated installation, derived from its seed. The keys of hashes are replaced every
 * two minutes, and all their versions stay. That of CVV2 values has a new version after each loss,
 * and no older one. The others never rotate.
 */
export function openTurningKeys(random: Random, clock: Pick<Clock, 'now'>): TurningKeys {
  const seed = secret(random.bytes(32))
  const began = clock.now()
  let newestHour = 1n
  const newest = (purpose: KeyPurpose): bigint => {
    if (purpose === 'cvv2') return newestHour
    return purpose === 'digest' || purpose === 'fingerprint' ? 1n + BigInt(Math.floor((clock.now() - began) / periodMs)) : 1n
  }
  const oldest = (purpose: KeyPurpose): bigint => (purpose === 'cvv2' ? newestHour : 1n)
  const isThere = (purpose: KeyPurpose, version: bigint) => version >= oldest(purpose) && version <= newest(purpose)
  const made = new Map<string, ReturnType<KeyRing['current']>>()
  const key = (purpose: KeyPurpose, version: bigint) => {
    const name = `${purpose} ${version}`
    const found = made.get(name) ?? { version, key: secret(hmacSha256(seed, name)) }
    made.set(name, found)
    return found
  }
  return {
    current: (purpose) => key(purpose, newest(purpose)),
    version: (purpose, version) => (isThere(purpose, version) ? key(purpose, version).key : undefined),
    versions(purpose) {
      const from = newest(purpose)
      const older = purpose === 'digest' ? olderDigests : Number(from)
      const all = Array.from({ length: 1 + older }, (_, i) => from - BigInt(i))
      return all.filter((version) => isThere(purpose, version)).map((version) => key(purpose, version))
    },
    refresh: () => Promise.resolve(),
    turn: () => Promise.resolve(),
    loseHourKeys: () => void newestHour++,
  }
}
