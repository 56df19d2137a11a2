import type { Acceptance, Load } from '../gateway/slot.ts'

/** A process that serves. */
export interface Serving extends Load {
  slot: number
  /** It has said nothing for a while. */
  isSilent: boolean
}

/**
 * How connections are spread over the processes of a machine: `even`, all accept them; `full`, one
 * begins to when those before it are full, since two that share the work of one cost more than it.
 */
export const spreads = ['full', 'even'] as const
export type SpreadBy = (typeof spreads)[number]

/** With so much of a processor, or of its connections, a process is full. */
const fullAt = 0.95
/** Another process is of use only where so much of a processor is idle: it has none of its own. */
const leastIdle = 0.5
/** So often in a row all must be full before one more accepts: a burst is not worth it. */
const looksUntilFull = 4
/** What two processes may need more for the same work than one (docs/scale.md). */
const costOfSpreading = 1.4
/** Before one fewer is tried; longer after each time that it was not enough. */
const patienceMs = { least: 10_000, most: 320_000 }

/**
 * Decides which processes accept new connections. It knows what they say of themselves, and looks
 * at them at regular times and whenever one begins or ends to serve.
 *
 * *Rejected:* the sum of what they do as the only reason for one fewer. In two processes the work
 * that would fill nine tenths of one takes more than one processor, so it would stay in two.
 */
export class Spread {
  readonly #by: SpreadBy
  readonly #accepting = new Set<number>()
  #fullLooks = 0
  #patienceMs = patienceMs.least
  #addedAt = -Infinity
  #removedAt = -Infinity
  #shares = 0

  constructor(by: SpreadBy) {
    this.#by = by
  }

  /**
   * What changes for which process. `now` is monotonic; `idle` is how many processors of the
   * machine have nothing to do.
   */
  look(now: number, serving: readonly Serving[], idle: number): ReadonlyMap<number, Acceptance> {
    const before = [...this.#accepting]
    for (const slot of before) if (!serving.some((one) => one.slot === slot)) this.#accepting.delete(slot)
    const leave = this.#by === 'even' ? this.#addAll(serving) : this.#decide(now, serving, idle)
    const after = this.#accepting
    const shares = serving.length / after.size
    if (shares === this.#shares && before.length === after.size && before.every((slot) => after.has(slot))) return new Map()
    this.#shares = shares
    return new Map(
      serving
        .filter(({ slot }) => after.has(slot) || before.includes(slot))
        .map(({ slot }) => [slot, after.has(slot) ? { shares, leave } : { shares: 0, leave: 1 }]),
    )
  }

  accepts(slot: number): boolean {
    return this.#accepting.has(slot)
  }

  #addAll(serving: readonly Serving[]): number {
    for (const { slot } of serving) this.#accepting.add(slot)
    return 0
  }

  /** The part of their connections that those who accept leave to one that begins to. */
  #decide(now: number, serving: readonly Serving[], idle: number): number {
    const able = serving.filter(({ slot, isSilent }) => this.#accepting.has(slot) && !isSilent)
    const next = serving.find(({ slot, isSilent }) => !this.#accepting.has(slot) && !isSilent)
    if (able.length === 0) {
      this.#add(now, next)
      return 0
    }
    this.#fullLooks = able.every((one) => isFull(one, idle)) ? this.#fullLooks + 1 : 0
    if (next && this.#fullLooks >= looksUntilFull) {
      const wasTooFew = now - this.#removedAt < patienceMs.least
      this.#patienceMs = wasTooFew ? Math.min(patienceMs.most, this.#patienceMs * 2) : patienceMs.least
      this.#add(now, next)
      return 1 / (able.length + 1)
    }
    const others = able.length - 1
    if (others > 0 && now - this.#addedAt >= this.#patienceMs && canCarry(others, able)) {
      this.#accepting.delete(able.at(-1)!.slot)
      this.#removedAt = now
      this.#fullLooks = 0
    }
    return 0
  }

  #add(now: number, next: Serving | undefined): void {
    if (!next) return
    this.#accepting.add(next.slot)
    this.#addedAt = now
    this.#fullLooks = 0
  }
}

const isFull = ({ busy, held }: Load, idle: number): boolean => held >= fullAt || (busy >= fullAt && idle >= leastIdle)

/** Whether fewer processes may be enough for what these do. */
function canCarry(fewer: number, all: readonly Load[]): boolean {
  const sum = (of: keyof Load) => all.reduce((total, one) => total + one[of], 0)
  return sum('busy') <= costOfSpreading * fewer && sum('held') < fullAt * fewer
}
