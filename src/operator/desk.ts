import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Pool } from '../storage/pool.ts'

/** Where an operator works: the database, and who it is that changes something. */
export interface Desk {
  pool: Pool
  clock: Clock
  random: Random
  /** User of the operating system; written to the audit trail. */
  who: string
}
