/**
 * Transactions that the gateway owes because of an event, and the events that follow for other
 * transactions of the order.
 */
import type { Event, EventName, Named } from './event.ts'
import type { Attempt, Order, Transaction } from './order.ts'

/** An ISO 8583 action code that the gateway sets itself; docs/errors.md. */
export const neverSent = { errorCode: '909', errorMessage: 'System malfunction' }

interface Consequence<E> {
  /** A transaction that the gateway adds itself. */
  adds?: 'reversal' | 'credit'
  /** Events of other transactions, to be decided next. */
  leadsTo?: (event: E, after: After) => Event[]
}

/** The order after the event, its transaction, and the transaction that was added. */
interface After {
  order: Order
  transaction: Transaction
  added: Transaction | undefined
}

const none = {}
const owed = (added: Transaction | undefined, dueAt: number): Event[] => [{ is: 'owed', transactionNo: added!.no, dueAt }]
const reversedFrom = {
  adds: 'reversal' as const,
  leadsTo: ({ reverseAt }: { reverseAt: number }, { added }: After) => owed(added, reverseAt),
}
/** If the transaction is a credit, its end decides whether its transfer is paid out. */
const mayEndCredit = {
  leadsTo: (_event: Event, { transaction }: After) => (transaction.kind === 'credit' ? [paidOutOrNot(transaction)] : []),
}

const consequences: { [Name in EventName]: Consequence<Named<Name>> } = {
  accepted: none,
  requested: none,
  'screened clean': none,
  filtered: none,
  refused: none,
  'card expired': none,
  'authentication begun': none,
  'enrolment unknown': none,
  'payer authentication required': none,
  'authentication waived': none,
  'method begun': none,
  'method uploaded': none,
  'challenge required': none,
  'challenge returned': none,
  authenticated: none,
  'not authenticated': none,
  'result missing': none,
  'authentication demanded': none,
  'attempt recorded': none,
  'no gate': mayEndCredit,
  approved: mayEndCredit,
  debited: { adds: 'credit', leadsTo: (_event, { added }) => [{ is: 'requested', transactionNo: added!.no }] },
  credited: none,
  'credit refused': { adds: 'reversal', leadsTo: (_event, { added }) => owed(added, added!.createdAt) },
  'debit returned': none,
  declined: mayEndCredit,
  'amount declined': none,
  'not sent': mayEndCredit,
  'answer lost': reversedFrom,
  'answer awaited': none,
  'lease lost': reversedFrom,
  reversed: mayEndCredit,
  owed: none,
  'taken up': none,
  'reversal unanswered': none,
  'reversal acknowledged': {
    leadsTo: (_event, { order, transaction }) =>
      transaction.kind === 'reversal' ? [takenBack(order, transaction.parentNo!)] : [],
  },
}

/** The row of an event. The compiler knows that each event has one, but cannot tell which. */
const consequenceOf = (event: Event): Consequence<Event> => consequences[event.is] as Consequence<Event>

/**
 * The transaction that the gateway owes after an event. A reversal advice covers the whole amount:
 * of a message whose answer was lost, or of the debit of a transfer that cannot be paid out. The
 * credit of a transfer goes to the gate of its debit.
 */
export function addedBy(order: Order, event: Event, parent: Transaction, now: number): Transaction | undefined {
  const kind = consequenceOf(event).adds
  if (kind === undefined) return undefined
  const { amountMinor, amountText } = kind === 'credit' ? order : parent
  return {
    no: order.transactions.length + 1,
    kind,
    origin: 'gateway',
    parentNo: parent.no,
    state: 'new',
    amountMinor,
    amountText,
    result: parent.result.gateId === undefined ? {} : { gateId: parent.result.gateId },
    tries: 0,
    createdAt: now,
  }
}

/** The events that follow for other transactions of the order. */
export const consequencesOf = (order: Order, event: Event, transaction: Transaction, added: Transaction | undefined): Event[] =>
  consequenceOf(event).leadsTo?.(event, { order, transaction, added }) ?? []

/** The attempt that a reversal cancels: the last one of its parent. */
export function originalOf(order: Order, reversal: Transaction): Attempt {
  const original = order.attempts.findLast((a) => a.transactionNo === reversal.parentNo)
  if (!original) throw new Error(`order ${order.orderId} has a reversal of nothing`)
  return original
}

/**
 * What an acknowledged reversal means for its parent. The debit of a transfer is returned because
 * its credit was refused; any other transaction is reversed because its outcome is unknown.
 */
function takenBack(order: Order, transactionNo: number): Event {
  const isRefused = order.transactions.some((t) => t.kind === 'credit' && t.parentNo === transactionNo && t.state === 'declined')
  return { is: isRefused ? 'debit returned' : 'reversed', transactionNo }
}

/** The effect of a credit's end on its transfer. */
function paidOutOrNot({ state, parentNo, result }: Transaction): Event {
  if (state === 'approved') return { is: 'credited', transactionNo: parentNo! }
  const { errorCode = neverSent.errorCode, errorMessage = neverSent.errorMessage } = result
  return { is: 'credit refused', transactionNo: parentNo!, code: errorCode, message: errorMessage }
}
