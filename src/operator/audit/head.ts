/** The signed end of the audit trail: evidence that rows up to it were there at a certain time. */
import { createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { privateKeyOf, rawPublicKey } from '../../base/ed25519.ts'
import { objectIn } from '../../base/json.ts'
import { lengthPrefixed } from '../../storage/audit-chain.ts'
import type { ChainHead } from '../../storage/audit-rows.ts'
import type { KeyRing } from '../../keys/ring.ts'

/** As exported: JSON with these names. */
export interface SignedHead {
  no: string
  /** Hexadecimal. */
  hash: string
  at: string
  /** Version of the key in the key ring. */
  key: string
  /** Raw Ed25519 public key, base64; for people who keep it elsewhere, never believed by itself. */
  public_key: string
  signature: string
}

const signedBytes = ({ no, hash, at, key }: Pick<SignedHead, 'no' | 'hash' | 'at' | 'key'>) =>
  lengthPrefixed(['tollgate audit head 1', no, hash, at, key])

export function signHead(head: ChainHead, keys: KeyRing, now: number): SignedHead {
  const { version, key } = keys.current('audit')
  const privateKey = privateKeyOf(key)
  const contents = { no: String(head.no), hash: head.hash, at: new Date(now).toISOString(), key: String(version) }
  return {
    ...contents,
    public_key: rawPublicKey(privateKey).toString('base64'),
    signature: sign(null, signedBytes(contents), privateKey).toString('base64'),
  }
}

/** The public key, from the key ring; undefined for a version that is not there. */
export function auditPublicKey(keys: KeyRing, version: bigint): KeyObject | undefined {
  const seed = keys.version('audit', version)
  return seed && createPublicKey(privateKeyOf(seed))
}

const forms = { no: /^\d{1,18}$/, hash: /^[0-9a-f]{64}$/, at: /^/, key: /^\d{1,18}$/, public_key: /^/, signature: /^/ }

/** Undefined if the text is not what `signHead` makes. */
export function readSignedHead(text: string): SignedHead | undefined {
  const head = objectIn(text) ?? {}
  const fits = Object.entries(forms).every(([name, form]) => typeof head[name] === 'string' && form.test(head[name]))
  return fits ? (head as unknown as SignedHead) : undefined
}

export const headHolds = (head: SignedHead, key: KeyObject): boolean =>
  verify(null, signedBytes(head), key, Buffer.from(head.signature, 'base64'))
