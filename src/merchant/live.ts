/** The configuration, kept up to date. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { startSweep, warningOf } from '../leases/leased.ts'
import type { Registry } from './merchant.ts'

export type LiveRegistry = Awaited<ReturnType<typeof watchRegistry>>

/** How the configuration is read. The simulation replaces this with its model. */
export interface RegistryReads {
  version(): Promise<bigint>
  load(now: number): Promise<Registry>
}

const lookEveryMs = 1_000

/**
 * Checks the version every second and reloads the registry if it has risen. A failure keeps the old
 * one.
 */
export async function watchRegistry(reads: RegistryReads, clock: Clock, log: Log, changed: (now: Registry) => void) {
  let lookedAt = clock.monotonic()
  let registry = await reads.load(clock.now())
  changed(registry)

  async function look() {
    const began = clock.monotonic()
    const at = await reads.version()
    if (at !== registry.version || clock.now() >= registry.staleAt) {
      registry = await reads.load(clock.now())
      changed(registry)
    }
    lookedAt = began
  }

  const failed = warningOf(log, 'the configuration could not be read again')
  const sweep = startSweep({ clock, everyMs: lookEveryMs, failed }, () => look().then(() => lookEveryMs))
  return {
    current: (): Registry => registry,
    /** Looks now, without waiting for its time. */
    refresh: look,
    /** Monotonic time at which the last look began; the configuration was the current one then. */
    lookedAt: (): number => lookedAt,
    stop: (): void => void sweep.stop(),
  }
}
