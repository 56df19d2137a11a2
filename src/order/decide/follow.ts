/** How a capture, return or void is added to an order, whoever asks for it. */
import { defined } from '../../base/defined.ts'
import { spellMinor } from '../../base/money.ts'
import type { Endpoint } from '../../merchant/merchant.ts'
import { judgeFollow, type FollowAsk, type FollowRules, type Judged } from './amounts.ts'
import { decide, type RefusedEvent } from './decide.ts'
import type { Change } from './change.ts'
import type { Event } from './event.ts'
import { head, type Order, type Transaction } from './order.ts'

export type NotFollowed = Exclude<Judged, { is: 'allowed' | 'repeat' }>
export type Repeated = Extract<Judged, { is: 'repeat' }>

export const isNotFollowed = (refused: RefusedEvent | NotFollowed | Repeated): refused is NotFollowed =>
  refused.is !== 'stale' && refused.is !== 'impossible' && refused.is !== 'repeat'

/** Kinds that cancel their original by an advice, repeated until it is acknowledged. */
export const undoes = ({ kind }: Pick<Transaction, 'kind'>): boolean =>
  kind === 'reversal' || kind === 'void' || kind === 'cancel'

/** The order with one more transaction, in state `new`, and the event that begins it. */
export interface AddedFollow {
  is: 'added'
  order: Order
  event: Event
}

/**
 * Adds a follow-up to an approved order as a separate transaction, or returns why it cannot. If a
 * commit whose reply was lost has already added this very request, there is nothing to add.
 * `endpoint` is the order's own, if there is such a one still.
 */
export function addFollow(
  order: Order,
  ask: FollowAsk,
  endpoint: Endpoint | undefined,
  now: number,
): AddedFollow | RefusedEvent | NotFollowed | Repeated {
  const judged = judgeFollow(order, ask, rulesFor(order, endpoint), now)
  if (judged.is === 'repeat' && judged.transaction.serialNumber === ask.serialNumber)
    return { is: 'stale', why: 'it is there already' }
  if (judged.is !== 'allowed') return judged
  const { kind, amountMinor } = judged
  const { operation, comment, idempotencyKey, operator } = ask
  const { gateId } = head(order).result
  const transaction: Transaction = {
    no: order.transactions.length + 1,
    kind,
    origin: 'request',
    serialNumber: ask.serialNumber,
    parentNo: 1,
    state: 'new',
    amountMinor,
    amountText:
      ask.amount?.text ?? (amountMinor === order.amountMinor ? order.amountText : spellMinor(amountMinor, order.currency)),
    result: gateId === undefined ? {} : { gateId },
    asked: {
      operation,
      ...(ask.amount ? {} : { whole: true }),
      ...defined({ comment, idempotencyKey, operator }),
    },
    tries: 0,
    createdAt: now,
  }
  const event: Event = undoes(transaction)
    ? { is: 'owed', transactionNo: transaction.no, dueAt: now }
    : { is: 'requested', transactionNo: transaction.no }
  return { is: 'added', order: { ...order, transactions: [...order.transactions, transaction] }, event }
}

/** The same as a change to be saved: the step of the transaction is due, and no process owns it. */
export function changeByFollow(...about: Parameters<typeof addFollow>): Change | NotFollowed | Repeated {
  const [before, , , now] = about
  const added = addFollow(...about)
  const decided = added.is === 'added' ? decide(added.order, added.event, now) : added
  if (decided.is === 'decided')
    return { before, after: decided.order, rows: [decided.row], deliveries: decided.deliveries, eraseCvv2: false }
  if (decided.is === 'repeat' || isNotFollowed(decided)) return decided
  throw new Error(`order ${before.orderId}: ${decided.why}, although it was allowed`)
}

function rulesFor(order: Order, endpoint: Endpoint | undefined): FollowRules {
  const { partialCapture = false, partialReversal = false } = head(order).result
  return { capture: partialCapture, return: partialReversal, repeatWindowMs: endpoint?.settings.repeatWindowMs ?? 0 }
}
