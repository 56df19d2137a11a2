/** Fields that the replies of several operations share. */
export interface ReplyField {
  means: string
  guard: 'open' | 'personal' | 'card'
}

export type ReplyTable = Readonly<Record<string, ReplyField>>

/** A payment, follow-up or upload was accepted. Status and callback report its outcome. */
// oxfmt-ignore
export const asyncReply = {
  type:                { guard: 'open', means: 'always async-response' },
  'serial-number':     { guard: 'open', means: 'id of this request; status finds the transaction by it' },
  'merchant-order-id': { guard: 'open', means: "the order's client_orderid" },
  'gateway-order-id':  { guard: 'open', means: "the gateway's order id" },
  'end-point-id':      { guard: 'open', means: 'endpoint that serves the order' },
} as const satisfies ReplyTable

/** Every refusal, by any operation. */
// oxfmt-ignore
export const refusalFields = {
  type:                { guard: 'open', means: 'error if the service failed or is too busy, otherwise validation-error' },
  'serial-number':     { guard: 'open', means: 'id of this request' },
  'merchant-order-id': { guard: 'open', means: "the request's client_orderid, if it has one" },
  'error-message':     { guard: 'open', means: 'the reason, as text' },
  'error-code':        { guard: 'open', means: 'the reason, as a number' },
} as const satisfies ReplyTable
