import type { Merchant } from './load/merchant.ts'
import type { Kind } from './figures/processes.ts'
import type { Sandbox } from './sandbox.ts'

/** How one payment went, seen by the merchant. */
export interface Payment {
  /** From the first byte of the request to the reply that accepts it. */
  acceptMs: number
  /** From the same moment to the `status` reply that is final. */
  finalMs: number
  /** `approved`, `refusedForLoad`, or in words what happened instead. */
  ending: string
}

/**
 * Whose processor time is measured: the sandbox's, the bench's own, and the rest of the machine.
 */
export type Spender = Kind | 'load' | 'bench' | 'other'

/**
 * The figures of one load. A figure that could not be taken is null. The names are those
 * of the JSON line.
 */
export interface Figures extends Record<`${Spender}_cpu_us_per_sale`, number | null> {
  /** Sales that this sandbox had carried when the window opened. */
  sales_before: number
  sales_per_s: number
  accept_p50_ms: number | null
  accept_p99_ms: number | null
  accept_p999_ms: number | null
  final_p50_ms: number | null
  final_p99_ms: number | null
  final_p999_ms: number | null
  polls_per_sale: number | null
  /** Changes of orders that shared a commit. */
  mean_batch: number | null
  /** Messages to merchants that were delivered within the window. */
  callbacks_per_sale: number | null
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
  /** How busy the processors of the machine were. */
  machine_busy_percent: number | null
  machine_stolen_percent: number | null
}

/** A level of load in a closed loop. */
export interface Row extends Figures {
  bench: string
  in_flight: number
}

/** Load by a clock; `<bench>-arrivals`. */
export interface ArrivalRow extends Figures {
  bench: string
  /** Which rate this is: that of the command line, or half of what was carried in a closed loop. */
  rate: string
  arrivals_per_s: number
  /** False: the sales came faster than they were carried, and the row ended early. */
  carried: boolean
  most_in_flight: number
}

/**
 * A wish for the usual two-core machine that carries everything. It is shown as met or not met, and
 * never fails the bench.
 */
export interface Target {
  means: string
  inFlight: number
  figure: keyof Figures
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
   * Whether it is also run by a clock, beside new connections, and with `--one-by-one`: what these
   * show is the same for all.
   */
  inDetail: boolean
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
  /**
   * How a payment ended whose end was not seen, such as one without a reply; undefined as long as
   * it has not. Asked once the load is over, so that the books know.
   */
  lookUp?(merchant: Merchant, clientOrderid: string): Promise<string | undefined>
}
