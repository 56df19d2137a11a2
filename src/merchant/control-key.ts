import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { KeyRing } from '../keys/ring.ts'
import { sealedColumn, type SealedValue } from '../keys/sealed-column.ts'

const columnOf = (which: 'control' | 'previous') =>
  sealedColumn(
    { table: 'merchant', id: 'merchant_id', sealed: `${which}_key_sealed`, version: `${which}_key_version` },
    'control',
  )

const current = columnOf('control')

/** The control keys in use, and those that a merchant has just replaced. */
export const sealedControlKeys = [current.resealed, columnOf('previous').resealed]

export const sealControlKey = (key: Secret<string>, merchantId: bigint, keys: KeyRing, random: Random): Required<SealedValue> =>
  current.sealed(secret(Buffer.from(key.reveal())), merchantId, keys, random)

/** Throws if the ring has no key of that version. */
export const openControlKey = (value: SealedValue, merchantId: bigint, keys: Pick<KeyRing, 'version'>): Secret<string> =>
  secret(current.open(value, merchantId, keys)!.reveal().toString())
