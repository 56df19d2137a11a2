/** Verifies callbacks, signed by Standard Webhooks: https://www.standardwebhooks.com */
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'

/** The headers of a request as `node:http` has them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The contents of a callback, and their proof. */
export interface Signed {
  headers: Headers
  /**
   * `whsec_` and base64, as `npx tollgate merchant signing-secret` shows it, or the public key of
   * `npx tollgate merchant signing-key`, `whpk_` and base64.
   */
  verifyWith: string
  /** Milliseconds since 1970; the clock of this machine without it. */
  now?: number
}

/** A recorded callback must not be accepted forever; clocks differ by less. */
const toleranceSeconds = 300

/**
 * Why the signature does not prove `payload`, the raw query of a callback or the raw body of its
 * form; undefined if it does.
 */
export function signatureComplaint(payload: string, { headers, verifyWith, now = Date.now() }: Signed): string | undefined {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`])
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'it has no signature'
  const holds = verifierOf(`${id}.${timestamp}.${payload}`, verifyWith)
  // There may be one signature for each kind of key.
  if (!signatures.split(' ').some(holds)) return 'its signature does not match'
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now / 1000 - seconds) <= toleranceSeconds)) return 'it was signed more than five minutes from now'
  return undefined
}

/** Whether one signature of the header is of this text, by this key. */
function verifierOf(text: string, key: string): (signature: string) => boolean {
  if (key.startsWith('whpk_')) {
    const publicKey = publicKeyOf(key)
    return (one) => one.startsWith('v1a,') && verify(null, Buffer.from(text), publicKey, Buffer.from(one.slice(4), 'base64'))
  }
  const expected = createHmac('sha256', keyOf(key)).update(text).digest()
  return (one) => one.startsWith('v1,') && isSame(Buffer.from(one.slice(3), 'base64'), expected)
}

/** In constant time. */
const isSame = (given: Buffer, expected: Buffer): boolean => given.length === expected.length && timingSafeEqual(given, expected)

function publicKeyOf(text: string) {
  const raw = Buffer.from(text.slice('whpk_'.length), 'base64')
  if (raw.length !== 32) throw new TypeError('the public key is not whpk_ and base64 of 32 bytes')
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') } })
}

/** An empty or cut key would verify what anybody can sign. */
export function keyOf(signingSecret: string): Buffer {
  const encoded = signingSecret.replace(/^whsec_/, '')
  const key = Buffer.from(encoded, 'base64')
  if (key.length < 24 || key.toString('base64') !== encoded) throw new TypeError('signingSecret is not whsec_ and base64')
  return key
}
