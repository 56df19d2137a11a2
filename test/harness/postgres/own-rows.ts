import { callbackify } from 'node:util'
import { Client, escapeLiteral, Pool, type ClientBase } from 'pg'
import type { World } from '../world/world.ts'

/**
 * Puts views in front of every table and view of this connection that has merchants: in a world
 * that other files used before, a query sees the rows of this file's merchants alone. The tables
 * themselves are in `public`.
 */
const narrow = `
  do $$
  declare
    ids text := (select string_agg(merchant_id::text, ',') from public.merchant where login in (LOGINS));
    name text;
  begin
    for name in
      select relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id'
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
    loop
      execute format('create temp view %1$I as select * from public.%1$I where merchant_id in (%2$s)', name, ids);
    end loop;
  end $$`

async function narrowTo(client: ClientBase, { isShared, merchant, other }: World): Promise<void> {
  const logins = [merchant.login, other.login].map((login) => escapeLiteral(login)).join()
  if (isShared) await client.query(narrow.replace('LOGINS', logins))
}

/** A connection to the database of a world, which shows this file's own rows. */
export async function connectOwn(world: World): Promise<Client> {
  const client = new Client({ connectionString: world.databaseUrl })
  await client.connect()
  await narrowTo(client, world)
  return client
}

/** The same with several connections. */
export function openOwnRows(world: World, connections: number): Pool {
  const verify = callbackify((client: ClientBase) => narrowTo(client, world))
  const pool = new Pool({ connectionString: world.databaseUrl, max: connections, verify })
  // A server that is killed on purpose ends these connections too.
  pool.on('error', () => {})
  return pool
}
