/** The form field `PaRes`: compressed XML in base64, after what browsers and servers do to it. */
import { inflateRawSync, inflateSync } from 'node:zlib'
import { turnBudget, type InPieces } from '../base/turn.ts'

/** The most that the upload takes. */
const mostCharacters = 10_240
/**
 * A PARes with its certificates has some 10,000; 50 MB of zeros make a field of 68,000 characters.
 */
const mostBytes = turnBudget.bytes

/** `unreadable`: no form field of this kind at all, rather than one that means harm. */
export type Inflated = { is: 'inflated'; xml: string } | { is: 'refused'; why: string; unreadable?: true }

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function* paramInflater(param: string): InPieces<Inflated> {
  if (param.length > mostCharacters) return { is: 'refused', why: `longer than ${mostCharacters} characters` }
  let why = 'not base64'
  for (const bytes of spellings(param).flatMap(decode)) {
    // RFC 1950 is what the protocol says; there are senders of bare RFC 1951.
    for (const inflate of [inflateSync, inflateRawSync]) {
      yield ['bytes', mostBytes]
      const inflated = tryInflate(inflate, bytes)
      if (inflated === 'too large') return { is: 'refused', why: `inflates to more than ${mostBytes} bytes` }
      if (inflated === 'damaged') {
        why = 'cannot be inflated'
        continue
      }
      try {
        return { is: 'inflated', xml: utf8.decode(inflated) }
      } catch {
        why = 'not UTF-8'
      }
    }
  }
  return { is: 'refused', why, unreadable: true }
}

/**
 * A blank may be a plus that a form decoded once too often, or nothing; line ends and tabs are
 * always nothing. Blanks at the end are trimmed with every field, so what is short of a group of
 * four may have ended in plusses.
 */
function spellings(param: string): string[] {
  const bare = param.replace(/[\r\n\t]+/g, '')
  const plus = bare.replaceAll(' ', '+')
  const whole = plus.padEnd(Math.ceil(plus.length / 4) * 4, '+')
  return [...new Set([plus, bare.replaceAll(' ', ''), whole])]
}

/** Empty when it is not base64: Buffer.from would skip what it does not know. */
function decode(spelling: string): Buffer[] {
  const [, digits] = /^([A-Za-z0-9+/]+)={0,2}$/.exec(spelling) ?? []
  return digits === undefined || digits.length % 4 === 1 ? [] : [Buffer.from(digits, 'base64')]
}

function tryInflate(inflate: typeof inflateSync, bytes: Buffer): Buffer | 'too large' | 'damaged' {
  try {
    return inflate(bytes, { maxOutputLength: mostBytes })
  } catch (error) {
    return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'damaged'
  }
}
