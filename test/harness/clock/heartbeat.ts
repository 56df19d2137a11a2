import type { Clock } from '../../../src/base/clock.ts'
import type { Log } from '../../../src/base/log.ts'
import type { Pool } from '../../../src/storage/pool.ts'
import { startHeart } from '../../../src/leases/heart.ts'
import {
  heartbeatStore,
  startHeartbeat,
  type Heartbeat,
  type HeartbeatStore,
  type HeartStart,
} from '../../../src/leases/heartbeat.ts'

/** A heartbeat in the loop of the test, which may move its clock. */
export function openHeartbeat(pool: Pool, processId: bigint, instance: string, clock: Clock, log: Log): Promise<Heartbeat> {
  const store = heartbeatStore(pool)
  const heart = heartInLoop(store, clock, log)
  return startHeartbeat({ store, processId, instance, clock, log, heart, inHand: () => 0 })
}

/**
 * A heart in the main loop of its process, for clocks that tests move.
 */
export const heartInLoop =
  (store: HeartbeatStore, clock: Clock, log: Log): HeartStart =>
  ({ processId, instance, ...strings }) =>
    startHeart({
      ...strings,
      enter: () => store.enter(processId, instance),
      beat: () => store.beat(processId),
      clock,
      log,
      // It would hang, and wait for a processor, together with its loop.
      waitedMs: () => 0,
      endHung: () => {},
    })
