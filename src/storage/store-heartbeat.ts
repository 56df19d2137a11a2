import { reasonOf, type Log } from '../base/log.ts'
import type { Clock } from '../base/clock.ts'
import { statement, type Pool } from './pool.ts'

/**
 * The lease of a process. It is in one of three modes:
 *   holding  the last beat is fresh: it may send
 *   late     no beat for `lateMs` by its own monotonic clock: it sends nothing, it goes on beating
 *   lost     its row is gone or another process took its instance over: it must stop
 * A lease names a process incarnation, not a time: others judge it dead when its row is older than four seconds of database time.
 */
export interface Heartbeat {
  processId: bigint
  /**
   * Whether the process may send. With `since`, a monotonic time: whether it was never late from then on either. Work begun before a lapse may have been taken over
   * meanwhile, so a lease that is fresh again is not good for it.
   */
  holding(since?: number): boolean
  /** Resolves when the lease is lost for good. */
  lost: Promise<void>
  stop(): Promise<void>
}

/** Dead for others after this much database time without a beat. */
export const deadAfterMs = 4_000
/** `due_at` of a row in somebody's hand: when a sweep looks whether that process is still alive. */
export const leaseLookMs = 4_000
/** A process stops sending one second earlier by its own clock, so that no take-over overlaps a send. */
const lateMs = 3_000
const beatEveryMs = 1_000

const enter = statement<object>(`insert into heartbeat (process_id, instance, started_at, beat_at) values ($1, $2, now(), now())`)
const retire = statement<object>(`delete from heartbeat where instance = $1 and process_id <> $2`)
const beat = statement<{ process_id: bigint }>(`update heartbeat set beat_at = now() where process_id = $1 returning process_id`)
const leave = statement<object>(`delete from heartbeat where process_id = $1`)
const sweep = statement<object>(`delete from heartbeat where beat_at < now() - interval '1 hour'`)

/** The rows of all processes, in database time. With the stores of orders and deliveries the seam where the simulation puts its model. */
export interface HeartbeatStore {
  /** Writes the row of a new process, and removes older ones of its instance and long dead ones. */
  enter(processId: bigint, instance: string): Promise<void>
  /** Renews a row; false when it is gone. */
  beat(processId: bigint): Promise<boolean>
  leave(processId: bigint): Promise<void>
}

const heartbeatStore = (pool: Pool): HeartbeatStore => ({
  async enter(processId, instance) {
    await pool.run(enter, [processId, instance])
    await pool.run(retire, [instance, processId])
    await pool.run(sweep)
  },
  beat: async (processId) => (await pool.run(beat, [processId])).length > 0,
  leave: async (processId) => void (await pool.run(leave, [processId])),
})

/**
 * Starts beating. `instance` names the place this process has to itself (a host and port, or a directory): an older row of it belongs to a dead
 * predecessor and is removed at once, so that its leases are free without the wait.
 */
export const openHeartbeat = (pool: Pool, processId: bigint, instance: string, clock: Clock, log: Log): Promise<Heartbeat> =>
  startHeartbeat(heartbeatStore(pool), processId, instance, clock, log)

export async function startHeartbeat(
  store: HeartbeatStore,
  processId: bigint,
  instance: string,
  clock: Clock,
  log: Log,
): Promise<Heartbeat> {
  // From before the row was written: its age counts from then, however long the answer takes.
  let beatenAt = clock.monotonic()
  await store.enter(processId, instance)
  let recoveredAt = -Infinity
  let stopped = false
  let isLost = false
  let tell = () => {}
  const lost = new Promise<void>((resolve) => (tell = resolve))
  let cancel = clock.after(beatEveryMs, tick)
  let beating: Promise<void> = Promise.resolve()

  function tick() {
    beating = once().finally(() => {
      if (!stopped && !isLost) cancel = clock.after(beatEveryMs, tick)
    })
  }

  async function once() {
    const asked = clock.monotonic()
    try {
      if (await store.beat(processId)) {
        if (clock.monotonic() - beatenAt >= lateMs) recoveredAt = clock.monotonic()
        beatenAt = asked
      } else if (!stopped) {
        isLost = true
        log.error({ process: String(processId) }, 'this process lost its lease: another took its place')
        tell()
      }
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the heartbeat could not be written')
    }
  }

  return {
    processId,
    holding: (since = Infinity) => !stopped && !isLost && clock.monotonic() - beatenAt < lateMs && since > recoveredAt,
    lost,
    async stop() {
      stopped = true
      cancel()
      await beating
      await store.leave(processId)
    },
  }
}
