import { createCipheriv, createDecipheriv } from 'node:crypto'
import { hmacSha256 } from '../../src/base/digest.ts'
import type { CavvKey } from './cavv.ts'

/**
 * acctID of 1.0.2 stands for the card number where a browser can read along. Directory server and
 * ACS share a key, so the number travels in it, and neither has to remember anything.
 */

const cipher = 'aes-256-ecb'
const longest = 20
const blockBytes = 16

const keyOf = (key: CavvKey): Buffer => hmacSha256(key, 'acctID')

/** One block of AES: 22 characters, always the same for a card. */
export function acctIdOf(key: CavvKey, pan: string): string {
  const block = Buffer.alloc(blockBytes)
  block.write(pan.padEnd(longest, 'f'), 'hex')
  const aes = createCipheriv(cipher, keyOf(key), null).setAutoPadding(false)
  return Buffer.concat([aes.update(block), aes.final()]).toString('base64url')
}

/** Undefined for an id that was not made here: the zeros behind the number are missing. */
export function panOf(key: CavvKey, acctId: string): string | undefined {
  const sealed = Buffer.from(acctId, 'base64url')
  if (sealed.length !== blockBytes) return undefined
  const aes = createDecipheriv(cipher, keyOf(key), null).setAutoPadding(false)
  const block = Buffer.concat([aes.update(sealed), aes.final()]).toString('hex')
  return /^(?=.{20}0{12}$)([0-9]{13,19})f+0+$/.exec(block)?.[1]
}
