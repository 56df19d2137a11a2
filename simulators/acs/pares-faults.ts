import { createHmac, sign, X509Certificate } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import { writePares, type Pares, type ParesSigner } from '../three-d-secure/legacy.ts'

/**
 * PARes that a 3DS Server has to refuse: signed by a stranger, for another purchase, tampered with,
 * or ambiguous to read.
 */

/** The key that an issuer signs with, and its certificates, from its own to the root. */
export type Issuer = Pick<ParesSigner, 'key' | 'certificates'>

interface Parts {
  pares: Pares
  /** The same with another status. */
  of: (status: Pares['status']) => Pares
  /** The valid one. */
  good: string
  issuer: Issuer
  /** An issuer of another network. */
  stranger: Issuer
  /** An earlier valid one of the network; empty if there was none. */
  earlier: string
}

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const canonical = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
/** Padding that XML ignores, but that a decompressor has to write. */
const bombBytes = 2 * 1024 * 1024

// oxfmt-ignore
export const paresFaults: Readonly<Record<string, (parts: Parts) => string>> = {
  'wrong root':      ({ pares, stranger }) => writePares(pares, { ...stranger, hash: 'sha1' }),
  'foreign key':     ({ pares, issuer, stranger }) => writePares(pares, { key: stranger.key, certificates: issuer.certificates, hash: 'sha1' }),
  'wrong digest':    ({ pares, issuer }) => writePares(pares, { ...issuer, hash: 'sha1', fault: 'wrong digest' }),
  'wrong signature': ({ pares, issuer }) => writePares(pares, { ...issuer, hash: 'sha1', fault: 'wrong signature' }),
  'no signature':    ({ pares, issuer }) => writePares(pares, { ...issuer, hash: 'sha1', fault: 'no signature' }),
  'altered amount':  ({ pares, issuer }) => resigned(pares, issuer, { purchAmount: `${pares.pareq.purchAmount}0` }),
  'other currency':  ({ pares, issuer }) => resigned(pares, issuer, { currency: pares.pareq.currency === '392' ? '978' : '392' }),
  'other purchase':  ({ pares, issuer }) => resigned(pares, issuer, { xid: Buffer.alloc(20, 'another purchase').toString('base64') }),
  'other card':      ({ pares, issuer }) => writePares({ ...pares, lastFour: '0000' }, { ...issuer, hash: 'sha1' }),
  'tampered':        ({ good }) => edited(good, (xml) => xml.replace('</purchAmount>', '0</purchAmount>')),
  'replay':          ({ good, earlier }) => earlier || good,
  'no proof':        ({ pares, of, issuer }) => writePares({ ...of('N'), status: pares.status }, { ...issuer, hash: 'sha1' }),
  'proof of N':      ({ of, issuer }) => writePares({ ...of('Y'), status: 'N' }, { ...issuer, hash: 'sha1' }),
  'unsigned first':  ({ of, issuer }) => wrapped(of, issuer, (xml, forged) => xml.replace('<PARes ', `${forged}<PARes `)),
  'unsigned last':   ({ of, issuer }) => wrapped(of, issuer, (xml, forged) => xml.replace('</Message>', `${forged}</Message>`)),
  'comment':         ({ good }) => edited(good, (xml) => xml.replace('<status>', '<status><!-- -->')),
  'doctype':         ({ good }) => edited(good, (xml) => xml.replace('<ThreeDSecure>', '<!DOCTYPE ThreeDSecure [<!ENTITY a "">]><ThreeDSecure>')),
  'hmac':            ({ good, issuer }) => resignedInfo(good, `${dsig}rsa-sha1`, `${dsig}hmac-sha1`, (info) => hmacOf(issuer, info)),
  'exclusive c14n':  ({ good, issuer }) => resignedInfo(good, canonical, 'http://www.w3.org/2001/10/xml-exc-c14n#', (info) => rsaOf(issuer, info)),
  'transform':       ({ good, issuer }) => resignedInfo(good, '<DigestMethod', `${transforms}<DigestMethod`, (info) => rsaOf(issuer, info)),
  'bomb':            ({ good }) => edited(good, (xml) => xml.replace('</Message>', `${' '.repeat(bombBytes)}</Message>`)),
  // No more than issuers of the time did: this one must be accepted.
  'leaf last':       ({ pares, issuer: { key, certificates } }) => writePares(pares, { key, certificates: certificates.toReversed(), hash: 'sha1' }),
}

const transforms = `<Transforms><Transform Algorithm="${dsig}enveloped-signature"></Transform></Transforms>`

function resigned(pares: Pares, issuer: Issuer, changes: Partial<Pares['pareq']>): string {
  return writePares({ ...pares, pareq: { ...pares.pareq, ...changes } }, { ...issuer, hash: 'sha1' })
}

const edited = (param: string, edit: (xml: string) => string): string =>
  deflateSync(edit(inflateSync(Buffer.from(param, 'base64')).toString())).toString('base64')

/** The issuer signed an N; somebody else put a Y beside it. */
function wrapped(of: Parts['of'], issuer: Issuer, wrap: (xml: string, forged: string) => string): string {
  const signer = { ...issuer, hash: 'sha1' } as const
  const unsigned = inflateSync(Buffer.from(writePares(of('Y'), { ...signer, fault: 'no signature' }), 'base64')).toString()
  const forged = /<PARes .*<\/PARes>/s.exec(unsigned)?.[0] ?? ''
  return edited(writePares(of('N'), signer), (xml) => wrap(xml, forged))
}

/** With a changed SignedInfo, and a value that fits it. */
function resignedInfo(param: string, from: string, to: string, valueOf: (info: string) => string): string {
  return edited(param, (xml) => {
    const changed = xml.replace(/<SignedInfo>.*<\/SignedInfo>/s, (info) => info.replace(from, to))
    const info = /<SignedInfo>.*<\/SignedInfo>/s.exec(changed)?.[0].replace('<SignedInfo>', `<SignedInfo xmlns="${dsig}">`) ?? ''
    return changed.replace(/<SignatureValue>.*<\/SignatureValue>/s, `<SignatureValue>${valueOf(info)}</SignatureValue>`)
  })
}

const rsaOf = ({ key }: Issuer, info: string): string => sign('sha1', Buffer.from(info), key).toString('base64')

/** With a key that everybody has: the issuer's public one. */
function hmacOf({ certificates }: Issuer, info: string): string {
  const key = new X509Certificate(certificates[0] ?? '').publicKey.export({ type: 'spki', format: 'pem' })
  return createHmac('sha1', key).update(info).digest('base64')
}
