import { createHmac } from 'node:crypto'
import { sameText } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'

/** Signatures of the mobile API: HMAC-SHA1 over the joined parts, under the control key as hex. */

/** Undefined if the control key is not 32 hexadecimal digits: the mobile API cannot use it. */
export function sessionSignature(parts: readonly string[], controlKey: Secret<string>): string | undefined {
  const digits = controlKey.reveal().replaceAll('-', '')
  if (!/^[0-9a-fA-F]{32}$/.test(digits)) return undefined
  return createHmac('sha1', Buffer.from(digits, 'hex')).update(parts.join(''), 'utf8').digest('hex').toUpperCase()
}

/**
 * Whether a signature covers these parts, by any of the keys; ignores case, and takes the same time
 * whatever the result.
 */
export const signatureHolds = (given: string, parts: readonly string[], controlKeys: readonly Secret<string>[]): boolean =>
  // Non-ASCII letters whose upper case is a hexadecimal digit are not allowed in a signature.
  /^[0-9a-fA-F]{40}$/.test(given) &&
  controlKeys
    .map((key) => sessionSignature(parts, key))
    .map((made) => made !== undefined && sameText(given.toUpperCase(), made))
    .includes(true)

interface Signed {
  accessToken: string
  serialNumber: string
  endpointId: string
  nonce: string
  invoiceId: string
}

/** What the merchant signed when the transaction was initiated, with the amount if there is one. */
export const performParts = (s: Signed & { amountCentis?: string; currency: string }): string[] => [
  s.accessToken,
  s.serialNumber,
  s.endpointId,
  s.nonce,
  s.invoiceId,
  ...(s.amountCentis === undefined ? [] : [s.amountCentis]),
  s.currency,
]

/** What the merchant signs in its answer to check, with the cards that it named. */
export const checkParts = (
  s: Omit<Signed, 'accessToken'> & { serverCardId?: string; destinationServerCardId?: string },
): string[] => [
  s.serialNumber,
  s.nonce,
  ...(s.destinationServerCardId === undefined ? [] : [s.destinationServerCardId]),
  s.endpointId,
  s.invoiceId,
  ...(s.serverCardId === undefined ? [] : [s.serverCardId]),
]

/** What the merchant signs in its answer to a card mapping notification. */
export const mappingParts = (s: Pick<Signed, 'nonce' | 'endpointId' | 'invoiceId'>): string[] => [
  s.nonce,
  s.endpointId,
  s.invoiceId,
]
