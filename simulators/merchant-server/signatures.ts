import { createHmac, timingSafeEqual } from 'node:crypto'
import { secret, type Secret } from '../../src/base/secret.ts'

/**
 * What the merchant's server signs and what it verifies, with nothing of the gateway's own code: a
 * mistake in one must show in the other.
 */

/** The names are for readers; only the values are signed, one after the other. */
export type Parts = readonly (readonly [name: string, value: string])[]

/** The control key without dashes is 16 bytes in hexadecimal; undefined when it is not. */
export function signatureKey(controlKey: Secret<string>): Secret<Buffer> | undefined {
  const digits = controlKey.reveal().replaceAll('-', '')
  return /^[0-9a-fA-F]{32}$/.test(digits) ? secret(Buffer.from(digits, 'hex')) : undefined
}

/** HMAC-SHA1 in upper-case hexadecimal. */
export const sign = (parts: Parts, key: Secret<Buffer>): string =>
  createHmac('sha1', key.reveal()).update(stringToSign(parts), 'utf8').digest('hex').toUpperCase()

/** Whether this signs the parts, ignoring case. The comparison takes constant time. */
export function signatureHolds(given: string, parts: Parts, key: Secret<Buffer>): boolean {
  if (!/^[0-9a-fA-F]{40}$/.test(given)) return false
  return timingSafeEqual(Buffer.from(given.toUpperCase()), Buffer.from(sign(parts, key)))
}

export const stringToSign = (parts: Parts): string => parts.map(([, value]) => value).join('')

export interface Initiated {
  accessToken: string
  serialNumber: string
  endpointId: string
  nonce: string
  invoiceId: string
  /** Present for sale and transfer, absent for a verification. */
  amountCentis?: string | undefined
  currency: string
}

/**
 * `session.signature`: created when an invoice is initiated, carried by the app to the gateway, and
 * verified when the gateway asks.
 */
export const initiateParts = (one: Initiated): Parts => [
  ['session.accessToken', one.accessToken],
  ['consumer.device.serialNumber', one.serialNumber],
  ['endpointId', one.endpointId],
  ['session.nonce', one.nonce],
  ['invoiceId', one.invoiceId],
  ...optional('transaction.amountCentis', one.amountCentis),
  ['transaction.currency', one.currency],
]

export interface Checked {
  serialNumber: string
  nonce: string
  endpointId: string
  invoiceId: string
  sourceServerCardId?: string | undefined
  destinationServerCardId?: string | undefined
}

/** `session.checkSignature` of a check. */
export const checkParts = (one: Checked): Parts => [
  ['consumer.device.serialNumber', one.serialNumber],
  ['session.nonce', one.nonce],
  ...optional('destinationOfFunds.reference.serverCardId', one.destinationServerCardId),
  ['endpointId', one.endpointId],
  ['invoiceId', one.invoiceId],
  ...optional('sourceOfFunds.reference.serverCardId', one.sourceServerCardId),
]

/** `session.checkSignature` of a card mapping notification. */
export const notificationParts = (one: { nonce: string; endpointId: string; invoiceId: string }): Parts => [
  ['session.nonce', one.nonce],
  ['endpointId', one.endpointId],
  ['invoiceId', one.invoiceId],
]

const optional = (name: string, value: string | undefined): Parts => (value === undefined ? [] : [[name, value]])
