import type { Clock } from '../../../src/base/clock.ts'

/** A clock that stands still until it is moved. */
export interface HandClock extends Clock {
  /** Moves on, and runs what became due, in order. */
  pass(ms: number): void
}

export function openHandClock(startAt: number): HandClock {
  let now = startAt
  let pending: { at: number; fn: () => void }[] = []
  return {
    now: () => now,
    monotonic: () => now,
    after(delayMs, fn) {
      const call = { at: now + Math.max(0, delayMs), fn }
      pending.push(call)
      return () => void (pending = pending.filter((other) => other !== call))
    },
    pass(ms) {
      now += ms
      const due = pending.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)
      pending = pending.filter(({ at }) => at > now)
      for (const { fn } of due) fn()
    },
  }
}
