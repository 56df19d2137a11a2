import type { Clock } from '../base/clock.ts'

/** How a call ended; `unsaid` for a reason on our side, which proves nothing about the merchant. */
export type CallEnd = 'well' | 'badly' | 'unsaid'

export interface LaneLimits {
  clock: Clock
  /** Simultaneous calls: at first, and at most for a server that answers well. */
  perLane: number
  mostPerLane: number
  queuePerLane: number
  breakAfter: number
  firstPauseMs: number
  longestPauseMs: number
}

/**
 * The messages of a merchant to one origin. A lane is in one of three modes:
 *   closed   the usual one: up to `perLane` calls. While more wait, each success allows one
 *            more, up to `mostPerLane`; each failure halves them again
 *   open     after `breakAfter` failures in a row: nothing is sent until a pause is over, which
 *            doubles each time, up to a bound
 *   probing  after the pause: one call at a time; a success closes the lane, a failure opens it
 */
export class Lane<Job> {
  readonly #limits: LaneLimits
  readonly #queue: Job[] = []
  #active = 0
  /** Simultaneous calls while the lane is closed. */
  #width: number
  #failures = 0
  #pauseMs: number
  /** While the clock is before it the lane is open. */
  #openUntil = 0
  /** The same in the time of operators. */
  #pausedUntil = 0

  constructor(limits: LaneLimits) {
    this.#limits = limits
    this.#width = limits.perLane
    this.#pauseMs = limits.firstPauseMs
  }

  get isOpen(): boolean {
    return this.#limits.clock.monotonic() < this.#openUntil
  }

  /** When the pause ends or ended of a lane that is not closed. */
  get pausedUntil(): number | undefined {
    return this.#failures >= this.#limits.breakAfter ? this.#pausedUntil : undefined
  }

  get mayStart(): boolean {
    const limit = this.pausedUntil === undefined ? this.#width : 1
    return !this.isOpen && this.#active < limit && this.#queue.length > 0
  }

  get isIdle(): boolean {
    return this.#active === 0 && this.#queue.length === 0
  }

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /**
   * How full the queue is, from 0 to 1. A burst of a merchant fits; a failing server gets little
   * room.
   */
  get fill(): number {
    const { queuePerLane } = this.#limits
    return this.#queue.length / (this.hasFailed ? Math.max(4, queuePerLane / 16) : queuePerLane)
  }

  queue(job: Job): void {
    this.#queue.push(job)
  }

  /** The job that has waited longest; it counts as a call until `ended`. */
  start(): Job {
    this.#active++
    return this.#queue.shift()!
  }

  /** Updates the mode. Returns the queued jobs that will not be started, if the lane opens. */
  ended(how: CallEnd): Job[] {
    const { clock, breakAfter, firstPauseMs, longestPauseMs, perLane, mostPerLane } = this.#limits
    this.#active--
    if (how === 'badly') this.#width = Math.max(perLane, this.#width >> 1)
    else if (how === 'well' && this.#queue.length > 0) this.#width = Math.min(mostPerLane, this.#width + 1)
    if (how === 'well') {
      this.#failures = 0
      this.#pauseMs = firstPauseMs
    } else if (how === 'badly' && ++this.#failures >= breakAfter && !this.isOpen) {
      this.#openUntil = clock.monotonic() + this.#pauseMs
      this.#pausedUntil = clock.now() + this.#pauseMs
      this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2)
      // Their rows stay due in the database; a sweep returns them when the lane allows it.
      return this.#queue.splice(0)
    }
    return []
  }
}
