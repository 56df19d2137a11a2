import type { ProcessorData } from '../../acquirer/connector.ts'
import type { Authentication, VerifiedStatus } from '../../three-d-secure/authentication.ts'
import type { Verdict } from '../../three-d-secure/interpret.ts'
import type { Attempt } from './order.ts'

/**
 * What can happen to a transaction. An event from outside names the attempt that it answers, and is
 * stale unless that one is open. An event of 3-D Secure names its authentication, `of`, by the
 * threeDSServerTransID, and is stale if the transaction has another one.
 *   answer awaited  no answer yet, and the gate recognises repeats: the attempt is sent again under
 *                   the same names
 *   answer lost     the attempt is not sent again; a reversal is owed, but not before `reverseAt`,
 *                   so that it never overtakes its original
 */
export type Event = { transactionNo: number } & (
  | { is: 'accepted' }
  | { is: 'requested' }
  | { is: 'screened clean' }
  | { is: 'filtered'; code: string; message: string; score: number; rules: number[] }
  | { is: 'refused'; code: string; message: string }
  | { is: 'card expired' }
  | { is: 'authentication begun'; authentication: Authentication; dueAt: number }
  | { is: 'enrolment unknown'; authentication: Authentication; lease: bigint; leaseDueAt: number }
  | { is: 'payer authentication required'; of: string; learned: Partial<Authentication>; dueAt: number }
  | { is: 'authentication waived'; verified: VerifiedStatus; eci?: string }
  | { is: 'method begun'; of: string; learned: Partial<Authentication>; dueAt: number }
  | { is: 'method uploaded'; of: string; learned: Partial<Authentication>; lease: bigint; leaseDueAt: number }
  | { is: 'challenge required'; of: string; learned: Partial<Authentication>; dueAt: number }
  | { is: 'challenge returned'; of: string; learned: Partial<Authentication>; dueAt: number }
  | { is: 'authenticated'; of: string; learned: Partial<Authentication>; verified: VerifiedStatus; eci?: string }
  | { is: 'not authenticated'; of: string | undefined; learned: Partial<Authentication>; verdict: Verdict; eci?: string }
  | { is: 'result missing'; of: string; verdict: Verdict }
  | {
      is: 'authentication demanded'
      attemptNo: number
      actionCode: string
      authentication: Authentication
      lease: bigint
      leaseDueAt: number
    }
  | { is: 'attempt recorded'; attempt: Omit<Attempt, 'no' | 'transactionNo'>; lease: bigint; leaseDueAt: number }
  | { is: 'no gate' }
  | { is: 'approved'; attemptNo: number; actionCode: string; data: ProcessorData; receiptId: string; gate: GateFacts }
  | { is: 'debited'; attemptNo: number; actionCode: string; data: ProcessorData; receiptId: string; gate: GateFacts }
  | { is: 'credited' }
  | { is: 'credit refused'; code: string; message: string }
  | { is: 'debit returned' }
  | { is: 'declined'; attemptNo: number; actionCode: string; text: string; data: ProcessorData; gate: GateFacts }
  | { is: 'amount declined'; attemptNo: number; actionCode: string; next: { minor: bigint; text: string } }
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
export type Named<Name extends EventName> = Extract<Event, { is: Name }>

/**
 * The gate as it was when it answered, so that later changes of the gate do not change the order.
 */
export interface GateFacts {
  descriptor: string
  partialReversal: boolean
  partialCapture: boolean
  /** In the highest unit of the order's currency; absent unless the endpoint shows them. */
  sellerCommission?: string
  acquirerCommission?: string
}
