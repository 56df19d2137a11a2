import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { startHeart } from '../../src/leases/heart.ts'
import { openPulse, type Pulse } from '../../src/leases/pulse.ts'
import type { HeartbeatStore, HeartStart } from '../../src/leases/heartbeat.ts'

/**
 * The heartbeat's thread. Its clock and its connection go on while the main loop is busy.
 */
export interface HeartThread {
  clock: Clock
  store: HeartbeatStore
  /** Ends the process because its main loop hangs. */
  endHung: () => void
}

interface HeartParts {
  clock: Clock
  log: Log
  thread: HeartThread
  wrap: { pulse?: (pulse: Pulse, seenBy: 'loop' | 'heart', clock: Clock) => Pulse }
}

/** The real heartbeat, on the clock and the connection of its thread. */
export function heartOf({ clock, log, thread, wrap }: HeartParts): { heart: HeartStart; pulse: Pulse } {
  const pulse = openPulse()
  const seenBy = (side: 'loop' | 'heart') => wrap.pulse?.(pulse, side, clock) ?? pulse
  return {
    pulse: seenBy('loop'),
    heart: ({ processId, instance, onMode }) =>
      startHeart({
        enter: () => thread.store.enter(processId, instance),
        beat: () => thread.store.beat(processId),
        clock: thread.clock,
        log,
        pulse: seenBy('heart'),
        waitedMs: () => 0,
        // The main loop learns of the new mode in its next turn.
        onMode: (mode) => void clock.after(0, () => onMode(mode)),
        endHung: thread.endHung,
      }),
  }
}
