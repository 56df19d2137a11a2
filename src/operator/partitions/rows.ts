import { defined } from '../../base/defined.ts'
import { schemaOf } from '../../storage/cells.ts'
import { entities } from '../../storage/pool.ts'
import { partitionSpans, type PieceState, type Span } from '../../storage/detached.ts'
import { ensurePartitions, partitionsAhead, type Ahead } from '../../storage/partitions.ts'
import type { CellDesk, Databases, OrderDesk } from '../desk.ts'
import { changeInCell } from '../change.ts'

/** The partitions of all tables of a cell for the same order ids. */
export interface PartitionFact extends Omit<Span, 'note'> {
  cellNo: number
  /** `exported` is detached, with files that were complete once. */
  state: PieceState | 'exported'
  /** When its first and its last order was made, if there is any. */
  firstAt?: number
  lastAt?: number
}

const span = entities<Pick<PartitionFact, 'firstAt' | 'lastAt'>>(
  `select min(created_at) as first_at, max(created_at) as last_at from orders where order_id >= $1 and order_id < $2`,
)

/** In the order of their ids, and how long they last. */
export async function listPartitions(
  { pool: installation }: Databases,
  { cellNo, pool }: CellDesk,
): Promise<{ partitions: PartitionFact[]; ahead: Ahead }> {
  const [found, ahead] = await Promise.all([partitionSpans(pool), partitionsAhead(pool, installation)])
  const partitions = await Promise.all(
    found.map(async ({ number, from, to, pieces, note }): Promise<PartitionFact> => {
      const states = new Set(pieces.map(({ state }) => state))
      const [whole] = states
      const state = states.size > 1 || whole === 'detaching' ? 'detaching' : note?.manifest === undefined ? whole! : 'exported'
      const [of] = await pool.run(span, [from, to])
      // Only the owner may read a detached table; the times are noted at it.
      const { firstAt, lastAt } = note ?? of!
      return { cellNo, number, from, to, state, pieces, ...defined({ firstAt, lastAt }) }
    }),
  )
  return { partitions, ahead }
}

/** Creates those that are missing for a year; returns the names of the new tables. */
export async function makePartitions(desk: OrderDesk, cell: CellDesk): Promise<string[]> {
  const made = await ensurePartitions(cell.pool, desk.pool)
  if (made.length > 0)
    await changeInCell(desk, cell, async () => ({ note: { subject: 'partitions', details: { made } }, result: undefined }))
  const schema = schemaOf(cell.cellNo)
  return schema === undefined ? made : made.map((name) => `${schema}.${name}`)
}
