import { integer, text, type JsonField, type JsonKind } from './field.ts'
import { checkReply, saleRequest, statusRequest } from './requests.ts'
import { identifier, type SentField, type SentTable } from './sent.ts'

/**
 * The requests that a merchant's server receives, from its app and from the service, and its
 * answers. Source: docs/choices.md, "Mobile API".
 */

const row = ({ is, means }: JsonField, need: SentField['need']): SentField => ({ is, need, means })
const asked = (path: string, need: SentField['need'] = 'mandatory'): SentField => row(saleRequest[path]!, need)

const token = row(statusRequest['session.token']!, 'mandatory')
const firstDigits: JsonKind = {
  must: '6 digits, as text or as a whole number',
  schema: {
    anyOf: [
      { type: 'string', pattern: '^[0-9]{6}$' },
      { type: 'integer', minimum: 100_000, maximum: 999_999 },
    ],
  },
  fits: (value) => (typeof value === 'string' || typeof value === 'number') && /^[0-9]{6}$/.test(String(value)),
}

/** The reference server trusts every caller; a real one has its log-in here. */
// oxfmt-ignore
export const tokenRequest: SentTable = {
  'consumer': { is: text(1, 64),  need: 'optional', means: 'who signs in; the reference server accepts any name' },
  'email':    { is: text(3, 128), need: 'optional', means: "the consumer's e-mail address" },
}

export const tokenAnswer: SentTable = { 'session.accessToken': asked('session.accessToken') }

export const initiateVerificationRequest: SentTable = {
  'consumer.device.serialNumber': asked('consumer.device.serialNumber'),
  'consumer.device.imei': asked('consumer.device.imei', 'optional'),
  'consumer.ipAddresses': asked('consumer.ipAddresses', 'optional'),
  'session.accessToken': asked('session.accessToken'),
  'transaction.currency': asked('transaction.currency'),
  'location.lat': asked('location.lat', 'optional'),
  'location.lng': asked('location.lng', 'optional'),
}

export const initiateSaleRequest: SentTable = {
  ...initiateVerificationRequest,
  'transaction.amountCentis': asked('transaction.amountCentis'),
}

// oxfmt-ignore
export const initiateTransferRequest: SentTable = {
  ...initiateSaleRequest,
  'fromBin': { is: firstDigits, need: 'optional', means: 'first digits of the source card, to calculate rates; also inside transaction' },
  'toBin':   { is: firstDigits, need: 'optional', means: 'first digits of the destination card; also inside transaction' },
}

// oxfmt-ignore
export const initiateAnswer: SentTable = {
  'endpointId':        { is: text(1, 18),  need: 'mandatory', means: 'the endpoint that takes the transaction' },
  'invoiceId':         { is: text(1, 128), need: 'mandatory', means: 'A-Z a-z 0-9 . _ -; identifies the transaction everywhere' },
  'session.nonce':     { ...asked('session.nonce'), means: 'chosen by the server, used once' },
  'session.signature': { ...asked('session.signature'), means: "the app's token for the service" },
}

// oxfmt-ignore
export const initiateTransferAnswer: SentTable = {
  ...initiateAnswer,
  'rates.min': { is: text(1, 20), need: 'optional', means: 'the lowest fee of the transfer, for the app to show' },
  'rates.max': { is: text(1, 20), need: 'optional', means: 'the highest fee' },
}

export const checkVerificationRequest: SentTable = {
  'consumer.device.serialNumber': asked('consumer.device.serialNumber'),
  'session.accessToken': asked('session.accessToken'),
  'session.nonce': asked('session.nonce'),
  'session.signature': asked('session.signature'),
  'session.token': { ...token, means: "the service's token of the transaction" },
}

const clientCardId = asked('sourceOfFunds.reference.clientCardId', 'when the app names it')

export const checkSaleRequest: SentTable = {
  ...checkVerificationRequest,
  'sourceOfFunds.reference.clientCardId': { ...clientCardId, means: "the merchant's id of the card that pays" },
}

export const checkTransferRequest: SentTable = {
  ...checkSaleRequest,
  'destinationOfFunds.reference.clientCardId': { ...clientCardId, means: "the merchant's id of the card that is paid" },
}

const cardId = { is: identifier(64), means: "the service's id of the card, from its notification" } as const

export const checkVerificationAnswer: SentTable = Object.fromEntries(
  Object.entries(checkReply).map(([path, field]) => [path, row(field, field.need === 'mandatory' ? 'mandatory' : 'optional')]),
)

export const checkSaleAnswer: SentTable = {
  ...checkVerificationAnswer,
  'sourceOfFunds.reference.serverCardId': { ...cardId, need: 'when the request has the clientCardId' },
}

export const checkTransferAnswer: SentTable = {
  ...checkSaleAnswer,
  'destinationOfFunds.reference.serverCardId': { ...cardId, need: 'when the request has the clientCardId' },
}

const notified: SentTable = {
  'consumer.device.serialNumber': asked('consumer.device.serialNumber'),
  'session.accessToken': asked('session.accessToken'),
  'session.token': { ...token, means: 'the transaction id, as in the check request' },
}

// oxfmt-ignore
const cardRows = (at: string, reference: string, need: SentField['need']): SentTable => ({
  [`${reference}.serverCardId`]:          { is: text(1, 64), need, means: "the service's id of the card, for use in checks" },
  [`${reference}.uniqueReferenceCardId`]: { is: integer(0, Number.MAX_SAFE_INTEGER), need, means: 'the same for every reference to one card number' },
  [`${at}.bin`]:                          { is: integer(0, 99_999_999), need: 'optional', means: 'first digits of the card; left out for numbers below 13 digits, because they would reveal too much of them' },
})

export const verificationNotification: SentTable = { ...notified, ...cardRows('sourceCard', 'reference', 'mandatory') }

export const saleNotification: SentTable = {
  ...notified,
  ...cardRows('sourceCard', 'sourceCard.reference', 'when a card was used, not a reference'),
}

export const transferNotification: SentTable = {
  ...saleNotification,
  ...cardRows('destinationCard', 'destinationCard.reference', 'when a card was used, not a reference'),
}

// oxfmt-ignore
export const notificationAnswer: SentTable = {
  'invoiceId':              { is: text(1, 128), need: 'mandatory', means: 'the invoice of this session token' },
  'session.checkSignature': row(checkReply['session.checkSignature']!, 'mandatory'),
  'session.nonce':          { ...row(checkReply['session.nonce']!, 'mandatory'), means: 'the nonce of the invoice' },
  'session.token':          row(checkReply['session.token']!, 'mandatory'),
}
