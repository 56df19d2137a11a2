import type { Clock } from './clock.ts'

/** How fast a count has grown since the last call, a millisecond. */
export function rateOf(clock: Clock, count: () => number): () => number {
  let [before, at] = [count(), clock.monotonic()]
  return () => {
    const [counted, now] = [count(), clock.monotonic()]
    const rate = (counted - before) / Math.max(1, now - at)
    before = counted
    at = now
    return rate
  }
}
