/**
 * Gives the machine what the acquirer did and a restored database does not know: an order or a
 * follow-up whose attempt is recorded under the names that the acquirer has, and how it ended.
 * `lost`: as if its answer had been lost, so that the gateway owes its reversal. `approved`: as if
 * the answer came now.
 */
import type { Change } from './change.ts'
import { decide } from './decide.ts'
import type { Event, Named } from './event.ts'
import type { Attempt, Order, Transaction } from './order.ts'

export type RestoredOutcome =
  | { is: 'lost' }
  | ({ is: 'approved' } & Pick<Named<'approved'>, 'actionCode' | 'data' | 'receiptId' | 'gate'>)

export type RestoredNames = Omit<Attempt, 'no' | 'transactionNo' | 'outcome' | 'actionCode' | 'why' | 'endedAt'>

/** No process has ever had this id, and nothing of it stays in the row. */
const noProcess = 0n

/** `order` is new, with its one transaction. */
export function restoredPayment(order: Order, names: RestoredNames, ending: RestoredOutcome, now: number): Change {
  const change: Change = { after: order, rows: [], deliveries: [], eraseCvv2: false }
  for (const is of ['accepted', 'screened clean'] as const) apply(change, { is, transactionNo: 1 }, now)
  attempted(change, 1, names, ending, now)
  return change
}

/** `follow` is a new transaction of an order that is stored. */
export function restoredFollow(
  before: Order,
  follow: Transaction,
  names: RestoredNames,
  ending: RestoredOutcome,
  now: number,
): Change {
  const after = { ...before, transactions: [...before.transactions, follow] }
  const change: Change = { before, after, rows: [], deliveries: [], eraseCvv2: false }
  apply(change, { is: 'requested', transactionNo: follow.no }, now)
  attempted(change, follow.no, names, ending, now)
  return change
}

function attempted(change: Change, transactionNo: number, attempt: RestoredNames, ending: RestoredOutcome, now: number): void {
  apply(change, { is: 'attempt recorded', transactionNo, attempt, lease: noProcess, leaseDueAt: now }, now)
  const about = { transactionNo, attemptNo: change.after.attempts.length }
  const event: Event =
    ending.is === 'lost'
      ? { is: 'answer lost', ...about, why: 'the database was restored to a moment before it', reverseAt: now }
      : { ...ending, ...about }
  apply(change, event, now)
}

/** Applies an event and those that follow from it. */
function apply(change: Change, event: Event, now: number): void {
  const decided = decide(change.after, event, now)
  if (decided.is !== 'decided') throw new Error(`order ${change.after.orderId}: ${decided.why}`)
  change.after = decided.order
  change.rows.push(decided.row)
  change.deliveries.push(...decided.deliveries)
  for (const next of decided.consequences) apply(change, next, now)
}
