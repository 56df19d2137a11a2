/**
 * Numbers below `limit`, the same for the same seed (mulberry32: small and even, not for secrets).
 */
export function seeded(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

/** Bytes that parsers are often wrong about: ends of ranges, digits, separators, broken UTF-8. */
const awkward = [0x00, 0x01, 0x0a, 0x0d, 0x20, 0x25, 0x26, 0x2b, 0x2d, 0x30, 0x39, 0x3d, 0x7e, 0x7f, 0x80, 0xc0, 0xed, 0xfe, 0xff]

type Change = (bytes: Buffer, below: (limit: number) => number) => Buffer

const splice = (bytes: Buffer, from: number, to: number, between: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, from), between, bytes.subarray(to)])

const changes: Change[] = [
  function flipBit(bytes, below) {
    const at = below(bytes.length)
    return splice(bytes, at, at + 1, Buffer.of(bytes[at]! ^ (1 << below(8))))
  },
  function otherByte(bytes, below) {
    const at = below(bytes.length)
    return splice(bytes, at, at + 1, Buffer.of(below(256)))
  },
  function awkwardByte(bytes, below) {
    const at = below(bytes.length)
    return splice(bytes, at, at + 1, Buffer.of(awkward[below(awkward.length)]!))
  },
  function otherDigit(bytes, below) {
    const at = below(bytes.length)
    return splice(bytes, at, at + 1, Buffer.of(0x30 + below(10)))
  },
  function insert(bytes, below) {
    const at = below(bytes.length + 1)
    return splice(bytes, at, at, Buffer.from(Array.from({ length: 1 + below(8) }, () => below(256))))
  },
  function remove(bytes, below) {
    const at = below(bytes.length)
    return splice(bytes, at, at + 1 + below(8), Buffer.alloc(0))
  },
  function repeatPart(bytes, below) {
    const from = below(bytes.length)
    const part = bytes.subarray(from, from + 1 + below(16))
    return splice(bytes, from, from, part)
  },
  function movePart(bytes, below) {
    const from = below(bytes.length)
    const part = Buffer.from(bytes.subarray(from, from + 1 + below(16)))
    const without = splice(bytes, from, from + part.length, Buffer.alloc(0))
    const to = below(without.length + 1)
    return splice(without, to, to, part)
  },
  function truncate(bytes, below) {
    return bytes.subarray(0, below(bytes.length))
  },
]

/**
 * Makes damaged copies of an input, with one to four changes each. The same seed makes the same
 * copies in the same order.
 */
export function mutator(seed: number): (input: Buffer) => Buffer {
  const below = seeded(seed)
  return (input) => {
    let bytes: Buffer = Buffer.from(input)
    for (let left = 1 + below(4); left > 0 && bytes.length > 0; left--) bytes = changes[below(changes.length)]!(bytes, below)
    return bytes
  }
}
