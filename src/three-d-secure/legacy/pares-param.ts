/**
 * The form field `PaRes`: compressed XML in base64, as changed on the way by browsers and servers.
 */
import { inflateRawSync, inflateSync } from 'node:zlib'
import { codeOf } from '../../base/error-code.ts'
import { turnBudget, type InPieces } from '../../base/turn.ts'

/** The limit of the upload. */
const mostCharacters = 10_240
/**
 * A PARes with its certificates has about 10,000 bytes. 50 MB of zeros fit a field of 68,000
 * characters.
 */
const mostBytes = turnBudget.bytes

/** `unreadable`: not a field of this kind at all, rather than a malicious one. */
export type Inflated = { is: 'inflated'; xml: string } | { is: 'refused'; why: string; unreadable?: true }

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function* paramInflater(param: string): InPieces<Inflated> {
  if (param.length > mostCharacters) return { is: 'refused', why: `longer than ${mostCharacters} characters` }
  let why = 'not base64'
  for (const bytes of spellings(param).flatMap(decode)) {
    // The protocol requires RFC 1950, but some senders use bare RFC 1951.
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
 * always nothing. Every field is trimmed, so if the last group of four is short, it may have ended
 * in plusses.
 */
function spellings(param: string): string[] {
  const bare = param.replace(/[\r\n\t]+/g, '')
  const plus = bare.replaceAll(' ', '+')
  const whole = plus.padEnd(Math.ceil(plus.length / 4) * 4, '+')
  return [...new Set([plus, bare.replaceAll(' ', ''), whole])]
}

/** Empty if it is not base64: Buffer.from would skip unknown characters. */
function decode(spelling: string): Buffer[] {
  const [, digits] = /^([A-Za-z0-9+/]+)={0,2}$/.exec(spelling) ?? []
  return digits === undefined || digits.length % 4 === 1 ? [] : [Buffer.from(digits, 'base64')]
}

function tryInflate(inflate: typeof inflateSync, bytes: Buffer): Buffer | 'too large' | 'damaged' {
  try {
    return inflate(bytes, { maxOutputLength: mostBytes })
  } catch (error) {
    return codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'damaged'
  }
}
