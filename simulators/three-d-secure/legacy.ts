import { createHash, sign, X509Certificate, type KeyObject } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'

/**
 * The messages of 3-D Secure 1.0.2 as the simulators read and write them: XML in which each element
 * is looked up by its place.
 */

export interface Vereq {
  messageId: string
  pan: string
  acqBIN: string
  merID: string
}

export interface Veres {
  /** The id of the VEReq. */
  messageId: string
  enrolled: 'Y' | 'N' | 'U'
  /** Both present with Y. */
  acctID?: string
  url?: string
}

export interface Pareq {
  messageId: string
  acqBIN: string
  merID: string
  /** The merchant's name, with its country and URL. */
  name: string
  country: string
  url: string
  xid: string
  date: string
  /** As shown to the cardholder; purchAmount is in minor units. */
  amount: string
  purchAmount: string
  currency: string
  exponent: string
  desc?: string
  acctID: string
  expiry: string
}

export interface Pares {
  /** These values are returned, unless the issuer is wrong or the browser cheats. */
  pareq: Pick<Pareq, 'messageId' | 'acqBIN' | 'merID' | 'xid' | 'date' | 'purchAmount' | 'currency' | 'exponent'>
  paresId: string
  lastFour: string
  /** YYYYMMDD HH:MM:SS, GMT. */
  time: string
  status: 'Y' | 'A' | 'N' | 'U'
  /** All three present with Y and A. */
  cavv?: string
  eci?: string
  cavvAlgorithm?: string
}

export interface ParesSigner {
  /** RSA, of any of the certificates: issuers follow no order. */
  key: KeyObject
  /** PEM. */
  certificates: readonly string[]
  hash: 'sha1' | 'sha256'
  /** The behaviour of a broken or dishonest issuer. */
  fault?: 'wrong digest' | 'wrong signature' | 'no signature'
}

/** Undefined if it is not a VEReq. */
export function readVereq(xml: string): Vereq | undefined {
  const [messageId, body] = openMessage(xml, 'VEReq')
  const merchant = within(body, 'Merchant')
  return complete<Vereq>({
    messageId,
    pan: within(body, 'pan'),
    acqBIN: within(merchant, 'acqBIN'),
    merID: within(merchant, 'merID'),
  })
}

export function writeVeres({ messageId, enrolled, acctID, url }: Veres): string {
  const holder = element('CH', element('enrolled', enrolled) + optional('acctID', acctID))
  const rest = enrolled === 'Y' ? optional('url', url) + element('protocol', 'ThreeDSecure') : ''
  return documentOf(messageId, element('VERes', element('version', '1.0.2') + holder + rest))
}

/** 3: an element is missing; 5: one does not fit; 98: a temporary and 99: a permanent failure. */
export const writeLegacyError = (messageId: string, code: string, message: string, detail: string): string =>
  documentOf(
    messageId,
    element(
      'Error',
      element('version', '1.0.2') +
        element('errorCode', code) +
        element('errorMessage', escape(message)) +
        element('errorDetail', escape(detail)),
    ),
  )

/** The form field `PaReq`. Undefined if it is not one. */
export function readPareq(param: string): Pareq | undefined {
  const xml = inflateParam(param)
  if (xml === undefined) return undefined
  const [messageId, body] = openMessage(xml, 'PAReq')
  const [merchant, purchase, holder] = ['Merchant', 'Purchase', 'CH'].map((name) => within(body, name))
  const read = complete<Pareq>({
    messageId,
    acqBIN: within(merchant, 'acqBIN'),
    merID: within(merchant, 'merID'),
    name: within(merchant, 'name'),
    country: within(merchant, 'country'),
    url: within(merchant, 'url'),
    xid: within(purchase, 'xid'),
    date: within(purchase, 'date'),
    amount: within(purchase, 'amount'),
    purchAmount: within(purchase, 'purchAmount'),
    currency: within(purchase, 'currency'),
    exponent: within(purchase, 'exponent'),
    acctID: within(holder, 'acctID'),
    expiry: within(holder, 'expiry'),
  })
  const desc = within(purchase, 'desc')
  return read && desc !== undefined ? { ...read, desc: unescape(desc) } : read
}

/**
 * The form field `PaRes`, signed as issuers of the time do: Signature beside PARes, one Reference
 * without transforms, three certificates.
 */
export function writePares(pares: Pares, signer: ParesSigner): string {
  const signed = paresElement(pares)
  const xml = documentOf(
    pares.pareq.messageId,
    signed + (signer.fault === 'no signature' ? '' : signature(signed, pares.paresId, signer)),
  )
  return deflateSync(Buffer.from(xml)).toString('base64')
}

const namespace = 'http://www.w3.org/2000/09/xmldsig#'
const hashes = {
  sha1: { signature: `${namespace}rsa-sha1`, digest: `${namespace}sha1` },
  sha256: {
    signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    digest: 'http://www.w3.org/2001/04/xmlenc#sha256',
  },
} as const

/**
 * Written as canonical XML has it, so that what is hashed is what is sent: no empty-element tags,
 * no blanks, double quotes.
 */
function paresElement({ pareq, paresId, lastFour, time, status, cavv, eci, cavvAlgorithm }: Pares): string {
  const { acqBIN, merID, xid, date, purchAmount, currency, exponent } = pareq
  const merchant = element('acqBIN', escape(acqBIN)) + element('merID', escape(merID))
  const purchase = Object.entries({ xid, date, purchAmount, currency, exponent })
    .map(([name, value]) => element(name, escape(value)))
    .join('')
  const outcome =
    element('time', time) +
    element('status', status) +
    optional('cavv', cavv) +
    optional('eci', eci) +
    optional('cavvAlgorithm', cavvAlgorithm)
  const content =
    element('version', '1.0.2') +
    element('Merchant', merchant) +
    element('Purchase', purchase) +
    element('pan', lastFour.padStart(16, '0')) +
    element('TX', outcome)
  return `<PARes id="${paresId}">${content}</PARes>`
}

function signature(signed: string, paresId: string, { key, certificates, hash, fault }: ParesSigner): string {
  const digest = createHash(hash)
    .update(fault === 'wrong digest' ? `${signed} ` : signed)
    .digest('base64')
  const content =
    `<CanonicalizationMethod Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"></CanonicalizationMethod>` +
    `<SignatureMethod Algorithm="${hashes[hash].signature}"></SignatureMethod>` +
    `<Reference URI="#${paresId}"><DigestMethod Algorithm="${hashes[hash].digest}"></DigestMethod>` +
    `<DigestValue>${digest}</DigestValue></Reference>`
  // The namespace is on SignedInfo in its canonical form, and on Signature in the document.
  const canonical = `<SignedInfo xmlns="${namespace}">${content}</SignedInfo>`
  const value = sign(hash, Buffer.from(fault === 'wrong signature' ? `${canonical} ` : canonical), key).toString('base64')
  const chain = certificates.map((pem) => element('X509Certificate', new X509Certificate(pem).raw.toString('base64'))).join('')
  return (
    `<Signature xmlns="${namespace}">${element('SignedInfo', content)}${element('SignatureValue', value)}` +
    `${element('KeyInfo', element('X509Data', chain))}</Signature>`
  )
}

const documentOf = (messageId: string, content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="${escape(messageId)}">${content}</Message></ThreeDSecure>`

const element = (name: string, content: string): string => `<${name}>${content}</${name}>`
const optional = (name: string, value: string | undefined): string => (value === undefined ? '' : element(name, escape(value)))

const entities = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
] as const
const escape = (value: string): string => entities.reduce((text, [plain, entity]) => text.replaceAll(plain, entity), value)
const unescape = (value: string): string =>
  [...entities, ['"', '&quot;'] as const, ["'", '&apos;'] as const]
    .toReversed()
    .reduce((text, [plain, entity]) => text.replaceAll(entity, plain), value)

/** Id and content of a message of this type; nothing of other documents, or with a DOCTYPE. */
function openMessage(xml: string, type: string): [messageId?: string, content?: string] {
  if (xml.includes('<!')) return []
  const [, messageId, content] =
    /<ThreeDSecure>\s*<Message id="([^"<]{1,128})">(.*)<\/Message>\s*<\/ThreeDSecure>\s*$/s.exec(xml) ?? []
  const body = within(content, type)
  return messageId === undefined || body === undefined ? [] : [unescape(messageId), body]
}

/** The text between the tags of the only element of this name. */
function within(content: string | undefined, name: string): string | undefined {
  const parts = content?.split(new RegExp(`</?${name}>`)) ?? []
  return parts.length === 3 ? parts[1] : undefined
}

/** The values as text, if none is missing. */
function complete<T extends object>(found: { [K in keyof T]?: string | undefined }): T | undefined {
  const entries = Object.entries<string | undefined>(found)
  if (entries.some(([, value]) => value === undefined || value.includes('<'))) return undefined
  return Object.fromEntries(entries.map(([name, value]) => [name, unescape(value!)])) as T
}

/** The XML in a form field. */
export function inflateParam(param: string): string | undefined {
  const bare = param.replaceAll(/[\r\n\t]/g, '').replaceAll(' ', '+')
  if (bare.length > 64 * 1024 || !/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) return undefined
  try {
    return inflateSync(Buffer.from(bare, 'base64'), { maxOutputLength: 64 * 1024 }).toString('utf8')
  } catch {
    return undefined
  }
}
