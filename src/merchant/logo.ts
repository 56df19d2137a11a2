/** Images that merchants bring: type and size, as the image itself states them. */
import { createHash } from 'node:crypto'
import { Unreadable } from '../entity/kinds.ts'

/** Every page carries the logo, so it is small. */
export const mostLogoBytes = 32 * 1024
const leastPixels = 16
const mostPixels = 1_024

/** The facts of a logo, whose bytes are read when a page shows it. */
export interface LogoFacts {
  type: 'png' | 'jpeg' | 'webp'
  width: number
  height: number
  bytes: number
  sha256: string
}

export interface Logo {
  bytes: Buffer
  facts: LogoFacts
}

/**
 * The container must be right at its first and last bytes; whether a browser can show the image is
 * not tried.
 */
export function judgeLogo(bytes: Buffer): Logo | Unreadable {
  const found = bytes.length <= mostLogoBytes ? (pngSize(bytes) ?? jpegSize(bytes) ?? webpSize(bytes)) : undefined
  const [type, width, height] = found ?? ['png', 0, 0]
  if (Math.min(width, height) < leastPixels || Math.max(width, height) > mostPixels)
    return new Unreadable(
      `a PNG, JPEG or WebP of at most ${mostLogoBytes / 1024} KiB, ${leastPixels} to ${mostPixels} pixels wide and high`,
    )
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { bytes, facts: { type, width, height, bytes: bytes.length, sha256 } }
}

type Size = [type: LogoFacts['type'], width: number, height: number]

function pngSize(b: Buffer): Size | undefined {
  const framed = b.subarray(0, 16).equals(pngStart) && b.subarray(-12).equals(pngEnd)
  return framed ? ['png', b.readUInt32BE(16), b.readUInt32BE(20)] : undefined
}
const pngStart = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex')

/** Segment by segment to the one that has the size. */
function jpegSize(b: Buffer): Size | undefined {
  if (b.length < 4 || b.readUInt16BE(0) !== 0xffd8 || b.readUInt16BE(b.length - 2) !== 0xffd9) return undefined
  for (let at = 2; at + 9 <= b.length && b[at] === 0xff; at += 2 + b.readUInt16BE(at + 2)) {
    const marker = b[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return ['jpeg', b.readUInt16BE(at + 7), b.readUInt16BE(at + 5)]
  }
  return undefined
}

function webpSize(b: Buffer): Size | undefined {
  if (b.length < 30 || b.toString('latin1', 0, 4) !== 'RIFF' || b.readUInt32LE(4) + 8 !== b.length) return undefined
  const size = (width: number, height: number): Size => ['webp', width, height]
  switch (b.toString('latin1', 8, 16)) {
    case 'WEBPVP8X':
      return size(b.readUIntLE(24, 3) + 1, b.readUIntLE(27, 3) + 1)
    case 'WEBPVP8L':
      return size((b.readUInt32LE(21) & 0x3fff) + 1, ((b.readUInt32LE(21) >>> 14) & 0x3fff) + 1)
    case 'WEBPVP8 ':
      return size(b.readUInt16LE(26) & 0x3fff, b.readUInt16LE(28) & 0x3fff)
    default:
      return undefined
  }
}
