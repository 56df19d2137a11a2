/**
 * Signs whole requests: HTTP Message Signatures (RFC 9421) by HMAC-SHA256, with a digest of the
 * body (RFC 9530).
 */
import { createHash, createHmac } from 'node:crypto'
import { keyOf } from './webhook.ts'

export interface MessageToSign {
  method: string
  url: string
  body: string
  /** Signed besides method, path and body; names in lower case. */
  headers: Readonly<Record<string, string>>
  login: string
  /** `whsec_` and base64. */
  signingSecret: string
  nonce: string
  timestampSeconds: number
}

/** The headers to send besides those given. */
export function signatureHeaders(message: MessageToSign): Record<string, string> {
  const { method, url, body, headers, login, signingSecret, nonce, timestampSeconds } = message
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
  const covered = Object.entries({ '@method': method, '@path': new URL(url).pathname, 'content-digest': digest, ...headers })
  const list = covered.map(([name]) => `"${name}"`).join(' ')
  const signed = `(${list});created=${timestampSeconds};nonce="${nonce}";keyid="${login}";alg="hmac-sha256"`
  const base = [...covered, ['@signature-params', signed] as const].map(([name, value]) => `"${name}": ${value}`).join('\n')
  const signature = createHmac('sha256', keyOf(signingSecret)).update(base).digest('base64')
  return { 'content-digest': digest, 'signature-input': `sig1=${signed}`, signature: `sig1=:${signature}:` }
}
