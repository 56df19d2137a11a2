import type { Clock } from '../base/clock.ts'
import { statement, type Pool } from './pool.ts'
import { deadAfterMs, type Heartbeat } from './store-heartbeat.ts'

/**
 * Who takes up work, and which other processes it judges dead by their silence. A process without a
 * row is dead for everybody.
 */
export interface Claimer {
  processId: bigint
  silent: readonly bigint[]
}

/** Asked before each claim. It names nobody while this process may not judge. */
export type Judge = () => Promise<Claimer>

const silent = statement<{ process_id: bigint }>(
  `select process_id from heartbeat where beat_at <= now() - $1::int * interval '1 millisecond'`,
)

/** Processes that have not beaten for a whole dead-after span of database time. */
export const silentProcesses = async (pool: Pool): Promise<bigint[]> =>
  (await pool.run(silent, [deadAfterMs])).map((row) => row.process_id)

/** A reading is good for so long: all sweeps together read once a second. */
const goodForMs = 1_000
/** A longer reading proves nothing: after a standstill the database finds everybody silent. */
const slowestMs = 1_000

/**
 * Reads who is silent before the claim, so that the claim takes only from them. *Rejected:* the
 * claim's statement alone judges by the age of the beats. One that waits while the database stands
 * still is carried out before the others' beats are, which wait as well.
 */
export function openJudge(
  read: () => Promise<bigint[]>,
  heartbeat: Pick<Heartbeat, 'processId' | 'judges'>,
  clock: Clock,
): Judge {
  const { processId, judges } = heartbeat
  let known: { silent: readonly bigint[]; at: number } = { silent: [], at: -Infinity }

  async function look(): Promise<void> {
    const at = clock.monotonic()
    const found = await read()
    if (clock.monotonic() - at <= slowestMs) known = { silent: found.filter((id) => id !== processId), at }
  }

  return async () => {
    if (judges() && clock.monotonic() - known.at >= goodForMs) await look()
    const isGood = judges() && clock.monotonic() - known.at < goodForMs + slowestMs
    return { processId, silent: isGood ? known.silent : [] }
  }
}
