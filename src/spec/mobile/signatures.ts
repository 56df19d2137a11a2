/**
 * The texts that are signed with the control key in the mobile API: the values of these paths,
 * without separators. Source: docs/choices.md, "Mobile API".
 */

export type SignedPath =
  | 'session.accessToken'
  | 'session.nonce'
  | 'consumer.device.serialNumber'
  | 'endpointId'
  | 'invoiceId'
  | 'transaction.amountCentis'
  | 'transaction.currency'
  | `${'sourceOfFunds' | 'destinationOfFunds'}.reference.serverCardId`

interface SignedPart {
  path: SignedPath
  /** Omitted if absent. */
  optional?: true
}

export interface SignedText {
  /** The field that carries the signature. */
  at: 'session.signature' | 'session.checkSignature'
  parts: readonly SignedPart[]
}

const part = (path: SignedPath): SignedPart => ({ path })
const maybe = (path: SignedPath): SignedPart => ({ path, optional: true })

const device = part('consumer.device.serialNumber')
const endpoint = part('endpointId')
const nonce = part('session.nonce')
const invoice = part('invoiceId')
const begun = [part('session.accessToken'), device, endpoint, nonce, invoice]
const source = maybe('sourceOfFunds.reference.serverCardId')
const destination = maybe('destinationOfFunds.reference.serverCardId')

const signedPayment: SignedText = {
  at: 'session.signature',
  parts: [...begun, part('transaction.amountCentis'), part('transaction.currency')],
}

/** Signed by the merchant's server when the app initiates, and verified by the service. */
export const initiateText = {
  verification: { at: 'session.signature', parts: [...begun, part('transaction.currency')] },
  sale: signedPayment,
  transfer: signedPayment,
} as const satisfies Record<string, SignedText>

/** Signed by the merchant's server in its answer to check. */
export const checkText = {
  verification: { at: 'session.checkSignature', parts: [device, nonce, endpoint, invoice] },
  sale: { at: 'session.checkSignature', parts: [device, nonce, endpoint, invoice, source] },
  transfer: { at: 'session.checkSignature', parts: [device, nonce, destination, endpoint, invoice, source] },
} as const satisfies Record<string, SignedText>

/** Signed by the merchant's server in its answer to a card mapping notification. */
export const notificationText: SignedText = { at: 'session.checkSignature', parts: [nonce, endpoint, invoice] }
