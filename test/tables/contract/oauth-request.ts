import assert from 'node:assert/strict'
import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  baseStrings,
  readAuthorization,
  signatureHolds,
  type Authorization,
  type SignedRequest,
} from '../../../src/merchant/oauth.ts'
import { readForm } from '../../../src/spec/form.ts'

// A request that a client of another's making signed. Its private key is not here.
export const signature = [
  'iREtHnAYh9H9Ss5g5QvyROrPvKMCM4R/GPsxMA83fV/g4Z7RC9d3St1IcLeAUBgxWNnzPalnId426iaZACqXzs8wjLAZKh1IXn5jc3w0GGJI',
  'JYbpbD07TFIHR730CyHIx+0nKlA5Te6yOi56t17PqxhfoBqCIn+P8uO913j7FyNil+DlvWGOgoQf2OKxAZ6wOrQT3Zcv+CPf9zthV5A4TeNG',
  'Rf35nCioATfXkbFygCoqhYDNCYcMcJaWBNF/9+XkZlRzflpIRVa2xHyH36rPoAjpIQ6WsBcO5rHdpEeF7Pp2mpiE0up6mVr1GQmKW5R9eGRo',
  '+wNwIk5Tm8+DyuMq/w==',
].join('')
export const publicKey = createPublicKey(`-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAyc1FZ6kIQ1hdh6cQDHMq
O3/rnCBCUtwEBxtBE/3cSdKrLBspiI3c3pSd1yPqE6tsvU04pkI7bo6Hoes5eOFq
1wmySwlA1rDY5Ye4ZgaK6VOrSVYcNeOuggMZJLTyR5DKiWBdHn3oCHzsFKLU88GO
LRpTeolitGjCeWVoVqWQ24Gqe9r60VynwjevyXk1HbDiOzwHmcNJntOI2fC6L2vR
VSG1cziWhRsElK6DL13ryAfKzg+e3N1Qi08RN2hjTM/vQy5ehgpvFmdVEh5oh8m6
oLxi8kLMATxXFcxYHewaYGbPiQM2A4fGRgDb4wORfbtG+mJ29zKZt/vUZQrb0sSs
KQIDAQAB
-----END PUBLIC KEY-----`)
const url = 'https://gateway.example/paynet/api/v4/create-card-ref/1144'
const body = 'client_orderid=902B4FF5&orderid=4444444'
export const signedText =
  'POST&https%3A%2F%2Fgateway.example%2Fpaynet%2Fapi%2Fv4%2Fcreate-card-ref%2F1144&client_orderid%3D902B4FF5%26oauth_consumer_key%3Dtest-merchant' +
  '%26oauth_nonce%3Dabcdef0123456789%26oauth_signature_method%3DRSA-SHA256%26oauth_timestamp%3D1700000000%26oauth_version%3D1.0%26orderid%3D4444444'

type Params = Record<string, string>
export const usual: Params = {
  oauth_consumer_key: 'test-merchant',
  oauth_nonce: 'abcdef0123456789',
  oauth_signature: signature,
  oauth_signature_method: 'RSA-SHA256',
  oauth_timestamp: '1700000000',
  oauth_version: '1.0',
}
export const headerOf = (params: Params) =>
  `OAuth ${Object.entries(params)
    .map(([name, value]) => `${name}="${encodeURIComponent(value)}"`)
    .join(', ')}`

export function read(header: string): Authorization {
  const answer = readAuthorization(header)
  assert.ok(answer.is === 'read', answer.is === 'refused' ? `${answer.why}: ${header}` : '')
  return answer.params
}

export const pairs = (form: string) => readForm(Buffer.from(form))!
export const asked = (changes: Partial<SignedRequest> = {}): SignedRequest => ({
  urls: [url],
  params: read(headerOf(usual)),
  bodyPairs: pairs(body),
  parametersAlone: false,
  ...changes,
})
export const holds = (request: SignedRequest, keys: readonly KeyObject[] = [publicKey]) =>
  signatureHolds(baseStrings(request), request.params.signature, keys)

// oxfmt-ignore
export const encodings: readonly (readonly [text: string, encoded: string])[] = [
  ["!'()*",         '%21%27%28%29%2A'],
  ['John Smith',    'John%20Smith'],
  ['a+b',           'a%2Bb'],
  ['abcXYZ019-._~', 'abcXYZ019-._~'],
  ['é',             '%C3%A9'],
]
