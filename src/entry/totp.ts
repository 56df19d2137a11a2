/** Codes that change every 30 seconds: RFC 6238 with SHA-1 and six digits, as apps take it. */
import { createHmac } from 'node:crypto'
import { sameText } from '../base/digest.ts'
import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'

const stepMs = 30_000
const digits = 6

export const newTotpKey = (random: Random): Secret<Buffer> => secret(random.bytes(20))

/** The code of a step (RFC 4226, 5.3). */
export function codeAt(key: Secret<Buffer>, step: bigint, length = digits): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(step)
  const mac = createHmac('sha1', key.reveal()).update(counter).digest()
  const at = mac[mac.length - 1]! & 0xf
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 10 ** length).padStart(length, '0')
}

export const stepAt = (now: number): bigint => BigInt(Math.floor(now / stepMs))

/**
 * The step whose code this is: this one or one beside it, since clocks differ. A code is taken
 * once, so none of a step up to `last`.
 */
export function stepOfCode(key: Secret<Buffer>, code: string, now: number, last = -1n): bigint | undefined {
  const here = stepAt(now)
  return [here, here - 1n, here + 1n].find((step) => step > last && sameText(codeAt(key, step), code))
}

/** The key for an authenticator, as a text or a picture. */
export const totpUri = (key: Secret<Buffer>, user: string, issuer: string): Secret<string> =>
  secret(
    `otpauth://totp/${encodeURIComponent(`${issuer}:${user}`)}?secret=${base32(key.reveal())}` +
      `&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${digits}&period=${stepMs / 1_000}`,
  )

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648, 6, without padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return Array.from(bits.matchAll(/.{1,5}/g), ([five]) => letters[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}
