import countries from 'i18n-iso-countries/index.js'
import { cardDigits, checkDigitHolds } from '../../base/luhn.ts'
import { currentCurrencyOf } from '../../base/money.ts'
import { degrees, integer, listOf, matching, text, zeroOr, type JsonKind, type JsonNeed, type JsonTable } from './field.ts'

const secretText = text(32, 128)
const currency: JsonKind = {
  must: 'a currency of ISO 4217 in upper-case letters',
  schema: { type: 'string', pattern: '^[A-Z]{3}$' },
  fits: (value) => typeof value === 'string' && currentCurrencyOf(value) !== undefined,
}
const country: JsonKind = {
  must: 'a country of ISO 3166-1 in three upper-case letters',
  schema: { type: 'string', pattern: '^[A-Z]{3}$' },
  fits: (value) => typeof value === 'string' && /^[A-Z]{3}$/.test(value) && countries.alpha3ToAlpha2(value) !== undefined,
}
const cardNumber: JsonKind = {
  must: '9 to 19 digits with a valid check digit',
  schema: { type: 'string', pattern: cardDigits.source },
  fits: (value) => typeof value === 'string' && cardDigits.test(value) && checkDigitHolds(value),
}
const securityCode = matching(/^[0-9]{3,4}$/, '3 or 4 digits')
const email = matching(/^(?=.{3,128}$)[^\s@]+@[^\s@]+$/u, 'an e-mail address of 3 to 128 characters')
const birthDay: JsonKind = { must: 'a date as ddMMyyyy', schema: { type: 'string', pattern: '^[0-9]{8}$' }, fits: isDate }
const invoiceForm = /^[A-Za-z0-9._-]{1,128}$/

function isDate(value: unknown): boolean {
  const [, day, month, year] = (typeof value === 'string' && /^([0-9]{2})([0-9]{2})([0-9]{4})$/.exec(value)) || []
  const iso = `${year}-${month}-${day}`
  const at = Date.parse(`${iso}T00:00:00Z`)
  return day !== undefined && !Number.isNaN(at) && new Date(at).toISOString().startsWith(iso)
}

/** Whether the text can be an `invoiceId` in a path. */
export const isInvoiceId = (given: string): boolean => invoiceForm.test(given)

/** Source: docs/choices.md, "Mobile API". */
// oxfmt-ignore
const consumer = {
  'consumer.device.serialNumber': { is: text(1, 50),   need: 'mandatory', guard: 'personal', means: 'serial number of the device' },
  'consumer.device.imei':         { is: text(14, 16),  need: 'optional',  guard: 'personal', means: 'IMEI of the device' },
  'consumer.birthDay':            { is: birthDay,      need: 'optional',  guard: 'personal', means: 'date of birth' },
  'consumer.ipAddresses':         { is: listOf(text(7, 15), 20), need: 'optional', guard: 'personal', means: 'IP addresses of the device' },
} as const satisfies JsonTable

// oxfmt-ignore
const session = {
  'session.accessToken': { is: secretText, need: 'mandatory', guard: 'secret', means: "the merchant's id of the consumer" },
  'session.nonce':       { is: secretText, need: 'mandatory', guard: 'secret', means: 'valid once' },
  'session.signature':   { is: secretText, need: 'mandatory', guard: 'secret', means: 'HMAC-SHA1 of the request, made by the merchant' },
} as const satisfies JsonTable

// oxfmt-ignore
const surroundings = {
  'location.lat':                { is: degrees(90),    need: 'optional', guard: 'personal', means: 'latitude' },
  'location.lng':                { is: degrees(180),   need: 'optional', guard: 'personal', means: 'longitude' },
  'billing.phone':               { is: text(1, 20),    need: 'optional', guard: 'personal', means: 'telephone number' },
  'billing.address.city':        { is: text(1, 100),   need: 'optional', guard: 'personal', means: 'city' },
  'billing.address.country':     { is: country, need: 'optional', guard: 'personal', means: 'country, ISO 3166-1 alpha-3' },
  'billing.address.postcodeZip': { is: text(1, 10),    need: 'optional', guard: 'personal', means: 'postal code' },
  'billing.address.state':       { is: text(2, 3),     need: 'optional', guard: 'personal', means: 'state' },
  'billing.address.street':      { is: text(1, 50),    need: 'optional', guard: 'personal', means: 'street and number' },
  'billing.address.street2':     { is: text(1, 50),    need: 'optional', guard: 'personal', means: 'second line of the street' },
  'order.description':           { is: text(1, 128),   need: 'optional', guard: 'personal', means: 'what is paid for' },
  'order.siteUrl':               { is: text(1, 128),   need: 'optional', guard: 'open',     means: 'the site where the customer pays' },
  'order.purpose':               { is: text(1, 128),   need: 'optional', guard: 'personal', means: 'destination of the payment' },
} as const satisfies JsonTable

const card = (at: string, need: JsonNeed): JsonTable => ({
  [`${at}.number`]: { is: cardNumber, need, guard: 'card', means: 'the card number' },
  [`${at}.expiry.month`]: { is: integer(1, 12), need, guard: 'card', means: 'month of expiry' },
  [`${at}.expiry.year`]: { is: integer(1000, 9999), need, guard: 'card', means: 'year of expiry' },
  [`${at}.securityCode`]: { is: securityCode, need, guard: 'secret', means: 'CVV2' },
  [`${at}.holder.firstName`]: { is: text(1, 50), need: 'optional', guard: 'personal', means: 'first name of the holder' },
  [`${at}.holder.lastName`]: { is: text(1, 50), need: 'optional', guard: 'personal', means: 'last name of the holder' },
  [`${at}.holder.printedName`]: {
    is: text(1, 50),
    need: 'optional',
    guard: 'personal',
    means: 'instead of first and last name',
  },
})

/** Request of perform verification. */
// oxfmt-ignore
export const verificationRequest: JsonTable = {
  ...consumer,
  'consumer.email':       { is: email, need: 'mandatory', guard: 'personal', means: 'e-mail address' },
  ...session,
  ...card('sourceCard', 'mandatory'),
  'transaction.currency': { is: currency, need: 'mandatory', guard: 'open', means: 'ISO 4217' },
  ...surroundings,
}

/** Request of perform sale. */
// oxfmt-ignore
export const saleRequest: JsonTable = {
  ...consumer,
  'consumer.email':            { is: email, need: 'optional', guard: 'personal', means: 'e-mail address; for a registered card, the one from its registration' },
  ...session,
  ...card('sourceOfFunds.card', 'sourceOfFunds.card'),
  'sourceOfFunds.reference.clientCardId': { is: text(1, 128), need: 'sourceOfFunds.reference', guard: 'open', means: "the merchant's id of the card" },
  'sourceOfFunds.reference.securityCode': { is: securityCode, need: 'optional', guard: 'secret', means: 'CVV2' },
  'transaction.amountCentis':  { is: integer(1, 999_999_999_999), need: 'mandatory', guard: 'open', means: 'in hundredths of the unit' },
  'transaction.currency':      { is: currency, need: 'mandatory', guard: 'open', means: 'ISO 4217' },
  ...surroundings,
}

/** Request of perform transfer. */
// oxfmt-ignore
export const transferRequest: JsonTable = {
  ...saleRequest,
  'destinationOfFunds.card.number':            { is: cardNumber,   need: 'destinationOfFunds.card',      guard: 'card', means: 'the card that is credited' },
  'destinationOfFunds.reference.clientCardId': { is: text(1, 128), need: 'destinationOfFunds.reference', guard: 'open', means: "the merchant's id of the registered card that is credited" },
}

/** Request of the status operations, and of complete transfer. */
// oxfmt-ignore
export const statusRequest: JsonTable = {
  'session.accessToken': { is: secretText,    need: 'mandatory', guard: 'secret', means: 'as in the perform request' },
  'session.token':       { is: text(16, 36),  need: 'mandatory', guard: 'secret', means: 'from the answer to the perform request' },
}

/** Answer of a merchant to check. */
// oxfmt-ignore
export const checkReply: JsonTable = {
  'invoiceId':                    { is: text(1, 128), need: 'mandatory', guard: 'open',     means: 'as in the request' },
  'session.checkSignature':       { is: secretText,   need: 'mandatory', guard: 'secret',   means: 'HMAC-SHA1 of the answer' },
  'session.nonce':                { is: secretText,   need: 'mandatory', guard: 'secret',   means: 'as in the request' },
  'session.token':                { is: text(16, 36), need: 'mandatory', guard: 'secret',   means: 'as in the request' },
  'consumer.email':               { is: email,        need: 'optional',  guard: 'personal', means: 'e-mail address' },
  'consumer.birthDay':            { is: birthDay,     need: 'optional',  guard: 'personal', means: 'date of birth' },
  'consumer.ipAddresses':         { is: listOf(text(7, 15), 20), need: 'optional', guard: 'personal', means: 'IP addresses' },
  'transaction.currency':         { is: currency,     need: 'optional',  guard: 'open',     means: 'if present, the value of the request' },
  'transaction.randomSumCentis':  { is: zeroOr(integer(100, 999)), need: 'optional', guard: 'secret', means: 'the random sum to hold, in hundredths; 0 for none' },
  'billing.phone':                surroundings['billing.phone'],
  'billing.address.city':         surroundings['billing.address.city'],
  'billing.address.country':      surroundings['billing.address.country'],
  'billing.address.postcodeZip':  surroundings['billing.address.postcodeZip'],
  'billing.address.state':        surroundings['billing.address.state'],
  'billing.address.street':       surroundings['billing.address.street'],
  'billing.address.street2':      surroundings['billing.address.street2'],
}

/** Answer of a merchant to a card mapping notification. */
export const mappingReply: JsonTable = {
  invoiceId: checkReply['invoiceId']!,
  'session.checkSignature': checkReply['session.checkSignature']!,
  'session.nonce': checkReply['session.nonce']!,
  'session.token': checkReply['session.token']!,
}
