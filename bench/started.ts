import { reasonOf } from '../src/base/log.ts'

/** The things that a run has started, and has to stop. */
export interface Started {
  /** Aborts with the first signal to end; what is under way ends then. */
  interrupted: AbortSignal
  /** Stops it with the rest. Throws if the run is interrupted by now. */
  keep<One extends { stop(): Promise<void> | void }>(starting: One | Promise<One>): Promise<One>
  /** In the reverse order of starting; `announce` is called if there is anything to stop. */
  stopAll(announce: () => void): Promise<void>
}

export function openStarted(): Started {
  const interruption = new AbortController()
  const running: { stop(): Promise<void> | void }[] = []
  watchSignals(() => interruption.abort(new Error('interrupted')))
  return {
    interrupted: interruption.signal,
    async keep(starting) {
      const one = await starting
      running.push(one)
      interruption.signal.throwIfAborted()
      return one
    },
    async stopAll(announce) {
      if (running.length > 0) announce()
      for (let one = running.pop(); one; one = running.pop())
        await Promise.resolve(one.stop()).catch((thrown: unknown) => console.error(reasonOf(thrown)))
    },
  }
}

/**
 * The first signal ends what is under way, and everything is stopped in order; further ones change
 * nothing.
 */
function watchSignals(interrupt: () => void) {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt)
  // npm passes a signal on to its shell, which dies of it and leaves this process to itself.
  const parent = process.ppid
  if (process.env['npm_lifecycle_event'] !== undefined)
    setInterval(() => {
      if (process.ppid !== parent) interrupt()
    }, 500).unref()
}
