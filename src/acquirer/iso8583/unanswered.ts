/** Reversals whose answer did not come in time. */
import type { IsoMessage } from '../../spec/iso8583.ts'

/** Whether a reply under the names of the request ends the reversal. */
type Take = (reply: IsoMessage) => boolean

/**
 * A reversal is repeated under the same names until it is acknowledged, so an acknowledgement that
 * comes between two tries counts. An answer to a payment that is as late does not: its reversal is
 * owed by then. Beyond `most` the oldest is forgotten; its next try is answered.
 */
export function openUnanswered(keyOf: (message: IsoMessage) => string, most: number) {
  const waiting = new Map<string, Take>()
  return {
    add(request: IsoMessage, take: Take): void {
      waiting.set(keyOf(request), take)
      if (waiting.size > most) waiting.delete(waiting.keys().next().value!)
    },
    /** Whether this is what one of them waited for. */
    take: (reply: IsoMessage): boolean => waiting.get(keyOf(reply))?.(reply) === true && waiting.delete(keyOf(reply)),
    forget: (request: IsoMessage): void => void waiting.delete(keyOf(request)),
  }
}
