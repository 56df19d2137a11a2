import type { Clock } from '../src/base/clock.ts'
import { hmacSha256 } from '../src/base/digest.ts'
import type { Random } from '../src/base/random.ts'
import { secret } from '../src/base/secret.ts'
import type { KeyPurpose, KeyRing } from '../src/storage/store-keys.ts'

/** Short, so that many repeats meet a rotation. */
const periodMs = 120_000
/** How many older versions limits are looked up under: enough for the longest window of a rule. */
const olderDigests = 3

/**
 * Keys of a simulated installation, derived from its seed. The keys of hashes are replaced every
 * two minutes, and all their versions stay; the others never rotate.
 */
export function openTurningKeys(random: Random, clock: Pick<Clock, 'now'>): KeyRing {
  const seed = secret(random.bytes(32))
  const began = clock.now()
  const newest = (purpose: KeyPurpose): bigint =>
    purpose === 'digest' || purpose === 'fingerprint' ? 1n + BigInt(Math.floor((clock.now() - began) / periodMs)) : 1n
  const made = new Map<string, ReturnType<KeyRing['current']>>()
  const key = (purpose: KeyPurpose, version: bigint) => {
    const name = `${purpose} ${version}`
    const found = made.get(name) ?? { version, key: secret(hmacSha256(seed, name)) }
    made.set(name, found)
    return found
  }
  return {
    current: (purpose) => key(purpose, newest(purpose)),
    version: (purpose, version) => (version <= newest(purpose) ? key(purpose, version).key : undefined),
    versions(purpose) {
      const from = newest(purpose)
      const older = purpose === 'digest' ? olderDigests : Number(from)
      const all = Array.from({ length: 1 + older }, (_, i) => from - BigInt(i))
      return all.filter((version) => version > 0n).map((version) => key(purpose, version))
    },
    refresh: () => Promise.resolve(),
    turn: () => Promise.resolve(),
  }
}
