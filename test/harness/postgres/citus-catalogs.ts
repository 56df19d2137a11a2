import { Client } from 'pg'
import { closing } from '../world/opening.ts'

/** Tables that stand for the catalogs of Citus, in a database of PostgreSQL alone. */
export interface CitusCatalogs {
  /** Citus has the schema at the node of this group from now on. */
  place(schema: string, group: number): Promise<void>
  /** A node, under its name. */
  node(group: number, at: { host: string; port: number }): Promise<void>
  /** Whether the node follows the metadata. */
  follow(group: number, follows: boolean): Promise<void>
  /** What a server answers that is asked for its group, by a connection at a cell. */
  answer(group: number): Promise<void>
}

const tables = `
  set allow_system_table_mods = on;
  create table pg_catalog.pg_dist_schema (schemaid oid primary key, colocationid int);
  create table pg_catalog.pg_dist_shard (logicalrelid oid, shardid bigint);
  create table pg_catalog.pg_dist_partition (logicalrelid oid);
  create table pg_catalog.pg_dist_placement (shardid bigint primary key, groupid int);
  create table pg_catalog.pg_dist_node (groupid int primary key, nodename text, nodeport int,
    noderole text default 'primary', nodecluster text default 'default',
    isactive bool default true, hasmetadata bool default true, metadatasynced bool default true);
  create table pg_catalog.answered_group (groupid int);
  insert into pg_catalog.answered_group values (0);
  create view pg_catalog.pg_dist_local_group as
    select case when current_schema() like 'cell%' then groupid else 0 end as groupid from pg_catalog.answered_group;
  grant select on pg_catalog.pg_dist_schema, pg_catalog.pg_dist_shard, pg_catalog.pg_dist_partition,
    pg_catalog.pg_dist_placement, pg_catalog.pg_dist_node, pg_catalog.pg_dist_local_group to public;
  insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    select 99999, 'citus', oid, 'pg_catalog'::regnamespace, false, '0' from pg_roles where rolname = current_user`

/** By a superuser. Whoever connects from then on finds Citus installed. */
export async function citusCatalogs(databaseUrl: string): Promise<CitusCatalogs> {
  const client = closing(new Client({ connectionString: databaseUrl }))
  await client.connect()
  await client.query(tables)
  await client.query(`alter database ${new URL(databaseUrl).pathname.slice(1)} set citus.cluster_name = 'default'`)
  const run = async (text: string, values: unknown[]) => void (await client.query(text, values))
  return {
    async place(schema, group) {
      const ledger = `${schema}.migration`
      const [row] = (await client.query<{ oid: string }>(`select $1::text::regclass::oid::text as oid`, [ledger])).rows
      const oid = row!.oid
      await run(`insert into pg_catalog.pg_dist_schema values ($1::text::regnamespace, 1) on conflict do nothing`, [schema])
      await run(`insert into pg_catalog.pg_dist_partition values ($1::oid)`, [oid])
      const shard = await client.query(`select from pg_catalog.pg_dist_shard where shardid = $1`, [oid])
      if (shard.rowCount === 0) await run(`insert into pg_catalog.pg_dist_shard values ($1::oid, $2::bigint)`, [oid, oid])
      await run(
        `insert into pg_catalog.pg_dist_placement values ($1, $2) on conflict (shardid) do update set groupid = excluded.groupid`,
        [oid, group],
      )
    },
    node: (group, { host, port }) =>
      run(
        `insert into pg_catalog.pg_dist_node (groupid, nodename, nodeport) values ($1, $2, $3)
         on conflict (groupid) do update set nodename = excluded.nodename, nodeport = excluded.nodeport`,
        [group, host, port],
      ),
    follow: (group, follows) => run(`update pg_catalog.pg_dist_node set hasmetadata = $2 where groupid = $1`, [group, follows]),
    answer: (group) => run(`update pg_catalog.answered_group set groupid = $1`, [group]),
  }
}
