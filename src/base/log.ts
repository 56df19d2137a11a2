import { checkDigitHolds } from './luhn.ts'
import { pino, type DestinationStream, type Logger } from 'pino'

/** Structured log: one JSON object a line. Pass fields first, then a sentence. */
export type Log = Logger

/**
 * Anything that looks like a card number in a log line is cut to its first six and last four
 * digits. This is the second net: the first is that card data travels as `Secret` and prints as
 * `***`. Percent and JSON escapes are passed over, since their digits are not the number's; groups
 * of four with spaces or dashes count.
 */
export const maskCardNumbers = (text: string): string =>
  text.replace(/%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\d+(?:[ -]\d{4,7})*/g, (found) => {
    if (found.length < 13 || found.startsWith('%') || found.startsWith('\\')) return found
    const digits = found.replace(/[ -]/g, '')
    return digits.length <= 19 && checkDigitHolds(digits) ? mask(digits) : found
  })

/** First six and last four digits; below 13 digits the last four, since ten would give it away. */
export function mask(pan: string): string {
  const shown = pan.length < 13 ? '' : pan.slice(0, 6)
  return shown + '*'.repeat(Math.max(0, pan.length - shown.length - 4)) + pan.slice(-4)
}

export interface LogSettings {
  level: string
  destination: DestinationStream
}

export function openLog(settings: LogSettings): Log {
  const masked: DestinationStream = { write: (line) => settings.destination.write(maskCardNumbers(line)) }
  return pino({ level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, masked)
}

/** Turns anything thrown into one line for a log field. */
export const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
