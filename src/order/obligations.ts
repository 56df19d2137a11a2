/** What the gateway comes to owe by an event of one transaction, and what the event means to the others of its order. */
import type { Event } from './event.ts'
import type { Attempt, Order, Transaction } from './order.ts'

/** An ISO 8583 action code that the gateway gives on its own; docs/errors.md. */
export const neverSent = { errorCode: '909', errorMessage: 'System malfunction' }

/**
 * What the gateway owes from now on, as a transaction of its own: a reversal advice of the whole amount for a message whose answer was lost, and for the debit of a transfer that cannot be paid out; the credit
 * of a transfer, at the gate of its debit.
 */
export function addedBy(order: Order, event: Event, of: Transaction, now: number): Transaction | undefined {
  switch (event.is) {
    case 'answer lost':
    case 'lease lost':
    case 'credit refused':
      return obligation(order, 'reversal', of, of, now)
    case 'debited':
      return obligation(order, 'credit', of, order, now)
    default:
      return undefined
  }
}

const obligation = (
  order: Order,
  kind: 'reversal' | 'credit',
  of: Transaction,
  { amountMinor, amountText }: Pick<Order, 'amountMinor' | 'amountText'>,
  now: number,
): Transaction => ({
  no: order.transactions.length + 1,
  kind,
  origin: 'gateway',
  parentNo: of.no,
  state: 'new',
  amountMinor,
  amountText,
  result: of.result.gateId === undefined ? {} : { gateId: of.result.gateId },
  tries: 0,
  createdAt: now,
})

/** The attempt that a reversal takes back: the last one of its parent. */
export function originalOf(order: Order, reversal: Transaction): Attempt {
  const original = order.attempts.findLast((a) => a.transactionNo === reversal.parentNo)
  if (!original) throw new Error(`order ${order.orderId} has a reversal of nothing`)
  return original
}

export function followOf(order: Order, event: Event, next: Transaction, added: Transaction | undefined): Event[] {
  switch (event.is) {
    case 'answer lost':
    case 'lease lost':
      return [{ is: 'owed', transactionNo: added!.no, dueAt: event.reverseAt }]
    case 'credit refused':
      return [{ is: 'owed', transactionNo: added!.no, dueAt: added!.createdAt }]
    case 'debited':
      return [{ is: 'requested', transactionNo: added!.no }]
    case 'reversal acknowledged':
      return next.kind === 'reversal' ? [takenBack(order, next.parentNo!)] : []
    default:
      return next.kind === 'credit' && next.finalAt !== undefined ? [paidOutOrNot(next)] : []
  }
}

/** The debit of a transfer is taken back because its credit was refused; anything else, and a credit that failed, because nobody knows what became of it. */
function takenBack(order: Order, transactionNo: number): Event {
  const isRefused = order.transactions.some((t) => t.kind === 'credit' && t.parentNo === transactionNo && t.state === 'declined')
  return { is: isRefused ? 'debit returned' : 'reversed', transactionNo }
}

/** What the end of a credit means to its transfer. */
function paidOutOrNot({ state, parentNo, result }: Transaction): Event {
  if (state === 'approved') return { is: 'credited', transactionNo: parentNo! }
  const { errorCode = neverSent.errorCode, errorMessage = neverSent.errorMessage } = result
  return { is: 'credit refused', transactionNo: parentNo!, code: errorCode, message: errorMessage }
}
