import type { Cancel, Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'

export interface Periodic {
  name: string
  everyMs: number
  run: () => Promise<void>
}

/** Work that every process does for itself and that is safe to do twice. */
export function startPeriodic(clock: Clock, log: Log, all: readonly Periodic[]): () => void {
  const cancels = new Map<string, Cancel>()
  const plan = (one: Periodic) =>
    cancels.set(
      one.name,
      clock.after(one.everyMs, () => {
        one.run().then(
          () => cancels.has(one.name) && plan(one),
          (error) => {
            log.warn({ what: one.name, reason: reasonOf(error) }, 'periodic work failed; it is done again later')
            if (cancels.has(one.name)) plan(one)
          },
        )
      }),
    )
  all.forEach(plan)
  return () => {
    for (const cancel of cancels.values()) cancel()
    cancels.clear()
  }
}
