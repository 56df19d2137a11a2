/**
 * The XML signature of a PARes, in the one shape that issuers send. Anything else that the standard
 * allows is refused before it is computed.
 */
import type { KeyObject } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import type { Element } from './xml.ts'

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const c14n = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'

const signatureMethods = [`${dsig}rsa-sha1`, 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256']
const digestMethods = [`${dsig}sha1`, 'http://www.w3.org/2001/04/xmlenc#sha256']

interface Refused {
  is: 'refused'
  why: string
}

export interface SignedDocument {
  is: 'signed'
  paresId: string
  /** DER in base64, as received. */
  certificates: readonly string[]
  /** The canonical XML of the one element that this key signed. */
  verified(key: KeyObject): { is: 'verified'; xml: string } | Refused
}

export interface Unverified {
  text: string
  root: Element
  /** The element beside the PARes. */
  signature: Element
  paresId: string
}

const refused = (why: string): Refused => ({ is: 'refused', why })

/** Names that must occur once in the document: the library finds some of them anywhere. */
const onceEach =
  'PARes Signature SignedInfo CanonicalizationMethod SignatureMethod Reference DigestMethod DigestValue SignatureValue KeyInfo'

/** Reads the signature and checks its shape; `verified` checks whether it is valid. */
export function readSignature({ text, root, signature, paresId }: Unverified): SignedDocument | Refused {
  const prefix = prefixOf(signature)
  if (prefix === undefined) return refused('the second element is not a Signature')
  const all = [...everyElement(root)]
  const misnamed = all.find((one) => !isNamedRightly(one, signature, prefix))
  if (misnamed) return refused('names of a namespace that has no place there')
  const names = all.map((one) => localName(one))
  const doubled = onceEach.split(' ').find((name) => names.filter((one) => one === name).length !== 1)
  if (doubled !== undefined) return refused(`not one ${doubled}`)

  const [signedInfo, signatureValue, keyInfo] = shaped(signature, 'SignedInfo', 'SignatureValue', 'KeyInfo') ?? []
  if (!signedInfo || !signatureValue || !keyInfo) return refused('the shape of Signature')
  const fault = faultOf(signedInfo, paresId)
  if (fault !== undefined) return refused(fault)
  const certificates = keyInfo.children
    .filter((one) => localName(one) === 'X509Data')
    .flatMap((one) => one.children.filter((below) => localName(below) === 'X509Certificate').map((below) => below.text))
  const signatureXml = text.slice(signature.from, signature.to)
  return { is: 'signed', paresId, certificates, verified: (key) => verify(text, signatureXml, key) }
}

function* everyElement(element: Element): Generator<Element> {
  yield element
  for (const child of element.children) yield* everyElement(child)
}

const localName = ({ name }: Element): string => name.slice(name.indexOf(':') + 1)

/**
 * Empty, or the prefix with its colon; undefined if the element does not declare XML-DSig itself.
 */
function prefixOf({ name, attributes }: Element): string | undefined {
  const [, prefix] = /^((?:.+:)?)Signature$/.exec(name) ?? []
  return prefix !== undefined && attributes.get(declarationOf(prefix)) === dsig ? prefix : undefined
}

const declarationOf = (prefix: string): string => (prefix === '' ? 'xmlns' : `xmlns:${prefix.slice(0, -1)}`)

/**
 * Messages of 1.0.2 have no namespace, so there is exactly one: the signature's. It is declared on
 * the signature element and may be repeated below it.
 */
function isNamedRightly(element: Element, signature: Element, prefix: string): boolean {
  const isWithin = element.from >= signature.from && element.to <= signature.to
  const declared = [...element.attributes].every(([name, value]) =>
    /^xmlns(?:$|:)|:/.test(name) ? isWithin && name === declarationOf(prefix) && value === dsig : true,
  )
  return declared && element.name === (isWithin ? prefix : '') + localName(element)
}

/** The children, if they are exactly these in this order. */
function shaped(element: Element, ...names: string[]): readonly Element[] | undefined {
  const { children } = element
  return children.length === names.length && children.every((one, i) => localName(one) === names[i]) ? children : undefined
}

/**
 * The reference must be `#` and the id of the PARes, the only element that may be signed. The
 * algorithms are restricted to those that a stranger's key cannot exploit.
 */
function faultOf(signedInfo: Element, paresId: string): string | undefined {
  const [canonicalization, method, reference] = shaped(signedInfo, 'CanonicalizationMethod', 'SignatureMethod', 'Reference') ?? []
  if (!canonicalization || !method || !reference) return 'the shape of SignedInfo'
  if (!isAlgorithm(canonicalization, [c14n])) return 'CanonicalizationMethod'
  if (!isAlgorithm(method, signatureMethods)) return 'SignatureMethod'
  if (reference.attributes.get('URI') !== `#${paresId}`) return 'Reference is not to the PARes'
  const [transforms, digestMethod] = shaped(reference, 'Transforms', 'DigestMethod', 'DigestValue') ?? [
    undefined,
    ...(shaped(reference, 'DigestMethod', 'DigestValue') ?? []),
  ]
  if (!digestMethod) return 'the shape of Reference'
  if (!isAlgorithm(digestMethod, digestMethods)) return 'DigestMethod'
  // Transforms that happen anyway may be written out; no issuer is known to send others.
  const [transform] = transforms ? (shaped(transforms, 'Transform') ?? []) : []
  return transforms && !(transform && isAlgorithm(transform, [c14n])) ? 'Transforms' : undefined
}

/** An algorithm without parameters: those of XSLT, XPath and HMAC are children. */
const isAlgorithm = ({ attributes, children, text }: Element, known: readonly string[]): boolean =>
  children.length === 0 && text.trim() === '' && known.includes(attributes.get('Algorithm') ?? '')

/**
 * The library can do more than was checked above, so everything else is disabled; and only the text
 * that it reports as signed is passed on.
 */
function verify(text: string, signatureXml: string, key: KeyObject): { is: 'verified'; xml: string } | Refused {
  const check = new SignedXml({ publicCert: key, idAttribute: 'id' })
  check.idAttributes = ['id']
  check.SignatureAlgorithms = only(check.SignatureAlgorithms, signatureMethods)
  check.HashAlgorithms = only(check.HashAlgorithms, digestMethods)
  check.CanonicalizationAlgorithms = only(check.CanonicalizationAlgorithms, [c14n, forLoading])
  try {
    check.loadSignature(signatureXml)
    if (!check.checkSignature(text)) return refused('the digest is of something else')
  } catch {
    // The library throws for an invalid signature, and for anything that it cannot read.
    return refused('the signature does not hold')
  }
  const [xml, ...others] = check.getSignedReferences()
  return xml === undefined || others.length > 0 ? refused('not one thing was signed') : { is: 'verified', xml }
}

/**
 * The library reads SignedInfo with this once, before it knows the document. As
 * CanonicalizationMethod or Transform it was refused above.
 */
const forLoading = 'http://www.w3.org/2001/10/xml-exc-c14n#'

const only = <T>(known: Record<string, T>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(known).filter(([name]) => names.includes(name)))
