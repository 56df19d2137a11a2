import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto'

/**
 * The acquirer's own MACs. They are made block by block, where the gateway lets its ciphers chain,
 * so that a mistake in one is noticed by the other.
 */
export const macNames = ['aes-cmac', 'retail-mac'] as const

export interface MacKey {
  algorithm: (typeof macNames)[number]
  key: Buffer
}

type Block = (block: Buffer) => Buffer

const block =
  (cipher: string, key: Buffer, make: typeof createCipheriv | typeof createDecipheriv = createCipheriv): Block =>
  (input) => {
    const run = make(cipher, key, null)
    run.setAutoPadding(false)
    return Buffer.concat([run.update(input), run.final()])
  }

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, i) => byte ^ b[i]!))

/** The blocks of a message; the last may be shorter, and alone empty. */
function blocksOf(message: Buffer, size: number): Buffer[] {
  const blocks: Buffer[] = []
  for (let at = 0; at === 0 || at < message.length; at += size) blocks.push(message.subarray(at, at + size))
  return blocks
}

/** RFC 4493. */
function aesCmac(key: Buffer, message: Buffer): Buffer {
  const encrypt = block(`aes-${key.length * 8}-ecb`, key)
  const blocks = blocksOf(message, 16)
  const last = blocks.pop()!
  const once = twice(encrypt(Buffer.alloc(16)))
  const end =
    last.length === 16 ? xor(last, once) : xor(Buffer.concat([last, Buffer.from([0x80])], 17).subarray(0, 16), twice(once))
  return encrypt(
    xor(
      end,
      blocks.reduce((chained, one) => encrypt(xor(one, chained)), Buffer.alloc(16)),
    ),
  )
}

/** A number of 128 bits, doubled in the field that CMAC is defined over. */
function twice(number: Buffer): Buffer {
  const doubled = BigInt(`0x${number.toString('hex')}`) << 1n
  const reduced = doubled >> 128n ? BigInt.asUintN(128, doubled) ^ 0x87n : doubled
  return Buffer.from(reduced.toString(16).padStart(32, '0'), 'hex')
}

/** ISO/IEC 9797-1, algorithm 3 with DES and padding method 1. */
function retailMac(key: Buffer, message: Buffer): Buffer {
  const des = (half: Buffer) => Buffer.concat([half, half, half])
  const [left, right] = [des(key.subarray(0, 8)), des(key.subarray(8))]
  const encrypt = block('des-ede3-ecb', left)
  const decrypt = block('des-ede3-ecb', right, createDecipheriv)
  const zeros = Buffer.alloc(8)
  const chained = blocksOf(message, 8).reduce((before, one) => encrypt(xor(Buffer.concat([one, zeros], 8), before)), zeros)
  return encrypt(decrypt(chained))
}

const algorithms = { 'aes-cmac': aesCmac, 'retail-mac': retailMac }

/** Eight bytes, as fields 64 and 128 have them. */
export const macOf = ({ algorithm, key }: MacKey, covered: Buffer): Buffer => algorithms[algorithm](key, covered).subarray(0, 8)

/** Whether a message ends in the MAC of what stands before it. */
export const macHolds = (key: MacKey, body: Buffer): boolean =>
  body.length > 8 && timingSafeEqual(macOf(key, body.subarray(0, -8)), body.subarray(-8))
