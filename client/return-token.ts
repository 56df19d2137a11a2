/** Verifies the token of a returning cardholder: a JSON Web Token (RFC 7519) by HMAC-SHA256. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Fields } from './form.ts'
import { keyOf } from './webhook.ts'

/** Who is to believe a token, and what proves it. */
export interface TokenKey {
  login: string
  /** `whsec_` and base64, as `npx tollgate merchant signing-secret` shows it. */
  signingSecret: string
  /** Milliseconds since 1970; the clock of this machine without it. */
  now?: number
}

/** Fields of the return that the token repeats. */
const proven = ['status', 'orderid', 'client_orderid', 'type', 'amount', 'currency']
/** Clocks differ by less. */
const toleranceSeconds = 300

/** Why the token of a return does not prove its fields; undefined if it does. */
export function tokenComplaint(fields: Fields, { login, signingSecret, now = Date.now() }: TokenKey): string | undefined {
  const { token = '' } = fields
  if (token === '') return 'it has no token'
  const [header = '', payload = '', signature = '', ...rest] = token.split('.')
  const expected = createHmac('sha256', keyOf(signingSecret)).update(`${header}.${payload}`).digest()
  const given = Buffer.from(signature, 'base64url')
  const holds = rest.length === 0 && given.length === expected.length && timingSafeEqual(given, expected)
  // The algorithm in the header is ignored: there is only one, and the signature covers it.
  if (!holds) return 'its token is not signed by the gateway'
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  if (claims['aud'] !== login) return 'its token is for another merchant'
  if (!(Number(claims['exp']) + toleranceSeconds > now / 1000)) return 'its token is too old'
  const other = proven.find((name) => claims[name] !== fields[name])
  return other && `its ${other} is not what the token says`
}
