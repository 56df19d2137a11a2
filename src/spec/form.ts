import { isUtf8 } from 'node:buffer'
import { atOnce, turnBudget, type InPieces } from '../base/turn.ts'
import type { Pairs } from './field.ts'

/** More than the fields of any operation, and few enough to be read in one turn. */
const maxPairs = 1_000

const ampersand = 0x26
const equals = 0x3d
const percent = 0x25
const plus = 0x2b
const blank = 0x20
const byteOrderMark = Buffer.from('\ufeff')

/**
 * Reads an `application/x-www-form-urlencoded` body in pieces; docs/choices.md, "Wire". Undefined,
 * a refusal, if it cannot be decoded unambiguously: a broken percent sequence or bytes that are not
 * UTF-8. (URLSearchParams would guess.)
 */
export function* formReader(body: Buffer): InPieces<Pairs | undefined> {
  // 2 MiB take the processor half a millisecond. Percent-encoded text is checked once it is
  // decoded.
  if (!isUtf8(body)) return undefined
  const pairs: [string, string][] = []
  let count = 0
  for (let at = startOf(body); at < body.length;) {
    const [run, isLong] = nextRun(body, at)
    if (isLong) {
      yield ['pairs', 1]
      const sign = run.indexOf(equals)
      const name = yield* longText(sign < 0 ? run : run.subarray(0, sign))
      const value = sign < 0 ? '' : yield* longText(run.subarray(sign + 1))
      if (name === undefined || value === undefined) return undefined
      pairs.push([name, value])
      count++
    } else {
      yield ['bytes', run.length]
      const parts = withBlanks(run)
        .toString()
        .split('&', maxPairs + 1)
      count += parts.length
      if (count > maxPairs) return undefined
      yield ['pairs', parts.length]
      for (const part of parts) {
        if (part === '') continue
        const sign = part.indexOf('=')
        const name = decode(sign < 0 ? part : part.slice(0, sign))
        const value = sign < 0 ? '' : decode(part.slice(sign + 1))
        if (name === undefined || value === undefined) return undefined
        pairs.push([name, value])
      }
    }
    at += run.length + 1
  }
  return count > maxPairs ? undefined : pairs
}

/** The same in one go. */
export const readForm = (body: Buffer): Pairs | undefined => atOnce(formReader(body))

const startOf = (body: Buffer): number =>
  body.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0

/** As many whole pairs as fit one turn, or a single pair that does not fit. */
function nextRun(body: Buffer, at: number): [run: Buffer, isLong: boolean] {
  if (body.length - at <= turnBudget.bytes) return [body.subarray(at), false]
  const last = body.lastIndexOf(ampersand, at + turnBudget.bytes)
  if (last >= at) return [body.subarray(at, last), false]
  const next = body.indexOf(ampersand, at)
  return [body.subarray(at, next < 0 ? body.length : next), true]
}

/** A plus is a blank. Replaced as bytes: replaceAll takes 170 ms for two million of them. */
function withBlanks(run: Buffer): Buffer {
  if (!run.includes(plus)) return run
  const spaced = Buffer.from(run)
  for (let at = spaced.indexOf(plus); at >= 0 && at < spaced.length; at++) if (spaced[at] === plus) spaced[at] = blank
  return spaced
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return ownText(text)
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * A text of its own. V8 makes a slice of this length or more a view of the whole, so an order that
 * is kept in memory by its name would keep the body, with the card number and the CVV2.
 */
const ownText = (text: string): string => (text.length < shortestView ? text : Buffer.from(text).toString())
const shortestView = 13

/**
 * Undefined if it cannot be decoded unambiguously. `encoded` is UTF-8, except for the bytes of its
 * percent sequences.
 */
function* longText(encoded: Buffer): InPieces<string | undefined> {
  const pieces: Buffer[] = []
  for (let from = 0; from < encoded.length;) {
    const to = endOfPiece(encoded, from)
    yield ['bytes', to - from]
    const piece = decoded(encoded.subarray(from, to))
    if (!piece) return undefined
    pieces.push(piece)
    from = to
  }
  const bytes = Buffer.concat(pieces)
  if (!isUtf8(bytes)) return undefined
  let text = ''
  for (let from = 0; from < bytes.length;) {
    const to = endOfPiece(bytes, from)
    yield ['bytes', to - from]
    text += bytes.toString('utf8', from, to)
    from = to
  }
  return text
}

/** Splits neither a percent sequence nor a character; both have at most four bytes. */
function endOfPiece(bytes: Buffer, from: number): number {
  let to = Math.min(from + turnBudget.bytes, bytes.length)
  if (to === bytes.length) return to
  while ((bytes[to]! & 0xc0) === 0x80) to--
  if (bytes[to - 1] === percent) return to - 1
  return bytes[to - 2] === percent ? to - 2 : to
}

/** A plus is a blank, a percent sign the byte of its two digits; undefined without such digits. */
function decoded(encoded: Buffer): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at++) {
    const byte = encoded[at]!
    if (byte === percent) {
      const high = digitOf(encoded[at + 1])
      const low = digitOf(encoded[at + 2])
      if (high < 0 || low < 0) return undefined
      bytes[length++] = high * 16 + low
      at += 2
    } else bytes[length++] = byte === plus ? blank : byte
  }
  return bytes.subarray(0, length)
}

/** The value of a hexadecimal digit in ASCII; negative for anything else. */
function digitOf(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** Writes pairs as a form, joined by `&`. */
export function writeForm(pairs: Iterable<readonly [string, string]>): string {
  let out = ''
  for (const [name, value] of pairs) out += `${out === '' ? '' : '&'}${formText(name)}=${formText(value)}`
  return out
}

/**
 * A writer for the values of these names, in this order; those without a value are left out. The
 * names are encoded once, since replies and callbacks have many.
 */
export function formWriter<Name extends string>(
  names: readonly Name[],
): (values: Readonly<Record<Name, string | undefined>>) => string {
  const starts = names.map((name) => `${formText(name)}=`)
  return (values) => {
    let out = ''
    for (let i = 0; i < names.length; i++) {
      const value = values[names[i]!]
      if (value === undefined || value === '') continue
      out += (out === '' ? '' : '&') + starts[i]! + formText(value)
    }
    return out
  }
}

const plain = /^[A-Za-z0-9._*-]*$/

/** How each ASCII character is written; empty where it stands for itself. */
const written = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (plain.test(character)) return ''
  return character === ' ' ? '+' : `%${code.toString(16).toUpperCase().padStart(2, '0')}`
})

/**
 * A name or value of a form: space is `+`, everything but letters, digits and `-._*` is
 * percent-encoded.
 */
function formText(text: string): string {
  if (plain.test(text)) return text
  let out = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    let instead = written[text.charCodeAt(at)]
    if (instead === '') continue
    out += text.slice(from, at)
    from = at + 1
    if (instead === undefined) {
      while (text.charCodeAt(from) >= written.length) from++
      // encodeURIComponent throws on half a surrogate pair.
      instead = encodeURIComponent(text.slice(at, from).replace(/\p{Surrogate}/gu, '\ufffd'))
      at = from - 1
    }
    out += instead
  }
  return out + text.slice(from)
}
