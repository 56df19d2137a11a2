/** Ed25519 keys as 32 raw bytes (RFC 8032): the seed of a private key, and a public key. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Secret } from './secret.ts'

/** DER in front of the raw bytes (RFC 8410). */
const seedPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex')

export const privateKeyOf = (seed: Secret<Buffer>): KeyObject =>
  createPrivateKey({ key: Buffer.concat([seedPrefix, seed.reveal()]), format: 'der', type: 'pkcs8' })

/** The public half, of a private key too. */
export const rawPublicKey = (key: KeyObject): Buffer =>
  (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'der', type: 'spki' }).subarray(publicPrefix.length)

/** Undefined if it is not 32 bytes. */
export const publicKeyOf = (raw: Buffer): KeyObject | undefined =>
  raw.length === 32 ? createPublicKey({ key: Buffer.concat([publicPrefix, raw]), format: 'der', type: 'spki' }) : undefined
