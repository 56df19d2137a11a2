import type { Cancel, Clock } from '../../src/base/clock.ts'

/** A gateway process: its events happen only while it is alive and not paused. */
export interface Actor {
  readonly name: string
  alive: boolean
  /**
   * Its events wait until this simulated time. A paused process keeps its timers and the answers
   * that arrived for it, in order.
   */
  pausedUntil: number
  /** How far its wall clock is from true time, in milliseconds. */
  wallOffsetMs: number
  /** The numbers of a gateway process, by cell. */
  readonly numbers: Map<number, bigint>
}

interface Planned {
  at: number
  order: number
  actor: Actor | undefined
  /** Absent once cancelled. */
  fn: (() => void) | undefined
}

/** Wall time when a simulation begins: noon, far from the turn of a CVV2 key. */
export const epochMs = Date.UTC(2026, 0, 5, 12, 30)

/** How far the wall clock of a process may be from true time. */
export const farthestJumpMs = 60_000

/**
 * Times are multiples of 1/64 ms, which a double holds exactly. With rounded sums a timer could
 * wait for its own moment forever.
 */
const grain = 64

/**
 * The only event queue, and the simulated clock. Time jumps from one event to the next, and only
 * after all work that the last event started in this process is done: promises, ticks, and the
 * immediate that this queue waits for.
 */
export class Events {
  /** Milliseconds since the start. */
  now = 0
  /** How many events have happened, to measure speed. */
  happened = 0
  readonly #heap: Planned[] = []
  #order = 0

  /**
   * Schedules `fn` in `delayMs`. Events at the same time happen in the order of their scheduling.
   */
  after(delayMs: number, actor: Actor | undefined, fn: () => void): Cancel {
    const planned: Planned = { at: this.now + Math.ceil(Math.max(0, delayMs) * grain) / grain, order: this.#order++, actor, fn }
    this.#push(planned)
    return () => (planned.fn = undefined)
  }

  /** Runs events until `done`, which is called after each one, or until none is left. */
  async run(done: () => boolean): Promise<void> {
    while (!done()) {
      const next = this.#pop()
      if (!next) return
      const { actor, fn } = next
      if (fn === undefined || actor?.alive === false) continue
      if (actor && actor.pausedUntil > next.at) {
        next.at = actor.pausedUntil
        this.#push(next)
        continue
      }
      this.now = next.at
      this.happened++
      fn()
      await new Promise(setImmediate)
    }
  }

  /** True wall time, to the millisecond. */
  wall(): number {
    return Math.floor(epochMs + this.now)
  }

  clockOf(actor: Actor | undefined): Clock {
    return {
      now: () => Math.floor(epochMs + this.now + (actor?.wallOffsetMs ?? 0)),
      monotonic: () => this.now,
      after: (delayMs, fn) => this.after(delayMs, actor, fn),
    }
  }

  #push(planned: Planned): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!earlier(planned, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = planned
  }

  #pop(): Planned | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && earlier(heap[child + 1]!, heap[child]!)) child++
      if (!earlier(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

const earlier = (a: Planned, b: Planned): boolean => (a.at === b.at ? a.order < b.order : a.at < b.at)
