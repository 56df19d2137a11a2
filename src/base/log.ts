import { checkDigitHolds } from './luhn.ts'
import { pino, type DestinationStream, type Logger } from 'pino'

/** Structured log: a JSON object per line, its level a word. Pass fields first, then a sentence. */
export type Log = Logger

/**
 * Anything that looks like a card number in a log line is cut to its first six and last four
 * digits. This is the second safeguard: the first is that card data travels as `Secret` and prints
 * as `***`. Percent and JSON escapes are skipped, because their digits are not part of a number;
 * groups of four with spaces or dashes count. UUIDs stay whole: one in four hundred has digits that
 * would pass for a card, and operators search for them.
 */
export const maskCardNumbers = (text: string): string =>
  text.replace(/%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\d+(?:[ -]\d{4,7}(?!\d))*/g, (found, at: number) => {
    if (found.length < 13 || found.startsWith('%') || found.startsWith('\\')) return found
    const digits = found.replace(/[ -]/g, '')
    if (digits.length > 19 || !checkDigitHolds(digits) || isOfUuid(text, at, at + found.length)) return found
    return mask(digits)
  })

const uuidLength = 36
const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/gi

/** Whether all of these characters belong to one UUID. */
function isOfUuid(text: string, from: number, to: number): boolean {
  const start = Math.max(0, to - uuidLength)
  return Array.from(text.slice(start, from + uuidLength).matchAll(uuids)).some(
    ({ index }) => start + index <= from && to <= start + index + uuidLength,
  )
}

/**
 * First six and last four digits; below 13 digits only the last four, because ten would reveal it.
 */
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
  const formatters = { level: (level: string) => ({ level }) }
  return pino({ level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, masked)
}

/** Turns any thrown value into one line for a log field. */
export const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
