import type { Values } from '../field.ts'
import { cardReferenceId } from './card.ts'
import { amount, amounts, checksum, currency, ipAddress, long, oneOf, secretDigits, text, url } from '../kinds.ts'
import { storedTable, storing } from '../stored.ts'
import type { StoredRequest } from './sale.ts'

/**
 * Request of `make-rebill-sale`, `make-rebill-preauth` and `make-rebill`: charges a registered
 * card. Name, e-mail, phone and address are the first payment's.
 */
// oxfmt-ignore
export const rebillRequest = storedTable<keyof StoredRequest>()({
  client_orderid:       { is: text(128),          need: 'mandatory', guard: 'open',     as: null,                 means: "the merchant's order identifier", alias: 'client-order-id' },
  login:                { is: text(20),           need: 'mandatory', guard: 'open',     as: null,                 means: "the merchant's login" },
  cardrefid:            { is: cardReferenceId,    need: 'mandatory', guard: 'open',     as: null,                 means: 'the id from create-card-ref (card-ref-id)' },
  order_desc:           { is: long,               need: 'mandatory', guard: 'personal', as: 'orderDesc',          means: 'what is paid for' },
  amount:               { is: amount(10),         need: 'mandatory', guard: 'open',     as: null,                 means: 'in the highest unit, "." as delimiter' },
  enumerate_amounts:    { is: amounts(128),       need: 'optional',  guard: 'open',     as: null,                 means: 'amounts to try one after the other until one is approved' },
  currency:             { is: currency,           need: 'mandatory', guard: 'open',     as: null,                 means: 'ISO 4217, three letters' },
  cvv2:                 { is: secretDigits(3, 4), need: 'optional',  guard: 'secret',   as: null,                 means: 'needed only if the acquirer wants it' },
  ipaddress:            { is: ipAddress,          need: 'mandatory', guard: 'personal', as: 'ipAddress',          means: "the customer's IP address" },
  control:              { is: checksum,           need: 'mandatory', guard: 'open',     as: null,                 means: 'SHA-1 checksum' },
  comment:              { is: text(50),           need: 'optional',  guard: 'personal', as: 'comment',            means: 'a short comment, returned in the callback' },
  purpose:              { is: text(128),          need: 'optional',  guard: 'personal', as: 'purpose',            means: 'destination of the payment, for fraud screening' },
  redirect_url:         { is: url,                need: 'optional',  guard: 'open',     as: 'redirectUrl',        means: 'where the cardholder returns; mandatory if the endpoint runs 3-D Secure' },
  redirect_success_url: { is: url,                need: 'optional',  guard: 'open',     as: 'redirectSuccessUrl', means: 'where the cardholder returns when approved' },
  redirect_fail_url:    { is: url,                need: 'optional',  guard: 'open',     as: 'redirectFailUrl',    means: 'where the cardholder returns when declined or filtered' },
  server_callback_url:  { is: url,                need: 'optional',  guard: 'open',     as: 'serverCallbackUrl',  means: 'where the outcome of this order is sent' },
  notify_url:           { is: url,                need: 'optional',  guard: 'open',     as: 'notifyUrl',          means: 'URL for the outcome and all later changes of the order' },
  merchant_data:        { is: long,               need: 'optional',  guard: 'personal', as: 'merchantData',       means: 'returned unchanged in status and callback', untrimmed: true },
  recurrent_scenario:   { is: oneOf(50, ['REGULAR', 'IRREGULAR'], 'REGULAR or IRREGULAR', 'it is neither REGULAR nor IRREGULAR'), need: 'optional', guard: 'open', as: null, means: "whether the payments come at fixed times; the gate's setting if left out (usually REGULAR)" },
  recurrent_initiator:  { is: oneOf(50, ['CARDHOLDER', 'MERCHANT'], 'CARDHOLDER or MERCHANT', 'it is neither CARDHOLDER nor MERCHANT'), need: 'optional', guard: 'open', as: null, means: "who starts the payment; the gate's setting if left out (usually MERCHANT)" },
})

export type RebillRequest = Values<typeof rebillRequest>

export const storedRebill = storing(rebillRequest)
