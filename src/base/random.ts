import { randomFillSync } from 'node:crypto'

/** Randomness as an argument, so that the simulation can seed it. */
export interface Random {
  bytes(length: number): Buffer
}

const poolBytes = 16_384
const pool = Buffer.alloc(poolBytes)
let used = poolBytes

/** The system's generator, drawn in pools: one draw for each IV costs 3 % of a sale's time. */
export const systemRandom: Random = {
  bytes(length) {
    if (length > poolBytes) return randomFillSync(Buffer.alloc(length))
    if (used + length > poolBytes) {
      randomFillSync(pool)
      used = 0
    }
    const out = Buffer.from(pool.subarray(used, used + length))
    pool.fill(0, used, used + length)
    used += length
    return out
  },
}

/** A version 4 UUID in lower case. */
export const uuid = (random: Random): string => uuidText(asVersion4(random.bytes(16)))

/** Sets the six bits that every UUID of version 4 has. */
export function asVersion4(b: Buffer): Buffer {
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  return b
}

export function uuidText(b: Buffer): string {
  const hex = b.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** A whole number below `limit` (at most 2^48); the bias is below limit / 2^48. */
export function below(random: Random, limit: number): number {
  return Math.floor((random.bytes(6).readUIntBE(0, 6) / 2 ** 48) * limit)
}
