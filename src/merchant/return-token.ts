/**
 * Proves to a shop what the browser of a returning cardholder brings: a JSON Web Token (RFC 7519)
 * by HMAC-SHA256, for which there are libraries in most languages.
 */
import { hmacSha256 } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'

export interface ReturnClaims {
  status: string
  orderid: string
  client_orderid: string
  type: string
  amount: string
  currency: string
}

/** A cardholder may leave the gateway's page open for a while before going back. */
const validSeconds = 3_600

const header = encoded({ alg: 'HS256', typ: 'JWT' })

/** `key` is the signing secret of the merchant; what else it signs cannot look like a token. */
export function returnToken(claims: ReturnClaims, merchant: { login: string; key: Secret<Buffer> }, now: number): string {
  const iat = Math.floor(now / 1000)
  const signed = `${header}.${encoded({ iss: 'tollgate', aud: merchant.login, iat, exp: iat + validSeconds, ...claims })}`
  return `${signed}.${hmacSha256(merchant.key, signed).toString('base64url')}`
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
