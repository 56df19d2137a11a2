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
/** So much more of a processor may be needed when one more shares the work (docs/scale.md). */
const costOfSharing = 0.4
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
  /** The processes that share the work. One that has all its connections accepts no others. */
  readonly #sharing = new Set<number>()
  readonly #told = new Map<number, Acceptance>()
  #fullLooks = 0
  #patienceMs = patienceMs.least
  #changedAt = -Infinity
  #removedAt = -Infinity

  constructor(by: SpreadBy) {
    this.#by = by
  }

  /**
   * What changes for which process. `now` is monotonic; `idle` is how many processors of the
   * machine have nothing to do.
   */
  look(now: number, serving: readonly Serving[], idle: number): ReadonlyMap<number, Acceptance> {
    const sharing = this.#sharing
    const before = new Set(sharing)
    for (const slot of this.#told.keys())
      if (!serving.some((one) => one.slot === slot)) {
        sharing.delete(slot)
        this.#told.delete(slot)
      }
    if (this.#by === 'even') for (const { slot } of serving) sharing.add(slot)
    else this.#decide(now, serving, idle)
    const able = serving.filter((one) => sharing.has(one.slot) && !one.isSilent)
    const withRoom = able.filter((one) => one.connectionsUsed < fullAt)
    const heard = serving.filter(({ isSilent }) => !isSilent)
    const shares = Math.max(1, heard.length) / Math.max(1, able.length)
    const isAdded = sharing.size > before.size && before.size > 0 && able.length > 1
    const changes = new Map<number, Acceptance>()
    for (const one of serving) {
      const { slot } = one
      const accepts = sharing.has(slot) && (this.#by === 'even' || withRoom.length === 0 || withRoom.includes(one))
      const next = { accepts, shares: sharing.has(slot) ? shares : 0, handsOver: 0 }
      if (before.has(slot) && !sharing.has(slot)) next.handsOver = 1
      else if (isAdded && this.#by === 'full' && before.has(slot)) next.handsOver = 1 / able.length
      if (next.handsOver > 0 || !isSame(next, this.#told.get(slot) ?? none)) changes.set(slot, next)
      this.#told.set(slot, next)
    }
    return changes
  }

  accepts(slot: number): boolean {
    return this.#told.get(slot)?.accepts === true
  }

  #decide(now: number, serving: readonly Serving[], idle: number): void {
    const able = serving.filter(({ slot, isSilent }) => this.#sharing.has(slot) && !isSilent)
    const next = serving.find(({ slot, isSilent }) => !this.#sharing.has(slot) && !isSilent)
    const areFull = able.every((one) => isFull(one, idle))
    const haveNoRoom = able.every((one) => one.connectionsUsed >= fullAt)
    this.#fullLooks = areFull ? this.#fullLooks + 1 : 0
    if (next && (haveNoRoom || this.#fullLooks >= looksUntilFull)) {
      const wasTooFew = now - this.#removedAt < patienceMs.least
      this.#patienceMs = wasTooFew ? Math.min(patienceMs.most, this.#patienceMs * 2) : patienceMs.least
      this.#sharing.add(next.slot)
      this.#changed(now)
    } else if (!areFull && now - this.#changedAt >= this.#patienceMs && canCarry(able.length - 1, able)) {
      this.#sharing.delete(able.at(-1)!.slot)
      this.#changed(now)
      this.#removedAt = now
    }
  }

  #changed(now: number): void {
    this.#changedAt = now
    this.#fullLooks = 0
  }
}

const none: Acceptance = { accepts: false, shares: 0, handsOver: 0 }

const isSame = (one: Acceptance, other: Acceptance): boolean => one.accepts === other.accepts && one.shares === other.shares

const isFull = ({ busy, connectionsUsed }: Load, idle: number): boolean =>
  connectionsUsed >= fullAt || (busy >= fullAt && idle >= leastIdle)

/** Whether so many processes may be enough for what these do. */
function canCarry(fewer: number, all: readonly Load[]): boolean {
  const sum = (of: keyof Load) => all.reduce((total, one) => total + one[of], 0)
  return fewer > 0 && sum('busy') <= fewer + costOfSharing && sum('connectionsUsed') < fullAt * fewer
}
