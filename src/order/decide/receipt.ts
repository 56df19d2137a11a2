/**
 * Receipt ids that lead to their order without a row of their own: a UUID of version 8 whose bits
 * are the key of the transaction, encrypted.
 */
import { createCipheriv, type Cipher } from 'node:crypto'
import type { KeyRing } from '../../keys/ring.ts'
import type { OrderKey } from './change.ts'

export type ReceiptIds = ReturnType<typeof openReceiptIds>

/** The 128 bits of the id: version of the key, block, and the six bits that every UUID has. */
const merchantBits = 36n
const orderBits = 60n
const transactionBits = 18n
const halfBits = 57n
const half = (1n << halfBits) - 1n
const rounds = 8

export function openReceiptIds(keys: KeyRing) {
  const ciphers = new Map<bigint, Cipher>()

  /** AES of single blocks, as a pseudo-random function. */
  function cipherOf(version: bigint): Cipher | undefined {
    const known = ciphers.get(version)
    const key = known ? undefined : keys.version('receipt', version)
    if (!key) return known
    const cipher = createCipheriv('aes-256-ecb', key.reveal(), null).setAutoPadding(false)
    ciphers.set(version, cipher)
    return cipher
  }

  return {
    idOf({ merchantId, orderId }: OrderKey, transactionNo: number): string {
      const { version } = keys.current('receipt')
      const no = BigInt(transactionNo)
      if (version >> 8n || merchantId >> merchantBits || orderId >> orderBits || no >> transactionBits)
        throw new Error(`the receipt of order ${orderId} has no room for its numbers`)
      const block = (((merchantId << orderBits) | orderId) << transactionBits) | no
      return uuidOf(version, encrypt(cipherOf(version)!, block))
    },
    /** Undefined if it is no id of this installation. */
    orderKeyOf(receiptId: string): OrderKey | undefined {
      if (receiptId[14] !== '8') return undefined
      const { version, block } = partsOf(receiptId)
      const cipher = cipherOf(version)
      if (!cipher) return undefined
      const numbers = decrypt(cipher, block) >> transactionBits
      return { merchantId: numbers >> orderBits, orderId: numbers & ((1n << orderBits) - 1n) }
    },
  }
}

/**
 * A Feistel network over the two halves of the block. With a pseudo-random function, four rounds
 * already make a strong pseudo-random permutation: without the key, an id says nothing about any
 * other.
 */
function encrypt(cipher: Cipher, block: bigint): bigint {
  let [left, right] = [block >> halfBits, block & half]
  for (let round = 0; round < rounds; round++) [left, right] = [right, left ^ mask(cipher, round, right)]
  return (left << halfBits) | right
}

function decrypt(cipher: Cipher, block: bigint): bigint {
  let [left, right] = [block >> halfBits, block & half]
  for (let round = rounds - 1; round >= 0; round--) [left, right] = [right ^ mask(cipher, round, left), left]
  return (left << halfBits) | right
}

function mask(cipher: Cipher, round: number, input: bigint): bigint {
  maskInput.setUint8(0, round)
  maskInput.setBigUint64(8, input)
  return cipher.update(maskInput).readBigUInt64BE() & half
}

/** Used again: a buffer for each of eight rounds costs more than their encryption. */
const maskInput = new DataView(new ArrayBuffer(16))

/** Version of the key, 40 bits, `8`, 12 bits, the variant, 62 bits. */
function uuidOf(version: bigint, block: bigint): string {
  const bits =
    (version << 120n) |
    ((block >> 74n) << 80n) |
    (8n << 76n) |
    (((block >> 62n) & 0xfffn) << 64n) |
    (2n << 62n) |
    (block & ((1n << 62n) - 1n))
  const hex = bits.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function partsOf(receiptId: string): { version: bigint; block: bigint } {
  const bits = BigInt(`0x${receiptId.replaceAll('-', '')}`)
  const high = (bits >> 80n) & ((1n << 40n) - 1n)
  const block = (high << 74n) | (((bits >> 64n) & 0xfffn) << 62n) | (bits & ((1n << 62n) - 1n))
  return { version: bits >> 120n, block }
}
