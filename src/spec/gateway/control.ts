/** A part of a checksum is the name of a field or one of these (docs/choices.md, "Checksums"). */
export const pathId = 'endpoint or group id'
export const amountInMinorUnits = 'amount in minor units'

/** The last part of every signed string. */
export const controlKey = 'control key'

/** One way to sign a request; the control key follows its parts. */
export interface Way {
  parts: readonly string[]
  /** If absent, the way always applies. */
  when?: 'an amount is sent' | 'no amount is sent'
  /** Amount and currency come from the order; some clients sign them without sending them. */
  ofTheOrder?: true
}

/** The ways in which a request may be signed, the usual one first. */
export type Formula = readonly Way[]

const order = ['login', 'client_orderid', 'orderid'] as const
const rebill = ['login', 'client_orderid', 'cardrefid', amountInMinorUnits, 'currency'] as const
const sum = [amountInMinorUnits, 'currency'] as const

// oxfmt-ignore
export const formulas = {
  payment:        [{ parts: [pathId, 'client_orderid', amountInMinorUnits, 'email'] }],
  verification:   [{ parts: [pathId, 'client_orderid', 'email'] }],
  // The contract's table omits the id of the path, but its numbered rule puts it first.
  rebill:         [{ parts: rebill }, { parts: [pathId, ...rebill] }],
  'part of order': [
    { parts: [...order, ...sum], when: 'an amount is sent' },
    { parts: order,              when: 'no amount is sent' },
    { parts: [...order, ...sum], when: 'no amount is sent', ofTheOrder: true },
  ],
  order:          [{ parts: order }],
  'card reference': [{ parts: ['login', 'cardrefid'] }],
  upload:         [{ parts: ['login', 'client-order-id', 'orderid'] }],
} as const satisfies Record<string, Formula>

/** For callbacks and the cardholder's return. */
export const callbackFormula = ['status', 'orderid', 'client_orderid'] as const

/** The ways that apply to a request with or without an amount. */
export const waysFor = (formula: Formula, amountIsSent: boolean): Formula =>
  formula.filter(({ when }) => when === undefined || (when === 'an amount is sent') === amountIsSent)

/** `login + client_orderid + orderid + control key`. */
export const inWords = (parts: readonly string[]): string => [...parts, controlKey].join(' + ')
