/** Which certificates may sign a PARes: those with a path to a root of the card's own network. */
import { X509Certificate, type KeyObject } from 'node:crypto'
import type { InPieces } from '../../base/turn.ts'

/** The network's roots are three or four levels above the issuer. */
const most = { certificates: 8, issuers: 5, checks: 16 }
/** A larger key or exponent would cost more time than any issuer's signature needs. */
const keys = { leastBits: 1_024, mostBits: 8_192, mostExponent: 2n ** 32n }

/**
 * MD5 is excluded: certificates signed with it have been forged. SHA-1 has to be accepted, because
 * issuers of that time use it.
 */
const soundSignatures: ReadonlySet<string> = new Set([
  '2a864886f70d010105', // sha1WithRSAEncryption
  '2a864886f70d01010b', // sha256WithRSAEncryption
  '2a864886f70d01010c', // sha384WithRSAEncryption
  '2a864886f70d01010d', // sha512WithRSAEncryption
])

export type PaResSigner = { is: 'signer'; key: KeyObject } | { is: 'refused'; why: string }

const refused = (why: string): PaResSigner => ({ is: 'refused', why })

/**
 * The key of the one certificate that is not an authority and issued none of the others, which may
 * come in any order. Every certificate from it up to a root must be sound: RSA of 1024 to 8192
 * bits, valid at that time, every issuer an authority. `roots` are PEM; an unreadable root is a
 * configuration error and throws.
 */
export function* signerFinder(certificates: readonly string[], roots: readonly string[], atMs: number): InPieces<PaResSigner> {
  const trusted = roots.map((pem) => new X509Certificate(pem))
  if (certificates.length === 0) return refused('no certificate')
  if (certificates.length > most.certificates) return refused('too many certificates')
  const bag = new Map<string, X509Certificate>()
  for (const text of certificates) {
    const certificate = readCertificate(text)
    if (!certificate) return refused('a certificate that cannot be read, or is not RSA of 1024 to 8192 bits')
    bag.set(certificate.fingerprint256, certificate)
  }
  const given = [...bag.values()]
  const ends = given.filter((one) => !one.ca && !given.some((other) => other !== one && other.checkIssued(one)))
  const [leaf] = ends
  if (!leaf || ends.length > 1) return refused("not one certificate that may be the issuer's")
  if (trusted.some((root) => root.fingerprint256 === leaf.fingerprint256)) return refused('the signature is of a root')
  if (!isValid(leaf, atMs)) return refused('the certificate was not valid at the time of the purchase')
  const way = yield* wayUp(leaf, { given, trusted, atMs })
  if (way === 'too many checks') return refused('too many signatures to check')
  return way === 'a root' ? { is: 'signer', key: leaf.publicKey } : refused('no path to a root of the network')
}

/** DER in base64, with any white space. */
function readCertificate(text: string): X509Certificate | undefined {
  const bare = text.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) return undefined
  try {
    const certificate = new X509Certificate(Buffer.from(bare, 'base64'))
    return isStrong(certificate) ? certificate : undefined
  } catch {
    // OpenSSL could not read a certificate, or its key, from these bytes.
    return undefined
  }
}

function isStrong({ publicKey, raw }: X509Certificate): boolean {
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = publicKey.asymmetricKeyDetails ?? {}
  return (
    publicKey.asymmetricKeyType === 'rsa' &&
    bits >= keys.leastBits &&
    bits <= keys.mostBits &&
    exponent <= keys.mostExponent &&
    soundSignatures.has(signatureAlgorithmOf(raw))
  )
}

const isValid = ({ validFrom, validTo }: X509Certificate, atMs: number): boolean =>
  Date.parse(validFrom) <= atMs && atMs <= Date.parse(validTo)

interface Ground {
  given: readonly X509Certificate[]
  trusted: readonly X509Certificate[]
  atMs: number
}

/**
 * Level by level, each certificate once: the sender of the message also chose the certificates, and
 * eight of them can form a great many paths. Names and dates are compared before any signature is
 * checked.
 */
function* wayUp(leaf: X509Certificate, { given, trusted, atMs }: Ground): InPieces<'a root' | 'nowhere' | 'too many checks'> {
  let level = [leaf]
  let left = given.filter((one) => one !== leaf)
  let checks = 0
  for (let issuers = 0; issuers <= most.issuers && level.length > 0; issuers++) {
    const above = new Set<X509Certificate>()
    for (const certificate of level)
      for (const issuer of [...trusted, ...left]) {
        if (above.has(issuer) || !canIssue(issuer, certificate, atMs)) continue
        if (++checks > most.checks) return 'too many checks'
        yield ['signatures', 1]
        if (!certificate.verify(issuer.publicKey)) continue
        if (trusted.includes(issuer)) return 'a root'
        above.add(issuer)
      }
    left = left.filter((one) => !above.has(one))
    level = [...above]
  }
  return 'nowhere'
}

const canIssue = (issuer: X509Certificate, certificate: X509Certificate, atMs: number): boolean =>
  issuer.fingerprint256 !== certificate.fingerprint256 && issuer.ca && isValid(issuer, atMs) && certificate.checkIssued(issuer)

/**
 * The signature algorithm of a certificate, which Node 20 does not expose. In hex; empty if absent.
 * Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER … } …
 */
function signatureAlgorithmOf(der: Buffer): string {
  const tbs = valueAt(der, valueAt(der, 0).from)
  const identifier = valueAt(der, valueAt(der, tbs.to).from)
  return der.subarray(identifier.from, identifier.to).toString('hex')
}

/** The position of the content of the DER value at `at`. */
function valueAt(der: Buffer, at: number): { from: number; to: number } {
  const first = der[at + 1] ?? 0
  const extra = first < 0x80 ? 0 : first & 0x7f
  const length = extra === 0 ? first : extra <= 4 && at + 2 + extra <= der.length ? der.readUIntBE(at + 2, extra) : 0
  const from = at + 2 + extra
  return { from, to: from + length }
}
