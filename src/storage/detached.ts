/**
 * Partitions on their way out: which tables are still attached, detaching them and attaching them
 * again. All of it needs the owner of the tables.
 */
import { statement, type Connection, type Pool, type Runner } from './pool.ts'
import { partitionBounds, partitioned, type PartitionedTable } from './partitions.ts'

/** `detaching`: an interrupted command hid it from new statements, and is to be finished. */
export type PieceState = 'attached' | 'detaching' | 'detached'

/** The part of one table for a range of order ids. */
export interface PartitionPiece {
  table: PartitionedTable
  name: string
  state: PieceState
  /** An estimate. */
  rows: bigint
  bytes: bigint
}

/** The note at a detached partition: a comment of its orders table, so that it goes with it. */
export interface DetachedNote {
  firstAt: number
  lastAt: number
  /** SHA-256 of the manifest, in hexadecimal digits. */
  manifest?: string
}

/** The pieces of all tables for the same order ids. */
export interface Span {
  number: bigint
  from: bigint
  /** The first id after it. */
  to: bigint
  pieces: readonly PartitionPiece[]
  note?: DetachedNote
}

const pieces = statement<{
  table: PartitionedTable
  name: string
  state: PieceState
  rows: bigint
  bytes: bigint
  note: string | null
}>(`
  select t.name as table, c.relname as name,
    case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state,
    greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) as rows, pg_total_relation_size(c.oid) as bytes,
    obj_description(c.oid, 'pg_class') as note
  from unnest($1::text[]) as t (name)
  join pg_class c on c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
    and c.relname ~ ('^' || t.name || '_p[0-9]+$')
  left join pg_inherits i on i.inhrelid = c.oid
  order by array_position($1, t.name)`)

/** In the order of their ids. */
export async function partitionSpans(runner: Runner): Promise<Span[]> {
  const found = await runner.run(pieces, [[...partitioned]])
  const numberOf = (name: string) => BigInt(/[0-9]+$/.exec(name)![0])
  const numbers = [...new Set(found.map(({ name }) => numberOf(name)))].sort((a, b) => (a < b ? -1 : 1))
  return numbers.map((number) => {
    const own = found.filter(({ name }) => numberOf(name) === number)
    const noted = own.find(({ table, state, note }) => table === 'orders' && state === 'detached' && note !== null)
    return {
      number,
      ...partitionBounds(number),
      pieces: own.map(({ table, name, state, rows, bytes }) => ({ table, name, state, rows, bytes })),
      ...(noted ? { note: JSON.parse(noted.note!) as DetachedNote } : {}),
    }
  })
}

const defaults = statement<{ name: string }>(`
  select t.relname as name from pg_partitioned_table p join pg_class t on t.oid = p.partrelid
  where t.relnamespace = current_schema()::regnamespace and t.relname = any ($1::text[]) and p.partdefid <> 0`)

/** Tables with a default partition, from which PostgreSQL detaches nothing beside statements. */
export const tablesWithDefault = async (runner: Runner): Promise<string[]> =>
  (await runner.run(defaults, [[...partitioned]])).map(({ name }) => name)

/**
 * Takes a piece off its table while statements on the table go on; waits for those that began
 * before. What was interrupted is finished.
 */
export const detachPiece = (pool: Pool, { table, name, state }: PartitionPiece): Promise<void> =>
  state === 'detached'
    ? Promise.resolve()
    : alone(pool, `alter table ${table} detach partition ${name} ${state === 'detaching' ? 'finalize' : 'concurrently'}`)

/** Puts a detached piece back; its rows are known to lie in its range, so they are not read. */
export const attachPiece = (pool: Pool, { table, name }: PartitionPiece, { from, to }: Span): Promise<void> =>
  alone(pool, `alter table ${table} attach partition ${name} for values from (${from}) to (${to})`)

/** Outside of any transaction, as detaching demands. */
async function alone(pool: Pool, sql: string): Promise<void> {
  const connection = await pool.connect()
  let broken = true
  try {
    await connection.command(sql)
    broken = false
  } finally {
    connection.release(broken)
  }
}

export const dropPieces = async (runner: Runner, all: readonly PartitionPiece[]): Promise<void> =>
  void (await runner.run({ name: '', text: `drop table ${all.map(({ name }) => name).join(', ')}` }))

export async function noteDetached(runner: Runner, span: Span, note: DetachedNote): Promise<void> {
  const { name } = pieceOf(span, 'orders')
  await runner.run({ name: '', text: `comment on table ${name} is '${JSON.stringify(note)}'` })
}

export function pieceOf({ number, pieces: all }: Pick<Span, 'number' | 'pieces'>, table: PartitionedTable): PartitionPiece {
  const piece = all.find((one) => one.table === table)
  if (!piece) throw new Error(`partition ${number} has no table of ${table}`)
  return piece
}

/**
 * An advisory lock, since no transaction may be open meanwhile: to finish a detachment PostgreSQL
 * waits for the end of every transaction that is older. Each cell has its own.
 */
const lock = `hashtext('tollgate partitions of ' || current_schema())`
const hold = statement<{ held: boolean }>(`select pg_try_advisory_lock(${lock}) as held`)
const letGo = statement<object>(`select pg_advisory_unlock(${lock})`)

/** Runs work that only one command does at a time; undefined while another one does. */
export async function withPartitionsHeld<T>(pool: Pool, work: () => Promise<T>): Promise<T | undefined> {
  const holder: Connection = await pool.connect()
  let isFree = false
  try {
    const [row] = await holder.run(hold)
    isFree = !row!.held
    return row!.held ? await work() : undefined
  } finally {
    // The lock would end with the connection too, but perhaps after the next command asks for it.
    isFree ||= await holder.run(letGo).then(
      () => true,
      () => false,
    )
    holder.release(!isFree)
  }
}
