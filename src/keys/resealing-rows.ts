/**
 * Which tables are to be sealed again, and how far that is. A row is written when an operator
 * replaces a key; gateways then share the work, one of them at a table.
 */
import { isFree, type Claimer } from '../leases/leased.ts'
import { entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { deadAfterMs } from '../leases/heartbeat.ts'

export interface Resealing {
  table: string
  /** Every row shall be sealed under this version, or a later one. */
  version: bigint
  dueAt: number
  /** Rows sealed again so far. */
  rows: number
  endedAt?: number
}

/** A table that this process works on. */
export interface ResealingTurn {
  table: string
  version: bigint
  /** The last row that was looked at; undefined at the beginning. */
  after?: readonly string[]
}

const order = statement<object>(`
  insert into resealing (table_name, version, due_at, rows) select unnest($1::text[]), $2, $3, 0
  on conflict (table_name) do update
  set version = excluded.version, due_at = excluded.due_at, lease = null, after = null, rows = 0, ended_at = null
  where resealing.version < excluded.version`)
const anyDue = statement<{ due: boolean }>(`select exists (select from resealing where ended_at is null and due_at <= $1) as due`)
/** One statement, so that only one of two processes gets a table. */
const claim = entities<ResealingTurn>(`
  with free as (
    select r.table_name from resealing r
    where r.ended_at is null and r.due_at <= $2 and ${isFree('r', { me: '$1', silent: '$4', deadAfterMs: '$3' })}
    order by r.table_name limit 1
    for update of r skip locked)
  update resealing r set lease = $1 from free where r.table_name = free.table_name
  returning r.table_name as "table", r.version, r.after`)
/** A process that was taken over, or whose table starts again for a new version, notes nothing. */
const note = statement<object>(`
  update resealing set after = $4, rows = rows + $5, ended_at = $6, lease = case when $6::timestamptz is null then lease end
  where table_name = $1 and lease = $2 and version = $3`)
const all = entities<Resealing>(
  `select table_name as "table", version, due_at, rows::float8 as rows, ended_at from resealing order by table_name`,
)

/**
 * Has these tables sealed again from `dueAt` on; one that was under way for an earlier version
 * starts again. To call it again changes nothing.
 */
export async function orderResealing(
  runner: Runner,
  tables: readonly string[],
  { version, dueAt }: { version: bigint; dueAt: number },
): Promise<void> {
  await runner.run(order, [tables, version, timestamp(dueAt)])
}

export const isResealingDue = async (pool: Pool, now: number): Promise<boolean> =>
  (await pool.run(anyDue, [timestamp(now)]))[0]!.due

/** Takes a table, or goes on with the one that this process has. */
export async function claimResealing(
  pool: Pool,
  { processId, silent }: Claimer,
  now: number,
): Promise<ResealingTurn | undefined> {
  return (await pool.run(claim, [processId, timestamp(now), deadAfterMs, [...silent]]))[0]
}

/** Notes what a batch did. Without `after`, it was the last one. */
export async function noteResealed(
  pool: Pool,
  processId: bigint,
  { table, version }: ResealingTurn,
  { rows, after, at }: { rows: number; after?: readonly string[]; at: number },
): Promise<void> {
  await pool.run(note, [table, processId, version, after ? [...after] : null, rows, after ? null : timestamp(at)])
}

export const listResealing = (pool: Pool): Promise<Resealing[]> => pool.run(all)
