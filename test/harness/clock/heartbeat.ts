import type { Clock } from '../../../src/base/clock.ts'
import type { Log } from '../../../src/base/log.ts'
import type { Pool } from '../../../src/storage/pool.ts'
import { heartbeatStore, heartInLoop, startHeartbeat, type Heartbeat } from '../../../src/leases/heartbeat.ts'

/** A heartbeat in the loop of the test, which may move its clock. */
export function openHeartbeat(pool: Pool, processId: bigint, instance: string, clock: Clock, log: Log): Promise<Heartbeat> {
  const store = heartbeatStore(pool)
  const heart = heartInLoop(store, clock, log)
  return startHeartbeat({ store, processId, instance, clock, log, heart, inHand: () => 0 })
}
