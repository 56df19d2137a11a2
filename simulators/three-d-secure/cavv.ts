import { readFileSync } from 'node:fs'
import { hmacSha256 } from '../../src/base/digest.ts'
import { secret, type Secret } from '../../src/base/secret.ts'
import { networkOf } from './cards.ts'

export type CavvKey = Secret<Buffer>

/**
 * The issuers' key: 32 bytes in hex. The ACS and the directory server make proofs with it, and the
 * acquirer can check them.
 */
export function readCavvKey(file: string): CavvKey {
  const text = readFileSync(file, 'utf8').trim()
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new Error(`${file} must be 32 bytes in hex`)
  return secret(Buffer.from(text, 'hex'))
}

export interface Proven {
  acctNumber: string
  dsTransID: string
  purchaseAmount: string
  purchaseCurrency: string
}

/**
 * The authenticationValue of 2.x, the cavv of 1.0.2: it proves this status of this purchase with
 * this card, and no other. As from real issuers it has 21 bytes for a Mastercard card in 2.x, else
 * 20.
 */
export function cavvOf(
  key: CavvKey,
  { acctNumber, dsTransID, purchaseAmount, purchaseCurrency }: Proven,
  status: 'Y' | 'A',
  version: string,
): string {
  const proven = [acctNumber, dsTransID, purchaseAmount, purchaseCurrency, status].join('|')
  const bytes = networkOf(acctNumber) === 'mastercard' && version !== '1.0.2' ? 21 : 20
  return hmacSha256(key, proven).subarray(0, bytes).toString('base64')
}
