import type { Site } from './merchant.ts'

/** The requests to the load process. */
export interface LoadOrder {
  bench: string
  site: Site
  /** Sales kept in flight, or the most there may be. */
  inFlight: number
  /** Sales begin by a clock, so many a second; undefined: in a closed loop. */
  arrivalsPerS?: number | undefined
  /**
   * By a clock: sales that the gateway refuses because of load are counted as such and not as
   * failures, and with `inFlight` under way the clock goes on without the sales that are due.
   */
  flood?: true | undefined
  /**
   * The window opens when so many payments have ended, in a closed loop the first of each that is
   * in flight among them.
   */
  ramp: number
  /** It opens then all the same, so that a gateway that carries next to nothing is seen as such. */
  rampMs: number
  /** 0: no window, the ramp is all there is. */
  measureMs: number
  /** A payment has to be approved by then. */
  withinMs: number
}

/**
 * What the merchant saw. `measured` payments ended approved within the window; the counts at the
 * end are of the whole run.
 */
export interface LoadReport {
  /** Payments that had ended when the window opened. */
  ramped: number
  /** The most in flight at a time, and whether by a clock there were more than allowed. */
  mostInFlight: number
  overrun: boolean
  windowMs: number
  /** From the first request to the last final status, ramp and drain included. */
  wholeMs: number
  measured: number
  accept: Quantiles
  final: Quantiles
  /**
   * Sales that began within the window, and how long after their moment by the clock. Those left
   * out were due while as many as allowed were in flight.
   */
  begun: number
  late: Quantiles
  leftOut: number
  /** Sales that the gateway refused because of load within the window, and how soon. */
  refused: number
  refusal: Quantiles
  /** `status` requests and processor time of the load process, within the window. */
  polls: number
  cpuUs: number
  sales: number
  approved: number
  /** Payments whose end was not seen, and that were approved when asked for afterwards. */
  approvedUnseen: number
  /** Payments that were not seen to end approved, by what happened instead. */
  failures: Record<string, number>
}

interface Quantiles {
  p50: number | undefined
  p99: number | undefined
  p999: number | undefined
}

export type LoadSays =
  | { is: 'opened' }
  | { is: 'closed' }
  /** Each second: payments ended since the run began. */
  | { is: 'tick'; ended: number }
  | { is: 'done'; report: LoadReport }

/** The answer of the bare post's server to any message. */
export interface ServerTime {
  us: number
}
