import type { MobileRefused, MobileReply, MobileStatus, TransferFee } from './mobile-replies.ts'
import { pauseMs, usualLimitMs, type Time } from './waiting.ts'

/** How waiting for a transaction came to its end. `seen` is the last that was seen of it. */
export type MobileEnding =
  | { is: 'final'; state: 'APPROVED' | 'DECLINED'; seen: MobileStatus }
  /** A web view has to take the consumer there. */
  | { is: 'redirect'; redirectUrl: string; seen: MobileStatus }
  /** The consumer has to choose what the transfer costs, by `completeTransfer`. */
  | { is: 'fees'; fees: readonly TransferFee[]; seen: MobileStatus }
  /** No end within the limit, or an aborted wait: the transaction goes on. Wait for it again. */
  | { is: 'open'; why: 'limit' | 'aborted'; seen?: MobileStatus }
  | MobileRefused

export interface MobileFinishOptions {
  /** Where the consumer was taken already, so that it is not stopped for again. */
  past?: string
  /** After this nothing is asked any more. */
  limitMs?: number
  signal?: AbortSignal
}

/** Asks for the status until the transaction is final or wants something of the consumer. */
export async function finishMobile(
  ask: () => Promise<MobileReply<MobileStatus>>,
  time: Time,
  { past, limitMs = usualLimitMs, signal }: MobileFinishOptions,
): Promise<MobileEnding> {
  const began = time.now()
  let last: MobileStatus | undefined
  for (;;) {
    const reply = await ask()
    const elapsedMs = time.now() - began
    if (reply.is === 'transaction') {
      last = reply
      const { state, redirectUrl, fees } = reply
      if (state === 'APPROVED' || state === 'DECLINED') return { is: 'final', state, seen: reply }
      if (state === 'REDIRECT_REQUEST' && redirectUrl !== undefined && redirectUrl !== past)
        return { is: 'redirect', redirectUrl, seen: reply }
      if (state === 'TRANSFER_FEE_REQUEST' && fees !== undefined) return { is: 'fees', fees, seen: reply }
      // A server that failed may answer the next time.
    } else if (reply.is === 'refused' && reply.httpStatus < 500) return reply
    const shown = last === undefined ? {} : { seen: last }
    if (signal?.aborted) return { is: 'open', why: 'aborted', ...shown }
    if (elapsedMs + pauseMs(elapsedMs) > limitMs) return { is: 'open', why: 'limit', ...shown }
    await time.pause(pauseMs(elapsedMs), signal)
  }
}
