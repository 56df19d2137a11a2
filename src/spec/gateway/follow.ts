import { table, when, type Values } from '../field.ts'
import { amount, checksum, givenId, orderCurrency, text } from '../kinds.ts'

/** The rule of repeats, for a merchant who sends one of these requests again. */
export const repeatNote =
  'A request counts as a repeat if an earlier one has the same order, amount, currency and comment, and is open or was ' +
  "approved within the endpoint's repeat window (ten minutes by default). A repeat gets the reply of the earlier request " +
  'and moves nothing. To move the same sum twice, send another comment, or a different `Idempotency-Key` with each.'

/** The same for a void, which has no amount and cancels a payment as a whole. */
export const voidNote =
  'A request counts as a repeat if an earlier one has the same order and comment, and is open or was approved within ' +
  "the endpoint's repeat window (ten minutes by default). A repeat gets the reply of the earlier request. While a void " +
  'is open or approved, any other void of the order is refused with code 9.'

/** Request of `capture`, `return`, `void` (docs/choices.md). Without amount: all that is left. */
// oxfmt-ignore
export const followRequest = table({
  login:          { is: text(20),     need: 'mandatory', guard: 'open', means: "the merchant's login" },
  client_orderid: { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier", alias: 'client-order-id' },
  orderid:        { is: givenId(128), need: 'mandatory', guard: 'open', means: "the gateway's order id" },
  amount:         { is: amount(10),   need: 'optional',  guard: 'open', means: 'in the highest unit; without it, all that is left. A void takes no part' },
  currency:       { is: orderCurrency, need: when('an amount is given', (n) => n('amount') !== undefined), guard: 'open', means: "the order's currency" },
  comment:        { is: text(50),     need: 'optional',  guard: 'personal', means: 'a short comment, returned in the callback' },
  control:        { is: checksum,     need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
})
export type FollowRequest = Values<typeof followRequest>
