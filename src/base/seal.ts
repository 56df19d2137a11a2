import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Random } from './random.ts'
import type { Secret } from './secret.ts'

const ivBytes = 12
const tagBytes = 16

/**
 * AES-256-GCM: IV, tag, ciphertext. `context` names the place that the value belongs to; it cannot
 * be opened anywhere else.
 */
export function seal(key: Secret<Buffer>, plain: Buffer, context: string, random: Random): Buffer {
  const iv = random.bytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key.reveal(), iv)
  cipher.setAAD(Buffer.from(context, 'utf8'))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

/** Throws if the value was changed, moved to another context, or sealed with another key. */
export function unseal(key: Secret<Buffer>, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key.reveal(), sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(context, 'utf8'))
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(ivBytes + tagBytes)), decipher.final()])
}
