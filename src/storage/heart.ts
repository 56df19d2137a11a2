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
 * (`store-heartbeat.ts`).
 */
export type LeaseMode = 'holding' | 'late' | 'lost'

/**
 * A process stops sending one second before others judge it dead, by its own clock, so that no
 * take-over overlaps a send.
 */
export const lateMs = 3_000
/** A loop that stands still for so long hangs. Its process is ended: it cannot work or stop. */
const hangsAfterMs = 15_000
const beatEveryMs = 1_000
/**
 * A heart that looks so late was stopped itself, and with it the whole process: that is no hanging
 * loop, which gets its time anew.
 */
const overslept = 3_000

export interface HeartParts {
  /** Writes the row of the process. */
  enter: () => Promise<void>
  /** Renews it; false when it is gone. */
  beat: () => Promise<boolean>
  clock: Clock
  log: Log
  pulse: Pulse
  /** Gets each change of the mode. */
  onMode: (mode: LeaseMode) => void
  /**
   * Ends the process, whose main loop has not turned for so long. Its lease is lost by then: should
   * it live on, it sends nothing, and stops when its loop turns again.
   */
  endHung: (ms: number) => void
}

export interface Heart {
  /** Resolves when no beat is under way any more. */
  stop(): Promise<void>
}

/**
 * Beats for a process while its main loop turns. It runs on a thread of its own, so that a busy
 * loop is not taken for a dead process. A heart that follows on one that broke finds the row in the
 * table, and its age in the pulse.
 */
export async function startHeart(parts: HeartParts): Promise<Heart> {
  const { beat, clock, log, pulse, onMode, endHung } = parts
  if (pulse.beatenAt === -Infinity) await enterTable(parts)
  let mode: LeaseMode = 'holding'
  let stopped = false
  let beating: Promise<void> | undefined
  let lookedAt = clock.monotonic()
  /** Since when the loop can be expected to turn. */
  let awakeFrom = lookedAt
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
    if (now - lookedAt > overslept) awakeFrom = now
    lookedAt = now
    const hungMs = now - Math.max(pulse.turnedAt, awakeFrom)
    if (hungMs >= hangsAfterMs) {
      lose()
      return endHung(hungMs)
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

  /** The age of a beat counts from before it was written, however long the answer takes. */
  function confirmed(asked: number, answered: number) {
    const lapsed = answered - pulse.beatenAt >= lateMs
    if (lapsed) {
      change('late')
      pulse.recoveredAt = answered
    }
    if (lapsed || pulse.steadyFrom === Infinity) pulse.steadyFrom = answered
    // The last to be written: whoever sees the fresh beat sees the lapse before it too.
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

async function enterTable({ enter, clock, pulse }: HeartParts): Promise<void> {
  const asked = clock.monotonic()
  await enter()
  pulse.steadyFrom = clock.monotonic()
  pulse.beatenAt = asked
}
