/** Verifies callbacks, signed by Standard Webhooks: https://www.standardwebhooks.com */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The headers of a request as `node:http` has them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** What a callback came with, and what proves it. */
export interface Signed {
  headers: Headers
  /** `whsec_` and base64, as `npx tollgate merchant signing-secret` shows it. */
  signingSecret: string
  /** Milliseconds since 1970; the clock of this machine without it. */
  now?: number
}

/** A recorded callback must not be believed for ever; clocks differ by less. */
const toleranceSeconds = 300

/**
 * Why the signature does not prove `payload`, the raw query of a callback or the raw body of its
 * form; undefined if it does.
 */
export function signatureComplaint(payload: string, { headers, signingSecret, now = Date.now() }: Signed): string | undefined {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`])
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'it has no signature'
  const expected = createHmac('sha256', keyOf(signingSecret)).update(`${id}.${timestamp}.${payload}`).digest()
  // While a secret is being replaced there may be one signature for each.
  if (!signatures.split(' ').some((one) => isSame(one, expected))) return 'its signature does not match'
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now / 1000 - seconds) <= toleranceSeconds)) return 'it was signed more than five minutes from now'
  return undefined
}

/** In constant time. */
function isSame(signature: string, expected: Buffer): boolean {
  if (!signature.startsWith('v1,')) return false
  const given = Buffer.from(signature.slice(3), 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** An empty or cut key would verify what anybody can sign. */
export function keyOf(signingSecret: string): Buffer {
  const encoded = signingSecret.replace(/^whsec_/, '')
  const key = Buffer.from(encoded, 'base64')
  if (key.length < 24 || key.toString('base64') !== encoded) throw new TypeError('signingSecret is not whsec_ and base64')
  return key
}
