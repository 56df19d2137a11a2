import { entities, statement, timestamp } from '../../storage/pool.ts'
import { pieceOf, tablesWithDefault, type Span } from '../../storage/detached.ts'
import type { CellDesk, Databases } from '../desk.ts'
import { inEach } from '../in-cells.ts'
import type { PartitionNeed } from './words.ts'

const next = statement<{ next_id: bigint }>(`select next_id from id_block where name = 'order'`)
const later = statement<{ later_at: number | null }>(`select min(created_at) as later_at from orders where order_id >= $1`)
/**
 * Ids are reserved in blocks, which a process that sells little may keep for long. A process that
 * began after the ids beyond were in use has none of these; an hour is for clocks that disagree.
 * The row of a dead process may stay for an hour.
 */
const earlier = entities<{ instance: string; startedAt: number }>(`
  select instance, started_at from heartbeat
  where started_at < $1::timestamptz + interval '1 hour' and beat_at > now() - interval '1 hour' order by instance`)

/** References from outside the partitions to orders in them. */
const pointers = statement<{ invoices: bigint; 'idempotency keys': bigint }>(`
  select
    (select count(*) from mobile_invoice where due_at is not null
      and (order_id >= $1 and order_id < $2 or hold_order_id >= $1 and hold_order_id < $2)) as invoices,
    (select count(*) from idempotency_key where order_id >= $1 and order_id < $2 and held_until > now()) as "idempotency keys"`)

/**
 * Reads the tables of the partition by their own names, so it is the same while it is attached and
 * after. `$1`: what ended later is young.
 */
const within = (span: Span) => {
  const [orders, facts, transactions, deliveries] = (['orders', 'order_facts', 'transaction', 'delivery'] as const).map(
    (table) => pieceOf(span, table).name,
  )
  return statement<{ open: bigint; callbacks: bigint; young: bigint }>(`
  select
    (select count(*) from ${orders} where step is not null or final_at is null
      or status not in ('approved', 'declined', 'filtered', 'error'))
    + (select count(*) from ${transactions} where step is not null or final_at is null)
    + (select count(*) from ${facts} where cvv2_sealed is not null) as open,
    (select count(*) from ${deliveries} where state = 'due') as callbacks,
    (select count(*) from ${orders} where final_at >= $1) + (select count(*) from ${transactions} where final_at >= $1) as young`)
}

/** When the ids beyond a partition were in use; undefined if they are not. */
async function usedBeyond({ cells }: Databases, cell: CellDesk, { to }: Span): Promise<number | undefined> {
  const laterIn = async ({ pool }: CellDesk) => (await pool.run(later, [to]))[0]!.later_at
  const own = await laterIn(cell)
  if (own !== null) return own
  // All cells draw from the same ids, and this one may have no orders lately.
  const others = (await cells()).filter(({ cellNo }) => cellNo !== cell.cellNo)
  const times = (await inEach(others, laterIn)).filter((at) => at !== null)
  return times.length === 0 ? undefined : Math.min(...times)
}

/**
 * What the gateway needs the partition of a cell for; nothing, if all of it ended before that time.
 */
export async function needsOf(databases: Databases, cell: CellDesk, span: Span, endedBefore: number): Promise<PartitionNeed[]> {
  const { pool } = cell
  const [[ids], laterAt, withDefault] = await Promise.all([
    databases.pool.run(next),
    usedBeyond(databases, cell, span),
    tablesWithDefault(pool),
  ])
  if (ids!.next_id < span.to || laterAt === undefined) return [{ is: 'current' }]
  const [gateways, [pointing], [own]] = await Promise.all([
    pool.run(earlier, [timestamp(laterAt)]),
    pool.run(pointers, [span.from, span.to]),
    pool.run(within(span), [timestamp(endedBefore)]),
  ])
  const counts = { ...own!, ...pointing! }
  return [
    ...withDefault.map((table): PartitionNeed => ({ is: 'default partition', table })),
    ...gateways.map((one): PartitionNeed => ({ is: 'gateway', ...one })),
    ...(Object.entries(counts) as [keyof typeof counts, bigint][]).flatMap(([is, count]): PartitionNeed[] =>
      count === 0n ? [] : [{ is, count }],
    ),
  ]
}
