import type { Random } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import type { NumberedKey } from '../../../src/keys/hour-keys.ts'
import type { KeyPurpose, KeyRing } from '../../../src/keys/ring.ts'

/** Keys that never rotate. */
export function openFixedKeys(random: Random): KeyRing {
  const made = new Map<KeyPurpose, NumberedKey>(
    (['pan', 'cvv2', 'control', 'card-id', 'fingerprint', 'digest', 'receipt', 'audit'] as const).map((purpose) => [
      purpose,
      { version: 1n, key: secret(random.bytes(32)) },
    ]),
  )
  return {
    current: (purpose) => made.get(purpose)!,
    version: (purpose, version) => (version === 1n ? made.get(purpose)!.key : undefined),
    versions: (purpose) => [made.get(purpose)!],
    refresh: () => Promise.resolve(),
    turn: () => Promise.resolve(),
  }
}
