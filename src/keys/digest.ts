import { hmacSha256 } from '../base/digest.ts'
import type { KeyRing } from './ring.ts'

/**
 * A keyed digest of a request. What is stored names the version of its key, so that a repeat can be
 * compared with the row that it may repeat while the key is being replaced.
 */
export interface KeyedDigest {
  /** Under the current key. */
  readonly stored: Buffer
  /** Under the key of that stored digest; undefined if the key was destroyed. */
  under(row: Buffer): Buffer | undefined
}

const versionBytes = 4

export function keyedDigest(keys: Pick<KeyRing, 'current' | 'version'>, text: string): KeyedDigest {
  const current = keys.current('digest')
  const stored = withVersion(current.version, hmacSha256(current.key, text))
  return {
    stored,
    under(row) {
      const version = digestVersion(row)
      if (version === current.version) return stored
      const key = keys.version('digest', version)
      return key && withVersion(version, hmacSha256(key, text))
    },
  }
}

/** A digest whose text is no longer known: it can be compared only as it was stored. */
export const storedDigest = (stored: Buffer): KeyedDigest => ({ stored, under: () => stored })

export const isSameRequest = (asked: KeyedDigest, row: Buffer): boolean => asked.under(row)?.equals(row) ?? false

function withVersion(version: bigint, digest: Buffer): Buffer {
  const prefix = Buffer.alloc(versionBytes)
  prefix.writeUInt32BE(Number(version))
  return Buffer.concat([prefix, digest])
}

/** Hashes of one text: under the current key first, then under the older ones. */
export type KeyedHashes = readonly [Buffer, ...Buffer[]]

/**
 * Digests of 128 bits; each names the version of its key. New counts are kept under the first; a
 * limit adds up the counts under all of them.
 */
export function keyedHashes(keys: Pick<KeyRing, 'versions'>, purpose: 'digest' | 'fingerprint', text: string): KeyedHashes {
  const [current, ...older] = keys
    .versions(purpose)
    .map(({ version, key }) => withVersion(version, hmacSha256(key, text).subarray(0, 16)))
  return [current!, ...older]
}

/** The version of the key, in the first four bytes. */
export const digestVersion = (row: Buffer): bigint => BigInt(row.readUInt32BE())
