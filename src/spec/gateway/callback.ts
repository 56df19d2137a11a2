import type { ReplyField } from './reply.ts'

interface CallbackField extends ReplyField {
  /** Present even without a value. */
  always?: true
}

/**
 * Parameters of a callback and of the cardholder's return (docs/choices.md, "Callbacks"), in the
 * order in which they are written.
 */
// oxfmt-ignore
export const callbackParams = {
  status:                 { guard: 'open',     means: 'approved, declined, error or filtered; processing for a cardholder who returns before the outcome', always: true },
  merchant_order:         { guard: 'open',     means: 'client_orderid of the order', always: true },
  client_orderid:         { guard: 'open',     means: 'client_orderid of the order', always: true },
  orderid:                { guard: 'open',     means: 'order id given by the gateway', always: true },
  type:                   { guard: 'open',     means: 'sale, preauth, transfer, account-verification, capture, reversal (a return), cancel or void', always: true },
  amount:                 { guard: 'open',     means: 'of what it is about, as it was sent; after a list of amounts the entry that was approved', always: true },
  currency:               { guard: 'open',     means: 'currency of the order' },
  descriptor:             { guard: 'open',     means: "the recipient as it stands on the cardholder's statement" },
  error_code:             { guard: 'open',     means: 'reason of declined, error or filtered' },
  error_message:          { guard: 'open',     means: 'its text' },
  name:                   { guard: 'personal', means: 'first and last name' },
  'card-holder-name':     { guard: 'personal', means: 'the name printed on the card' },
  email:                  { guard: 'personal', means: "the customer's e-mail address" },
  phone:                  { guard: 'personal', means: "the customer's telephone number" },
  'approval-code':        { guard: 'open',     means: 'approval code of the issuer' },
  'last-four-digits':     { guard: 'card',     means: 'last four digits of the card number' },
  bin:                    { guard: 'card',     means: 'first six digits of a card number of 13 digits or more; of a shorter one they would give too much away' },
  'card-type':            { guard: 'open',     means: 'card network' },
  'cardholder-info':      { guard: 'personal', means: 'what the issuer wants the cardholder to read: show it' },
  'seller-commission':    { guard: 'open',     means: "the merchant's commission on what was taken, in the order's currency, where the operator shows it" },
  'acquirer-commission':  { guard: 'open',     means: "the acquirer's, likewise" },
  eci:                    { guard: 'open',     means: 'electronic commerce indicator, where the operator switched it on' },
  'verified-3d-status':   { guard: 'open',     means: '3-D Secure status, likewise' },
  'gate-partial-reversal': { guard: 'open',    means: 'enabled or disabled' },
  'gate-partial-capture': { guard: 'open',     means: 'enabled or disabled' },
  'processor-rrn':        { guard: 'open',     means: 'retrieval reference number' },
  'processor-tx-id':      { guard: 'open',     means: "the processor's transaction id" },
  comment:                { guard: 'personal', means: 'comment of the request it is about' },
  merchantdata:           { guard: 'personal', means: 'merchant_data of the initial request' },
  control:                { guard: 'open',     means: 'SHA-1 checksum: check it before believing the rest', always: true },
} as const satisfies Record<string, CallbackField>

export type CallbackParam = keyof typeof callbackParams
