import { setMaxListeners } from 'node:events'

/** Undoes a pending `after`; calling it twice, or after the function ran, does nothing. */
export type Cancel = () => void

/**
 * Time as an argument. Everything that waits or records a time takes a clock, so that a test or the
 * simulation can move it. `now` is wall time and may jump; `monotonic` never goes back and is only
 * for measuring spans inside one process.
 */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
  /**
   * Milliseconds since an arbitrary start, the same one in all threads of the process; never
   * stored, never compared between processes.
   */
  monotonic(): number
  /** Runs `fn` once, `delayMs` from now. A pending call alone does not keep the process alive. */
  after(delayMs: number, fn: () => void): Cancel
}

/** `setTimeout` fires immediately beyond 2^31 - 1 ms (24.8 days), so longer waits are split. */
const longestTimerMs = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic() {
    // performance.now() counts from the start of its thread.
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1_000 + nanoseconds / 1_000_000
  },
  after(delayMs, fn) {
    const timer = setTimeout(fn, Math.min(Math.max(0, delayMs), longestTimerMs))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Runs `fn` in the next turn of the event loop, after the events that arrived meanwhile. */
export const nextTurn = (fn: () => void): void => void setImmediate(fn)

/** Resolves after `delayMs`, or as soon as `signal` aborts; it never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  // Any number may listen. The warning is meant for leaks, and each listener here is removed with
  // its wait.
  if (signal) setMaxListeners(0, signal)
  return new Promise((resolve) => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(delayMs, done)
    signal?.addEventListener('abort', done)
  })
}
