import type { ReplyField } from './reply.ts'
import { statusReply as shown } from './status.ts'

interface CallbackField extends ReplyField {
  /** Present even without a value. */
  always?: true
}

/**
 * Parameters of a callback and of the cardholder's return (docs/choices.md, "Callbacks"), in the
 * order in which they are written. Those that `status` shows too mean the same there.
 */
// oxfmt-ignore
export const callbackParams = {
  status:                 { guard: 'open',     means: 'one of approved, declined, error, filtered; processing if a cardholder returns before the outcome', always: true },
  merchant_order:         { guard: 'open',     means: "the order's client_orderid", always: true },
  client_orderid:         { guard: 'open',     means: "the order's client_orderid", always: true },
  orderid:                { guard: 'open',     means: "the gateway's order id", always: true },
  type:                   { guard: 'open',     means: 'one of sale, preauth, transfer, account-verification, capture, reversal (a return), cancel, void', always: true },
  amount:                 { guard: 'open',     means: 'amount of the transaction, as it was sent; after a list of amounts the approved entry', always: true },
  currency:               { guard: 'open',     means: 'currency of the order' },
  descriptor:             shown.descriptor,
  error_code:             shown['error-code'],
  error_message:          shown['error-message'],
  name:                   shown.name,
  'card-holder-name':     shown['cardholder-name'],
  email:                  shown.email,
  phone:                  shown.phone,
  'approval-code':        shown['approval-code'],
  'last-four-digits':     shown['last-four-digits'],
  bin:                    shown.bin,
  'card-type':            shown['card-type'],
  'cardholder-info':      shown['cardholder-info'],
  'seller-commission':    shown['seller-commission'],
  'acquirer-commission':  shown['acquirer-commission'],
  eci:                    { guard: 'open',     means: 'electronic commerce indicator, if the endpoint has it in callbacks' },
  'verified-3d-status':   { guard: 'open',     means: '3-D Secure status, if the endpoint has it in callbacks' },
  'gate-partial-reversal': shown['gate-partial-reversal'],
  'gate-partial-capture': shown['gate-partial-capture'],
  'processor-rrn':        shown['processor-rrn'],
  'processor-tx-id':      shown['processor-tx-id'],
  comment:                { guard: 'personal', means: 'comment of the request whose outcome this is' },
  merchantdata:           shown.merchantdata,
  control:                { guard: 'open',     means: 'SHA-1 checksum: verify it before you trust the other fields', always: true },
} as const satisfies Record<string, CallbackField>

export type CallbackParam = keyof typeof callbackParams
