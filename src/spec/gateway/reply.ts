/** Fields that the replies of several operations share. */
export interface ReplyField {
  means: string
  guard: 'open' | 'personal' | 'card'
}

export type ReplyTable = Readonly<Record<string, ReplyField>>

/** A payment, follow-up or upload was accepted. Status and callback report its outcome. */
// oxfmt-ignore
export const asyncReply = {
  type:                { guard: 'open', means: 'async-response' },
  'serial-number':     { guard: 'open', means: 'id of this request; status finds the transaction by it' },
  'merchant-order-id': { guard: 'open', means: 'client_orderid of the order' },
  'gateway-order-id':  { guard: 'open', means: 'order id given by the gateway' },
  'end-point-id':      { guard: 'open', means: 'endpoint that serves the order' },
} as const satisfies ReplyTable

/** Every refusal, by any operation. */
// oxfmt-ignore
export const refusalFields = {
  type:                { guard: 'open', means: 'validation-error; error where the service failed or is too busy' },
  'serial-number':     { guard: 'open', means: 'id of this request' },
  'merchant-order-id': { guard: 'open', means: 'client_orderid, where the request named one' },
  'error-message':     { guard: 'open', means: 'why, in words' },
  'error-code':        { guard: 'open', means: 'why, as a number' },
} as const satisfies ReplyTable
