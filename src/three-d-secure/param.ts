/** JSON text as browsers carry it: base64url. */
export const encodeParam = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of a base64url parameter; undefined if it is not one. Blanks and line breaks are
 * ignored, and padding and the standard alphabet are accepted: issuers send all of these. A plus
 * that a form turned into a blank is lost, so such a text fails later, as JSON.
 */
export function decodeParam(param: string): string | undefined {
  const bare = param.replace(/\s+/g, '')
  const [, digits] = /^([A-Za-z0-9_+/-]*)={0,2}$/.exec(bare) ?? []
  // A single last character is six bits, less than a byte: the text was cut off.
  if (digits === undefined || digits.length % 4 === 1) return undefined
  try {
    return utf8.decode(Buffer.from(digits, 'base64url'))
  } catch {
    return undefined
  }
}
