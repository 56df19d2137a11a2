import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

export const sha1Hex = (text: string): string => hash('sha1', text, 'hex')

export const hmacSha256 = (key: Secret<Buffer>, data: string | Buffer): Buffer =>
  createHmac('sha256', key.reveal()).update(data).digest()

/**
 * Compares without leaking the position of the first difference. Texts of different length differ
 * immediately; lengths are not secret here.
 */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a, 'utf8')
  const right = Buffer.from(b, 'utf8')
  return left.length === right.length && timingSafeEqual(left, right)
}
