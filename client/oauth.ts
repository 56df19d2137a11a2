/** OAuth 1.0a (RFC 5849) of v4: RSA-SHA256, no token, parameters in the Authorization header. */
import { sign, type KeyObject } from 'node:crypto'
import type { Pairs } from './form.ts'

export interface ToSign {
  url: string
  login: string
  key: KeyObject
  /** The parameters of the body, as they are sent. */
  body: Pairs
  nonce: string
  timestampSeconds: number
}

/** The Authorization header of a request. */
export function authorizationOf({ url, login, key, body, nonce, timestampSeconds }: ToSign): string {
  const params: Pairs = [
    ['oauth_consumer_key', login],
    ['oauth_nonce', nonce],
    ['oauth_signature_method', 'RSA-SHA256'],
    ['oauth_timestamp', String(timestampSeconds)],
    ['oauth_version', '1.0'],
  ]
  const signature = sign('sha256', Buffer.from(baseString(url, [...params, ...body])), key).toString('base64')
  const shown = [...params, ['oauth_signature', signature] as const]
  return `OAuth ${shown.map(([name, value]) => `${percentEncoded(name)}="${percentEncoded(value)}"`).join(', ')}`
}

/** The signed text: method, address without query, all parameters in order (RFC 5849, 3.4.1). */
export function baseString(url: string, parameters: Pairs): string {
  const { protocol, host, pathname } = new URL(url)
  const normalised = parameters
    .map(([name, value]) => [percentEncoded(name), percentEncoded(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map((pair) => pair.join('='))
    .join('&')
  return ['POST', `${protocol}//${host}${pathname}`, normalised].map(percentEncoded).join('&')
}

/** RFC 5849, 3.6. encodeURIComponent leaves five more as they are. */
export const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
