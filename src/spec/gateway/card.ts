import { table, unfit, type Kind } from '../field.ts'
import { checksum, givenId, text } from '../kinds.ts'
import type { ReplyTable } from './reply.ts'

/** Digits; a number larger than any issued id is simply unknown. */
export const cardReferenceId: Kind<bigint> = {
  name: 'id',
  max: 20,
  read: (t) => (/^[0-9]+$/.test(t) ? BigInt(t) : unfit('it is not an id')),
}

// oxfmt-ignore
const firstPayment = {
  client_orderid: { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier of the first payment", alias: 'client-order-id' },
  orderid:        { is: givenId(128), need: 'mandatory', guard: 'open', means: "the gateway's order id of the first payment" },
} as const

/** Request of `create-card-ref`, version v2. */
// oxfmt-ignore
export const createCardRefRequest = table({
  login:   { is: text(20), need: 'mandatory', guard: 'open', means: "the merchant's login" },
  ...firstPayment,
  control: { is: checksum, need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})

/** Request of `create-card-ref`, version v4: the Authorization header identifies the merchant. */
export const createCardRefV4Request = table(firstPayment)

/** Request of `get-card-info`. */
// oxfmt-ignore
export const getCardInfoRequest = table({
  login:     { is: text(20),        need: 'mandatory', guard: 'open', means: "the merchant's login" },
  cardrefid: { is: cardReferenceId, need: 'mandatory', guard: 'open', means: 'the id from create-card-ref (card-ref-id)' },
  control:   { is: checksum,        need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})

// oxfmt-ignore
const registration = {
  type:                { guard: 'open', means: 'always create-card-ref-response' },
  'serial-number':     { guard: 'open', means: 'id of this request' },
  'merchant-order-id': { guard: 'open', means: "the first payment's client_orderid" },
  'end-point-id':      { guard: 'open', means: 'endpoint that served the first payment' },
  status:              { guard: 'open', means: 'whether there is a reference: approved; declined if the first payment ended without approval; error if it has not ended' },
  'card-ref-id':       { guard: 'open', means: 'the reference, for later payments' },
} as const satisfies ReplyTable

// oxfmt-ignore
const refusal = {
  'error-message':     { guard: 'open', means: 'why there is no reference, as text' },
  'error-code':        { guard: 'open', means: 'the same, as a number' },
} as const satisfies ReplyTable

/**
 * Reply of `create-card-ref` v2, in the order in which it is written. A field without a value is
 * left out.
 */
// oxfmt-ignore
export const createCardRefReply = {
  ...registration,
  'unq-card-ref-id':   { guard: 'open', means: 'one id for each card number of this merchant, whatever the expiry' },
  ...refusal,
} as const satisfies ReplyTable

/** Reply of `create-card-ref` v4. */
// oxfmt-ignore
export const createCardRefV4Reply = {
  ...registration,
  'recurring-payment-id':     { guard: 'open', means: 'the same reference, for other interfaces and payments without a request' },
  'dst-card-ref-id':          { guard: 'open', means: 'a reference to the same card that can only receive transfers' },
  'dst-recurring-payment-id': { guard: 'open', means: 'the same receiving reference, for other interfaces' },
  ...refusal,
} as const satisfies ReplyTable

/** Reply of `get-card-info`. */
// oxfmt-ignore
export const cardInfoReply = {
  type:                { guard: 'open',     means: 'always get-card-info-response' },
  'serial-number':     { guard: 'open',     means: 'id of this request' },
  'card-printed-name': { guard: 'personal', means: 'the name printed on the card' },
  'expire-year':       { guard: 'card',     means: 'year of expiry, four digits' },
  'expire-month':      { guard: 'card',     means: 'month of expiry' },
  bin:                 { guard: 'card',     means: 'first six digits of a card number of 13 digits or more; left out for shorter numbers, because six digits would reveal too much of them' },
  'last-four-digits':  { guard: 'card',     means: 'last four digits of the card number' },
} as const satisfies ReplyTable
