/**
 * The partitions of the tables of orders, by order id. Only the owner of the tables can create
 * them, so they are created long before ids reach them; a gateway only looks how far they go.
 */
import { statement, type Pool } from './pool.ts'

/** The tables whose rows live in partitions by order id. */
export const partitioned = [
  'orders',
  'order_facts',
  'transaction',
  'attempt',
  'order_event',
  'request',
  'delivery',
  'delivery_attempt',
] as const
export type PartitionedTable = (typeof partitioned)[number]
const width = 10_000_000n
/**
 * Fill factor, in percent of a page. The rest is for the one or two updates of a row, so that it
 * stays in its page.
 */
const fillfactors: Readonly<Record<string, number>> = { orders: 45, transaction: 50, attempt: 50, delivery: 50 }
/**
 * Statistics of a partition with a few hundred rows make the planner read all of it for each batch,
 * and the plan stays while the partition grows. Without statistics it assumes a larger one.
 */
const firstLookAfter = 20_000

/** Partitions are made so far ahead. */
const aheadDays = 365
/** But no more of them than this: each one makes statements over several orders dearer … */
const usualMost = 12
/** … unless they would be used up within this time. */
const leastDays = 60
/** Less than this, and a gateway warns. */
export const scarceDays = 30
/** More is shown as this. */
const mostDays = 3_650

const nextOrderId = statement<{ next_id: bigint }>(`select next_id from id_block where name = 'order'`)
/** The first order of the last 30 days, by the index of the time. */
const earlier = statement<{ order_id: bigint; days: number }>(`
  select order_id, extract(epoch from now() - created_at)::float8 / 86400 as days from orders
  where created_at > now() - interval '30 days' order by created_at limit 1`)
/** A bound reads FOR VALUES FROM ('0') TO ('10000000'). */
const bounds = statement<{ name: string; partition: string; bound: string }>(`
  select t.relname as name, p.relname as partition, pg_get_expr(p.relpartbound, p.oid) as bound
  from pg_partitioned_table pt
  join pg_class t on t.oid = pt.partrelid
  join pg_inherits i on i.inhparent = t.oid
  join pg_class p on p.oid = i.inhrelid
  where t.relnamespace = current_schema()::regnamespace and p.oid <> pt.partdefid`)

/** How far the partitions go. */
export interface Ahead {
  nextOrderId: bigint
  /** The first order id that has no partition in one of the tables. */
  end: bigint
  /** Order ids a day, over the last 30 days. */
  perDay: number
  /** How long the partitions last at that rate; at most ten years. */
  days: number
}

/** The partitions of a cell; `installation` has the order ids, if another database has them. */
export async function partitionsAhead(pool: Pool, installation: Pool = pool): Promise<Ahead> {
  const [[next], [first], found] = await Promise.all([installation.run(nextOrderId), pool.run(earlier), pool.run(bounds)])
  const { next_id: nextId } = next!
  const perDay = first ? Number(nextId - first.order_id) / Math.max(1, first.days) : 0
  const ends = partitioned.map((table) =>
    found.filter(({ name }) => name === table).reduce((most, { bound }) => (endOf(bound) > most ? endOf(bound) : most), 0n),
  )
  const end = ends.reduce((least, one) => (one < least ? one : least))
  const left = end > nextId ? Number(end - nextId) : 0
  return { nextOrderId: nextId, end, perDay, days: left === 0 ? 0 : Math.min(mostDays, left / perDay) }
}

/** Partitions of several tables for the same order ids. */
export interface Slice {
  number: bigint
  from: bigint
  to: bigint
}

/** In the order of their ids. */
export async function partitionsByNumber(pool: Pool): Promise<Slice[]> {
  const found = await pool.run(bounds)
  const numbers = new Set(found.map(({ bound }) => (endOf(bound) - 1n) / width))
  return [...numbers].sort((a, b) => (a < b ? -1 : 1)).map((number) => ({ number, ...partitionBounds(number) }))
}

export const partitionBounds = (number: bigint): { from: bigint; to: bigint } => ({
  from: number * width,
  to: (number + 1n) * width,
})

const endOf = (bound: string): bigint => BigInt(/TO \('?(\d+)'?\)/.exec(bound)?.[1] ?? 0)

/** How many partitions after the current one are to exist. */
export function partitionsWanted(perDay: number): number {
  const lasting = (days: number) => Math.ceil((perDay * days) / Number(width))
  return Math.max(1, Math.min(lasting(aheadDays), usualMost), lasting(leastDays))
}

/**
 * Creates the partition that order ids are drawn from now, and those after it for a year; returns
 * the names of those that did not exist. Needs the owner of the tables.
 */
export async function ensurePartitions(pool: Pool, installation: Pool = pool): Promise<string[]> {
  const [{ nextOrderId: next, perDay }, there] = await Promise.all([partitionsAhead(pool, installation), pool.run(bounds)])
  const current = next / width
  const wanted = Array.from({ length: partitionsWanted(perDay) + 1 }, (_, at) => current + BigInt(at))
  return create(pool, wanted, new Set(there.map(({ partition }) => partition)))
}

/** Creates the partitions of these orders that do not exist. */
export async function ensurePartitionsOf(pool: Pool, slices: readonly Pick<Slice, 'number'>[]): Promise<string[]> {
  const there = await pool.run(bounds)
  return create(
    pool,
    slices.map(({ number }) => number),
    new Set(there.map(({ partition }) => partition)),
  )
}

async function create(pool: Pool, numbers: readonly bigint[], there: ReadonlySet<string>): Promise<string[]> {
  const made: string[] = []
  for (const number of numbers)
    for (const name of partitioned) {
      const partition = `${name}_p${number}`
      if (there.has(partition)) continue
      await pool.run({ name: '', text: creation(name, partition, number) }).catch(refuseUnlessThere)
      made.push(partition)
    }
  return made
}

const creation = (table: string, partition: string, number: bigint) => `
  create table if not exists ${partition} partition of ${table} for values from (${number * width}) to (${(number + 1n) * width})
  with (fillfactor = ${fillfactors[table] ?? 100}, autovacuum_analyze_threshold = ${firstLookAfter},
    autovacuum_vacuum_threshold = ${firstLookAfter}, autovacuum_vacuum_insert_threshold = ${firstLookAfter})`

/** Another process created it at the same time. */
function refuseUnlessThere(error: { code?: string }): void {
  if (error.code !== '42P07' && error.code !== '23505') throw error
}
