import type { ProcessorData } from '../acquirer/connector.ts'
import type { Attempt } from './order.ts'

/**
 * What can happen to a transaction. Those from outside name the attempt they answer: an answer to another attempt than the open one is stale.
 * `answer awaited`: no answer yet, and the gate recognises repeats, so the same attempt is sent again under the same names. `answer lost`: nobody asks
 * any more; a reversal is owed, not before `reverseAt`, so that it never overtakes its original.
 */
export type Event = { transactionNo: number } & (
  | { is: 'accepted' }
  | { is: 'screened clean' }
  | { is: 'card expired' }
  | { is: 'attempt recorded'; attempt: Omit<Attempt, 'no' | 'transactionNo'>; lease: bigint; leaseDueAt: number }
  | { is: 'no gate' }
  | { is: 'approved'; attemptNo: number; actionCode: string; data: ProcessorData; receiptId: string; gate: GateFacts }
  | { is: 'declined'; attemptNo: number; actionCode: string; text: string; data: ProcessorData; gate: GateFacts }
  | { is: 'not sent'; attemptNo: number; why: string }
  | { is: 'answer lost'; attemptNo: number; why: string; reverseAt: number }
  | { is: 'answer awaited'; attemptNo: number; why: string; lease: bigint; leaseDueAt: number }
  | { is: 'lease lost'; attemptNo: number; reverseAt: number }
  | { is: 'reversed' }
  | { is: 'owed'; dueAt: number }
  | { is: 'taken up'; lease: bigint; leaseDueAt: number }
  | { is: 'reversal unanswered'; attemptNo: number; why: string; dueAt: number }
  | { is: 'reversal acknowledged'; attemptNo: number; actionCode: string }
)

export type EventName = Event['is']

/** Facts of the gate as they stood when it answered; later changes of the gate do not change what an order says. */
export interface GateFacts {
  descriptor: string
  partialReversal: boolean
  partialCapture: boolean
}
