import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

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
 * Begins in a row when this process is late; then it reads replies first. Without the limit a
 * process that cannot keep up would begin sales forever and never see one end.
 */
const mostInARow = 32

/**
 * An open model: sales begin by a clock, as customers come, and none waits for an earlier one. What
 * this process begins late it reports as late. With `mostInFlight` under way a sale that is due
 * does not begin, and `full` decides: the clock stops, or goes on without this sale.
 */
export function byClock(perSecond: number, mostInFlight: number, full: () => 'stop' | 'go on'): Pace {
  let most = 0
  return {
    async run(carry, ended) {
      const under = new Set<Promise<void>>()
      const began = performance.now()
      let inARow = 0
      for (let due = 0; !ended();) {
        const lateMs = performance.now() - began - (due * 1_000) / perSecond
        if (lateMs < 0 || inARow >= mostInARow) {
          inARow = 0
          await (lateMs < 0 ? pause(Math.max(1, -lateMs)) : nextTurn())
          continue
        }
        inARow++
        due++
        if (under.size >= mostInFlight) {
          if (full() === 'stop') break
          continue
        }
        const one = carry(lateMs).finally(() => under.delete(one))
        under.add(one)
        most = Math.max(most, under.size)
      }
      await Promise.all(under)
    },
    most: () => most,
  }
}
