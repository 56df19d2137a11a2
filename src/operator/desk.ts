import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { CellAddress } from '../storage/cells.ts'
import type { Pool } from '../storage/pool.ts'

/** An operator's workplace: the database of the installation, and who makes the changes. */
export interface Desk {
  /** Configuration, keys and the audit trail; the tables of cells are for an `OrderDesk`. */
  pool: Pool
  clock: Clock
  random: Random
  /** The named actor and the user of the operating system; written to the audit trail. */
  who: string
  /** The words of what is done, such as `merchant add`; they are in the audit trail. */
  action: string
  /** The version of the settings that a change was made on, if whoever asks has to name it. */
  madeOn?: string | undefined
  /** All is checked and nothing is written: changes are taken back, and leave no line. */
  dryRun?: true
}

/** Where orders, and all that belongs to them, are looked for. */
export interface Databases {
  /** The database of the installation. */
  pool: Pool
  /** All cells, in order. */
  cells: () => Promise<readonly CellDesk[]>
}

/** For what is asked of orders. */
export interface OrderDesk extends Desk, Databases {}

/** A pool whose statements see the tables of one cell. */
export interface CellDesk extends CellAddress {
  pool: Pool
}
