import { inspect } from 'node:util'
import { maskCardNumbers, type Log } from './log.ts'

/**
 * An uncaught exception is a defect: it is written in full to the log and the terminal, and the
 * process ends. The next process finds its unfinished work, as after any crash.
 */
export function endOnDefect(log: Log): void {
  const end = (what: string) => (thrown: unknown) => {
    const stack = inspect(thrown)
    log.fatal({ stack }, what)
    console.error(`${what}: ${maskCardNumbers(stack)}`)
    process.exit(1)
  }
  process.on('uncaughtException', end('uncaught exception'))
  process.on('unhandledRejection', end('unhandled rejection'))
}

/**
 * Resolves with the first signal that asks this process to stop; a second Ctrl-C ends it
 * immediately.
 */
export function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(name, () => {
        process.once(name, () => process.exit(130))
        resolve(name)
      })
    }
  })
}
