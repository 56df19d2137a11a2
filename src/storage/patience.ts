/** How a start meets a database that is being restarted. */
import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { holdingOpen } from '../base/hold-open.ts'
import { failureOf } from './pool.ts'

/** A crash of PostgreSQL is recovered from well within this, also on a busy machine. */
const patienceMs = 60_000
const longestPauseMs = 2_000

/**
 * Runs `start`, again and again while it fails because the database cannot be reached. A minute
 * after the last time that `start` has `reached` it, and for any other failure, it throws the
 * reason: a long start may meet a database that dies more than once. A failed `start` must have
 * closed what it opened. *Rejected:* waiting for the first connection alone: the database may die
 * just after.
 */
export async function whileRestarting<T>(
  start: (reached: () => void) => Promise<T>,
  { clock, log }: { clock: Clock; log: Log },
): Promise<T> {
  let reachedAt = clock.monotonic()
  const reached = () => void (reachedAt = clock.monotonic())
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await start(reached)
    } catch (error) {
      if (failureOf(error) !== 'connection' || clock.monotonic() + pauseMs > reachedAt + patienceMs) throw error
      log.warn({ reason: reasonOf(error) }, 'the database cannot be reached: the start is tried again')
      await holdingOpen(() => sleep(clock, pauseMs))
    }
  }
}
