import { macHolds, macOf, type MacKey } from './mac.ts'

/**
 * The acquirer's own implementation of docs/iso8583.md. It deliberately shares nothing with the
 * gateway's codec: a mistake made in both would go unnoticed, but a mistake in one is noticed by
 * the other side.
 */

/**
 * A message as fields by number, in their text form: fixed `n` fields keep their leading zeros,
 * fixed `ans` fields lose their padding.
 */
export interface Message {
  type: string
  fields: (string | undefined)[]
  /** The MAC of a message that was read from a line with a key. */
  mac?: 'correct' | 'missing' | 'incorrect'
}

/**
 * Bytes that are not a frame or a message. Whatever follows them on the connection is useless too.
 */
export class Unreadable extends Error {}

const longestMessage = 4096

type Alphabet = 'n' | 'an' | 'ans' | 'b'
type Layout = 'fixed' | 'LL' | 'LLL'
interface Row {
  alphabet: Alphabet
  length: number
  layout: Layout
}

const row = (alphabet: Alphabet, length: number, layout: Layout = 'fixed'): Row => ({ alphabet, length, layout })

// oxfmt-ignore
const rows = new Map<number, Row>([
  [2,  row('n',   19, 'LL')],
  [3,  row('n',    6)],
  [4,  row('n',   12)],
  [7,  row('n',   10)],
  [11, row('n',    6)],
  [12, row('n',   12)],
  [14, row('n',    4)],
  [22, row('an',  12)],
  [24, row('n',    3)],
  [25, row('n',    4)],
  [26, row('n',    4)],
  [30, row('n',   12)],
  [32, row('n',   11, 'LL')],
  [37, row('an',  12)],
  [38, row('an',   6)],
  [39, row('n',    3)],
  [41, row('ans',  8)],
  [42, row('ans', 15)],
  [43, row('ans', 99, 'LL')],
  [44, row('ans', 99, 'LL')],
  [48, row('ans', 999, 'LLL')],
  [49, row('n',    3)],
  [56, row('n',   35, 'LL')],
  [62, row('ans', 999, 'LLL')],
  [64, row('b',    8)],
  [128, row('b',   8)],
])

const rowsInOrder = [...rows]

const alphabets: Record<Alphabet, RegExp> = { n: /^[0-9]*$/, an: /^[0-9A-Za-z]*$/, ans: /^[ -~]*$/, b: /^/ }
const prefixDigits: Record<Layout, number> = { fixed: 0, LL: 2, LLL: 3 }

/**
 * Reads one message, without the frame's length. Throws `Unreadable` for anything that the dialect
 * not have. With a key, its last field should be a MAC.
 */
export function decode(body: Buffer, key?: MacKey): Message {
  const text = body.toString('latin1')
  const type = text.slice(0, 4)
  if (!/^1[0-9]{3}$/.test(type)) throw new Unreadable('the message type is not one of ISO 8583:1993')
  if (body.length < 12) throw new Unreadable('the bitmap is cut off')
  const fields: (string | undefined)[] = []
  const hasSecond = (body[4]! & 0x80) !== 0
  const bits = hasSecond ? 128 : 64
  let at = hasSecond ? 20 : 12
  if (at > body.length) throw new Unreadable('the second bitmap is cut off')
  for (let number = 2; number <= bits; number++) {
    if (((body[4 + ((number - 1) >> 3)]! >> (7 - ((number - 1) & 7))) & 1) === 0) continue
    const shape = rows.get(number)
    if (!shape) throw new Unreadable(`field ${number} is not part of this line`)
    at = readField(text, at, number, shape, fields)
  }
  if (at !== text.length) throw new Unreadable('the message goes on after its last field')
  return { type, fields, ...(key && { mac: judged(key, body, fields[hasSecond ? 128 : 64]) }) }
}

function judged(key: MacKey, body: Buffer, mac: string | undefined): 'correct' | 'missing' | 'incorrect' {
  if (mac === undefined) return 'missing'
  return macHolds(key, body) ? 'correct' : 'incorrect'
}

function readField(text: string, start: number, number: number, shape: Row, into: (string | undefined)[]): number {
  let at = start
  let length = shape.length
  const digits = prefixDigits[shape.layout]
  if (digits > 0) {
    const prefix = text.slice(at, at + digits)
    if (prefix.length < digits || !alphabets.n.test(prefix)) throw new Unreadable(`the length of field ${number} is not a number`)
    length = Number(prefix)
    if (length > shape.length) throw new Unreadable(`field ${number} is longer than ${shape.length}`)
    at += digits
  }
  const value = text.slice(at, at + length)
  if (value.length < length) throw new Unreadable(`field ${number} is cut off`)
  if (!alphabets[shape.alphabet].test(value))
    throw new Unreadable(`field ${number} has a character that ${shape.alphabet} does not allow`)
  into[number] = shape.alphabet === 'ans' && shape.layout === 'fixed' ? value.trimEnd() : value
  return at + length
}

/**
 * The message as a frame, its length in front. A value that does not fit its field is a defect of
 * the caller and throws. With a key it has a MAC, which is made here.
 */
export function encode(message: Message, key?: MacKey): Buffer {
  const bitmap = [0, 0, 0, 0, 0, 0, 0, 0]
  let text = ''
  for (const [number, shape] of rowsInOrder) {
    const value = message.fields[number]
    if (value === undefined) continue
    if (value.length > shape.length) throw new Error(`field ${number} is too long to send`)
    bitmap[(number - 1) >> 3]! |= 0x80 >> ((number - 1) & 7)
    text += laidOut(value, shape)
  }
  if (key) bitmap[7]! |= 1
  const body = message.type + String.fromCharCode(...bitmap) + text
  const length = body.length + (key ? 8 : 0)
  const frame = Buffer.allocUnsafe(2 + length)
  frame.writeUInt16BE(length)
  frame.write(body, 2, 'latin1')
  if (key) macOf(key, frame.subarray(2, 2 + body.length)).copy(frame, 2 + body.length)
  return frame
}

function laidOut(value: string, shape: Row): string {
  if (shape.layout !== 'fixed') return String(value.length).padStart(prefixDigits[shape.layout], '0') + value
  return shape.alphabet === 'n' ? value.padStart(shape.length, '0') : value.padEnd(shape.length, ' ')
}

/**
 * Splits a stream of bytes into message bodies. A length of zero or above 4096 throws `Unreadable`.
 */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)

  push(chunk: Buffer): Buffer[] {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const bodies: Buffer[] = []
    while (data.length >= 2) {
      const length = data.readUInt16BE()
      if (length === 0 || length > longestMessage) throw new Unreadable(`a frame cannot be ${length} bytes long`)
      if (data.length < 2 + length) break
      bodies.push(data.subarray(2, 2 + length))
      data = data.subarray(2 + length)
    }
    this.#rest = data
    return bodies
  }
}

export type Tags = ReadonlyMap<string, string>

const tagHead = /([0-9A-Z]{2})([0-9]{3})/y

/**
 * Elements of fields 48 and 62: a tag of two characters, a length of three digits, the value.
 * Undefined if the text has another form.
 */
export function readTags(text: string): Tags | undefined {
  const tags = new Map<string, string>()
  for (let at = 0; at < text.length;) {
    tagHead.lastIndex = at
    const head = tagHead.exec(text)
    if (!head) return undefined
    const value = text.slice(at + 5, at + 5 + Number(head[2]))
    if (value.length < Number(head[2]) || tags.has(head[1]!)) return undefined
    tags.set(head[1]!, value)
    at += 5 + value.length
  }
  return tags
}

export function writeTags(tags: Record<string, string | undefined>): string {
  let text = ''
  for (const tag in tags) {
    const value = tags[tag]
    if (value !== undefined) text += tag + String(value.length).padStart(3, '0') + value
  }
  return text
}

/** Field 56: the message that an advice, a capture or a return refers to. */
export interface OriginalNames {
  type: string
  stan: string
  time12: string
}

export function readOriginal(text: string): OriginalNames | undefined {
  const match = /^([0-9]{4})([0-9]{6})([0-9]{12})([0-9]{2})([0-9]{0,11})$/.exec(text)
  if (!match || Number(match[4]) !== match[5]!.length) return undefined
  return { type: match[1]!, stan: match[2]!, time12: match[3]! }
}
