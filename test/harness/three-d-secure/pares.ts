/**
 * Throw-away networks of 3-D Secure 1.0.2, and PARes signed in the shape of real issuers, of which
 * a test can forge every part.
 */
import 'reflect-metadata'
import { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509CertificateGenerator } from '@peculiar/x509'
import { createHash, KeyObject, sign, webcrypto } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import type { ExpectedPares } from '../../../src/three-d-secure/legacy/pares.ts'

export interface Party {
  pem: string
  /** DER in base64, as XML carries it. */
  text: string
  name: string
  key: KeyObject
  /** For certificates below. */
  signingKey: webcrypto.CryptoKey
}

export interface PartyParts {
  issuer?: Party
  isAuthority?: boolean
  /** Without it a certificate says by basicConstraints alone what it may do. */
  keyUsage?: boolean
  bits?: number
  /** What the certificate says the key is; the party signs with another. */
  publicKey?: webcrypto.CryptoKey
  notBefore?: Date
  notAfter?: Date
}

export const purchasedAt = Date.UTC(2024, 4, 17, 12, 0, 0)
const days = (count: number): Date => new Date(purchasedAt + count * 86_400_000)
let serial = 0

export async function makeParty(name: string, parts: PartyParts = {}): Promise<Party> {
  const { issuer, isAuthority = false, keyUsage = true, bits = 1024, notBefore = days(-300), notAfter = days(300) } = parts
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: bits, publicExponent: new Uint8Array([1, 0, 1]) }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  serial++
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serial.toString(16).padStart(4, '1'),
    subject: `CN=${name}`,
    issuer: issuer?.name ?? `CN=${name}`,
    notBefore,
    notAfter,
    signingAlgorithm: algorithm,
    publicKey: parts.publicKey ?? keys.publicKey,
    signingKey: issuer?.signingKey ?? keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      ...(keyUsage
        ? [new KeyUsagesExtension(isAuthority ? KeyUsageFlags.keyCertSign : KeyUsageFlags.digitalSignature, true)]
        : []),
    ],
  })
  return {
    pem: certificate.toString('pem'),
    text: Buffer.from(certificate.rawData).toString('base64'),
    name: certificate.subject,
    key: KeyObject.from(keys.privateKey),
    signingKey: keys.privateKey,
  }
}

/** A public key of so many bits. It has no private key: to find primes takes half a minute. */
export function publicKeyOf(bits: number): Promise<webcrypto.CryptoKey> {
  const modulus = Buffer.alloc(bits / 8, 0xff).toString('base64url')
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  return webcrypto.subtle.importKey('jwk', { kty: 'RSA', n: modulus, e: 'AQAB' }, algorithm, true, ['verify'])
}

export interface Network {
  root: Party
  intermediate: Party
  issuer: Party
}

export async function makeNetwork(name: string): Promise<Network> {
  const root = await makeParty(`${name} root`, { isAuthority: true, bits: 2048 })
  const intermediate = await makeParty(`${name} intermediate`, { issuer: root, isAuthority: true })
  const issuer = await makeParty(`${name} issuer`, { issuer: intermediate })
  return { root, intermediate, issuer }
}

export const textsOf = (...parties: Party[]): string[] => parties.map((party) => party.text)

export const asked: Omit<ExpectedPares, 'roots'> = {
  messageId: 'msg-1',
  acqBIN: '412345',
  merID: 'SHOP-77',
  xid: Buffer.from('00000000000000000042').toString('base64'),
  purchaseDate: '20240517 12:00:00',
  purchAmount: '123456',
  currency: '978',
  exponent: '2',
  lastFour: '1548',
  now: purchasedAt + 120_000,
}

/** What the issuer puts into PARes beyond what was asked. */
export const answered = {
  version: '1.0.2',
  pan: '0000000000001548',
  time: '20240517 12:01:30',
  status: 'Y',
  cavv: 'AAABBBCCCDDDEEEFFFGGGHHHIII=',
  eci: '05',
  cavvAlgorithm: '2',
}

export type ParesValues = Record<keyof typeof answered, string | undefined> & Omit<typeof asked, 'lastFour' | 'now' | 'messageId'>
const good: ParesValues = { ...asked, ...answered }
/** N and U are without proof. */
export const refusedBy = (status: 'N' | 'U'): Partial<ParesValues> => ({
  status,
  cavv: undefined,
  eci: undefined,
  cavvAlgorithm: undefined,
})

const tag = (name: string, value: string | undefined): string => (value === undefined ? '' : `<${name}>${value}</${name}>`)

/** In canonical form. `extra` goes before its end. */
export function paresXml(values: Partial<ParesValues> = {}, extra = '', id = 'PARes-9'): string {
  const v = { ...good, ...values }
  return (
    `<PARes id="${id}">${tag('version', v.version)}<Merchant>${tag('acqBIN', v.acqBIN)}${tag('merID', v.merID)}</Merchant>` +
    `<Purchase>${tag('xid', v.xid)}${tag('date', v.purchaseDate)}${tag('purchAmount', v.purchAmount)}` +
    `${tag('currency', v.currency)}${tag('exponent', v.exponent)}</Purchase>${tag('pan', v.pan)}` +
    `<TX>${tag('time', v.time)}${tag('status', v.status)}` +
    `${tag('cavv', v.cavv)}${tag('eci', v.eci)}${tag('cavvAlgorithm', v.cavvAlgorithm)}</TX>${extra}</PARes>`
  )
}

export const dsig = 'http://www.w3.org/2000/09/xmldsig#'
export const c14n = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
const methods = {
  sha1: { signature: `${dsig}rsa-sha1`, digest: `${dsig}sha1` },
  sha256: { signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', digest: 'http://www.w3.org/2001/04/xmlenc#sha256' },
}

export interface SignatureParts {
  key: KeyObject
  certificates: readonly string[]
  hash?: 'sha1' | 'sha256'
  uri?: string
  canonicalization?: string
  signatureMethod?: string
  digestMethod?: string
  /** Canonical XML between Reference and DigestMethod. */
  transforms?: string
  /** A second Reference. */
  secondReference?: string
  prefix?: string
  /** Instead of signing with the key. */
  mac?: (signedInfo: string) => string
  lineEnd?: string
}

/**
 * Signature over the canonical text. It is good whatever algorithms it names: judging those is up
 * to the verifier.
 */
export function signatureOf(signed: string, parts: SignatureParts): string {
  const { key, certificates, hash = 'sha1', uri = '#PARes-9', prefix = '', lineEnd = '' } = parts
  const e = (name: string, content: string, attributes = '') => `<${prefix}${name}${attributes}>${content}</${prefix}${name}>`
  const by = (algorithm: string) => ` Algorithm="${algorithm}"`
  const digest = createHash(hash).update(signed).digest('base64')
  const reference =
    (parts.transforms ?? '') + e('DigestMethod', '', by(parts.digestMethod ?? methods[hash].digest)) + e('DigestValue', digest)
  const content =
    e('CanonicalizationMethod', '', by(parts.canonicalization ?? c14n)) +
    e('SignatureMethod', '', by(parts.signatureMethod ?? methods[hash].signature)) +
    e('Reference', reference, ` URI="${uri}"`) +
    (parts.secondReference ?? '')
  const namespace = prefix === '' ? ` xmlns="${dsig}"` : ` xmlns:${prefix.slice(0, -1)}="${dsig}"`
  const canonical = e('SignedInfo', content, namespace)
  const value = parts.mac?.(canonical) ?? sign(hash, Buffer.from(canonical), key).toString('base64')
  const broken = (text: string) => (lineEnd === '' ? text : text.replace(/.{1,76}/g, `$&${lineEnd}`))
  const chain = certificates.map((one) => e('X509Certificate', broken(one))).join('')
  return e(
    'Signature',
    e('SignedInfo', content) + e('SignatureValue', broken(value)) + e('KeyInfo', e('X509Data', chain)),
    namespace,
  )
}

export const documentOf = (content: string, messageId = 'msg-1'): string =>
  `<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="${messageId}">${content}</Message></ThreeDSecure>`

export const pack = (xml: string | Buffer): string => deflateSync(Buffer.from(xml)).toString('base64')
