/** The configuration, kept up to date. */
import type { Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Registry } from './merchant.ts'

export interface LiveRegistry {
  current(): Registry
  /** Looks at once, not when it is time. */
  refresh(): Promise<void>
  /** Monotonic time at which the last look began; the configuration was the current one then. */
  lookedAt(): number
  stop(): void
}

/** How the configuration is read. The simulation replaces this with its model. */
export interface RegistryReads {
  version(): Promise<bigint>
  load(now: number): Promise<Registry>
}

/**
 * Checks the version every second and reloads the registry if it has risen. A failure keeps the old
 * one.
 */
export async function watchRegistry(
  reads: RegistryReads,
  clock: Clock,
  log: Log,
  changed: (now: Registry) => void,
): Promise<LiveRegistry> {
  let lookedAt = clock.monotonic()
  let registry = await reads.load(clock.now())
  changed(registry)
  let cancel = clock.after(1_000, tick)
  let stopped = false

  function tick() {
    void look()
      .catch((error) => log.warn({ reason: reasonOf(error) }, 'the configuration could not be read again'))
      .finally(() => {
        if (!stopped) cancel = clock.after(1_000, tick)
      })
  }

  async function look() {
    const began = clock.monotonic()
    const at = await reads.version()
    if (at !== registry.version || clock.now() >= registry.staleAt) {
      registry = await reads.load(clock.now())
      changed(registry)
    }
    lookedAt = began
  }

  return {
    current: () => registry,
    refresh: look,
    lookedAt: () => lookedAt,
    stop() {
      stopped = true
      cancel()
    },
  }
}
