import type { Clock } from '../../src/base/clock.ts'

export interface ScaledClock extends Clock {
  /** Moves the time of day forward; pending waits are not affected. */
  advance(ms: number): void
}

/** A clock whose waits last `scale` times as long: with 0.01, 30 s are over in 300 ms. */
export function scaleClock(clock: Clock, scale: number): ScaledClock {
  const startedAt = clock.now()
  const startedMonotonic = clock.monotonic()
  let ahead = 0
  return {
    now: () => Math.floor(startedAt + (clock.now() - startedAt) / scale + ahead),
    monotonic: () => startedMonotonic + (clock.monotonic() - startedMonotonic) / scale,
    after: (delayMs, fn) => clock.after(delayMs * scale, fn),
    advance: (ms) => void (ahead += ms),
  }
}
