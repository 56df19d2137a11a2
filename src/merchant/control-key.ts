import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { SealedTable } from '../keys/reseal.ts'
import type { KeyRing } from '../keys/ring.ts'

const controlContext = (merchantId: bigint) => `control:${merchantId}`

/** A control key as stored, with the version of the key that sealed it. */
export interface SealedControlKey {
  sealed: Buffer
  version: bigint
}

export function sealControlKey(key: Secret<string>, merchantId: bigint, keys: KeyRing, random: Random): SealedControlKey {
  const { version, key: by } = keys.current('control')
  return { sealed: seal(by, Buffer.from(key.reveal()), controlContext(merchantId), random), version }
}

/** Throws if the ring has no key of that version. */
export function openControlKey(
  { sealed, version }: SealedControlKey,
  merchantId: bigint,
  keys: Pick<KeyRing, 'version'>,
): Secret<string> {
  const key = keys.version('control', version)
  if (!key) throw new Error(`there is no control key ${version}, which seals a key of merchant ${merchantId}`)
  return secret(unseal(key, sealed, controlContext(merchantId)).toString())
}

/** The control keys in use, and those that a merchant has just replaced. */
export const sealedControlKeys: readonly SealedTable[] = ['control', 'previous'].map((which) => ({
  table: 'merchant',
  purpose: 'control',
  id: { merchant_id: 'bigint' },
  version: `${which}_key_version`,
  sealed: { [`${which}_key_sealed`]: controlContext },
}))
