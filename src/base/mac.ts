/** Message authentication codes that Node's OpenSSL has no name for, composed of its ciphers. */
import { createCipheriv } from 'node:crypto'
import type { Secret } from './secret.ts'

export type Mac = (message: Buffer) => Buffer

const aesBlock = 16
const desBlock = 8

/** AES-CMAC of RFC 4493 and NIST SP 800-38B, under 16 or 32 bytes. Its codes have 16 bytes. */
export function aesCmac(key: Secret<Buffer>): Mac {
  const cipher = `aes-${key.reveal().length * 8}-cbc`
  const chain = (blocks: Buffer) => cbc(cipher, key.reveal(), Buffer.alloc(aesBlock), blocks)
  const ofWhole = doubled(chain(Buffer.alloc(aesBlock)))
  const ofPadded = doubled(ofWhole)
  return (message) => {
    const blocks = inBlocks(message, aesBlock)
    const isWhole = blocks.length === message.length
    if (!isWhole) blocks[message.length] = 0x80
    const last = blocks.subarray(-aesBlock)
    for (const [i, byte] of (isWhole ? ofWhole : ofPadded).entries()) last[i]! ^= byte
    return chain(blocks).subarray(-aesBlock)
  }
}

/**
 * Algorithm 3 of ISO/IEC 9797-1 with DES and padding method 1, the retail MAC of ANSI X9.19, under
 * two DES keys of 8 bytes. Its codes have 8 bytes. OpenSSL 3 has single DES no more, so that is
 * triple DES with three equal keys.
 */
export function retailMac(key: Secret<Buffer>): Mac {
  const left = key.reveal().subarray(0, desBlock)
  const right = key.reveal().subarray(desBlock)
  const single = Buffer.concat([left, left, left])
  const triple = Buffer.concat([left, right, left])
  return (message) => {
    const blocks = inBlocks(message, desBlock)
    const start = Buffer.alloc(desBlock)
    const before = Buffer.concat([start, cbc('des-ede3-cbc', single, start, blocks.subarray(0, -desBlock))])
    return cbc('des-ede3-cbc', triple, before.subarray(-desBlock), blocks.subarray(-desBlock))
  }
}

/** A copy, filled up with zeros; at least one block. */
function inBlocks(message: Buffer, size: number): Buffer {
  const blocks = Buffer.alloc(Math.max(1, Math.ceil(message.length / size)) * size)
  message.copy(blocks)
  return blocks
}

const cbc = (cipher: string, key: Buffer, iv: Buffer, blocks: Buffer): Buffer =>
  createCipheriv(cipher, key, iv).setAutoPadding(false).update(blocks)

/** Multiplies by x in the field of 128 bits, whose polynomial has the low byte 0x87. */
function doubled(block: Buffer): Buffer {
  const result = Buffer.alloc(aesBlock)
  for (let i = 0; i < aesBlock; i++) result[i] = (block[i]! << 1) | ((block[i + 1] ?? 0) >> 7)
  if (block[0]! & 0x80) result[aesBlock - 1]! ^= 0x87
  return result
}
