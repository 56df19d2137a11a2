/**
 * JSON from untrusted senders. A text is scanned before JSON.parse sees it, for content that
 * JSON.parse accepts silently and for content that would block the event loop.
 */
import { atOnce, type InPieces } from './turn.ts'

export interface JsonLimits {
  /** UTF-16 units of the text. */
  length: number
  /** Nesting of objects and lists. */
  depth: number
  /** Values, and the names of members. */
  nodes: number
}

export type Parsed =
  | { is: 'object'; fields: Readonly<Record<string, unknown>> }
  | { is: 'refused'; why: 'not an object' | 'too long' | 'too deep' | 'of too many parts' }
  /** Readable but unusable: a name appears twice, or has a meaning in JavaScript itself. */
  | { is: 'doubtful'; fields: Readonly<Record<string, unknown>>; repeated: readonly string[]; prototypes: readonly string[] }

/** Names that reach the prototype of a carelessly merged object; no message has them. */
const prototypeNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor'])

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object of a text as JSON.parse reads it, which passes over repeated names. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Some libraries write a byte order mark before the text, which RFC 8259 lets readers ignore. */
export const isMarked = (text: string): boolean => text.startsWith('\uFEFF')

/** Reads an object. JSON.parse cannot be split into pieces, so `limits` bounds its input. */
export function* objectReader(given: string, limits: JsonLimits): InPieces<Parsed> {
  const text = isMarked(given) ? given.slice(1) : given
  if (text.length > limits.length) return { is: 'refused', why: 'too long' }
  yield ['bytes', text.length]
  const scanned = scan(text, limits)
  if (typeof scanned === 'string') return { is: 'refused', why: scanned }
  yield ['nodes', scanned.nodes]
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { is: 'refused', why: 'not an object' }
  }
  if (!isObject(value)) return { is: 'refused', why: 'not an object' }
  const { repeated, prototypes } = scanned
  if (repeated.size === 0 && prototypes.size === 0) return { is: 'object', fields: value }
  return { is: 'doubtful', fields: value, repeated: [...repeated], prototypes: [...prototypes] }
}

/** The same in one go. */
export const parseObject = (text: string, limits: JsonLimits): Parsed => atOnce(objectReader(text, limits))

interface Scanned {
  nodes: number
  repeated: ReadonlySet<string>
  prototypes: ReadonlySet<string>
}

/**
 * Counts values and names, and finds names that appear twice in one object: JSON.parse keeps the
 * last one and reports nothing. It reads the text once, without recursion, and stops at the first
 * limit. Its result for a text that is not JSON means nothing, because JSON.parse rejects that
 * text. *Rejected:* a parser of our own, which could read a text differently from everybody else's.
 */
function scan(text: string, { depth, nodes }: JsonLimits): Scanned | 'too deep' | 'of too many parts' | 'not an object' {
  const repeated = new Set<string>()
  const prototypes = new Set<string>()
  /** The names of each open object; undefined for a list. */
  const open: (Set<string> | undefined)[] = []
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (isBlank(c) || c === comma || c === colon) continue
    if (c === closingBrace || c === closingBracket) {
      open.pop()
      continue
    }
    if (++count > nodes) return 'of too many parts'
    if (c === brace || c === bracket) {
      if (open.length === depth) return 'too deep'
      open.push(c === brace ? new Set() : undefined)
    } else if (c === quote) {
      const end = closingQuote(text, at)
      if (end < 0) return 'not an object'
      if (isName(text, end)) {
        const name = nameIn(text.slice(at, end + 1))
        const names = open.at(-1)
        if (name === undefined || !names) return 'not an object'
        if (names.has(name)) repeated.add(name)
        if (prototypeNames.has(name)) prototypes.add(name)
        names.add(name)
      }
      at = end
    } else while (at + 1 < text.length && !endsScalar(text.charCodeAt(at + 1))) at++
  }
  return { nodes: count, repeated, prototypes }
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const bracket = 0x5b
const backslash = 0x5c
const closingBracket = 0x5d
const brace = 0x7b
const closingBrace = 0x7d

const isBlank = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

/** After a number, or after one of the three words. */
const endsScalar = (c: number): boolean =>
  isBlank(c) ||
  c === comma ||
  c === colon ||
  c === closingBrace ||
  c === closingBracket ||
  c === quote ||
  c === brace ||
  c === bracket

/** A name may be spelled with escapes. Undefined if they are not valid. */
function nameIn(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    return undefined
  }
}

/** Negative if there is none. */
function closingQuote(text: string, opening: number): number {
  for (let at = opening + 1; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c === quote) return at
    if (c === backslash) at++
  }
  return -1
}

/** Only a name is followed by a colon. */
function isName(text: string, end: number): boolean {
  let next = end + 1
  while (isBlank(text.charCodeAt(next))) next++
  return text.charCodeAt(next) === colon
}
