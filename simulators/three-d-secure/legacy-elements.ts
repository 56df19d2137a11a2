import { X509Certificate } from 'node:crypto'
import { inflateParam } from './legacy.ts'

/**
 * A message of 1.0.2 split into elements for people: logs, and the shop's time line. It checks
 * nothing.
 */
export interface LegacyElements {
  type: string
  messageId: string
  /** Values by the places of their elements below the message, such as `Merchant/acqBIN`. */
  values: Record<string, string>
}

/** Undefined if it is not a message. */
export function elementsOf(xml: string): LegacyElements | undefined {
  const [, messageId, type] = /<Message id="([^"<]{1,128})">\s*<([A-Za-z]{1,16})[\s>]/.exec(xml) ?? []
  if (messageId === undefined || type === undefined) return undefined
  const values: Record<string, string> = {}
  const path: string[] = []
  for (const [, closing, name = '', attributes = '', text = ''] of xml.matchAll(/<(\/?)([A-Za-z0-9]{1,64})([^<>]*)>([^<]*)/g)) {
    if (closing) {
      path.pop()
      continue
    }
    path.push(name)
    // An algorithm is an attribute of its element; otherwise only elements without others inside
    // have a value.
    const value = text.trim() === '' ? /\sAlgorithm="([^"]*)"/.exec(attributes)?.[1] : text
    if (value === undefined) continue
    const place = placeOf(path, type)
    const shown = name === 'X509Certificate' ? subjectOf(value) : plain(value)
    values[place] = place in values ? `${values[place]}\n${shown}` : shown
  }
  return { type, messageId, values }
}

/** From a form field, `PaReq` or `PaRes`. */
export const elementsInParam = (param: string): LegacyElements | undefined => elementsOf(inflateParam(param) ?? '')

/** When these are written down, the card number is masked, and proof and expiry are left out. */
export const secretPlaces: Readonly<Record<string, 'number' | 'stars'>> = {
  pan: 'number',
  'CH/expiry': 'stars',
  'TX/cavv': 'stars',
}

/** Without the elements around every message, and without the message itself. */
const placeOf = (path: readonly string[], type: string): string => path.slice(path[2] === type ? 3 : 2).join('/')

const plain = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')

function subjectOf(base64: string): string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).subject.replaceAll('\n', ', ')
  } catch {
    return 'no certificate'
  }
}
