/**
 * The duty that seals stored card numbers again after an operator replaced a key. One process works
 * on a table at a time, batch by batch; where it stops, another goes on.
 */
import { reasonOf } from '../base/log.ts'
import { sealedWithOrders } from '../operator/sealed-tables.ts'
import { startSweep } from '../storage/leased.ts'
import { firstId, resealBatch, rowIdOf } from '../storage/reseal.ts'
import { claimResealing, isResealingDue, noteResealed } from '../storage/store-resealing.ts'
import type { DutyParts } from './parts.ts'

export interface ResealingDuty {
  /** Rows that this process sealed again. */
  rows: () => number
  /** Resolves once its batch is over. */
  stop(): Promise<void>
}

/** Rows that a batch looks at; to seal them again takes the event loop a few milliseconds. */
const batch = 200
/**
 * A pause of this many times what the batch took, so that a slow database is left alone for longer:
 * the work takes a fourth of one connection.
 */
const restFactor = 3
const leastRestMs = 20
const lookEveryMs = 5_000

export function startResealing(parts: DutyParts): ResealingDuty {
  const { pool, keys, heartbeat, judge, clock, random, log } = parts
  let sealed = 0
  let underWay = false

  async function turn(): Promise<number> {
    if (!heartbeat.holding() || !(underWay || (await isResealingDue(pool, clock.now())))) return lookEveryMs
    underWay = false
    const claimed = await claimResealing(pool, await judge(), clock.now())
    if (!claimed) return lookEveryMs
    const t = sealedWithOrders.find(({ table }) => table === claimed.table)
    if (!t) throw new Error(`${claimed.table} is not a table with sealed values`)
    // This process has yet to read the new version.
    if (keys.current(t.purpose).version < claimed.version) return lookEveryMs
    const began = clock.monotonic()
    const after = claimed.after ? rowIdOf(t, claimed.after) : firstId(t)
    const { rows, next } = await resealBatch(pool, t, keys, random, { after, most: batch })
    sealed += rows
    await noteResealed(pool, heartbeat.processId, claimed, { rows, at: clock.now(), ...(next && { after: next.map(String) }) })
    underWay = next !== undefined
    if (!next) log.info({ table: t.table, version: String(claimed.version) }, 'everything is sealed under the new key')
    return Math.max(leastRestMs, restFactor * (clock.monotonic() - began))
  }
  const failed = (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'stored values could not be sealed again; it is tried again')
  const sweep = startSweep({ clock, everyMs: lookEveryMs, failed }, turn)
  return { rows: () => sealed, stop: sweep.stop }
}
