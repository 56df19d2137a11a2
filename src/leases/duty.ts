/** The loop of a duty: work that one process at a time does for all, step by step. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Pool } from '../storage/pool.ts'
import type { Heartbeat } from './heartbeat.ts'
import { startSweep, warningOf } from './leased.ts'
import type { Judge } from './silence.ts'

/** The ports of work that one process does for all. */
export interface DutyParts {
  pool: Pool
  heartbeat: Pick<Heartbeat, 'processId' | 'holding'>
  judge: Judge
  clock: Clock
  log: Log
}

export type Claim<Mine> = ({ is: 'mine' } & Mine) | { is: 'not due'; lookAt: number }

interface Duty<Mine> {
  /** Facts for the log, and what it says after a failure. */
  about: Readonly<Record<string, unknown>>
  trouble: string
  /** The first look comes after this pause, and one after a failure. */
  everyMs: number
  atOnce?: true
  /** How long it may take to notice that another process moved or left the duty. */
  longestLookMs: number
  /** Creates what is claimed; done once. */
  enter?: () => Promise<void>
  claim: () => Promise<Claim<Mine>>
  /** Does a step. Returns when the duty is due again; undefined if it goes on. */
  step: (mine: Mine) => Promise<number | undefined>
}

/**
 * A pause of this many times what a step took, so that a slow database is left alone for longer:
 * the work takes a fourth of one connection.
 */
const restFactor = 3
const leastRestMs = 20

/** Does a step of the duty whenever it is due and free; returns a function that stops. */
export function startDuty<Mine>(
  { clock, log }: { clock: Clock; log: Log },
  { about, trouble, everyMs, atOnce, longestLookMs, enter, claim, step }: Duty<Mine>,
): () => Promise<void> {
  let isEntered = false
  const until = (at: number) => Math.max(leastRestMs, Math.min(longestLookMs, at - clock.now()))

  async function turn(): Promise<number> {
    if (!isEntered) await enter?.()
    isEntered = true
    const claimed = await claim()
    if (claimed.is === 'not due') return until(claimed.lookAt)
    const began = clock.monotonic()
    const due = await step(claimed)
    return due === undefined ? Math.max(leastRestMs, restFactor * (clock.monotonic() - began)) : until(due)
  }
  return startSweep({ clock, everyMs, ...(atOnce && { atOnce }), failed: warningOf(log, trouble, about) }, turn).stop
}
