import type { Incoming } from '../http/server.ts'
import { knownDepth } from '../order/authentication/areq.ts'
import type { BrowserData } from '../three-d-secure/authentication.ts'

const longestHeader = 2_048
const longestLanguage = 8

/**
 * What the cardholder's browser reports: in the form of the method page, and in the headers of that
 * request. Without script there are only the headers. Undefined if the form has values that no
 * browser sends.
 */
export function readBrowser(
  field: (name: string) => string | undefined,
  headers: Incoming['headers'],
  ip: string | undefined,
): BrowserData | undefined {
  const fromHeaders = browserOfHeaders(headers, ip)
  if (field('javascriptEnabled') === 'false') return { ...fromHeaders, javascriptEnabled: false }
  if (field('javascriptEnabled') !== 'true') return undefined
  const java = field('javaEnabled')
  const colorDepth = matching(field('colorDepth'), /^\d{1,3}$/)
  const screenHeight = matching(field('screenHeight'), /^\d{1,6}$/)
  const screenWidth = matching(field('screenWidth'), /^\d{1,6}$/)
  const timeZone = matching(field('timeZone'), /^[+-]?\d{1,4}$/)
  if (java !== 'true' && java !== 'false') return undefined
  if (!colorDepth || !screenHeight || !screenWidth || !timeZone) return undefined
  return {
    ...fromHeaders,
    javascriptEnabled: true,
    javaEnabled: java === 'true',
    language: languageTag(field('language')) ?? fromHeaders.language,
    colorDepth: knownDepth(Number(colorDepth)),
    screenHeight,
    screenWidth,
    timeZone,
  }
}

/** The facts that headers of any request of a browser reveal. */
export const browserOfHeaders = (headers: Incoming['headers'], ip: string | undefined) => ({
  acceptHeader: acceptOf(headers),
  userAgent: printable(headers['user-agent']) ?? 'unknown',
  language: languageTag(printable(headers['accept-language'])?.split(/[,;]/)[0]) ?? 'en',
  ...(ip === undefined ? {} : { ip }),
})

export const acceptOf = (headers: Incoming['headers']): string => printable(headers.accept) ?? '*/*'

const matching = (text: string | undefined, shape: RegExp) => (text !== undefined && shape.test(text) ? text : undefined)

/** A header in the form that AReq allows: printable ASCII, truncated. */
function printable(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.join(', ') : header
  return text ? text.slice(0, longestHeader).replace(/[^\x20-\x7e]/g, '?') : undefined
}

/**
 * AReq takes eight characters: as many whole subtags as fit, because `zh-Hans-` is not a language.
 */
function languageTag(tag: string | undefined): string | undefined {
  if (tag === undefined || !/^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/.test(tag)) return undefined
  if (tag.length <= longestLanguage) return tag
  return tag
    .slice(0, longestLanguage + 1)
    .replace(/-[^-]*$/, '')
    .slice(0, longestLanguage)
}
