import type { Pairs } from './field.ts'

/** More than any operation has fields, and few enough to be read at once. */
const maxPairs = 1_000

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads an `application/x-www-form-urlencoded` body; docs/choices.md, "Wire". Undefined, a refusal, when it cannot be decoded for certain: a broken percent
 * sequence or bytes that are not UTF-8. (URLSearchParams would guess.)
 */
export function readForm(body: Buffer): Pairs | undefined {
  let text: string
  try {
    // A plus is a space. Replaced as bytes: of two million of them the text's own replaceAll makes 170 ms.
    text = utf8.decode(withSpaces(body))
  } catch {
    return undefined
  }
  const pairs: [string, string][] = []
  if (text === '') return pairs
  const parts = text.split('&', maxPairs + 1)
  if (parts.length > maxPairs) return undefined
  for (const part of parts) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decode(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? '' : decode(part.slice(at + 1))
    if (name === undefined || value === undefined) return undefined
    pairs.push([name, value])
  }
  return pairs
}

function withSpaces(body: Buffer): Buffer {
  if (!body.includes(0x2b)) return body
  const spaced = Buffer.from(body)
  for (let at = spaced.indexOf(0x2b); at >= 0 && at < spaced.length; at++) if (spaced[at] === 0x2b) spaced[at] = 0x20
  return spaced
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Writes pairs as a form: space is `+`, everything but letters, digits and `-._*` is percent-encoded, pairs are joined by `&`. */
export function writeForm(pairs: Iterable<readonly [string, string]>): string {
  let out = ''
  for (const [name, value] of pairs) out += `${out === '' ? '' : '&'}${encode(name)}=${encode(value)}`
  return out
}

const plain = /^[A-Za-z0-9._*-]*$/

function encode(text: string): string {
  if (plain.test(text)) return text
  // encodeURIComponent throws on half a surrogate pair.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
