import { table, when, type Values } from '../field.ts'
import { amount, checksum, givenId, orderCurrency, text } from '../kinds.ts'

/** What a merchant who repeats one of them must know. */
export const repeatNote =
  'One that is equal in order, amount, currency and comment to one that is open, or that was approved within the ' +
  "endpoint's repeat window (ten minutes unless it is set otherwise), is answered with that one and moves nothing: " +
  'to move the same sum twice, send another comment, or an `Idempotency-Key` of its own with each.'

/** The same for a void, which has no amount and cancels a payment as a whole. */
export const voidNote =
  "One that is equal in order and comment to one that is open, or that was approved within the endpoint's repeat " +
  'window (ten minutes unless it is set otherwise), is answered with that one. While one is open or approved, any ' +
  'other void of the order is refused with code 9.'

/** Request of `capture`, `return`, `void` (docs/choices.md). Without amount: all that is left. */
// oxfmt-ignore
export const followRequest = table({
  login:          { is: text(20),     need: 'mandatory', guard: 'open', means: "the merchant's login" },
  client_orderid: { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier", alias: 'client-order-id' },
  orderid:        { is: givenId(128), need: 'mandatory', guard: 'open', means: "the gateway's order id" },
  amount:         { is: amount(10),   need: 'optional',  guard: 'open', means: 'a part, in the highest unit; never of a void' },
  currency:       { is: orderCurrency, need: when('an amount is given', (n) => n('amount') !== undefined), guard: 'open', means: "the order's currency" },
  comment:        { is: text(50),     need: 'optional',  guard: 'personal', means: 'a short comment, returned in the callback' },
  control:        { is: checksum,     need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})
export type FollowRequest = Values<typeof followRequest>
