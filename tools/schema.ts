// node dist/tools/schema.js [postgres:// URL of an empty database] writes src/storage/schema.sql:
// the schema as the migrations make it, read back from the catalogs. The packaged PostgreSQL has
// no pg_dump, and a pg_dump of another version would spell things its own way.
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/base/clock.ts'
import { openLog } from '../src/base/log.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../src/storage/pool.ts'
import { testDatabase } from '../test/harness/postgres/postgres.ts'

/** From the root of the project. */
export const schemaFile = join('src', 'storage', 'schema.sql')

const header = `-- The tables as all migrations together make them; those that a cell has make a new cell.
-- Written by \`npm run schema\` from the catalogs of a migrated database; a test compares the two.
-- Partitions are left out, since they come and go with the order ids.
`

interface TableRow {
  name: string
  partitioned_by: string | null
  options: string | null
  identity: 'full' | null
}

/** Tables of the schema, but not the partitions of one. */
const tables = statement<TableRow>(`
  select quote_ident(c.relname) as name, pg_get_partkeydef(c.oid) as partitioned_by,
    array_to_string(c.reloptions, ', ') as options, case c.relreplident when 'f' then 'full' end as identity
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname collate "C"`)

interface PartRow {
  table_name: string
  definition: string
}

const columns = statement<PartRow>(`
  select quote_ident(c.relname) as table_name, concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then 'collate ' || quote_ident(o.collname) end,
    case when a.attnotnull then 'not null' end,
    case when a.attgenerated = 's' then format('generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
      else 'default ' || pg_get_expr(d.adbin, d.adrelid) end) as definition
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relnamespace = current_schema()::regnamespace
    and c.relkind in ('r', 'p') and not c.relispartition
  join pg_type t on t.oid = a.atttypid
  left join pg_collation o on o.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`)

/**
 * Primary keys first. NOT NULL is left out: it stands with the column, and only PostgreSQL 18
 * counts it as a constraint.
 */
const constraints = statement<PartRow>(`
  select quote_ident(c.relname) as table_name, format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) as definition
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid and c.relnamespace = current_schema()::regnamespace and not c.relispartition
  where k.contype <> 'n' and k.conparentid = 0
  order by c.relname, position(k.contype::text in 'pufc'), k.conname collate "C"`)

/** Those that no constraint made. */
const indexes = statement<PartRow>(`
  select quote_ident(c.relname) as table_name,
    regexp_replace(pg_get_indexdef(i.indexrelid), format(' ON (ONLY )?%I\\.', current_schema()), ' ON ') as definition
  from pg_index i
  join pg_class n on n.oid = i.indexrelid
  join pg_class c on c.oid = i.indrelid and c.relnamespace = current_schema()::regnamespace and not c.relispartition
  where not exists (select from pg_constraint k where k.conindid = i.indexrelid)
  order by c.relname, n.relname collate "C"`)

const views = statement<{ name: string; definition: string }>(`
  select quote_ident(c.relname) as name, pg_get_viewdef(c.oid, 120) as definition
  from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v' order by c.relname collate "C"`)

/**
 * Everything else that a migration could make, but for the functions that each `migrate` makes
 * anew (src/storage/audit-functions.ts). There is none of it today, and a dump that silently
 * left some out would be worse than none.
 */
const others = statement<{ what: string }>(`
  select 'relation ' || c.relname as what from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind not in ('r', 'p', 'i', 'I', 'v')
  union all select 'replica identity of ' || c.relname from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and c.relreplident not in ('d', 'f')
  union all select 'function ' || p.proname from pg_proc p where p.pronamespace = current_schema()::regnamespace
    and p.proname not in ('audit_hold', 'audit_append')
  union all select 'type ' || t.typname from pg_type t
  where t.typnamespace = current_schema()::regnamespace and t.typtype in ('d', 'e', 'r', 'm')
  union all select 'trigger ' || g.tgname from pg_trigger g where not g.tgisinternal
  union all select 'policy ' || p.polname from pg_policy p
  union all select format('identity column %s.%s', c.relname, a.attname) from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relnamespace = current_schema()::regnamespace
  where a.attidentity <> '' or a.attgenerated not in ('', 's')`)

/**
 * Migrates the database at `url` and resolves with its schema, the same text for the same
 * migrations. Rejects if it finds something that it cannot write.
 */
export async function migratedSchema(url: string): Promise<string> {
  const log = openLog({ level: 'warn', destination: process.stderr })
  const pool = openPool({ url, connections: 1, use: 'search', log })
  try {
    await migrate(pool, systemClock.now(), log)
    return await readSchema(pool)
  } finally {
    await pool.close()
  }
}

/** The schema that the pool sees. */
export async function readSchema(pool: Pool): Promise<string> {
  const unknown = await pool.run(others)
  if (unknown.length > 0) throw new Error(`tools/schema.ts cannot write down ${unknown.map((row) => row.what).join(', ')}`)
  const [columnsOf, constraintsOf, indexesOf] = [
    byTable(await pool.run(columns)),
    byTable(await pool.run(constraints)),
    byTable(await pool.run(indexes)),
  ]
  const written = (await pool.run(tables)).map((table) => {
    const partitioned = table.partitioned_by === null ? '' : ` partition by ${table.partitioned_by}`
    const options = table.options === null ? '' : ` with (${table.options})`
    const lines = [...(columnsOf.get(table.name) ?? []), ...(constraintsOf.get(table.name) ?? [])].map((line) => `  ${line}`)
    const created = `create table ${table.name} (\n${lines.join(',\n')}\n)${partitioned}${options};`
    const identity = table.identity === null ? [] : [`alter table ${table.name} replica identity ${table.identity};`]
    return [created, ...(indexesOf.get(table.name) ?? []).map((line) => `${line};`), ...identity].join('\n')
  })
  const viewed = (await pool.run(views)).map(({ name, definition }) => `create view ${name} as\n${definition}`)
  return [header, ...[...written, ...viewed].map((sql) => `${sql}\n`)].join('\n')
}

function byTable(rows: readonly PartRow[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { table_name: name, definition } of rows) found.set(name, [...(found.get(name) ?? []), definition])
  return found
}

async function main(url: string | undefined): Promise<void> {
  const database = url === undefined ? await testDatabase() : { url, close: async () => undefined }
  try {
    writeFileSync(schemaFile, await migratedSchema(database.url))
    console.log(`Written: ${schemaFile}`)
  } finally {
    await database.close()
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main(process.argv[2])
