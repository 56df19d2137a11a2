import { setTimeout as pause } from 'node:timers/promises'

/** Carries one sale that was to begin `lateMs` ago; never rejects. */
type Carry = (lateMs: number) => Promise<void>

/** How sales begin, until `ended` holds. Resolves when the last one has ended. */
export interface Pace {
  run(carry: Carry, ended: () => boolean): Promise<void>
  /** The most sales in flight at a time. */
  most(): number
}

/** A closed loop: as soon as one sale has ended, the next begins. */
export function closedLoop(inFlight: number): Pace {
  const worker = async (carry: Carry, ended: () => boolean) => {
    while (!ended()) await carry(0)
  }
  return {
    run: async (carry, ended) => void (await Promise.all(Array.from({ length: inFlight }, () => worker(carry, ended)))),
    most: () => inFlight,
  }
}

/**
 * An open model: sales begin by a clock, as customers come, and none waits for an earlier one. What
 * this process begins late it reports as late. With `mostInFlight` under way no further sale begins
 * and `overrun` is called: sales come faster than they are carried.
 */
export function byClock(perSecond: number, mostInFlight: number, overrun: () => void): Pace {
  let most = 0
  return {
    async run(carry, ended) {
      const under = new Set<Promise<void>>()
      const began = performance.now()
      for (let begun = 0; !ended();) {
        const lateMs = performance.now() - began - (begun * 1_000) / perSecond
        if (lateMs < 0) {
          await pause(Math.max(1, -lateMs))
          continue
        }
        if (under.size >= mostInFlight) {
          overrun()
          break
        }
        begun++
        const one = carry(lateMs).finally(() => under.delete(one))
        under.add(one)
        most = Math.max(most, under.size)
      }
      await Promise.all(under)
    },
    most: () => most,
  }
}
