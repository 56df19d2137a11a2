import { deflateSync } from 'node:zlib'

/** Images of a given size, as small as their type allows; `padding` makes the file larger. */
export function image(
  type: 'png' | 'jpeg' | 'webp' | 'webp lossless' | 'webp extended',
  width: number,
  height: number,
  padding = 0,
): Buffer {
  const pad = Buffer.alloc(padding)
  if (type === 'png') return png(width, height, pad)
  if (type === 'jpeg') {
    const size = Buffer.alloc(4)
    size.writeUInt16BE(height, 0)
    size.writeUInt16BE(width, 2)
    const start = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108', 'hex')
    return Buffer.concat([start, size, Buffer.from('03011100021101031101', 'hex'), pad, Buffer.from('ffd9', 'hex')])
  }
  const data = Buffer.alloc(10)
  if (type === 'webp') {
    Buffer.from('0000009d012a', 'hex').copy(data)
    data.writeUInt16LE(width, 6)
    data.writeUInt16LE(height, 8)
  } else if (type === 'webp lossless') {
    data[0] = 0x2f
    data.writeUInt32LE((width - 1) | ((height - 1) << 14), 1)
  } else {
    data.writeUIntLE(width - 1, 4, 3)
    data.writeUIntLE(height - 1, 7, 3)
  }
  const name = { webp: 'VP8 ', 'webp lossless': 'VP8L', 'webp extended': 'VP8X' }[type]
  const chunk = Buffer.concat([Buffer.from(`WEBP${name}`), lengthOf(data.length), data, pad])
  return Buffer.concat([Buffer.from('RIFF'), lengthOf(chunk.length), chunk])
}

/** A PNG that browsers show: one colour. */
function png(width: number, height: number, pad: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  // A palette of one colour, and a row of nothing but its number.
  header[9] = 3
  const rows = deflateSync(Buffer.alloc(height * (width + 1)))
  const chunks = [
    ['IHDR', header],
    ['PLTE', Buffer.from('0a7d55', 'hex')],
    ['IDAT', rows],
    ['tEXt', pad],
    ['IEND', Buffer.alloc(0)],
  ] as const
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks.map(([name, data]) => pngChunk(name, data))])
}

function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes)
  return length
}
