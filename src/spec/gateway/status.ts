import { table, type Values } from '../field.ts'
import { checksum, givenId, matching, text } from '../kinds.ts'
import type { ReplyTable } from './reply.ts'

const serial = matching(36, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'serial number', 'it is not a serial number')

/** Request of `status`. */
// oxfmt-ignore
export const statusRequest = table({
  login:           { is: text(20),     need: 'mandatory', guard: 'open', means: "the merchant's login" },
  client_orderid:  { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier", alias: 'client-order-id' },
  orderid:         { is: givenId(128), need: 'optional',  guard: 'open', means: "the gateway's order id; without it, the newest order of client_orderid" },
  'by-request-sn': { is: serial,       need: 'optional',  guard: 'open', means: 'serial number of the request whose transaction is asked for' },
  control:         { is: checksum,     need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})

export type StatusRequest = Values<typeof statusRequest>

const { login: _login, control: _control, ...unsigned } = statusRequest

/** Request of `status` v4: the Authorization header identifies the merchant. */
export const statusV4Request = table(unsigned)

/** Reply of `status`, in order, without empty fields (docs/choices.md, "Status"). */
// oxfmt-ignore
export const statusReply = {
  type:                     { guard: 'open',     means: 'always status-response' },
  'serial-number':          { guard: 'open',     means: 'id of this request' },
  'merchant-order-id':      { guard: 'open',     means: "the order's client_orderid" },
  'gateway-order-id':       { guard: 'open',     means: "the gateway's order id" },
  'by-request-sn':          { guard: 'open',     means: "the request's value" },
  'end-point-id':           { guard: 'open',     means: 'endpoint that served the order' },
  status:                   { guard: 'open',     means: 'one of processing, unknown, approved, declined, error, filtered' },
  'order-stage':            { guard: 'open',     means: 'the step that the transaction has reached' },
  'transaction-type':       { guard: 'open',     means: 'kind of the transaction' },
  amount:                   { guard: 'open',     means: 'amount of the initial transaction, as it was sent; after a list of amounts the approved entry' },
  'initial-amount':         { guard: 'open',     means: 'amount of the request that made the order; never changes' },
  currency:                 { guard: 'open',     means: 'currency of the initial transaction' },
  'first-name':             { guard: 'personal', means: "the customer's first name" },
  'last-name':              { guard: 'personal', means: "the customer's last name" },
  name:                     { guard: 'personal', means: 'first and last name' },
  'cardholder-name':        { guard: 'personal', means: 'the name printed on the card' },
  email:                    { guard: 'personal', means: "the customer's e-mail address" },
  phone:                    { guard: 'personal', means: "the customer's telephone number" },
  country:                  { guard: 'personal', means: 'country of the address' },
  state:                    { guard: 'personal', means: 'state of the address' },
  city:                     { guard: 'personal', means: 'city of the address' },
  zip_code:                 { guard: 'personal', means: 'postal code of the address' },
  address1:                 { guard: 'personal', means: 'street and number' },
  bin:                      { guard: 'card',     means: 'first six digits of a card number of 13 digits or more; left out for shorter numbers, because six digits would reveal too much of them' },
  'last-four-digits':       { guard: 'card',     means: 'last four digits of the card number' },
  'card-type':              { guard: 'open',     means: 'card network' },
  'card-exp-month':         { guard: 'card',     means: 'month of expiry' },
  'card-exp-year':          { guard: 'card',     means: 'year of expiry, four digits' },
  'card-hash-id':           { guard: 'open',     means: 'one id for each card number of this merchant' },
  'bank-name':              { guard: 'open',     means: 'issuer of the card, if known' },
  'card-country-alpha-three-code': { guard: 'open', means: 'country of the issuer, if known' },
  'destination-card-country-alpha-three-code': { guard: 'open', means: "for a transfer: country of the credited card's issuer, if known" },
  'gate-partial-reversal':  { guard: 'open',     means: 'whether a part of the payment can be returned: enabled or disabled' },
  'gate-partial-capture':   { guard: 'open',     means: 'whether a part of the payment can be captured: enabled or disabled' },
  'processor-tx-id':        { guard: 'open',     means: "the processor's transaction id" },
  'processor-rrn':          { guard: 'open',     means: 'retrieval reference number' },
  'approval-code':          { guard: 'open',     means: 'approval code of the issuer' },
  'terminal-id':            { guard: 'open',     means: 'terminal at the acquirer' },
  'receipt-id':             { guard: 'open',     means: 'id of the receipt page' },
  'gateway-processing-date': { guard: 'open',    means: 'when the acquirer processed the transaction' },
  'transaction-date':       { guard: 'open',     means: 'when the transaction got its final status' },
  descriptor:               { guard: 'open',     means: "the recipient, as on the cardholder's statement" },
  'original-gate-descriptor': { guard: 'open',   means: 'descriptor set for the gate' },
  'error-code':             { guard: 'open',     means: 'why the transaction was declined, failed or was filtered, as a number' },
  'error-message':          { guard: 'open',     means: 'the same, as text' },
  'motivational-message':   { guard: 'open',     means: "the acquirer's longer text about a decline" },
  'verified-3d-status':     { guard: 'open',     means: '3-D Secure status' },
  eci:                      { guard: 'open',     means: 'electronic commerce indicator' },
  'cardholder-info':        { guard: 'personal', means: "the issuer's message to the cardholder: show it" },
  html:                     { guard: 'open',     means: "page for the cardholder's browser with the next step of 3-D Secure; shown as the whole page, it leads on to `redirect_url`" },
  'redirect-to':            { guard: 'open',     means: 'instead of html: page of the gateway to which you redirect the cardholder' },
  'tds-status':             { guard: 'open',     means: "what the cardholder's browser does next: MethodUrlFrame, CReqForm or PaReqForm" },
  'tds-method-url-frame-3ds-server-trans-id': { guard: 'open', means: 'id of the authentication, for the upload' },
  'tds-method-url-frame-3ds-method-url':      { guard: 'open', means: 'method URL of the issuer' },
  'tds-creq-form-acs-url':  { guard: 'open',     means: 'challenge URL of the issuer' },
  'tds-creq-form-creq':     { guard: 'open',     means: 'challenge request, base64url' },
  'tds-pareq-form-pareq':   { guard: 'open',     means: 'request of 1.0.2 to the issuer' },
  'tds-pareq-form-acs-url': { guard: 'open',     means: 'page of the issuer for 1.0.2' },
  'tds-pareq-form-md':      { guard: 'open',     means: 'the issuer posts it back with the result of 1.0.2' },
  'ips-src-payment-product-code': { guard: 'open', means: 'card product, code of the network' },
  'ips-src-payment-product-name': { guard: 'open', means: 'card product, its name' },
  'ips-src-payment-type-code':    { guard: 'open', means: 'card type, code of the network' },
  'ips-src-payment-type-name':    { guard: 'open', means: 'card type, its name' },
  merchantdata:             { guard: 'personal', means: "the first request's merchant_data" },
  'loyalty-balance':        { guard: 'open',     means: 'loyalty balance, if the acquirer sends one' },
  'loyalty-message':        { guard: 'open',     means: 'loyalty message' },
  'loyalty-bonus':          { guard: 'open',     means: 'loyalty bonus' },
  'loyalty-program':        { guard: 'open',     means: 'loyalty program' },
  'seller-commission':      { guard: 'open',     means: "the merchant's commission on the charged amount, in the order's currency, if the operator shows it" },
  'acquirer-commission':    { guard: 'open',     means: "the acquirer's commission on the charged amount, in the order's currency, if the operator shows it" },
} as const satisfies ReplyTable

export type StatusReply = { [K in keyof typeof statusReply]?: string | undefined }
