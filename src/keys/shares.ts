import { createHash } from 'node:crypto'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import { readKeks } from './encryption.ts'

/**
 * Split knowledge of a key-encryption key (PCI DSS 3.7.6): one share is random, the other one the
 * key exclusive-or that, so that neither says anything of the key. Each share is a line: number,
 * check value of the whole key, share.
 */
export function splitKek(text: string, random: Random): [string, string] {
  const key = onlyKey(text).reveal()
  const pad = random.bytes(key.length)
  return [shareLine(1, key, pad), shareLine(2, key, xor(key, pad))]
}

/** The key in base64. Throws with a reason if the shares do not belong together. */
export function combineShares(first: string, second: string): string {
  const shares = [readShare(first), readShare(second)].sort((a, b) => a.no - b.no)
  const [one, two] = shares as [Share, Share]
  if (one.no === two.no) throw new Error(`Both are share ${one.no} of a key. The other share is needed.`)
  const key = xor(one.bytes, two.bytes)
  if (one.check !== two.check || checkOf(key) !== one.check) throw new Error('The shares belong to different keys.')
  return key.toString('base64')
}

interface Share {
  no: number
  check: string
  bytes: Buffer
}

const shareLine = (no: number, key: Buffer, share: Buffer): string =>
  `tollgate-share-${no}:${checkOf(key)}:${share.toString('base64')}`

function readShare(text: string): Share {
  const [, no, check, bytes] = /^tollgate-share-([12]):([0-9a-f]{8}):([A-Za-z0-9+/]{43}=)$/.exec(text.trim()) ?? []
  if (!no || !check || !bytes) throw new Error('This is not a share. Make two with: npx tollgate keys split <file>')
  return { no: Number(no), check, bytes: Buffer.from(bytes, 'base64') }
}

/** 32 bits are enough to notice a mistake, and say nothing of use about 256 random ones. */
const checkOf = (key: Buffer): string => createHash('sha256').update('tollgate share').update(key).digest('hex').slice(0, 8)

const xor = (a: Buffer, b: Buffer): Buffer => Buffer.from(a.map((byte, i) => byte ^ b[i]!))

function onlyKey(text: string): Secret<Buffer> {
  const [key, ...others] = readKeks('The file', text)
  if (others.length > 0) throw new Error('The file has several keys. Split each one by itself.')
  return key!
}
