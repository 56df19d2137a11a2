import { openReferenceStore } from '../../card/reference-rows.ts'
import { openDeliveryStore } from '../../delivery/store.ts'
import { forgetNonces, useNonces } from '../../merchant/nonce-rows.ts'
import { openInvoiceStore } from '../../mobile-api/invoice/store.ts'
import { forgetWrongSums, openWrongSums } from '../../mobile-api/sum/store.ts'
import { forgetMinuteCounts, gatherHours } from '../../order/store/minute-counts.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { forgetCounts } from '../../risk/count-rows.ts'
import type { Whereabouts } from '../../storage/cells.ts'
import { statement, type Pool } from '../../storage/pool.ts'
import { heartOnThread } from '../../leases/heart-start.ts'
import { heartbeatStore } from '../../leases/heartbeat.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { silentProcesses } from '../../leases/silence.ts'
import type { CellStores, Ground } from '../parts.ts'

const anything = statement<object>('select 1')

export interface CellParts {
  cellNo: number
  pool: Pool
  /** Where it is: the heart beats on its own connection. */
  where: Whereabouts
  keys: KeyRing
}

/** The stores of a cell in PostgreSQL, which must be migrated. */
export function openCell({ cellNo, pool, where, keys }: CellParts, ground: Ground): CellStores {
  const { clock, random, log } = ground
  const orders = openOrderStore(pool)
  return {
    cellNo,
    orders,
    deliveries: openDeliveryStore(pool),
    invoices: openInvoiceStore(pool, keys, random),
    wrongSums: openWrongSums(pool, keys),
    references: openReferenceStore(pool),
    useNonces: (uses) => useNonces(pool, uses),
    heartbeat: heartbeatStore(pool),
    heart: heartOnThread(where, clock, log),
    silent: () => silentProcesses(pool),
    upkeep: [
      { name: 'used limits', everyMs: 600_000, run: () => forgetCounts(pool) },
      { name: 'nonces', everyMs: 60_000, run: () => forgetNonces(pool, clock.now()) },
      { name: 'Idempotency-Keys', everyMs: 60_000, run: () => orders.forgetIdempotencyKeys(clock.now()) },
      { name: 'minute counts', everyMs: 3_600_000, run: () => forgetMinuteCounts(pool, clock.now()) },
      { name: 'hour counts', everyMs: 600_000, run: () => gatherHours(pool, clock.now()) },
      { name: 'wrong sums', everyMs: 600_000, run: () => forgetWrongSums(pool, clock.now()) },
    ],
    answers: () => pool.run(anything),
  }
}
