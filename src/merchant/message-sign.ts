/** Signs a whole request, as a merchant does: docs/choices.md, "Signed requests". */
import { createHash, sign, type KeyObject } from 'node:crypto'
import { hmacSha256 } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'
import { signatureBase } from './message-signature.ts'

export interface MessageToSign {
  method: string
  url: URL
  body: Buffer
  idempotencyKey?: string | undefined
  login: string
  /** A signing secret, or the private half of an Ed25519 key. */
  key: { alg: 'hmac-sha256'; secret: Secret<Buffer> } | { alg: 'ed25519'; privateKey: KeyObject }
  nonce: string
  timestampSeconds: number
}

/** The headers to send, under their usual names; that of the idempotency key is one of them. */
export function signMessage(message: MessageToSign): Record<string, string> {
  const { method, url, body, idempotencyKey, login, key, nonce, timestampSeconds } = message
  const sent = {
    'Content-Digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
  }
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]))
  const components = ['@method', '@path', ...Object.keys(headers)]
  const list = components.map((name) => `"${name}"`).join(' ')
  const signed = `(${list});created=${timestampSeconds};nonce="${nonce}";keyid="${login}";alg="${key.alg}"`
  const base = signatureBase(components, signed, { method, path: url.pathname, headers })!
  const signature = key.alg === 'ed25519' ? sign(null, Buffer.from(base), key.privateKey) : hmacSha256(key.secret, base)
  return { ...sent, 'Signature-Input': `sig1=${signed}`, Signature: `sig1=:${signature.toString('base64')}:` }
}
