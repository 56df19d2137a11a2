import { baseStrings, percentEncoded } from './oauth.ts'

export interface ToSign {
  /** Of the whole operation, as merchants reach it. */
  url: string
  login: string
  nonce: string
  timestampSeconds: number
  bodyPairs: readonly (readonly [name: string, value: string])[]
}

/** What a merchant signs, and the parameters that go into the header with the signature. */
export function baseStringOf({ url, login, nonce, timestampSeconds, bodyPairs }: ToSign) {
  const signed = [
    ['oauth_consumer_key', login],
    ['oauth_nonce', nonce],
    ['oauth_signature_method', 'RSA-SHA256'],
    ['oauth_timestamp', String(timestampSeconds)],
    ['oauth_version', '1.0'],
  ] as const
  const params = { login, nonce, timestampSeconds, signature: '', signed }
  return { baseString: baseStrings({ urls: [url], params, bodyPairs })[0]!, signed }
}

export const authorizationOf = (params: readonly (readonly [name: string, value: string])[]): string =>
  `OAuth ${params.map(([name, value]) => `${name}="${percentEncoded(value)}"`).join(', ')}`
