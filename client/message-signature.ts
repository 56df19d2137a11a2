/**
 * Signs whole requests: HTTP Message Signatures (RFC 9421) by HMAC-SHA256 or Ed25519, with a digest
 * of the body (RFC 9530).
 */
import { createHash, createHmac, sign, type KeyObject } from 'node:crypto'
import { keyOf } from './webhook.ts'

export interface MessageToSign {
  method: string
  url: string
  body: string
  /** Signed besides method, path and body; names in lower case. */
  headers: Readonly<Record<string, string>>
  login: string
  /** A signing secret, `whsec_` and base64, or the private half of an Ed25519 key. */
  key: string | KeyObject
  nonce: string
  timestampSeconds: number
}

/** The headers to send besides those given. */
export function signatureHeaders(message: MessageToSign): Record<string, string> {
  const { method, url, body, headers, login, key, nonce, timestampSeconds } = message
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
  const covered = Object.entries({ '@method': method, '@path': new URL(url).pathname, 'content-digest': digest, ...headers })
  const list = covered.map(([name]) => `"${name}"`).join(' ')
  const alg = typeof key === 'string' ? 'hmac-sha256' : 'ed25519'
  const signed = `(${list});created=${timestampSeconds};nonce="${nonce}";keyid="${login}";alg="${alg}"`
  const base = [...covered, ['@signature-params', signed] as const].map(([name, value]) => `"${name}": ${value}`).join('\n')
  const signature =
    typeof key === 'string' ? createHmac('sha256', keyOf(key)).update(base).digest() : sign(null, Buffer.from(base), key)
  return { 'content-digest': digest, 'signature-input': `sig1=${signed}`, signature: `sig1=:${signature.toString('base64')}:` }
}
