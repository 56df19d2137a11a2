import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { statement, type Pool } from './pool.ts'

/**
 * The clock of a gateway. Its wall time is the database's, carried on by the monotonic clock of the
 * process, so that all processes agree on what is due and what has expired, and a machine whose
 * clock jumps by hours ends no wait. *Rejected:* times of the database in every statement:
 * Citus takes them in few places, and the simulation could not move them.
 */
export interface SharedClock extends Clock {
  /**
   * Asks the database for the time. Its clock may have jumped, or be another machine's after a
   * failover.
   */
  look(): Promise<void>
  /** How far the clock of this machine is ahead of that time, in milliseconds. */
  aheadMs(): number
}

const time = statement<{ now: number }>(`select clock_timestamp() as now`)

export const timeOf =
  (pool: Pool): (() => Promise<number>) =>
  async () =>
    (await pool.run(time))[0]!.now

/** Clocks that differ by less than this, and the time that the answer took, agree. */
const agreeMs = 50
/** An answer that took longer says too little about the time. */
const slowestMs = 1_000
/** Clocks of two machines that follow a time server differ by less. */
const worthWarningMs = 1_000

/** `own` is the clock of this machine, which counts until the first answer came in time. */
export function openSharedClock(read: () => Promise<number>, own: Clock, log: Log): SharedClock {
  let [wall, at] = [own.now(), own.monotonic()]
  let isWarned = false
  const now = () => Math.floor(wall + own.monotonic() - at)
  const aheadMs = () => own.now() - now()

  function warn() {
    const isOff = Math.abs(aheadMs()) >= worthWarningMs
    if (isOff === isWarned) return
    isWarned = isOff
    if (isOff) log.warn({ aheadMs: aheadMs() }, "the clock of this machine differs from the database's, which counts")
    else log.warn("the clock of this machine agrees with the database's again")
  }

  return {
    now,
    monotonic: () => own.monotonic(),
    after: (delayMs, fn) => own.after(delayMs, fn),
    aheadMs,
    async look() {
      const asked = own.monotonic()
      const answer = await read()
      const answered = own.monotonic()
      const tookMs = answered - asked
      if (tookMs > slowestMs) return
      const found = answer + tookMs / 2
      if (Math.abs(found - now()) > agreeMs + tookMs / 2) [wall, at] = [found, answered]
      warn()
    },
  }
}
