/**
 * The duty that seals stored card numbers again after an operator replaced a key. One process works
 * on a table at a time, batch by batch; where it stops, another goes on.
 */
import type { Random } from '../base/random.ts'
import { startDuty, type Claim, type DutyParts } from '../leases/duty.ts'
import { firstId, resealBatch, rowIdOf, type SealedTable } from './reseal.ts'
import { claimResealing, isResealingDue, noteResealed, type ResealingTurn } from './resealing-rows.ts'
import type { KeyRing } from './ring.ts'

export interface ResealingDuty {
  /** Rows that this process sealed again. */
  rows: () => number
  /** Resolves once its batch is over. */
  stop(): Promise<void>
}

/** Rows that a batch looks at; to seal them again takes the event loop a few milliseconds. */
const batch = 200
const lookEveryMs = 5_000

export interface ResealingParts extends DutyParts {
  keys: KeyRing
  random: Random
  /** The tables that this duty may write. */
  tables: readonly SealedTable[]
}

export function startResealing(parts: ResealingParts): ResealingDuty {
  const { pool, keys, tables, heartbeat, judge, clock, random, log } = parts
  let sealed = 0
  let underWay = false

  async function claim(): Promise<Claim<ResealingTurn>> {
    const isDue = heartbeat.holding() && (underWay || (await isResealingDue(pool, clock.now())))
    underWay = false
    const claimed = isDue ? await claimResealing(pool, await judge(), clock.now()) : undefined
    return claimed ? { is: 'mine', ...claimed } : { is: 'not due', lookAt: clock.now() + lookEveryMs }
  }
  async function step(claimed: ResealingTurn): Promise<number | undefined> {
    const t = tables.find(({ table }) => table === claimed.table)
    if (!t) throw new Error(`${claimed.table} is not a table with sealed values`)
    // This process has yet to read the new version.
    if (keys.current(t.purpose).version < claimed.version) return clock.now() + lookEveryMs
    const after = claimed.after ? rowIdOf(t, claimed.after) : firstId(t)
    const { rows, next } = await resealBatch(pool, t, keys, random, { after, most: batch })
    sealed += rows
    await noteResealed(pool, heartbeat.processId, claimed, { rows, at: clock.now(), ...(next && { after: next.map(String) }) })
    underWay = next !== undefined
    if (!next) log.info({ table: t.table, version: String(claimed.version) }, 'everything is sealed under the new key')
    return undefined
  }
  const trouble = 'stored values could not be sealed again; another try follows'
  const stop = startDuty(parts, { about: {}, trouble, everyMs: lookEveryMs, longestLookMs: lookEveryMs, claim, step })
  return { rows: () => sealed, stop }
}
