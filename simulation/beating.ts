import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import { startHeart } from '../src/storage/heart.ts'
import { openPulse, type Pulse } from '../src/storage/pulse.ts'
import { startHeartbeat, type Heartbeat, type HeartbeatStore } from '../src/storage/store-heartbeat.ts'

/**
 * The thread of a heart: its clock goes on and its connection answers while the main loop is busy.
 */
export interface HeartThread {
  clock: Clock
  store: HeartbeatStore
  /** Ends the process, whose main loop hangs. */
  endHung: () => void
}

interface BeatingParts {
  name: string
  clock: Clock
  log: Log
  stores: { heartbeat: HeartbeatStore }
  thread: HeartThread
  wrap: { pulse?: (pulse: Pulse, seenBy: 'loop' | 'heart', clock: Clock) => Pulse }
}

/** The real heart, on the clock and the connection of its thread. */
export function startBeating(parts: BeatingParts, processId: bigint, inHand: () => number): Promise<Heartbeat> {
  const { name, clock, log, thread, wrap } = parts
  const pulse = openPulse()
  const seenBy = (side: 'loop' | 'heart') => wrap.pulse?.(pulse, side, clock) ?? pulse
  return startHeartbeat({
    store: parts.stores.heartbeat,
    processId,
    instance: name,
    clock,
    log,
    inHand,
    pulse: seenBy('loop'),
    heart: ({ onMode }) =>
      startHeart({
        enter: () => thread.store.enter(processId, name),
        beat: () => thread.store.beat(processId),
        clock: thread.clock,
        log,
        pulse: seenBy('heart'),
        // The main loop hears of it when it turns again.
        onMode: (mode) => void clock.after(0, () => onMode(mode)),
        endHung: thread.endHung,
      }),
  })
}
