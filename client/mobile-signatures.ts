import { createHmac } from 'node:crypto'
import { sameText } from './callback.ts'

/**
 * The signatures of the mobile API: HMAC-SHA1 over values, nothing between them, under the control
 * key without its dashes read as hexadecimal digits.
 */

/** Throws a TypeError for a key that is no 32 hexadecimal digits; the mobile API takes no other. */
export function keyOf(controlKey: string): Buffer {
  const digits = controlKey.replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/i.test(digits)) throw new TypeError('the control key is not 32 hexadecimal digits')
  return Buffer.from(digits, 'hex')
}

/** Upper-case hexadecimal. */
export const sign = (values: readonly string[], key: Buffer): string =>
  createHmac('sha1', key).update(values.join('')).digest('hex').toUpperCase()

/** In whatever case it is written; how long the comparison takes tells nothing. */
export const signatureHolds = (given: string, values: readonly string[], key: Buffer): boolean =>
  /^[0-9a-f]{40}$/i.test(given) && sameText(given.toUpperCase(), sign(values, key))

interface Invoice {
  endpointId: string
  invoiceId: string
  nonce: string
  serialNumber: string
}

/** `session.signature`; of a verification there is no amount. */
export const initiateValues = (one: Invoice & { accessToken: string; amountCentis?: number; currency: string }): string[] => {
  const { accessToken, serialNumber, endpointId, nonce, invoiceId, amountCentis, currency } = one
  return [accessToken, serialNumber, endpointId, nonce, invoiceId, String(amountCentis ?? ''), currency]
}

/** `session.checkSignature` of the answer to a check, with the cards that it names. */
export const checkValues = (one: Invoice, sourceServerCardId = '', destinationServerCardId = ''): string[] => {
  const { serialNumber, nonce, endpointId, invoiceId } = one
  return [serialNumber, nonce, destinationServerCardId, endpointId, invoiceId, sourceServerCardId]
}

/** `session.checkSignature` of the answer to a card mapping notification. */
export const notificationValues = ({ nonce, endpointId, invoiceId }: Invoice): string[] => [nonce, endpointId, invoiceId]
