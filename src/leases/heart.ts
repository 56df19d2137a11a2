import type { Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Pulse } from './pulse.ts'

/**
 * The lease of a process is in one of three modes, which its heart alone changes:
 *   holding  the last confirmed beat is fresh: the process may send.
 *            Left when no beat was confirmed for `lateMs`, or for lost
 *   late     the process sends nothing, and the heart goes on beating.
 *            Left by a beat that is confirmed in time, or for lost
 *   lost     the row is gone, another process took the instance over, or the main loop hangs: the
 *            process must stop. Never left
 * The process waits for no word of it: it judges by the pulse, right before it sends
 * (`heartbeat.ts`).
 */
export type LeaseMode = 'holding' | 'late' | 'lost'

/**
 * A process stops sending one second before others judge it dead, by its own clock, so that no
 * take-over overlaps a send.
 */
export const lateMs = 3_000
/**
 * A main loop that stands still this long hangs. Its process is killed: it can neither work nor
 * stop.
 */
const hangsAfterMs = 15_000
/**
 * A loop that waits for a processor does not hang, on a machine that has too much to do. After this
 * long it counts all the same: another process may be better off.
 */
const mostWaitedMs = 45_000
const beatEveryMs = 1_000
/**
 * If the heart itself wakes up this late, the whole process was suspended. Its main loop does not
 * hang and gets its full time again.
 */
const overslept = 3_000

export interface HeartParts {
  /** Writes the row of the process. */
  enter: () => Promise<void>
  /** Renews the row; false if it is gone. */
  beat: () => Promise<boolean>
  clock: Clock
  log: Log
  pulse: Pulse
  /** How long the main loop has waited for a processor since the process began. */
  waitedMs: () => number
  /** Called on each change of the mode. */
  onMode: (mode: LeaseMode) => void
  /**
   * Kills the process, whose main loop has stood still for `ms`. Its lease is lost by then: if it
   * survives, it sends nothing, and stops once its loop turns again.
   */
  endHung: (ms: number) => void
}

export interface Heart {
  /** Resolves when no beat is in progress. */
  stop(): Promise<void>
}

/**
 * Beats for a process while its main loop turns. It runs on its own thread, so that a busy loop is
 * not mistaken for a dead process. A heart that replaces a broken one finds the row in the table,
 * and its age in the pulse.
 */
export async function startHeart(parts: HeartParts): Promise<Heart> {
  const { beat, clock, log, pulse, onMode, endHung } = parts
  if (pulse.beatenAt === -Infinity) await enterTable(parts)
  let mode: LeaseMode = 'holding'
  let stopped = false
  let beating: Promise<void> | undefined
  const stillness = watchLoop(parts)
  let cancel = clock.after(beatEveryMs, look)

  function change(to: LeaseMode) {
    if (mode === to || mode === 'lost') return
    mode = to
    onMode(to)
  }

  function lose() {
    pulse.lostAt = clock.monotonic()
    change('lost')
  }

  function look() {
    const now = clock.monotonic()
    const { stillMs, waitedMs } = stillness(now)
    if (stillMs - Math.min(waitedMs, mostWaitedMs) >= hangsAfterMs) {
      lose()
      return endHung(stillMs)
    }
    if (now - pulse.beatenAt >= lateMs) change('late')
    if (mode !== 'lost') beating ??= once().finally(() => (beating = undefined))
    cancel = clock.after(beatEveryMs, look)
  }

  async function once() {
    const asked = clock.monotonic()
    try {
      const isThere = await beat()
      if (stopped) return
      if (isThere) return confirmed(asked, clock.monotonic())
      lose()
    } catch (error) {
      pulse.steadyFrom = Infinity
      log.warn({ reason: reasonOf(error) }, 'the heartbeat could not be written')
    }
  }

  /** The age of a beat counts from before it was written, however long the reply takes. */
  function confirmed(asked: number, answered: number) {
    const lapsed = answered - pulse.beatenAt >= lateMs
    if (lapsed) {
      change('late')
      pulse.recoveredAt = answered
    }
    if (lapsed || pulse.steadyFrom === Infinity) pulse.steadyFrom = answered
    // Written last: a reader that sees the fresh beat also sees the lapse before it.
    pulse.beatenAt = asked
    if (answered - asked < lateMs) change('holding')
  }

  return {
    async stop() {
      stopped = true
      cancel()
      await beating
    },
  }
}

/** How long the main loop has stood still, and how long of that it waited for a processor. */
function watchLoop({ clock, pulse, waitedMs }: HeartParts): (now: number) => { stillMs: number; waitedMs: number } {
  let lookedAt = clock.monotonic()
  /** The time from which the loop is expected to turn. */
  let awakeFrom = lookedAt
  let last = { turnedAt: awakeFrom, waitedMs: waitedMs() }
  return (now) => {
    if (now - lookedAt > overslept) awakeFrom = now
    lookedAt = now
    const turnedAt = Math.max(pulse.turnedAt, awakeFrom)
    const waited = waitedMs()
    if (turnedAt !== last.turnedAt) last = { turnedAt, waitedMs: waited }
    return { stillMs: now - turnedAt, waitedMs: waited - last.waitedMs }
  }
}

async function enterTable({ enter, clock, pulse }: HeartParts): Promise<void> {
  const asked = clock.monotonic()
  await enter()
  pulse.steadyFrom = clock.monotonic()
  pulse.beatenAt = asked
}
