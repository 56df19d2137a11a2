import { mask } from '../../../src/base/log.ts'
import { pareq, pares, vereq, veres, legacyError, type LegacyTable } from '../../../src/spec/three-d-secure/legacy.ts'
import { elementsInParam, secretPlaces } from '../../three-d-secure/legacy-elements.ts'
import { shownFields, statusInWords } from './message.ts'
import type { StoryField, StoryMessage, StoryTone } from '../../../src/look/story.ts'

/**
 * What a merchant can read in the messages that only pass through. It is only for display: the
 * gateway reports the outcome.
 */

/** The state of an order; ShopOrder describes each. */
export type Mode = 'paying' | 'method' | 'challenge' | 'payer' | 'answered' | 'away' | 'over'

type Reply = ReadonlyMap<string, string>

/** Identifies the authentication that a status reply is about. */
export const transIdIn = (reply: Reply): string | undefined =>
  reply.get('tds-method-url-frame-3ds-server-trans-id') ??
  fieldIn(reply.get('tds-creq-form-creq'), 'threeDSServerTransID') ??
  elementsInParam(reply.get('tds-pareq-form-pareq') ?? '')?.messageId

export const cresStatus = (cres: string | null): string | undefined => fieldIn(cres, 'transStatus')

/** A field of a message in base64url. */
function fieldIn(param: string | null | undefined, name: string): string | undefined {
  const text = Buffer.from(param ?? '', 'base64url').toString('utf8')
  return new RegExp(`"${name}"\\s*:\\s*"([^"]{1,64})"`).exec(text)?.[1]
}

/** The issuer's answer of 1.0.2, as carried by the browser. */
export function paresRead(param: string | null): Pick<StoryMessage, 'name' | 'fields'> & Partial<StoryMessage> {
  if (param === null) return { name: 'back from the bank', fields: [] }
  const status = elementsInParam(param)?.values['TX/status']
  const says = status === undefined ? {} : { says: statusInWords(status), tone: toneOfStatus(status) }
  return { name: 'PARes', fields: elementFields(param), ...says }
}

export function toneOfStatus(status: unknown): StoryTone {
  if (status === 'Y' || status === 'A') return 'good'
  return status === 'N' || status === 'R' || status === 'U' ? 'bad' : status === 'C' || status === 'D' ? 'wait' : 'plain'
}

/** The XML of a form field, element by element. */
function elementFields(param: string): StoryField[] {
  const read = elementsInParam(param)
  const shown = (place: string, value: string) => {
    const secret = secretPlaces[place]
    return secret === undefined ? value : secret === 'number' ? mask(value) : '***'
  }
  return Object.entries(read?.values ?? {}).map(([place, value]) => legacyField(read!.type, place, shown(place, value)))
}

const tables: Readonly<Record<string, LegacyTable>> = {
  VEReq: vereq,
  VERes: veres,
  PAReq: pareq,
  PARes: pares,
  Error: legacyError,
}

// oxfmt-ignore
const signature: Readonly<Record<string, string>> = {
  'StoryMessage id':                                 'the same in all messages of a payment',
  'Signature/SignedInfo/SignatureMethod':       'how it was signed',
  'Signature/SignedInfo/Reference/DigestValue': 'digest of PARes',
  'Signature/SignatureValue':                   "by the issuer's key",
  'Signature/KeyInfo/X509Data/X509Certificate': "of the issuer, and those that lead to the network's root",
}

/** An element with its meaning. */
export function legacyField(type: string, place: string, value: string): StoryField {
  const means = tables[type]?.[place]?.means ?? signature[place]
  return { name: place, value, ...(means === undefined ? {} : { means }) }
}

/** The view of the shopper at this point. */
export function shownTo(mode: Mode, seen: Reply): Pick<StoryMessage, 'name' | 'fields'> | undefined {
  const some = (...names: string[]) =>
    shownFields(names.flatMap((name) => (seen.has(name) ? [[name, seen.get(name)!] as const] : [])))
  if (mode === 'method') return { name: 'hidden method frame', fields: some('tds-method-url-frame-3ds-method-url') }
  if (mode === 'challenge') return { name: 'challenge frame', fields: some('tds-creq-form-acs-url') }
  if (mode === 'payer') {
    const names = ['acs-url', 'md', 'pareq'].map((name) => `tds-pareq-form-${name}`)
    return { name: 'PAReq form', fields: [...some(...names), ...elementFields(seen.get('tds-pareq-form-pareq') ?? '')] }
  }
  if (mode === 'away') return { name: 'redirect-to', fields: some('redirect-to') }
  return undefined
}
