/**
 * The account of what issuers and directory servers send that does not fit and decides nothing. It
 * is taken, so only the account shows it to an operator.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

/** `what` is in our words, such as `ARes eci unfit`. */
export interface OdditySum {
  directory: string
  what: string
  count: number
  lastAt: number
}

export interface Oddities {
  /** Counts what a message had. `about` is the id of its authentication. */
  noted(directory: string, about: string, odd: Iterable<string> | undefined): void
  /** Stores what came since the last call. What cannot be stored is in log and metrics alone. */
  flush(): Promise<void>
}

interface OdditiesParts {
  clock: Clock
  log: Log
  /** Adds to the sums that are stored; `counted` is for the metrics. */
  store: (sums: readonly OdditySum[]) => Promise<void>
  counted: (directory: string, what: string) => void
}

/** There are as many kinds as the tables of messages allow, so they need no limit. */
export function openOddities({ clock, log, store, counted }: OdditiesParts): Oddities {
  const unsaved = new Map<string, OdditySum>()
  return {
    noted(directory, about, odd = []) {
      const all = [...odd]
      for (const what of all) {
        counted(directory, what)
        const key = `${directory} ${what}`
        unsaved.set(key, { directory, what, count: (unsaved.get(key)?.count ?? 0) + 1, lastAt: clock.now() })
      }
      if (all.length > 0) log.info({ directory, about, odd: all }, 'a message does not fit where it decides nothing')
    },
    async flush() {
      const sums = [...unsaved.values()]
      unsaved.clear()
      if (sums.length > 0) await store(sums)
    },
  }
}
