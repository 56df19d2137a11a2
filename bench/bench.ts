import type { Merchant } from './merchant.ts'
import type { Kind } from './processes.ts'
import type { Sandbox } from './sandbox.ts'

/** How one payment went, seen by the merchant. */
export interface Payment {
  /** From the first byte of the request to the reply that accepts it. */
  acceptMs: number
  /** From the same moment to the `status` reply that is final. */
  finalMs: number
  /** `approved`, or in words what happened instead. */
  ending: string
}

/**
 * Whose processor time is measured: the sandbox's, the bench's own, and the rest of the machine.
 */
export type Spender = Kind | 'load' | 'bench' | 'other'

/**
 * The figures of one level of load. A figure that could not be taken is null. The names are those
 * of the JSON line.
 */
export interface Row extends Record<`${Spender}_cpu_us_per_sale`, number | null> {
  bench: string
  in_flight: number
  /** Sales that this sandbox had carried when the window opened. */
  sales_before: number
  sales_per_s: number
  accept_p50_ms: number | null
  accept_p99_ms: number | null
  final_p50_ms: number | null
  final_p99_ms: number | null
  polls_per_sale: number | null
  /** Changes of orders that shared a commit. */
  mean_batch: number | null
  /** The most during the window and what was left at its end, in millions of bytes. */
  gateway_rss_mb: number | null
  gateway_rss_end_mb: number | null
  /** Pauses of the gateway's garbage collector. */
  gateway_gc_us_per_sale: number | null
  /** Turns of the gateway's event loop, and by how much its timers were late. */
  loop_turn_p99_ms: number | null
  timers_late_p99_ms: number | null
  wal_bytes_per_sale: number | null
  /** The part of it that is full page images, and their number. */
  wal_full_page_bytes_per_sale: number | null
  wal_full_pages_per_sale: number | null
  /** Of the machine's processors, in percent. */
  machine_busy_percent: number | null
  machine_stolen_percent: number | null
}

/**
 * A wish for the usual two-core machine that carries everything. It is shown as met or not met, and
 * never fails the bench.
 */
export interface Target {
  means: string
  inFlight: number
  figure: Exclude<keyof Row, 'bench' | 'in_flight'>
  wanted: 'at least' | 'under'
  bound: number
  unit: string
}

/** A kind of payment that is measured: one file each, and a line in benches.ts. */
export interface Bench {
  name: string
  means: string
  targets: readonly Target[]
  /** Payments in flight, a row each, unless the command line says otherwise. */
  inFlight: readonly number[]
  /** Sales before the first window of a sandbox, unless the command line says otherwise. */
  warmUp: number
  /**
   * Brings up what a sandbox does not have, before the first payment; it runs in the process of the
   * bench.
   */
  prepare?(sandbox: Sandbox, signal: AbortSignal): Promise<{ stop(): Promise<void> }>
  /**
   * Gives the function that carries one payment to its end, under a name that no other has. It runs
   * in the load process.
   */
  open(merchant: Merchant): (clientOrderid: string) => Promise<Payment>
}
