import { table, type Values } from '../field.ts'
import { cardReferenceId } from './card.ts'
import { amount, amounts, checksum, currency, ipAddress, long, oneOf, secretDigits, text, url } from '../kinds.ts'

/**
 * Request of `make-rebill-sale`, `make-rebill-preauth` and `make-rebill`: charges a registered
 * card. Name, e-mail, phone and address are the first payment's.
 */
// oxfmt-ignore
export const rebillRequest = table({
  client_orderid:       { is: text(128),          need: 'mandatory', guard: 'open',     means: "the merchant's order identifier", alias: 'client-order-id' },
  login:                { is: text(20),           need: 'mandatory', guard: 'open',     means: "the merchant's login" },
  cardrefid:            { is: cardReferenceId,    need: 'mandatory', guard: 'open',     means: 'card-ref-id of create-card-ref' },
  order_desc:           { is: long,               need: 'mandatory', guard: 'personal', means: 'what is paid for' },
  amount:               { is: amount(10),         need: 'mandatory', guard: 'open',     means: 'in the highest unit, "." as delimiter' },
  enumerate_amounts:    { is: amounts(128),       need: 'optional',  guard: 'open',     means: 'amounts to try one after the other until one is approved' },
  currency:             { is: currency,           need: 'mandatory', guard: 'open',     means: 'ISO 4217, three letters' },
  cvv2:                 { is: secretDigits(3, 4), need: 'optional',  guard: 'secret',   means: 'where the acquirer wants it' },
  ipaddress:            { is: ipAddress,          need: 'mandatory', guard: 'personal', means: "the customer's IP address" },
  control:              { is: checksum,           need: 'mandatory', guard: 'open',     means: 'SHA-1 checksum' },
  comment:              { is: text(50),           need: 'optional',  guard: 'personal', means: 'a short comment, returned in the callback' },
  purpose:              { is: text(128),          need: 'optional',  guard: 'personal', means: 'destination of the payment, for fraud screening' },
  redirect_url:         { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns; mandatory where 3-D Secure runs' },
  redirect_success_url: { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns when approved' },
  redirect_fail_url:    { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns when declined or filtered' },
  server_callback_url:  { is: url,                need: 'optional',  guard: 'open',     means: 'told the outcome of this order' },
  notify_url:           { is: url,                need: 'optional',  guard: 'open',     means: 'told the outcome and whatever happens to the order later' },
  merchant_data:        { is: long,               need: 'optional',  guard: 'personal', means: 'returned as it came in status and callback', untrimmed: true },
  recurrent_scenario:   { is: oneOf(50, ['REGULAR', 'IRREGULAR'], 'REGULAR or IRREGULAR', 'it is neither REGULAR nor IRREGULAR'), need: 'optional', guard: 'open', means: 'whether it comes at fixed times; REGULAR without it' },
  recurrent_initiator:  { is: oneOf(50, ['CARDHOLDER', 'MERCHANT'], 'CARDHOLDER or MERCHANT', 'it is neither CARDHOLDER nor MERCHANT'), need: 'optional', guard: 'open', means: 'who asks for it; MERCHANT without it' },
})
export type RebillRequest = Values<typeof rebillRequest>
