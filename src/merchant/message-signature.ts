/**
 * Signatures of whole requests: HTTP Message Signatures (RFC 9421) by HMAC-SHA256 or Ed25519, over
 * a digest of the body (RFC 9530). Stricter than the RFC: one signature, no parameters of
 * components.
 */
import { createHash, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import { hmacSha256 } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'

export interface SignedMessage {
  method: string
  /** As sent, without the query. */
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

/** Whose signatures are accepted, and by which keys. */
export interface Signer {
  keyid: string
  /** For `hmac-sha256`. */
  secret: Secret<Buffer> | undefined
  /** For `ed25519`; keys of other kinds are passed over. */
  publicKeys: readonly KeyObject[]
}

export type SignatureVerdict = { is: 'signed'; nonce: string; createdSeconds: number } | { is: 'wrong'; why: string }

const wrong = (why: string): SignatureVerdict => ({ is: 'wrong', why })

/** Half a signature counts as one, or somebody could drop the other half to pass as unsigned. */
export const hasSignature = ({ headers }: Pick<SignedMessage, 'headers'>): boolean =>
  headers['signature'] !== undefined || headers['signature-input'] !== undefined

/** Any label, then the covered components and the parameters. */
const inputForm =
  /^[ \t]*([a-z*][a-z0-9_.*-]*)=(\(((?:"[^"\\]*"(?: "[^"\\]*")*)?)\)((?:;[a-z*][a-z0-9_.*-]*=(?:"[^"\\]*"|\d{1,15}))*))[ \t]*$/
const signatureForm = /^[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]+={0,2}):[ \t]*$/
const parameterForm = /;([a-z*][a-z0-9_.*-]*)=(?:"([^"\\]*)"|(\d{1,15}))/g

const parameters = ['created', 'nonce', 'keyid', 'alg']

/** The caller uses up the nonce once everything else holds. */
export function judgeSignature(
  message: SignedMessage,
  signer: Signer,
  timeHolds: (createdSeconds: number) => boolean,
): SignatureVerdict {
  const [, label, signed = '', list = '', rest = ''] = inputForm.exec(String(message.headers['signature-input'] ?? '')) ?? []
  const [, sameLabel, encoded = ''] = signatureForm.exec(String(message.headers['signature'] ?? '')) ?? []
  if (label === undefined || label !== sameLabel) return wrong('Signature and Signature-Input are not one signature')
  const given = [...rest.matchAll(parameterForm)].map(([, name, text, number]) => [name!, text ?? number!] as const)
  const { created = '', nonce = '', keyid, alg } = Object.fromEntries(given)
  if (
    given
      .map(([name]) => name)
      .sort()
      .join() !== parameters.toSorted().join()
  )
    return wrong(`its parameters are not ${parameters.join(', ')}, each once`)
  const holds = verifiers.get(alg)
  if (!holds) return wrong('alg is neither hmac-sha256 nor ed25519')
  if (keyid !== signer.keyid) return wrong('keyid is not the login of the merchant')
  if (!/^[\x21-\x7e]{1,64}$/.test(nonce)) return wrong('nonce is not one to 64 printable characters without spaces')
  const components = list.split(' ').map((quoted) => quoted.slice(1, -1))
  const complaint = coverageComplaint(components, message)
  if (complaint !== undefined) return wrong(complaint)
  const base = signatureBase(components, signed, message)
  if (base === undefined) return wrong('it covers a component that is absent or unknown here')
  if (!timeHolds(Number(created))) return wrong('created is more than five minutes away')
  if (!holds(base, Buffer.from(encoded, 'base64'), signer)) return wrong('it does not match')
  return digestHolds(message) ? { is: 'signed', nonce, createdSeconds: Number(created) } : wrong('the body has another sha-256')
}

/** By the name of the algorithm in the registry of the RFC. */
const verifiers = new Map<string | undefined, (base: string, signature: Buffer, signer: Signer) => boolean>([
  [
    'hmac-sha256',
    (base, signature, { secret }) => {
      const expected = secret && hmacSha256(secret, base)
      return expected !== undefined && signature.length === expected.length && timingSafeEqual(signature, expected)
    },
  ],
  [
    'ed25519',
    (base, signature, { publicKeys }) =>
      publicKeys.some((key) => key.asymmetricKeyType === 'ed25519' && verify(null, Buffer.from(base), key, signature)),
  ],
])

function coverageComplaint(components: readonly string[], { headers }: SignedMessage): string | undefined {
  if (new Set(components).size !== components.length) return 'it covers a component twice'
  const needed = ['@method', '@path', 'content-digest', ...(headers['idempotency-key'] === undefined ? [] : ['idempotency-key'])]
  const missing = needed.find((name) => !components.includes(name))
  return missing && `it does not cover ${missing}`
}

/**
 * The text that is signed (RFC 9421, 2.5). `signed` is the list of components with all parameters,
 * as sent. Undefined if a component has no value.
 */
export function signatureBase(
  components: readonly string[],
  signed: string,
  message: Pick<SignedMessage, 'method' | 'path' | 'headers'>,
): string | undefined {
  const values = components.map((name) => valueOf(name, message))
  if (values.includes(undefined)) return undefined
  return [...components.map((name, i) => `"${name}": ${values[i]}`), `"@signature-params": ${signed}`].join('\n')
}

function valueOf(
  component: string,
  { method, path, headers }: Pick<SignedMessage, 'method' | 'path' | 'headers'>,
): string | undefined {
  if (component === '@method') return method
  if (component === '@path') return path
  if (component === '@authority') return one(headers['host'])?.toLowerCase()
  return /^[a-z0-9-]+$/.test(component) ? one(headers[component]) : undefined
}

const one = (value: string | string[] | undefined): string | undefined => (typeof value === 'string' ? value.trim() : undefined)

/** `sha-256=:…:`, perhaps beside other digests. */
function digestHolds({ headers, body }: SignedMessage): boolean {
  const sent = String(headers['content-digest'] ?? '').split(',')
  return sent.some((each) => each.trim() === `sha-256=:${createHash('sha256').update(body).digest('base64')}:`)
}
