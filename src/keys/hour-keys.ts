import { hmacSha256 } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'

export interface NumberedKey {
  version: bigint
  key: Secret<Buffer>
}

/**
 * The keys that seal a CVV2 while its order waits: one for each hour, destroyed within a day, and
 * never in the database, so that no backup can open a CVV2.
 */
export interface HourKeys {
  /** The key of this hour. */
  current(): NumberedKey
  /** Undefined when that key was destroyed or lost. */
  version(version: bigint): Secret<Buffer> | undefined
  /** Creates the keys of this hour and the next, destroys old ones. Call it every few minutes. */
  turn(): Promise<void>
}

const hourMs = 3_600_000
/** A key is destroyed well within a day of its hour. */
export const keptHours = 20

export const hourAt = (now: number): number => Math.floor(now / hourMs)

/**
 * The version names the hour and, in its lower 32 bits, which key of that hour it is: after a
 * reboot an hour has a second key, and what the first one sealed must not be tried with it. These
 * bits of a keyed hash reveal nothing of the key.
 */
export const numbered = (hour: number, key: Secret<Buffer>): NumberedKey => ({
  key,
  version: (BigInt(hour) << 32n) | BigInt(hmacSha256(key, 'tollgate hour key id').readUInt32BE()),
})

export const hourOf = (version: bigint): number => Number(version >> 32n)
