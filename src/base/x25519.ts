/** X25519 (RFC 7748) with keys of 32 raw bytes. */
import { createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto'
import type { Random } from './random.ts'
import { secret, type Secret } from './secret.ts'

/** DER in front of the raw bytes (RFC 8410). */
const privatePrefix = Buffer.from('302e020100300506032b656e04220420', 'hex')
const publicPrefix = Buffer.from('302a300506032b656e032100', 'hex')

export const rawBytes = 32

export interface KeyExchange {
  publicKey: Buffer
  /** What only the owners of both keys can compute. Throws for a key that no honest party has. */
  sharedWith(publicKey: Buffer): Secret<Buffer>
}

/** A new pair of keys, in memory alone. */
export function openKeyExchange(random: Random): KeyExchange {
  const der = Buffer.concat([privatePrefix, random.bytes(rawBytes)])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(publicPrefix.length)
  const keyOf = (raw: Buffer) => createPublicKey({ key: Buffer.concat([publicPrefix, raw]), format: 'der', type: 'spki' })
  return { publicKey, sharedWith: (other) => secret(diffieHellman({ privateKey, publicKey: keyOf(other) })) }
}
