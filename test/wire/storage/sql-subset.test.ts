import { madeStatements } from '../../harness/postgres/sql-made.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { auditFunctions } from '../../../src/storage/audit-functions.ts'
import { cellTables } from '../../../src/storage/grants.ts'
import { migrations } from '../../../src/storage/migrate.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { sqlSources } from '../../harness/postgres/sql-sources.ts'
import { readCatalog, refusedByTree, refusedByWords, treeOf } from '../../harness/postgres/sql-subset.ts'

// Every statement runs on PostgreSQL and on Citus (docs/design/data.md). PostgreSQL itself
// says here what a statement does: its parse tree names each function, and the catalogs know which
// of them is not immutable.

const sources = sqlSources(join(import.meta.dirname, '../../../../src'))
const makers = sources.filter(({ makesStatements }) => makesStatements)

const database = await testDatabase()
const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = openPool({ url: database.url, connections: 1, use: 'admin', log })
// Not by `closing`: its world makes statements of its own.
after(async () => {
  await pool.close()
  await database.close()
})
const run = (text: string) => pool.run({ name: '', text })
const catalog = await readCatalog(pool)
const refusedOfMigrations = new Map<string, string[]>()
await run('create table migration (name text primary key, sha256 text not null, applied_at timestamptz not null)')
for (const { name, sql } of migrations()) refusedOfMigrations.set(name, await migrated(sql))
for (const text of auditFunctions('public').slice(0, 2)) await run(text)
for (const { path } of makers) await import(`../../../src/${path.replace(/ts$/, 'js')}`)
await makeResealing()

/** Runs a migration; returns the reasons against it. */
async function migrated(sql: string): Promise<string[]> {
  const reasons: string[] = []
  for (const part of sql.split(/;\s*\n/)) {
    const statement = part.replace(/--.*$/gm, '').trim()
    if (statement === '') continue
    reasons.push(...(await refused(statement)))
    await run(statement)
  }
  return [...new Set(reasons)]
}

async function refused(text: string): Promise<string[]> {
  const changesRows = /^(?:with|insert|update|delete|merge|select)\b/i.test(text.trim())
  return [...refusedByWords(text), ...(changesRows ? refusedByTree(await treeOf(pool, text), catalog) : [])]
}

/** Statements that are made for each table when it is first sealed again. */
async function makeResealing(): Promise<void> {
  const [{ sealedTables }, { firstId, resealBatch }, { openKeyRing }] = await Promise.all([
    import('../../../src/operator/keys/sealed-tables.ts'),
    import('../../../src/keys/reseal.ts'),
    import('../../../src/keys/ring.ts'),
  ])
  const kek = fixedKek(secret(Buffer.alloc(32, 1)), systemRandom)
  const keys = await openKeyRing(pool, kek, systemClock, systemRandom)
  for (const t of sealedTables) await resealBatch(pool, t, keys, systemRandom, { after: firstId(t), most: 1 })
}

// oxfmt-ignore
const bad: readonly [what: string, sql: string][] = [
  ['a time in a column, moved on',              `update order_key set held_until =\n created_at + interval '10 seconds'`],
  ['a time in a column, as text',               `update merchant set name = created_at::text`],
  ['a time in a column, cut',                   `update orders set final_at = date_trunc('day', created_at)`],
  ['a time in a condition, moved on',           `delete from heartbeat where beat_at + interval '1 hour' < now()`],
  ['a time in a conflict, moved on',            `insert into duty (name, due_at, tries) values ('a', now(), 0) on conflict (name) do update set due_at = duty.due_at + interval '1 day'`],
  ['a change inside of `with`',                 `with n as (update heartbeat set beat_at = beat_at + interval '1 day' returning process_id) select * from n`],
  ['chance for each row',                       `update orders set serial_number = gen_random_uuid()`],
  ['now, or something else',                    `update heartbeat set lapsed_at = coalesce(lapsed_at, now())`],
  ['now, in a case',                            `update heartbeat set lapsed_at = case when lapses > 0 then now() end`],
  ['the time that is returned',                 `update heartbeat set lapses = 0 returning clock_timestamp()`],
  ['a parameter after a conflict',              `insert into duty as d (name, due_at, tries) select name, now(), 0 from unnest($1::text[]) as n (name) on conflict (name) do update set tries = 0 where d.due_at <= $2`],
  ['a parameter that is returned',              `insert into nonce (merchant_id, nonce, expires_at) select 1, nonce, now() from unnest($1::text[]) as n (nonce) returning expires_at > $2`],
  ['rows locked beside a list',                 `with due as (select d.name from duty d join unnest($1::text[]) as n (name) on n.name = d.name for update of d skip locked), noted as (insert into nonce (merchant_id, nonce, expires_at) select 1, name, '2026-01-01' from due) select from due`],
  ['rows of a `with` alone, inserted',          `with due as (update duty set tries = 0 returning name) insert into nonce (merchant_id, nonce, expires_at) select 1, name, '2026-01-01' from due`],
  ['the same in another `with`',                `with due as (update duty set tries = 0 returning name), noted as (insert into nonce (merchant_id, nonce, expires_at) select 1, name, '2026-01-01' from due) select from due`],
  ['now, in rows of a table',                   `insert into nonce (merchant_id, nonce, expires_at) select 1, n, now() from unnest($1::text[]) as n where not exists (select from nonce o where o.nonce = n)`],
  ['an advisory lock',                          `select pg_advisory_xact_lock\n(1)`],
  ['a try of an advisory lock',                 `select "pg_try_advisory_lock"(1)`],
  ['listening',                                 `listen orders`],
  ['notifying',                                 `select pg_notify('orders', '')`],
  ['a temporary table',                         `create /* for now */ temp table t (a int)`],
  ['an unlogged table',                         `create unlogged\n-- fast\ntable t (a int)`],
  ['a serial column',                           `create table t (a bigserial primary key)`],
  ['an identity column',                        `create table t (a bigint generated always as\nidentity)`],
  ['a sequence',                                `create sequence s`],
  ['a trigger',                                 `create trigger t before update on orders execute function f()`],
  ['a function',                                `create or replace function f() returns int language sql as 'select 1'`],
  ['a block of code',                           `do $$ begin perform 1; end $$`],
  ['a lock of a table',                         `lock table orders in share mode`],
  ['a constraint among others',                 `alter table orders add column a int,\n  add constraint orders_a check (a > 0)`],
  ['a constraint that is exchanged',            `alter table orders drop constraint a, add constraint b check (version > 0)`],
  ['a key without a name among others',         `alter table t drop column a, add primary key (b)`],
  ['a constraint of another name',              `alter table orders rename constraint a to b`],
  ['a column with its check',                   `alter table orders add column a int check (a > 0)`],
  ['a column with its reference',               `alter table endpoint add column a bigint references merchant`],
  ['detaching beside statements',               `alter table orders detach partition orders_p0 concurrently`],
  ['a generic plan',                            `set plan_cache_mode = force_generic_plan`],
  ['a change where a cursor is',                `delete from nonce where current of c`],
  ['a call of a procedure',                     `call p(1)`],
  ['a place in the file',                       `delete from nonce where ctid in (select ctid from nonce limit 1)`],
]
for (const [what, sql] of bad)
  test(`refused: ${what}`, async () => assert.notDeepEqual(await reasonsFor(sql), [], `this is in the subset:\n${sql}`))

/** Without the tree of what PostgreSQL alone would not prepare. */
const reasonsFor = async (sql: string): Promise<string[]> => {
  const words = refusedByWords(sql)
  return words.length > 0 ? words : refused(sql)
}

// oxfmt-ignore
const good: readonly [what: string, sql: string][] = [
  ['now for all rows',                      `update heartbeat set beat_at = now() + interval '1 second' where process_id = $1`],
  ['a column beside what is older than now', `delete from heartbeat where beat_at < now() - interval '1 hour'`],
  ['a list of rows',                        `insert into nonce (merchant_id, nonce, expires_at) select merchant_id, nonce, expires_at from json_to_recordset($1) as n (merchant_id bigint, nonce text, expires_at timestamptz) on conflict do nothing returning nonce`],
  ['a time of a list',                      `update duty d set due_at = n.due_at from unnest($1::text[], $2::timestamptz[]) as n (name, due_at) where d.name = n.name`],
  ['a parameter after a conflict of one row', `insert into duty as d (name, due_at, tries) values ($1, now(), 0) on conflict (name) do update set tries = 0 where d.due_at <= $2`],
  ['work that is claimed',                  `with due as (select name from duty where due_at <= now() for update skip locked) update duty d set lease = $1 from due where d.name = due.name returning d.place`],
  ['rows locked beside a list, and selected', `with due as (select * from (select d.name from duty d join unnest($1::text[]) as n (name) on n.name = d.name for update of d skip locked) l), noted as (insert into nonce (merchant_id, nonce, expires_at) select 1, name, '2026-01-01' from due join duty using (name)) select from due`],
  ['now, in rows of a list',                `insert into nonce (merchant_id, nonce, expires_at) select 1, n, now() from unnest($1::text[]) as n`],
  ['a stable function that only reads',     `select created_at + interval '1 day' as until, created_at::text as day from orders`],
  ['words in a literal',                    `update merchant set name = 'lock table; create temp table, pg_advisory_lock' where merchant_id = $1`],
  ['one constraint',                        `alter table orders add constraint orders_a check (version > 0)`],
  ['columns',                               `alter table orders add column a int, add column b numeric(10, 2) not null default 0`],
  ['a table with all it needs',             `create table t (a bigint primary key, b text not null unique check (b <> ''), foreign key (a) references merchant)`],
  ['a generated column',                    `alter table orders add column a int generated always as (version + 1) stored`],
  ['a partition',                           `create table if not exists orders_p7 partition of orders for values from (1) to (2)`],
]
for (const [what, sql] of good) test(`in the subset: ${what}`, async () => assert.deepEqual(await refused(sql), []))

test('every migration is in the subset', () => {
  assert.ok(refusedOfMigrations.size > 0)
  const against = [...refusedOfMigrations].filter(([, reasons]) => reasons.length > 0)
  assert.deepEqual(Object.fromEntries(against), {})
})

test('every statement is in the subset', async () => {
  assert.ok(madeStatements.size > 260, `only ${madeStatements.size} statements were found`)
  const against: Record<string, string[]> = {}
  for (const text of madeStatements) {
    const reasons = await refused(text)
    if (reasons.length > 0) against[text] = reasons
  }
  assert.deepEqual(new Set(Object.values(against).flat()), new Set([advisory, tableLock]))
  assert.match(Object.keys(against).join(), /tollgate partitions of/)
})

const tableLock = 'locks of tables: lock rows'
const advisory = 'advisory locks: another node does not see them; lock a row'

/**
 * Citus detaches a partition only while the table waits, so operators do that without it, and the
 * lock of that work is of one node. The end of a merchant's move has to wait for every writer, none
 * of whom locks a row of its own; Citus passes a lock of a table on since its version 11.1. The
 * functions of the audit trail are in the schema of the installation, which no node but one has.
 */
const exceptions = new Set([
  `storage/detached.ts: ${advisory}`,
  'storage/detached.ts: partitions that are detached beside statements',
  `operator/cells/merchant-fence.ts: ${tableLock}`,
  'storage/audit-functions.ts: triggers, functions and procedures: what happens is in the gateway',
])

test('no text of the sources, nor a text that is put together, leaves the subset', () => {
  const against = sources.flatMap(({ path, texts }) =>
    texts.flatMap((text) => refusedByWords(text).map((reason) => `${path}: ${reason}`)),
  )
  assert.deepEqual(new Set(against), exceptions)
})

test('Citus can copy every table of a cell while it is used: rows have a key, or name themselves', async () => {
  const rows = await pool.run<{ name: string }>(
    {
      name: '',
      text: `
        select relname::text as name from pg_class c
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relname = any ($1)
          and relreplident <> 'f' and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
    },
    [cellTables],
  )
  assert.deepEqual(rows, [])
})
