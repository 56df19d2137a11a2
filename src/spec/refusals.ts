/**
 * Every refusal of the gateway API, in order of precedence: if several apply, the first is
 * answered. The order of this list is the order of the checks in gateway-api/matrix and of the
 * table in docs/errors.md. Source: docs/choices.md, "Refusals".
 */
// oxfmt-ignore
export const refusals = {
  'too many requests':      { code: 20,  type: 'error',            http: 429, text: () => 'Too many requests' },
  'endpoint not found':     { code: 4,   type: 'validation-error', http: 404, text: () => 'Endpoint not found' },
  'body is invalid':        { code: 3,   type: 'validation-error', http: 400, text: () => 'Parameter body is invalid' },
  'field is required':      { code: 1,   type: 'validation-error', http: 400, text: (name: string) => `Parameter ${name} is required` },
  'field is invalid':       { code: 3,   type: 'validation-error', http: 400, text: (what: string) => `Parameter ${what}` },
  'control does not match': { code: 2,   type: 'validation-error', http: 403, text: () => 'INVALID_CONTROL_CODE' },
  'operation not enabled':  { code: 5,   type: 'validation-error', http: 403, text: () => 'Operation is not enabled for this endpoint' },
  'order not found':        { code: 6,   type: 'validation-error', http: 404, text: () => 'Order not found' },
  'card reference not found': { code: 7, type: 'validation-error', http: 404, text: () => 'Card reference not found' },
  'currency not supported': { code: 8,   type: 'validation-error', http: 400, text: () => 'Currency is not supported' },
  'wrong state':            { code: 9,   type: 'validation-error', http: 400, text: (what: string) => `Order ${what}` },
  'amount exceeds':         { code: 10,  type: 'validation-error', http: 400, text: (left: string) => `Amount exceeds ${left}` },
  'order id in use':        { code: 11,  type: 'validation-error', http: 400, text: () => 'client_orderid is already in use' },
  'key in use':             { code: 11,  type: 'validation-error', http: 400, text: (key: string) => `Idempotency-Key ${key} is already in use` },
  'internal error':         { code: 100, type: 'error',            http: 400, text: () => 'Internal error' },
} as const

export type RefusalName = keyof typeof refusals

/** One refusal, ready to be answered. `detail` is inserted into texts that name a field. */
export interface Refusal {
  refused: RefusalName
  detail: string
  /** For the log of a sandbox: the text from which a refused checksum should have been made. */
  expected?: string
  /** Who was refused access and why, for the account that is kept of it. */
  access?: { login: string; reason: string }
  /** The merchant's name of the order has a card number, and the reply leaves it out. */
  hidesName?: true
}

export const refuse = (refused: RefusalName, detail = ''): Refusal => ({ refused, detail })

/** The answer to a login that failed too often from this address, before anything is verified. */
export const blocked = (login: string): Refusal => ({
  ...refuse('too many requests'),
  access: { login, reason: 'too many failures before' },
})
