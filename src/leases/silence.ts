import type { Clock } from '../base/clock.ts'
import { statement, type Pool } from '../storage/pool.ts'
import { deadAfterMs, type Heartbeat } from './heartbeat.ts'
import type { Claimer } from './leased.ts'

/** Called before each claim. The list is empty while this process may not judge. */
export type Judge = () => Promise<Claimer>

export interface Silence {
  /** Processes that have not beaten for a whole dead-after span of database time. */
  silent: readonly bigint[]
  /** That time. */
  now: number
}

const silent = statement<{ now: number; silent: bigint[] }>(`
  select now() as now, array (select process_id from heartbeat where beat_at <= now() - $1::int * interval '1 millisecond')
    as silent`)

export const silentProcesses = async (pool: Pool): Promise<Silence> => (await pool.run(silent, [deadAfterMs]))[0]!

const alive = statement<{ count: number }>(
  `select count(*)::int as count from heartbeat where beat_at > now() - $1::int * interval '1 millisecond'`,
)

export const aliveProcesses = async (pool: Pool): Promise<number> => (await pool.run(alive, [deadAfterMs]))[0]!.count

/** How long a reading is valid: all sweeps together read once a second. */
const goodForMs = 1_000
/**
 * A reading that takes longer proves nothing: after a standstill of the database every process
 * looks silent.
 */
const slowestMs = 1_000
/**
 * The clock of the database jumped forward if it gained more than this since the last reading. A
 * process stops working 3 s after its last beat and is dead after 4 s, so this much is harmless.
 */
const jumpMs = 500

/**
 * Reads which processes are silent before the claim, so that the claim takes only from those.
 * *Rejected:* a claim statement that judges by the age of the beats itself. If it waits while the
 * database stands still, it runs before the others' beats, which wait as well.
 */
export function openJudge(read: () => Promise<Silence>, heartbeat: Pick<Heartbeat, 'processId' | 'judges'>, clock: Clock): Judge {
  const { processId, judges } = heartbeat
  let known: { silent: readonly bigint[]; at: number } = { silent: [], at: -Infinity }
  /** How far the clock of the database, which `clock` follows, is ahead of the monotonic one. */
  let ahead = clock.now() - clock.monotonic()
  /** After a jump every live process looks silent until it has beaten again. */
  let trustFrom = -Infinity

  async function look(): Promise<void> {
    const at = clock.monotonic()
    const found = await read()
    const answered = clock.monotonic()
    if (answered - at > slowestMs) return
    if (found.now - answered > ahead + jumpMs) trustFrom = answered + deadAfterMs
    ahead = found.now - at
    if (at >= trustFrom) known = { silent: found.silent.filter((id) => id !== processId), at }
  }

  return async () => {
    if (judges() && clock.monotonic() - known.at >= goodForMs) await look()
    const isGood = judges() && clock.monotonic() - known.at < goodForMs + slowestMs
    return { processId, silent: isGood ? known.silent : [] }
  }
}
