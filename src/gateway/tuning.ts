/**
 * Settings for the bench, which also measures the effect of batching and of the hand-over in
 * memory, and for tests, which shorten waits.
 */
export interface Tuning {
  /** At most this many changes of orders share a commit. */
  maxBatch: number
  /** How many orders may be in memory. */
  maxHeld: number
  /** Off: every step is a row that a sweep finds, in its own transaction. */
  handOver: boolean
  lanes: number
  sweepMs: number
  /** How long a message may wait for a line that is down; docs/choices.md, "States". */
  sendWithinMs: number
  /** Pauses between tries of a reversal; the last one repeats until the acquirer answers. */
  reversalPausesMs: readonly number[]
  /** How often the lag of the event loop is measured; each measurement wakes the process. */
  lagEveryMs: number
}

export const usualTuning: Tuning = {
  maxBatch: 256,
  maxHeld: 3_000,
  handOver: true,
  lanes: 1,
  sweepMs: 100,
  sendWithinMs: 30_000,
  reversalPausesMs: [1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000],
  lagEveryMs: 10,
}
