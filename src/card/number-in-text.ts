/** Finds card numbers in texts that would be stored in clear. */
import { checkDigitHolds } from '../base/luhn.ts'
import { lengthIsIssued } from './number.ts'

/**
 * Nine digits, the fewest of a card number, with blanks or dashes between them. Most texts have no
 * such run, and are not looked at any further.
 */
const manyDigits = /[0-9](?:[\s\p{Pd}]{0,3}[0-9]){8}/u
const separators = /[\s\p{Pd}]+/gu

export const hasManyDigits = (text: string): boolean => manyDigits.test(text)

/** Whether the digits of this number stand in the text, with or without blanks and dashes. */
export const hasThisNumber = (text: string, pan: string): boolean => text.replaceAll(separators, '').includes(pan)

/** Groups of digits as people write card numbers: at least three, blanks or dashes between them. */
const grouped = /(?<![0-9])[0-9]{3,}(?:[\s\p{Pd}]{1,3}[0-9]{3,})*/gu
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
