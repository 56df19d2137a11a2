import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { startSweep, warningOf } from '../leases/leased.ts'

export interface Periodic {
  name: string
  everyMs: number
  run: () => Promise<void>
}

/** Work that every process does for itself and that is safe to do twice. */
export function startPeriodic(clock: Clock, log: Log, all: readonly Periodic[]): () => void {
  const sweeps = all.map(({ name, everyMs, run }) => {
    const failed = warningOf(log, 'periodic work failed; it is repeated later', { what: name })
    return startSweep({ clock, everyMs, failed }, () => run().then(() => everyMs))
  })
  return () => sweeps.forEach((sweep) => void sweep.stop())
}
