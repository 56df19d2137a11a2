import { sign, type KeyObject } from 'node:crypto'
import { baseStrings, percentEncoded } from './oauth.ts'

export interface ToSign {
  /** The URL of the whole operation, as merchants reach it. */
  url: string
  login: string
  nonce: string
  timestampSeconds: number
  bodyPairs: readonly (readonly [name: string, value: string])[]
}

/**
 * The text that a merchant signs, and the parameters that go into the header with the signature.
 */
export function baseStringOf({ url, login, nonce, timestampSeconds, bodyPairs }: ToSign) {
  const signed = [
    ['oauth_consumer_key', login],
    ['oauth_nonce', nonce],
    ['oauth_signature_method', 'RSA-SHA256'],
    ['oauth_timestamp', String(timestampSeconds)],
    ['oauth_version', '1.0'],
  ] as const
  const params = { login, nonce, timestampSeconds, signature: '', signed }
  return { baseString: baseStrings({ urls: [url], params, bodyPairs, parametersAlone: false })[0]!, signed }
}

/** Signs a request of v4 as specified in RFC 5849; docs/choices.md, "OAuth". */
export function signOauth(request: ToSign, key: KeyObject): { baseString: string; authorization: string } {
  const { baseString, signed } = baseStringOf(request)
  const signature = sign('sha256', Buffer.from(baseString), key).toString('base64')
  return { baseString, authorization: authorizationOf([...signed, ['oauth_signature', signature]]) }
}

export const authorizationOf = (params: readonly (readonly [name: string, value: string])[]): string =>
  `OAuth ${params.map(([name, value]) => `${name}="${percentEncoded(value)}"`).join(', ')}`
