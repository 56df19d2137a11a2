import type { Desk } from './desk.ts'
import { statement, type Pool } from '../storage/pool.ts'
import { ensurePartitions, partitionsAhead, partitionsByNumber, type Ahead } from '../storage/store-partitions.ts'
import { change } from './store-audit.ts'

/** The partitions of all tables for the same order ids. */
export interface PartitionFact {
  number: bigint
  /** The first id, and the first one after it. */
  from: bigint
  to: bigint
  bytes: bigint
  /** When its first and its last order was made, if there is any. */
  firstAt?: number
  lastAt?: number
}

const sizes = statement<{ bytes: bigint }>(`
  select coalesce(sum(pg_total_relation_size(to_regclass(quote_ident(name)))), 0)::bigint as bytes
  from unnest($1::text[]) as name`)
const span = statement<{ first_at: number | null; last_at: number | null }>(
  `select min(created_at) as first_at, max(created_at) as last_at from orders where order_id >= $1 and order_id < $2`,
)

/** In the order of their ids, and how long they last. */
export async function listPartitions(pool: Pool): Promise<{ partitions: PartitionFact[]; ahead: Ahead }> {
  const [found, ahead] = await Promise.all([partitionsByNumber(pool), partitionsAhead(pool)])
  const partitions = await Promise.all(
    found.map(async ({ number, from, to, names }) => {
      const [[size], [of]] = await Promise.all([pool.run(sizes, [names]), pool.run(span, [from, to])])
      return {
        number,
        from,
        to,
        bytes: size!.bytes,
        ...(of!.first_at === null ? {} : { firstAt: of!.first_at }),
        ...(of!.last_at === null ? {} : { lastAt: of!.last_at }),
      }
    }),
  )
  return { partitions, ahead }
}

/** Creates those that are missing for a year; returns the names of the new tables. */
export async function makePartitions(desk: Desk): Promise<string[]> {
  const made = await ensurePartitions(desk.pool)
  if (made.length > 0)
    await change(desk, 'orders', () =>
      Promise.resolve({ note: { action: 'partitions ensure', subject: 'partitions', details: { made } }, result: undefined }),
    )
  return made
}
