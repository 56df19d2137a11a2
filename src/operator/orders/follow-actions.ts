/** Captures, returns and voids by an operator. */
import { maskCardNumbers } from '../../base/log.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { anyText, kind, Unreadable } from '../../entity/kinds.ts'
import { hint, type Block } from '../../entity/show.ts'
import { statusOfState } from '../../order/decide/order.ts'
import { action, type AnyAction, type Gives } from '../action.ts'
import { anOrder } from '../inputs.ts'
import { decimalOf } from '../order-lines.ts'
import type { Office } from '../office.ts'
import { followUp, type FollowedUp, type FollowWish } from './follow-up.ts'

const form = /^(?! )[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]{3,200}(?<! )$/u
const must = '3 to 200 characters on one line, without spaces around, marks of direction or the number of a card'

const common = {
  id: anOrder,
  reason: {
    is: kind<string>({
      hint: 'text',
      read: (text) => (form.test(text) && maskCardNumbers(text) === text ? text : new Unreadable(must)),
      schema: { type: 'string', description: must },
    }),
    needed: true,
    means: 'why, for operators: in the audit trail and order show, never sent to merchant or acquirer',
  },
} as const
const amount = {
  is: anyText('decimal'),
  means: "such as 10.42, in the order's currency; the whole rest if left out",
} as const

const gives: Gives<FollowedUp, unknown> = {
  json: ({ order, transaction: t, gate, callbacks }) => ({
    ...jsonOf(pick(order, 'orderId', 'currency')),
    ...jsonOf(pick(t, 'kind', 'serialNumber', 'amountMinor')),
    transaction: t.no,
    amount: decimalOf({ ...t, currency: order.currency }),
    status: statusOfState(t.state),
    gate,
    callbacks,
  }),
  blocks({ order, transaction: t, gate, callbacks }): Block[] {
    const { orderId, currency } = order
    return [
      `#${t.no} ${t.kind} of ${decimalOf({ ...t, currency })} ${currency} is recorded for order ${orderId}.`,
      {
        facts: [
          ['Sent to', `gate ${gate}, by a running gateway within a second or two; it waits while none runs`],
          ['Reported to', callbacks.length === 0 ? 'no one: there is no callback URL' : callbacks.join(', ')],
          ['Serial', t.serialNumber],
        ],
      },
      hint('See what becomes of it', `order show ${orderId}`),
    ]
  },
}

const more = `Checked like a request of the merchant, and reported in the same way: by callback, and by status as the newest
transaction of the order. The endpoint must allow the operation. An operation equal to one in progress, or to one approved
within the endpoint's repeat window, is refused. The audit trail keeps the reason forever: do not name the payer in it.`

const shared = (operation: 'capture' | 'return' | 'void') => ({
  needs: 'money' as const,
  forMerchants: true as const,
  perform: (office: Office, asked: FollowWish) => followUp(office, operation, asked),
  gives,
  more,
})

export const followActions: Readonly<Record<string, AnyAction>> = {
  'order capture': action({
    ...shared('capture'),
    does: 'captures the amount of a preauthorisation, or a part of it',
    takes: { ...common, amount },
    examples: [
      'order capture 1000001 --reason "shipped by post"',
      'order capture 1000001 --amount 4.00 --reason "half was shipped"',
    ],
  }),
  'order return': action({
    ...shared('return'),
    does: 'refunds a captured amount, or a part of it; releases a preauthorisation that was not captured',
    takes: { ...common, amount },
    examples: ['order return 1000001 --reason "ticket 4711"', 'order return 1000001 --amount 1.00 --reason "one was broken"'],
  }),
  'order void': action({
    ...shared('void'),
    does: 'cancels a whole payment that was neither returned nor, as a preauthorisation, captured',
    takes: common,
    examples: ['order void 1000001 --reason "paid twice"'],
  }),
}
