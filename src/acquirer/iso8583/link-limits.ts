/** The time limits of a line to an acquirer, and its capacity. */
import type { Cancel, Clock } from '../../base/clock.ts'

/** Times in milliseconds. */
export interface LinkLimits {
  /** How long a connection may take to open, and a sign-on, sign-off or echo to be answered. */
  answerNetworkMs: number
  /** Silence after which an echo is sent. */
  echoMs: number
  /** First and longest wait before connecting again; it doubles in between. */
  backoffFirstMs: number
  backoffLongestMs: number
  /** How long a request may be held back for the line to come up. */
  sendWithinMs: number
  /** How long to wait for an answer once the request is written; the deadline may come earlier. */
  answerMs: number
  /** Requests held and open together; beyond this limit nothing is sent. */
  maxOpen: number
}

export const usualLimits: LinkLimits = {
  answerNetworkMs: 5_000,
  echoMs: 30_000,
  backoffFirstMs: 100,
  backoffLongestMs: 5_000,
  sendWithinMs: 30_000,
  answerMs: Infinity,
  maxOpen: 4_096,
}

/** A timer that is later than this shows that the process was suspended. */
const stoodStillMs = 50
/** How long it then reads before it gives up on an answer. */
const readingMs = 200

/**
 * Runs `fn` when the time for an answer is over. After the process was suspended, timers fire
 * before the messages that arrived meanwhile are read, so those are read first.
 */
export function afterReading(clock: Clock, waitMs: number, fn: () => void): Cancel {
  const dueAt = clock.monotonic() + waitMs
  let cancel = clock.after(waitMs, () => {
    if (clock.monotonic() - dueAt <= stoodStillMs) fn()
    else cancel = clock.after(readingMs, fn)
  })
  return () => cancel()
}
