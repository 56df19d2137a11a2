import { mask, maskCardNumbers } from '../../base/log.ts'
import { Secret } from '../../base/secret.ts'
import { isoFields, type Format, type IsoGuard, type IsoMessage, type IsoRow } from '../../spec/iso8583.ts'

/** The longest message in bytes, without its length prefix. */
const longestBody = 4096

export type Unpacked = { is: 'message'; message: IsoMessage } | { is: 'refused'; why: string }

type Text = string | Secret<string>
type Tags = Record<string, Text | undefined>
type Content = Record<string, Text | Tags | undefined>

/** The rows of the table by field number; this dialect does not have the missing fields. */
const rows: (IsoRow | undefined)[] = []
for (const [number, row] of Object.entries(isoFields)) rows[Number(number)] = row

/** Numbers below a hundred and a thousand, with leading zeros: lengths and times. */
const twoDigits = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))
const threeDigits = Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, '0'))

type Kind = Format['kind']
const alphabet: Record<Kind, RegExp> = { n: /[0-9]/, an: /[0-9A-Za-z]/, ans: /[\x20-\x7e]/ }
/** Which characters each kind of field has, by their code. */
const allowed: Record<Kind, boolean[]> = { n: [], an: [], ans: [] }
for (const kind of Object.keys(alphabet) as Kind[])
  for (let code = 0; code < 256; code++) allowed[kind].push(alphabet[kind].test(String.fromCharCode(code)))

function isMadeOf(kind: Kind, text: string): boolean {
  const codes = allowed[kind]
  for (let i = 0; i < text.length; i++) if (codes[text.charCodeAt(i)] !== true) return false
  return true
}

const version1993 = /^1[0-9]{3}$/
const typeLength = 4
const bitmapLength = 8

/**
 * A message or field that is not allowed. It is thrown only while reading in this file, and by
 * `pack` for a message that fits no frame.
 */
class Refusal extends Error {}

/**
 * The frame of a message: two bytes of length, then type, bitmap and fields. Digits of fixed length
 * are left-padded with zeros, text of fixed length is right-padded with spaces. Throws on a value
 * that its row does not allow, naming the field and never the value.
 */
export function pack(message: IsoMessage): Buffer {
  if (!version1993.test(message.type)) throw new Refusal('the type is not one of ISO 8583:1993')
  const fields = message.fields as Content
  const bitmap = [0, 0, 0, 0, 0, 0, 0, 0]
  let body = ''
  for (const key of Object.keys(fields)) {
    const number = Number(key)
    const value = fields[number]
    if (value === undefined) continue
    const row = rows[number]
    if (!row) throw new Refusal(`field ${key} is not in the table`)
    body += packField(number, row, isText(value) ? reveal(value) : packTags(number, row.tags ?? {}, value))
    bitmap[(number - 1) >> 3]! |= 0x80 >> ((number - 1) & 7)
  }
  const length = typeLength + bitmapLength + body.length
  const head = String.fromCharCode(length >> 8, length & 0xff) + message.type + String.fromCharCode(...bitmap)
  return Buffer.from(head + body, 'latin1')
}

function packField(number: number, row: IsoRow, text: string): string {
  const { kind, length, prefix } = row.is
  if (text.length > length) throw new Refusal(`field ${number} is longer than ${length}`)
  if (!isMadeOf(kind, text)) throw new Refusal(`field ${number} has a character that ${kind} has not`)
  if (text === '' && kind === 'n') throw new Refusal(`field ${number} is empty`)
  if (prefix > 0) return (prefix === 2 ? twoDigits : threeDigits)[text.length]! + text
  if (kind === 'n') return text.padStart(length, '0')
  if (kind === 'ans') return text.padEnd(length, ' ')
  if (text.length < length) throw new Refusal(`field ${number} is shorter than ${length}`)
  return text
}

function packTags(number: number, known: NonNullable<IsoRow['tags']>, tags: Tags): string {
  let text = ''
  for (const tag of Object.keys(tags)) {
    const value = tags[tag]
    if (value === undefined) continue
    if (!Object.hasOwn(known, tag)) throw new Refusal(`field ${number} has no tag ${tag}`)
    const shown = reveal(value)
    if (shown.length > 999) throw new Refusal(`tag ${tag} of field ${number} is longer than 999`)
    text += tag + threeDigits[shown.length]! + shown
  }
  return text
}

/**
 * Reads the body of a frame, without its length prefix. Refuses anything that is not exactly a
 * message of the table, except within fields that decide nothing: an unreadable length leaves no
 * way to the fields behind it.
 */
export function unpack(body: Buffer): Unpacked {
  try {
    return { is: 'message', message: read(body) }
  } catch (thrown) {
    if (thrown instanceof Refusal) return { is: 'refused', why: thrown.message }
    throw thrown
  }
}

function read(body: Buffer): IsoMessage {
  if (body.length > longestBody) throw new Refusal(`longer than ${longestBody} bytes`)
  const text = body.toString('latin1')
  const reader = { text, at: 0 }
  const type = take(reader, typeLength, 'the type')
  if (!version1993.test(type)) throw new Refusal('the type is not one of ISO 8583:1993')
  take(reader, bitmapLength, 'the bitmap')
  const hasSecondary = (body[typeLength]! & 0x80) !== 0
  if (hasSecondary) take(reader, bitmapLength, 'the secondary bitmap')
  const fields: Content = {}
  const last = hasSecondary ? 2 * bitmapLength * 8 : bitmapLength * 8
  for (let number = 2; number <= last; number++) {
    if ((body[typeLength + ((number - 1) >> 3)]! & (0x80 >> ((number - 1) & 7))) === 0) continue
    const row = rows[number]
    if (!row) throw new Refusal(`field ${number} is not in the table`)
    const value = readField(reader, number, row)
    fields[number] = row.tags ? readTags(row.tags, value) : guard(row.guard, row.patient ? shownOf(value) : value)
  }
  if (reader.at !== text.length) throw new Refusal(`${text.length - reader.at} bytes after the last field`)
  return { type, fields }
}

interface Reader {
  readonly text: string
  at: number
}

/** `what` and the number of its field, if it has one, name the place for a refusal. */
function take(reader: Reader, length: number, what: string, number: number | '' = ''): string {
  const end = reader.at + length
  if (end > reader.text.length) throw new Refusal(`the message ends within ${what}${number}`)
  const taken = reader.text.slice(reader.at, end)
  reader.at = end
  return taken
}

function readField(reader: Reader, number: number, { is: { kind, length, prefix }, patient = false }: IsoRow): string {
  const wanted = prefix === 0 ? length : readLength(reader, prefix, 'the length of field ', number)
  if (wanted > length) throw new Refusal(`field ${number} is longer than ${length}`)
  const value = take(reader, wanted, 'field ', number)
  if (!patient && !isMadeOf(kind, value)) throw new Refusal(`field ${number} has a character that ${kind} has not`)
  if (value === '' && kind === 'n') throw new Refusal(`field ${number} is empty`)
  return prefix === 0 && (kind === 'ans' || patient) ? value.trimEnd() : value
}

/** The characters of ISO 8859-1 that can be shown. */
const shownOf = (text: string): string => (isMadeOf('ans', text) ? text : text.replace(/[^\x20-\x7e\xa0-\xff]/g, ''))

function readLength(reader: Reader, digits: number, what: string, number: number): number {
  const prefix = take(reader, digits, what, number)
  if (!isMadeOf('n', prefix)) throw new Refusal(`${what}${number} is not a number`)
  return Number(prefix)
}

/** Unknown tags are skipped. If a tag is repeated, the first counts. */
function readTags(known: NonNullable<IsoRow['tags']>, text: string): Tags {
  const tags: Tags = {}
  for (let at = 0; ;) {
    const tag = text.slice(at, at + 2)
    const length = text.slice(at + 2, at + 5)
    const start = at + 5
    at = start + Number(length)
    if (length.length < 3 || !isMadeOf('n', length) || at > text.length) return tags
    if (Object.hasOwn(known, tag) && !Object.hasOwn(tags, tag))
      tags[tag] = guard(known[tag]!.guard, shownOf(text.slice(start, at)))
  }
}

const isText = (value: Text | Tags): value is Text => typeof value === 'string' || value instanceof Secret
const guard = (how: IsoGuard, text: string): Text => (how === 'open' ? text : new Secret(text))
const reveal = (value: Text): string => (value instanceof Secret ? value.reveal() : value)

/**
 * A message in one line for logs: type, then `number=value` for each field, elements in brackets.
 * Guarded values are masked as their row requires; a card number that an acquirer put into a text
 * is masked too.
 */
export function describe(message: IsoMessage): string {
  const parts = [message.type]
  for (const [key, value] of Object.entries(message.fields as Content)) {
    const row = rows[Number(key)]
    if (!row || value === undefined) continue
    parts.push(`${key}=${isText(value) ? masked(row.guard, reveal(value), row.is) : describeTags(row.tags ?? {}, value)}`)
  }
  return parts.join(' ')
}

function describeTags(known: NonNullable<IsoRow['tags']>, tags: Tags): string {
  const parts: string[] = []
  for (const [tag, value] of Object.entries(tags)) {
    if (value !== undefined) parts.push(`${tag}=${masked(known[tag]?.guard ?? 'secret', reveal(value))}`)
  }
  return `[${parts.join(' ')}]`
}

/** Below 13 digits nothing is shown: first six and last four would be most of the number. */
function masked(how: IsoGuard, text: string, format?: Format): string {
  if (how === 'secret') return '*'.repeat(format?.prefix === 0 ? format.length : 3)
  if (how === 'card') return text.length < 13 ? '***' : mask(text)
  return maskCardNumbers(text)
}

export type FrameReader = (chunk: Buffer) => { bodies: Buffer[]; refused?: string }

/**
 * Splits a stream of bytes into the bodies of frames. Each call takes the next bytes, however they
 * were divided on the way, and returns the bodies completed by them. An empty body is a sign of
 * life. An impossible length is `refused`: the stream is lost, and nothing after it is read.
 */
export function frameReader(): FrameReader {
  let rest: Buffer = Buffer.alloc(0)
  let refused: string | undefined
  return (chunk) => {
    const bodies: Buffer[] = []
    if (refused !== undefined) return { bodies, refused }
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (bytes.length - at >= 2) {
      const length = bytes.readUInt16BE(at)
      if (length > longestBody) {
        refused = `a frame of ${length} bytes`
        rest = Buffer.alloc(0)
        return { bodies, refused }
      }
      if (bytes.length - at - 2 < length) break
      bodies.push(bytes.subarray(at + 2, at + 2 + length))
      at += 2 + length
    }
    rest = bytes.subarray(at)
    return { bodies }
  }
}

/** Field 12: UTC, `YYMMDDhhmmss`, from milliseconds since 1970. */
export function localTime(at: number): string {
  const d = new Date(at)
  return twoDigits[d.getUTCFullYear() % 100]! + monthToSecond(d)
}

/** Field 7: UTC, `MMDDhhmmss`, from milliseconds since 1970. */
export const transmissionTime = (at: number): string => monthToSecond(new Date(at))

const monthToSecond = (d: Date): string =>
  twoDigits[d.getUTCMonth() + 1]! +
  twoDigits[d.getUTCDate()]! +
  twoDigits[d.getUTCHours()]! +
  twoDigits[d.getUTCMinutes()]! +
  twoDigits[d.getUTCSeconds()]!

const halfYearMs = 180 * 24 * 3_600_000

/**
 * Field 7 in milliseconds since 1970, in the year that brings it nearest to `near`; undefined if it
 * is not a date.
 */
export function momentOf(field7: string, near: number): number | undefined {
  const year = new Date(near).getUTCFullYear()
  const usual = inYear(year, field7)
  if (usual !== undefined && Math.abs(usual - near) < halfYearMs) return usual
  const moments = [inYear(year - 1, field7), usual, inYear(year + 1, field7)].filter((at) => at !== undefined)
  return moments.sort((a, b) => Math.abs(a - near) - Math.abs(b - near))[0]
}

function inYear(year: number, field7: string): number | undefined {
  const at = Date.UTC(year, pair(field7, 0) - 1, pair(field7, 2), pair(field7, 4), pair(field7, 6), pair(field7, 8))
  return transmissionTime(at) === field7 ? at : undefined
}

/** Field 12 in milliseconds since 1970. */
export const momentOfLocal = (field12: string): number =>
  Date.UTC(2000 + pair(field12, 0), pair(field12, 2) - 1, pair(field12, 4), pair(field12, 6), pair(field12, 8), pair(field12, 10))

/** Two digits as a number. */
const pair = (text: string, at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * 48
