import { table, when, type Values } from '../field.ts'
import { amount, checksum, currency, givenId, text } from '../kinds.ts'

/** Request of `capture`, `return` and `void` (docs/choices.md). Without an amount all that is left is meant. */
// oxfmt-ignore
export const followRequest = table({
  login:          { is: text(20),     need: 'mandatory', guard: 'open', means: "the merchant's login" },
  client_orderid: { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier", alias: 'client-order-id' },
  orderid:        { is: givenId(128), need: 'mandatory', guard: 'open', means: "the gateway's order id" },
  amount:         { is: amount(10),   need: 'optional',  guard: 'open', means: 'a part, in the highest unit; never of a void' },
  currency:       { is: currency,     need: when('an amount is given', (n) => n('amount') !== undefined), guard: 'open', means: "the order's currency" },
  comment:        { is: text(50),     need: 'optional',  guard: 'personal', means: 'a short comment, returned in the callback' },
  control:        { is: checksum,     need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})
export type FollowRequest = Values<typeof followRequest>
