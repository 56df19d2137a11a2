/** Finds card numbers in texts that would be stored in clear. */
import { checkDigitHolds } from '../base/luhn.ts'
import { lengthIsIssued } from './number.ts'

/**
 * Nine digits, the fewest of a card number, with up to eight characters between them that are
 * neither letters nor digits. Most texts have no such run, and are not looked at any further.
 */
const manyDigits = /[0-9](?:[^\p{L}\p{N}]{0,8}[0-9]){8}/u
/** The same of a text in ASCII, which is quicker to search. */
const manyPlainDigits = /[0-9](?:[^A-Za-z0-9]{0,8}[0-9]){8}/
const separators = /[^\p{L}\p{N}]+/gu
/** Most texts: nothing in them stands for another character. */
const plain = /^[ -$&-~]*$/
const encoded = /(?:%[0-9a-f]{2})+/gi

/**
 * A text whose digits are plain where they are encoded for a URL or of another width; undefined if
 * it has few.
 */
export function textWithDigits(text: string): string | undefined {
  if (plain.test(text)) return manyPlainDigits.test(text) ? text : undefined
  const read = text.replaceAll(encoded, decoded).normalize('NFKC')
  return manyDigits.test(read) ? read : undefined
}

/** Bytes that are not UTF-8 become a sign that separates digits. */
const decoded = (bytes: string): string => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()

/** Whether the digits of this number stand in the text, whatever separates them. */
export const hasThisNumber = (text: string, pan: string): boolean => text.replaceAll(separators, '').includes(pan)

/** Groups of digits as people write card numbers: at least three, with separators between them. */
const grouped = /(?<![0-9])[0-9]{3,}(?:[^\p{L}\p{N}]{1,8}[0-9]{3,})*/gu
const fewest = 12
const most = 19

/**
 * Whether the text has any number with a valid check digit and a usual length for which `isIssued`.
 * Only a whole group of digits counts, or several in a row: some part of a long reference always
 * has a valid check digit.
 */
export function hasAnyNumber(text: string, isIssued: (pan: string) => boolean): boolean {
  const isCard = (digits: string) => checkDigitHolds(digits) && lengthIsIssued(digits) && isIssued(digits)
  for (const [run] of text.matchAll(grouped)) {
    const groups = run.split(separators)
    const digits = groups.join('')
    let start = 0
    for (let first = 0; first < groups.length; start += groups[first++]!.length) {
      let end = start
      for (let i = first; i < groups.length && end - start < most; i++) {
        end += groups[i]!.length
        if (end - start >= fewest && end - start <= most && isCard(digits.slice(start, end))) return true
      }
    }
  }
  return false
}
