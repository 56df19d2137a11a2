import type { Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { lateMs, type Heart, type HeartParts, type LeaseMode } from './heart.ts'
import { statement, type Pool } from '../storage/pool.ts'
import { openPulse, type Pulse } from './pulse.ts'

/**
 * The lease of a process, seen from its main loop. A lease names a process incarnation, not a time:
 * others judge it dead if its row is older than four seconds of database time. Its heart, on a
 * separate thread, keeps the row fresh (`heart.ts`, which also defines the modes of a lease).
 */
export interface Heartbeat {
  processId: bigint
  /**
   * Whether the process may send. With `since`, a monotonic time: also whether it was never late
   * since then. Work begun before a lapse may have been taken over meanwhile, so a lease that is
   * fresh again does not cover it.
   */
  holding(since?: number): boolean
  /**
   * For how long the database has answered no beat, in milliseconds; `Infinity` once the lease is
   * lost. Time in which the process itself stood still does not count: a process that was suspended
   * has no reason to take its database for away.
   */
  silentMs(): number
  /**
   * Whether it may judge other processes dead: each of its own beats was written for as long as the
   * silence of a dead process lasts. While the database is down no process can beat, so that time
   * counts against none, and afterwards all have a whole span to beat again.
   */
  judges(): boolean
  /** Records that a sweep of this process took over orders of these processes. */
  tookOver(orders: number, from: readonly bigint[]): void
  counts(): LeaseCounts
  /** Resolves when the lease is lost for good. */
  lost: Promise<void>
  stop(): Promise<void>
}

/** Counts since the process began. */
export interface LeaseCounts {
  /** How often the lease entered each mode; it begins as held. */
  changes: Readonly<Record<LeaseMode, number>>
  /** Orders in memory when the lease became late or was lost. */
  lapsedOrders: number
  takenOver: number
}

/**
 * At the end of the place of a process in cell 0 that it does not serve: there it has a lease for
 * what one process does for the installation.
 */
export const forInstallation = ' for the installation'

/** Others judge a process dead after this much database time without a beat. */
export const deadAfterMs = 4_000
/** `due_at` of a leased row: when a sweep checks whether its process is still alive. */
export const leaseLookMs = 4_000
const turnEveryMs = 1_000
/** A loop that turns this late stood still. */
const stoodStillMs = 3 * turnEveryMs

const enter = statement<object>(`insert into heartbeat (process_id, instance, started_at, beat_at) values ($1, $2, now(), now())`)
const retire = statement<object>(`delete from heartbeat where instance = $1 and process_id <> $2`)
const beat = statement<{ process_id: bigint }>(`update heartbeat set beat_at = now() where process_id = $1 returning process_id`)
const leave = statement<object>(`delete from heartbeat where process_id = $1`)
const sweep = statement<object>(`delete from heartbeat where beat_at < now() - interval '1 hour'`)
const lapsed = statement<object>(
  `update heartbeat set lapses = lapses + 1, lapsed_orders = $2, lapsed_at = now() where process_id = $1`,
)
const tookOver = statement<object>(
  `update heartbeat set taken_over = taken_over + $2, taken_over_at = now() where process_id = $1`,
)

/**
 * The rows of all processes, in database time. The simulation replaces this and the stores of
 * orders and deliveries with its model.
 */
export interface HeartbeatStore {
  /** Writes the row of a new process, and removes older rows of its instance and long-dead ones. */
  enter(processId: bigint, instance: string): Promise<void>
  /** Renews a row; false if it is gone. */
  beat(processId: bigint): Promise<boolean>
  leave(processId: bigint): Promise<void>
  /** Records a finished lapse, and orders taken over, for the doctor. */
  lapsed(processId: bigint, orders: number): Promise<void>
  tookOver(processId: bigint, orders: number): Promise<void>
}

export const heartbeatStore = (pool: Pool): HeartbeatStore => ({
  async enter(processId, instance) {
    await pool.run(enter, [processId, instance])
    await pool.run(retire, [instance, processId])
    await pool.run(sweep)
  },
  beat: async (processId) => (await pool.run(beat, [processId])).length > 0,
  leave: async (processId) => void (await pool.run(leave, [processId])),
  lapsed: async (...noted) => void (await pool.run(lapsed, noted)),
  tookOver: async (...noted) => void (await pool.run(tookOver, noted)),
})

/** The messages of the main loop to the heart of its process. */
export type Heartstrings = Pick<HeartParts, 'pulse' | 'onMode'> & { processId: bigint; instance: string }
/** Starts the heart of a process, on whatever thread. */
export type HeartStart = (strings: Heartstrings) => Promise<Heart>

export interface HeartbeatParts {
  store: HeartbeatStore
  processId: bigint
  instance: string
  clock: Clock
  log: Log
  heart: HeartStart
  /** Orders that the process has in memory. */
  inHand: () => number
  /** Memory that it shares with its heart. */
  pulse?: Pulse
}

/**
 * Starts beating. `instance` names something that only one process can use (a host and port, or a
 * directory): an older row of it belongs to a dead predecessor and is removed immediately, so that
 * its leases are free without a wait.
 */
export async function startHeartbeat(parts: HeartbeatParts): Promise<Heartbeat> {
  const { store, processId, instance, clock, log, inHand, pulse = openPulse() } = parts
  const process = String(processId)
  const changes: Record<LeaseMode, number> = { holding: 1, late: 0, lost: 0 }
  let [lapsedOrders, lastLapsed, takenOver] = [0, 0, 0]
  let stopped = false
  let resolveLost = () => {}
  const lost = new Promise<void>((resolve) => (resolveLost = resolve))
  const turns = startTurns(pulse, clock)
  const heart = await parts.heart({ processId, instance, pulse, onMode }).catch((error) => {
    turns.stop()
    throw error
  })

  function onMode(mode: LeaseMode) {
    if (stopped) return
    changes[mode]++
    if (mode === 'holding') {
      log.error({ process, orders: lastLapsed }, 'the lease is held again: requests begun before the lapse are not sent')
      return note(store.lapsed(processId, lastLapsed))
    }
    const orders = inHand()
    lapsedOrders += orders
    lastLapsed = orders
    if (mode === 'late')
      return log.error({ process, orders }, 'the lease of this process lapsed: it sends nothing until it beats again')
    log.error({ process, orders }, 'this process lost its lease: it stops, and others take over its orders')
    resolveLost()
  }

  const note = (noted: Promise<void>) =>
    void noted.catch((error) => log.warn({ reason: reasonOf(error) }, 'a note for the doctor could not be written'))

  const holding = (since = Infinity) => {
    const fresh = clock.monotonic() - pulse.beatenAt < lateMs
    return fresh && since > pulse.recoveredAt && pulse.lostAt === Infinity && !stopped
  }
  return {
    processId,
    holding,
    silentMs: () => (pulse.lostAt === Infinity && !stopped ? turns.silentMs() : Infinity),
    judges: () => holding() && clock.monotonic() - pulse.steadyFrom >= deadAfterMs,
    tookOver(orders, from) {
      takenOver += orders
      log.error({ process, orders, from: from.map(String) }, 'orders were taken over from processes that stopped answering')
      note(store.tookOver(processId, orders))
    },
    counts: () => ({ changes, lapsedOrders, takenOver }),
    lost,
    async stop() {
      stopped = true
      turns.stop()
      await heart.stop()
      await store.leave(processId)
    },
  }
}

/** Shows the heart, once a second, that the loop of this process turns. */
function startTurns(pulse: Pulse, clock: Clock) {
  let awakeSince = -Infinity
  let cancel = () => {}
  const turn = () => {
    const turnedAt = clock.monotonic()
    if (turnedAt - pulse.turnedAt >= stoodStillMs) awakeSince = turnedAt
    pulse.turnedAt = turnedAt
    cancel = clock.after(turnEveryMs, turn)
  }
  turn()
  return {
    // Until the last turn, not until now: after a standstill a request may be read before any turn.
    silentMs: () => Math.max(0, pulse.turnedAt - Math.max(pulse.beatenAt, awakeSince)),
    stop: () => cancel(),
  }
}
