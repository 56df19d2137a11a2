/**
 * PARes of 3-D Secure 1.0.2: the issuer's signed result. It comes through the browser, which has
 * also carried the unsigned PAReq. So only the signed values count, and each of them is compared
 * with the request.
 */
import { sameText } from '../../base/digest.ts'
import { atOnce, type InPieces } from '../../base/turn.ts'
import { pares as paresTable, readLegacyMoment } from '../../spec/three-d-secure/legacy.ts'
import { paramInflater } from './pares-param.ts'
import { readSignature, type SignedDocument } from './pares-signature.ts'
import { signerFinder } from './pares-signer.ts'
import { isId, openMessage, readValues, type LegacyValues } from './legacy.ts'
import { most, readXml } from './xml.ts'

/** The values of the PAReq, as spelled in it. */
export interface ExpectedPares {
  /**
   * The id of the PAReq's Message. It is not signed, so a match proves nothing, but a mismatch is
   * enough to refuse.
   */
  messageId?: string
  acqBIN: string
  merID: string
  xid: string
  /** YYYYMMDD HH:MM:SS, GMT. */
  purchaseDate: string
  purchAmount: string
  currency: string
  exponent: string
  /** The last four digits of the card number. */
  lastFour: string
  /** PEM; of this card's network only. */
  roots: readonly string[]
  now: number
  /** Collects what does not fit and decides nothing; if absent, the reader is strict. */
  odd?: Set<string>
}

export interface VerifiedPares {
  is: 'verified'
  status: 'Y' | 'A' | 'N' | 'U'
  /** Present for Y and A only, which always have it. */
  cavv?: string
  eci?: string
  cavvAlgorithm?: string
  /** YYYYMMDD HH:MM:SS, GMT, by the issuer's clock. */
  time: string
  /** With the xid, it identifies an authentication that may be used only once. */
  paresId: string
}

export type ParesVerdict = VerifiedPares | RefusedPares

/** `why` is our own text, without values of the message. */
export interface RefusedPares {
  is: 'refused'
  why: string
}

const refused = (why: string): RefusedPares => ({ is: 'refused', why })

/** Issuers of that time sent local time as GMT. */
const clockLeewayMs = 24 * 3_600_000

/**
 * Checks the form field `PaRes` in pieces. No content of it makes this throw; unreadable roots or
 * an unreadable purchase date do.
 */
export function* paresVerifier(paResParam: string, expected: ExpectedPares): InPieces<ParesVerdict> {
  const purchasedAt = readLegacyMoment(expected.purchaseDate)
  if (Number.isNaN(purchasedAt)) throw new Error('a purchase date that is none')
  const inflated = yield* paramInflater(paResParam)
  if (inflated.is === 'refused') return inflated
  yield ['bytes', inflated.xml.length]
  yield ['nodes', most.elements]
  const outer = readOuter(inflated.xml, expected.messageId)
  if (outer.is === 'refused') return outer
  const signer = yield* signerFinder(outer.certificates, expected.roots, purchasedAt)
  if (signer.is === 'refused') return signer
  // The library reads the whole document once more.
  yield ['bytes', inflated.xml.length]
  yield ['signatures', 1]
  const signed = outer.verified(signer.key)
  if (signed.is === 'refused') return signed
  // From here on only signed values are used.
  yield ['bytes', signed.xml.length]
  const inner = readXml(signed.xml)
  if (inner.is === 'refused') return refused(`the signed part: ${inner.why}`)
  if (inner.root.name !== 'PARes' || inner.root.attributes.get('id') !== outer.paresId)
    return refused('something else was signed')
  const read = readValues(inner.root, paresTable, expected.odd)
  if (read.is === 'unusable') return refused(`does not fit: ${read.why}`)
  return judge(read.values, expected, purchasedAt, outer.paresId)
}

/** The same in one go. */
export const verifyPares = (paResParam: string, expected: ExpectedPares): ParesVerdict =>
  atOnce(paresVerifier(paResParam, expected))

/** The document as received; nothing in it is trusted yet. */
function readOuter(text: string, messageId: string | undefined): SignedDocument | RefusedPares {
  const xml = readXml(text)
  if (xml.is === 'refused') return refused(xml.why)
  const message = openMessage(xml.root)
  if (message.is === 'unusable') return refused(message.why)
  if (messageId !== undefined && message.id !== messageId) return refused('Message/@id is not that of the PAReq')
  const [pares, signature, ...others] = message.content
  if (pares?.name === 'Error') return refused('an Error instead of a PARes')
  if (pares?.name !== 'PARes' || !signature || others.length > 0) return refused('not one PARes and one Signature')
  const paresId = pares.attributes.get('id')
  if (!isId(paresId) || pares.attributes.size !== 1) return refused('PARes/@id')
  return readSignature({ text: xml.text, root: xml.root, signature, paresId })
}

type Path = keyof typeof paresTable

/**
 * A dishonest browser would change amount and currency in PAReq; the other values bind the answer
 * to this one purchase.
 */
// oxfmt-ignore
const compared: readonly (readonly [path: Path, asked: (expected: ExpectedPares) => string])[] = [
  ['Merchant/acqBIN',      (expected) => expected.acqBIN],
  ['Merchant/merID',       (expected) => expected.merID],
  ['Purchase/xid',         (expected) => expected.xid],
  ['Purchase/date',        (expected) => expected.purchaseDate],
  ['Purchase/purchAmount', (expected) => expected.purchAmount],
  ['Purchase/currency',    (expected) => expected.currency],
  ['Purchase/exponent',    (expected) => expected.exponent],
]

function judge(values: LegacyValues, expected: ExpectedPares, purchasedAt: number, paresId: string): ParesVerdict {
  const of = (path: Path): string => values.get(path)?.[0] ?? ''
  const other = compared.find(([path, asked]) => !sameText(of(path), asked(expected)))
  if (other) return refused(`${other[0]} is not what was asked`)
  if (!/^[0-9]{4}$/.test(expected.lastFour) || of('pan').slice(-4) !== expected.lastFour) return refused('pan is of another card')
  const time = of('TX/time')
  const answeredAt = readLegacyMoment(time)
  if (answeredAt < purchasedAt - clockLeewayMs || answeredAt > expected.now + clockLeewayMs)
    return refused('TX/time is before the purchase or yet to come')
  const status = of('TX/status') as VerifiedPares['status']
  const verified = { is: 'verified', status, time, paresId } as const
  if (status === 'N' || status === 'U') return verified
  // Without a proof for the acquirer it is no authentication.
  if (!values.has('TX/cavv')) return refused('TX/cavv is missing')
  const [eci, cavvAlgorithm] = [values.get('TX/eci')?.[0], values.get('TX/cavvAlgorithm')?.[0]]
  return {
    ...verified,
    cavv: of('TX/cavv'),
    ...(eci === undefined ? {} : { eci }),
    ...(cavvAlgorithm === undefined ? {} : { cavvAlgorithm }),
  }
}
