import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Pool } from '../storage/pool.ts'

/** An operator's workplace: the database, and who makes the changes. */
export interface Desk {
  pool: Pool
  clock: Clock
  random: Random
  /** The named actor and the user of the operating system; written to the audit trail. */
  who: string
}
