/**
 * OAuth 1.0a (RFC 5849) as the gateway API uses it: one merchant, no token, RSA-SHA256, the
 * parameters in the Authorization header.
 */
import { createHash, createPublicKey, createVerify, constants, type KeyObject } from 'node:crypto'
import { atOnce, turnBudget, type InPieces } from '../base/turn.ts'

type Pair = readonly [name: string, value: string]

/** The content of a header. Nothing of it is proved before the signature is verified. */
export interface Authorization {
  /** `oauth_consumer_key`. */
  login: string
  nonce: string
  timestampSeconds: number
  /** In base64, without the white space that RFC 2045, 6.8 has readers ignore. */
  signature: string
  /** All signed parameters of the header: everything but `realm` and the signature itself. */
  signed: readonly Pair[]
}

export type ReadAuthorization = { is: 'read'; params: Authorization } | { is: 'refused'; why: string }

/** More than any client sends, and few enough to be read in one turn. */
const maxParams = 32

/** Reads an `Authorization` header (RFC 5849, 3.5.1). RFC 7235 allows values without quotes. */
export function readAuthorization(header: string | readonly string[] | undefined): ReadAuthorization {
  if (typeof header !== 'string') return refused(header === undefined ? 'there is no Authorization header' : 'there are several')
  const scheme = /^ *OAuth[ \t]+/i.exec(header)
  if (!scheme) return refused('the scheme is not OAuth')
  const params = paramsOf(header, scheme[0].length)
  return typeof params === 'string' ? refused(params) : judged(params)
}

const refused = (why: string) => ({ is: 'refused', why }) as const

/**
 * A name with a quoted value (backslashes only in `realm`, which is not encoded), or with a bare
 * one, followed by a comma or the end.
 */
const param = /[ \t]*([A-Za-z0-9._~%-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;\\]*))[ \t]*(?:,|$)/y
const printable = /^[\x20-\x7e\t]*$/

/** A text is the error message. */
function paramsOf(header: string, from: number): Map<string, string> | string {
  if (!printable.test(header)) return 'the header has characters that are not printable ASCII'
  const params = new Map<string, string>()
  let hasRealm = false
  for (let at = from; at < header.length; at = param.lastIndex) {
    param.lastIndex = at
    const [, rawName, quoted, bare] = param.exec(header) ?? []
    if (rawName === undefined) return header.slice(at).trim() === '' ? params : 'the header is not a list of parameters'
    const raw = quoted ?? bare!
    if (rawName.toLowerCase() === 'realm') {
      if (hasRealm) return 'realm is given twice'
      hasRealm = true
      continue
    }
    const [name, value] = [decode(rawName), decode(raw)]
    if (name === undefined || value === undefined) return `${rawName} is not percent-encoded UTF-8`
    if (!name.startsWith('oauth_')) return `${name} is not a parameter of OAuth`
    if (params.has(name)) return `${name} is given twice`
    params.set(name, value)
    if (params.size > maxParams) return 'there are too many parameters'
  }
  return params
}

/**
 * Strict: a percent sign without two hexadecimal digits, bytes that are not UTF-8 and backslash
 * quoting are refused. A plus is a plus.
 */
function decode(text: string): string | undefined {
  if (text.includes('\\')) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Other parameters are signed but ignored, such as the empty `oauth_token` of some clients. */
function judged(params: ReadonlyMap<string, string>): ReadAuthorization {
  for (const name of ['consumer_key', 'nonce', 'signature', 'signature_method', 'timestamp'])
    if (!params.get(`oauth_${name}`)) return refused(`oauth_${name} is missing`)
  const [login, nonce, signature, method, timestamp] = [
    params.get('oauth_consumer_key')!,
    params.get('oauth_nonce')!,
    params.get('oauth_signature')!.replace(/[ \t\r\n]/g, ''),
    params.get('oauth_signature_method')!,
    params.get('oauth_timestamp')!,
  ]
  if (method !== 'RSA-SHA256') return refused('oauth_signature_method is not RSA-SHA256')
  if ((params.get('oauth_version') ?? '1.0') !== '1.0') return refused('oauth_version is not 1.0')
  if (!/^[1-9][0-9]{0,11}$/.test(timestamp)) return refused('oauth_timestamp is not a whole number of seconds')
  // It is stored, so it must be short and unambiguous in a log: printable ASCII without the space.
  if (!/^[\x21-\x7e]{1,64}$/.test(nonce)) return refused('oauth_nonce is not one to 64 printable characters without spaces')
  const signed = [...params].filter(([name]) => name !== 'oauth_signature')
  return { is: 'read', params: { login, nonce, timestampSeconds: Number(timestamp), signature, signed } }
}

const windowMs = 300_000

/** Whether a request was signed within five minutes of now, before or after: clocks differ. */
export const timestampHolds = (timestampSeconds: number, now: number): boolean =>
  Math.abs(timestampSeconds * 1000 - now) <= windowMs

export interface SignedRequest {
  /**
   * Every public address of this request, query or not: a gateway may be reached by several names.
   */
  urls: readonly string[]
  params: Authorization
  /** As sent: untrimmed, duplicates kept. */
  bodyPairs: readonly Pair[]
  /** Whether a signature may cover the parameters alone, and so neither method nor address. */
  parametersAlone: boolean
}

/**
 * The texts that a merchant may have signed. Clients sign the base string of RFC 5849, 3.4.1
 * (`POST&<url>&<parameters>`); the contract mentions only the normalised parameters, which an
 * endpoint may refuse. No text is of both kinds: every pair of parameters has an equals sign, and
 * `POST` has none.
 */
export function* baseStringMaker({ urls, params, bodyPairs, parametersAlone }: SignedRequest): InPieces<string[]> {
  const encodedPairs: Pair[] = []
  for (const [name, value] of [...params.signed, ...bodyPairs]) encodedPairs.push([yield* encoder(name), yield* encoder(value)])
  yield ['pairs', encodedPairs.length]
  const normalised = encodedPairs
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  const encoded = yield* encoder(normalised)
  const addresses = new Set(urls.map(normalisedUrl))
  const texts = [...addresses].map((url) => `POST&${percentEncoded(url)}&${encoded}`)
  return parametersAlone ? [...texts, normalised] : texts
}

/** The same in one go. */
export const baseStrings = (request: SignedRequest): string[] => atOnce(baseStringMaker(request))

/** Lower-case scheme and host, no default port, no query (RFC 5849, 3.4.1.2). */
function normalisedUrl(text: string): string {
  const { protocol, host, pathname } = new URL(text)
  return `${protocol}//${host}${pathname}`
}

/**
 * RFC 5849, 3.6: all but unreserved characters. encodeURIComponent leaves five more unencoded;
 * replacing those one by one takes a tenth of the time of a callback for each.
 */
export const percentEncoded = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll('!', '%21')
    .replaceAll("'", '%27')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
    .replaceAll('*', '%2A')

/** The same in pieces. No piece ends within a surrogate pair. */
function* encoder(text: string): InPieces<string> {
  let encoded = ''
  for (let from = 0; from < text.length;) {
    const most = from + turnBudget.bytes
    const to = most < text.length && /[\udc00-\udfff]/.test(text[most]!) ? most - 1 : Math.min(most, text.length)
    yield ['bytes', to - from]
    encoded += percentEncoded(text.slice(from, to))
    from = to
  }
  return encoded
}

/** Encoded text is ASCII, so that code units are bytes. */
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Whether `signature` is an RSASSA-PKCS1-v1_5 signature with SHA-256 over any of the texts by any
 * of the keys. Every combination is tried, with a decoy for missing keys, so that the time does not
 * reveal whether the merchant exists. *Rejected:* opening the signature once per key and comparing
 * hashes, which is faster but leaves the padding to our own code.
 */
export function* signatureVerifier(texts: readonly string[], signature: string, keys: readonly KeyObject[]): InPieces<boolean> {
  const bytes = signatureBytes(signature)
  if (!bytes) return false
  let holds = false
  // As many keys as a merchant has while it changes its key.
  for (let i = 0; i < Math.max(2, keys.length); i++) {
    const own = keys[i] !== undefined && publicKeyComplaint(keys[i]!) === undefined
    const key = { key: own ? keys[i]! : decoy, padding: constants.RSA_PKCS1_PADDING }
    for (const text of texts) {
      const hashed = createVerify('sha256')
      for (let from = 0; from < text.length; from += turnBudget.bytes) {
        const piece = text.slice(from, from + turnBudget.bytes)
        yield ['bytes', piece.length]
        hashed.update(piece)
      }
      yield ['signatures', 1]
      holds = (hashed.verify(key, bytes) && own) || holds
    }
  }
  return holds
}

/** Undefined if no accepted key makes such a signature. */
export function signatureBytes(signature: string): Buffer | undefined {
  const bytes = Buffer.from(signature, 'base64')
  const fits = bytes.length >= leastBits / 8 && bytes.length <= mostBits / 8 && bytes.toString('base64') === signature
  return fits ? bytes : undefined
}

/** The same in one go. */
export const signatureHolds = (texts: readonly string[], signature: string, keys: readonly KeyObject[]): boolean =>
  atOnce(signatureVerifier(texts, signature, keys))

const leastBits = 2048
/** A larger key or exponent would cost more time per request than it adds in security. */
const mostBits = 8192
const leastExponent = 65_537n
const mostExponent = 2n ** 32n

/** Why a public key cannot be used here; undefined if it can. */
export function publicKeyComplaint(key: KeyObject): string | undefined {
  if (key.asymmetricKeyType !== 'rsa')
    return `it is a key for ${key.asymmetricKeyType}; v4 calls need one for RSA, requests signed as a whole one for Ed25519`
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits < leastBits) return `it has ${bits} bits, and at least ${leastBits} are needed`
  if (bits > mostBits) return `it has ${bits} bits, and at most ${mostBits} are taken`
  if (exponent < leastExponent || exponent > mostExponent || exponent % 2n === 0n)
    return `its public exponent is ${exponent}; it must be odd and at least ${leastExponent}, which is the usual one`
  return undefined
}

/** A modulus with unknown factors. A signature that it verifies would not count anyway. */
const decoy = decoyKey()

function decoyKey(): KeyObject {
  const parts = Array.from({ length: leastBits / 256 }, (_, i) => createHash('sha256').update(`decoy ${i}`).digest())
  const modulus = Buffer.concat(parts)
  modulus[0]! |= 0x80
  modulus[modulus.length - 1]! |= 1
  return createPublicKey({ key: { kty: 'RSA', n: modulus.toString('base64url'), e: 'AQAB' }, format: 'jwk' })
}
