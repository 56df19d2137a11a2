/** The entries about cells in the catalogs of Citus. */
import type { PlacementRow } from './cell-seat.ts'
import { statement, type Runner, type Statement } from './pool.ts'

const extension = statement<{ there: boolean }>(`select exists (select from pg_extension where extname = 'citus') as there`)

export const hasCitus = async (runner: Runner): Promise<boolean> => (await runner.run(extension))[0]!.there

/**
 * Not made by `statement`: PostgreSQL alone has no such tables. All tables of a schema are on one
 * node.
 */
const placements: Statement<PlacementRow> = {
  name: 'placements of cells',
  text: `
  select s.nspname::text as schema, d.groupid as group_id, d.nodename as host, d.nodeport as port,
    d.groupid = l.groupid as is_here, d.hasmetadata and d.metadatasynced and d.isactive as follows
  from pg_catalog.pg_dist_schema c
  join pg_catalog.pg_namespace s on s.oid = c.schemaid
  join pg_catalog.pg_class t on t.relnamespace = s.oid and t.relname = 'migration'
  join pg_catalog.pg_dist_shard h on h.logicalrelid = t.oid
  join pg_catalog.pg_dist_placement p on p.shardid = h.shardid
  join pg_catalog.pg_dist_node d on d.groupid = p.groupid and d.noderole = 'primary'
    and d.nodecluster = current_setting('citus.cluster_name')
  cross join pg_catalog.pg_dist_local_group l`,
}

/** By the name of the schema. Only for a database that has Citus. */
export const readPlacements = async (runner: Runner): Promise<ReadonlyMap<string, PlacementRow>> =>
  new Map((await runner.run(placements)).map((row) => [row.schema, row]))

const self: Statement<{ group_id: number; distributed: boolean }> = {
  name: 'self',
  text: `
  select l.groupid as group_id,
    exists (select from pg_catalog.pg_dist_partition p where p.logicalrelid = to_regclass('migration')) as distributed
  from pg_catalog.pg_dist_local_group l`,
}
const undefinedTable = '42P01'

/**
 * Whether the server, with the schema of a cell, is the node that the catalogs mean: their name of
 * it may lead elsewhere from here.
 */
export async function isNodeOf(runner: Runner, group: number): Promise<boolean> {
  try {
    const [row] = await runner.run(self)
    return row !== undefined && row.group_id === group && row.distributed
  } catch (error) {
    if ((error as { code?: string }).code === undefinedTable) return false
    throw error
  }
}

const throughItself = statement<object>(`
  with no_row as materialized (select 0::bigint as merchant_id, 0::bigint as order_id),
  changed as (
    update orders o set lease = null from no_row n where o.merchant_id = n.merchant_id and o.order_id = n.order_id
    returning o.merchant_id)
  select from changed`)

/**
 * Makes the node of a cell connect to itself as this user; rejects if it lacks the password. Sweeps
 * need that: Citus passes rows of one part of a `with` to another part over a connection. Changes
 * no row.
 */
export const connectToItself = async (runner: Runner): Promise<void> => void (await runner.run(throughItself))
