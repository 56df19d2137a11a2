/** For the bench, which also measures what batching and the hand-over in memory are worth. */
export interface Tuning {
  /** Changes of orders that share a commit at most. */
  maxBatch: number
  /** Orders in memory at once. */
  maxHeld: number
  /** Off: every step is a row that is swept, in a transaction of its own. */
  handOver: boolean
  lanes: number
  sweepMs: number
}

export const usualTuning: Tuning = { maxBatch: 256, maxHeld: 3_000, handOver: true, lanes: 1, sweepMs: 100 }
