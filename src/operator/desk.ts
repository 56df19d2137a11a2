import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Order } from '../order/decide/order.ts'
import type { CellAddress } from '../storage/cells.ts'
import type { Pool, Runner } from '../storage/pool.ts'

/** An operator's workplace: the database of the installation, and who makes the changes. */
export interface Desk {
  /** Configuration, keys and the audit trail; the tables of cells are for an `OrderDesk`. */
  pool: Pool
  /** For lines of the audit trail, if `pool` only reads. */
  trail?: Pool
  clock: Clock
  random: Random
  /** The named actor and the user of the operating system; written to the audit trail. */
  who: string
  /** The words of what is done, such as `merchant add`; they are in the audit trail. */
  action: string
  /** The version of the settings that a change was made on, if whoever asks has to name it. */
  madeOn?: string | undefined
  /** Nothing is kept. It is called before a change, and after it with what changed. */
  dryRun?: (runner: Runner, of?: Changed) => Promise<unknown>
}

export type StoredFields = Readonly<Record<string, unknown>>

/** A change of an entity: only the fields that changed, as they are stored, null for absent. */
export interface Changed {
  entity: 'merchant' | 'endpoint' | 'group' | 'gate' | 'filter'
  /** A filter has its number at the merchant here. */
  entityId: bigint
  merchantId?: bigint
  /** Absent if the entity was made. */
  before?: StoredFields | undefined
  after: StoredFields
  /** Changed values that are not kept, such as `private key`. */
  secrets: readonly string[]
  /** The change that it takes back. */
  undoes?: bigint | undefined
}

/** Where orders, and all that belongs to them, are looked for. */
export interface Databases {
  /** The database of the installation. */
  pool: Pool
  /** All cells, in order. */
  cells: () => Promise<readonly CellDesk[]>
}

/** For what is asked of orders. */
export interface OrderDesk extends Desk, Databases {
  /** Throws where an order may not become what this change makes of it; nothing is changed then. */
  judge?: (after: Order) => void
}

/** A pool whose statements see the tables of one cell. */
export interface CellDesk extends CellAddress {
  pool: Pool
}
