/**
 * Settings for the bench, which also measures the effect of batching and of the hand-over in
 * memory.
 */
export interface Tuning {
  /** At most this many changes of orders share a commit. */
  maxBatch: number
  /** Orders in memory at once. */
  maxHeld: number
  /** Off: every step is a row that a sweep finds, in its own transaction. */
  handOver: boolean
  lanes: number
  sweepMs: number
}

export const usualTuning: Tuning = { maxBatch: 256, maxHeld: 3_000, handOver: true, lanes: 1, sweepMs: 100 }
