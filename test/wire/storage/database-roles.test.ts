import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { grants, roles, type Role } from '../../../src/storage/grants.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import { startTestServer, testDatabase } from '../../harness/postgres/postgres.ts'
import { refuseDatabase } from '../../../src/gateway/database.ts'
import { run } from '../operator/cli-run.ts'
import { closing } from '../../harness/world/opening.ts'

/** Each role of the database, tried by a user that is a member of it. */

const log = openLog({ level: 'fatal', destination: process.stderr })
const database = closing(await testDatabase())
const owner = closing(openPool({ url: database.url, connections: 2, use: 'admin', log }))
await migrate(owner, systemClock.now(), log)
const as = new Map<string, Pool>()
/** The addresses of the users; the last user is a member of no role. */
const urls = new Map<string, string>()

const sql = (pool: Pool, text: string) => pool.run<Record<string, unknown>>({ name: '', text })

for (const role of [...Object.keys(roles), 'nobody']) {
  const user = new URL(database.url)
  const name = `${user.pathname.slice(1)}_${role}`
  await sql(owner, `create role ${name} login password 'try'`)
  if (role in roles) await sql(owner, `grant ${roles[role as Role]} to ${name}`)
  urls.set(role, Object.assign(user, { username: name, password: 'try' }).href)
  as.set(role, closing(openPool({ url: urls.get(role)!, connections: 1, use: 'search', log })))
}
await sql(
  owner,
  `insert into orders (merchant_id, order_id, version, kind, client_orderid, path_id, endpoint_id, currency,
    amount_minor, amount_text, status, events, deliveries, created_at, authorised_minor, state, authorised_text, result,
    tries, transactions, attempts)
  values (1, 1000001, 0, 'sale', 'one', 1, 1, 'USD', 100, '1.00', 'approved', 1, 0, now(), 100, 'approved', '1.00', '{}',
    0, 1, 0)`,
)
await sql(
  owner,
  `insert into order_facts (merchant_id, order_id, request, card, card_hash, pan_sealed, pan_key)
  values (1, 1000001, '{}', '{}', 'f', 'sealed', 1)`,
)

test('every table and view has a row that says what each role may do with it', async () => {
  const found = await sql(
    owner,
    `select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition`,
  )
  assert.deepEqual(found.map(({ name }) => String(name)).sort(), Object.keys(grants).sort())
})

test('each role has the privileges of its rows, none of them on a partition, and none may truncate or refer', async () => {
  const all = Object.values(roles).join(',')
  const rows = await sql(
    owner,
    `select r.rolname as role, c.relname as name, c.relispartition as partition,
      concat_ws(' ', case when has_any_column_privilege(r.oid, c.oid, 'select') then 'r' end,
        case when has_table_privilege(r.oid, c.oid, 'insert') then 'a' end,
        case when has_any_column_privilege(r.oid, c.oid, 'update') then 'w' end,
        case when has_table_privilege(r.oid, c.oid, 'delete') then 'd' end,
        case when has_table_privilege(r.oid, c.oid, 'truncate, references, trigger') then 'more' end) as may
    from pg_class c cross join pg_roles r
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and r.rolname = any ('{${all}}')`,
  )
  assert.ok(rows.some(({ partition }) => partition))
  for (const { role, name, partition, may } of rows) {
    const [short] = Object.entries(roles).find(([, long]) => long === role)!
    const expected = partition ? '' : grants[String(name)]![short as Role].replaceAll(/\([^)]*\)/g, '')
    assert.equal(may, expected, `${String(role)} on ${String(name)}`)
  }
})

const nullCard = `update order_facts set pan_sealed = null, pan_key = null`
const append = `select audit_append('ann', 'order show', 'order 1', '{}')`

// oxfmt-ignore
const tries: readonly [role: Role, does: string, may: boolean][] = [
  ['serve',     'create table public.mine (n int)',                               false],
  ['serve',     'alter table orders add column mine int',                         false],
  ['serve',     'drop table orders',                                              false],
  ['serve',     'drop table orders_p0',                                           false],
  ['serve',     'truncate nonce',                                                 false],
  ['serve',     'delete from orders',                                             false],
  ['serve',     'delete from order_facts',                                        false],
  ['serve',     'delete from transaction',                                        false],
  ['serve',     'delete from orders_p0',                                          false],
  ['serve',     `update order_event set moves = '{}'`,                            false],
  ['serve',     'delete from order_event',                                        false],
  ['serve',     `update order_facts set request = '{}'`,                          false],
  ['serve',     `update audit set who = 'ann'`,                                   false],
  ['serve',     'delete from audit',                                              false],
  ['serve',     'select from audit',                                              false],
  ['serve',     'update audit_head set no = 0',                                   false],
  ['serve',     'update merchant set enabled = true',                             false],
  ['serve',     `update gate set settings = '{}'`,                                false],
  ['serve',     'delete from migration',                                          false],
  ['serve',     `grant tollgate_retention to current_user`,                       false],
  ['serve',     `${nullCard}, destination_sealed = null where order_id = 1000001`, true],
  ['read',      'create table public.mine (n int)',                               false],
  ['read',      'insert into nonce select 1, \'n\', now()',                       false],
  ['read',      'update orders set alarm = null',                                 false],
  ['read',      nullCard,                                                          false],
  ['read',      'update merchant set enabled = true',                             false],
  ['read',      'delete from orders',                                             false],
  ['read',      `update audit set who = 'ann'`,                                   false],
  ['read',      'delete from audit',                                              false],
  ['read',      'select from orders',                                              true],
  ['read',      append,                                                            true],
  ['retention', 'select control_key_sealed from merchant',                        false],
  ['retention', 'select signing_secret_sealed from merchant',                     false],
  ['retention', 'select * from merchant',                                         false],
  ['retention', 'select created_at from key_version',                             false],
  ['retention', 'select from endpoint',                                           false],
  ['retention', 'select merchant_id, login, cell_no from merchant',                true],
  ['retention', 'select purpose, version, wrapped, kek, active_at from key_version', true],
  ['retention', 'create table public.mine (n int)',                               false],
  ['retention', 'update orders set alarm = null',                                 false],
  ['retention', 'delete from order_facts',                                        false],
  ['retention', 'delete from audit',                                              false],
  ['retention', 'update merchant set enabled = true',                             false],
  ['retention', 'update card_reference set pan_key = 1',                          false],
  ['retention', 'update orders set amount_minor = 1',                             false],
  ['retention', `update orders set status = 'approved'`,                          false],
  ['retention', 'update transaction set amount_minor = 1',                        false],
  ['retention', `update delivery set state = 'due'`,                              false],
  ['retention', `update order_event set facts = '[]'`,                            false],
  ['retention', 'update orders set authentication = null',                         true],
  ['retention', nullCard,                                                          true],
  ['retention', append,                                                            true],
  ['operator',  'create table public.mine (n int)',                               false],
  ['operator',  'delete from orders',                                             false],
  ['operator',  'update orders set amount_minor = 1',                             false],
  ['operator',  `update order_event set moves = '{}'`,                            false],
  ['operator',  `update audit set who = 'ann'`,                                   false],
  ['operator',  'delete from audit',                                              false],
  ['operator',  `update orders set status = 'approved'`,                          false],
  ['operator',  `update orders set result = '{}'`,                                false],
  ['operator',  `update orders set authorised_minor = 1`,                         false],
  ['operator',  `update transaction set amount_minor = 1`,                        false],
  ['operator',  `update transaction set state = 'approved'`,                      false],
  ['operator',  'delete from transaction',                                        false],
  ['operator',  'insert into attempt select * from attempt',                      false],
  ['operator',  'update orders set captured_minor = 1, version = version + 1',     true],
  ['operator',  append,                                                            true],
]

/** The code of the error, empty without one. */
async function undone(pool: Pool, text: string): Promise<string> {
  const connection = await pool.connect()
  try {
    await connection.command('begin')
    return await connection.command(text).then(
      () => '',
      (error: { code: string }) => error.code,
    )
  } finally {
    await connection.command('rollback')
    connection.release(false)
  }
}

const forgeries = [
  `insert into audit (audit_id, at, who, action, subject, details, no, hash)
    values (gen_random_uuid(), now() - interval '1 day', 'anna', 'keys retire', 'key pan 1', '{}', 1, '\\x00')`,
  `update audit set who = 'ann'`,
  'delete from audit',
  'truncate audit',
  'insert into audit_head values (true, 1, null)',
  'update audit_head set no = no - 3',
  'select no from audit_head for update',
  'delete from audit_head',
  `create or replace function audit_append(who text, action text, subject text, details jsonb) returns bigint language sql
    as 'select 1::bigint'`,
  'alter function audit_hold() reset search_path',
]

for (const [role, does, may] of [
  ...tries,
  ...(Object.keys(roles) as Role[]).flatMap((one) => forgeries.map((forgery) => [one, forgery, false] as const)),
  ['serve', append, false],
  ['serve', 'select audit_hold()', false],
] as const)
  test(`${role} ${may ? 'may' : 'may not'}: ${does.trim().split('\n')[0]}`, async () => {
    const code = await undone(as.get(role)!, does)
    const insufficientPrivilege = '42501'
    assert.equal(code, may ? '' : insufficientPrivilege)
  })

test('a row of the trail names its database user, number and time as the database knows them, in one chain', async () => {
  const last = (await sql(owner, `select coalesce(max(no), 0) as no from audit`))[0]!.no as bigint
  const writers = ['operator', 'read', 'retention'].map((role) => [role, as.get(role)!] as const)
  // A writer's own table, function and operator of the same name are not what the function uses.
  const own = `set search_path = pg_temp, public; create temp table audit_head (no bigint, hash bytea, only_row boolean)`
  await sql(as.get('read')!, own.split('; ')[0]!)
  await sql(as.get('read')!, own.split('; ')[1]!)
  for (const [, pool] of writers)
    await sql(
      pool,
      `select public.audit_append('root (root)', 'keys retire', 'key pan 1', '{"ö€😀": ["\\u0001 \\"", 1.50, null], "a": {}}')`,
    )
  const rows = await sql(
    owner,
    `select no, session, now() - at < interval '1 minute' as fresh, audit_id::text as id, at
    from audit where no > ${last} order by no`,
  )
  assert.deepEqual(
    rows.map(({ no, session, fresh }) => [no, session, fresh]),
    writers.map(([role], i) => [last + BigInt(i) + 1n, new URL(urls.get(role)!).username, true]),
  )
  for (const { id, at } of rows) {
    assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(parseInt(String(id).replaceAll('-', '').slice(0, 12), 16), Number(at))
  }
  const { code, out } = await command('read', 'audit', 'verify')
  assert.equal(code, 0, out)
  const listed = await command('read', 'audit', 'list', '--limit', '1')
  assert.match(listed.out, /DATABASE USER[^]*root \(root\) +test_\w+_retention/)
})

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7 + 1)).toString('base64')
const command = (role: string, ...args: string[]) => run({ DATABASE_URL: urls.get(role)!, TOLLGATE_KEY: key }, args)

test('reading commands work as the reading role; changing ones need the operator and say so', async () => {
  const gate = ['--host', '127.0.0.1', '--port', '1', '--terminal-id', 'SHOP0001', '--card-acceptor-id', '000000000012345']
  const shop = ['--card-acceptor-name', 'Shop', '--acquirer-id', '400001', '--mcc', '5999', '--descriptor', 'SHOP']
  for (const args of [
    ['merchant', 'add', '--login', 'shop'],
    ['gate', 'add', '--name', 'acme', ...gate, ...shop],
    ['endpoint', 'add', '--merchant', 'shop', '--currency', 'USD'],
    ['merchant', 'rotate-key', 'shop'],
  ]) {
    const refused = await command('read', ...args)
    assert.equal(refused.code, 1, refused.out)
    assert.match(refused.err, /may not do this \(permission denied .*\).*tollgate_operator/)
    const done = await command('operator', ...args)
    assert.equal(done.code, 0, done.err)
  }
  for (const args of [
    ['merchant', 'list'],
    ['endpoint', 'list'],
    ['gate', 'list'],
    ['order', 'find'],
    ['delivery', 'list'],
    ['invoice', 'find'],
    ['audit', 'list'],
    ['audit', 'verify'],
    ['keys', 'list'],
    ['partitions', 'list'],
  ]) {
    const { code, err } = await command('read', ...args)
    assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  }
  assert.doesNotMatch((await command('read', 'doctor')).out, /permission denied/)
  const sought = await command('retention', 'subject', 'find', '--order', '1000001', '--merchant', 'shop')
  assert.equal(sought.code, 0, sought.err)
})

test('a row of keys that a gateway was made to write disturbs no command, and doctor names it', async () => {
  const garbage = `insert into key_version (purpose, version, wrapped, kek, created_at, active_at)
    values ('pan', 2, '\\x00', 'abc', now(), now() + interval '1 hour')`
  await sql(as.get('serve')!, garbage)
  try {
    const { out } = await command('read', 'doctor')
    assert.match(out, /warning +keys +the key-encryption key does not open pan 2, which no process uses yet/)
    assert.match(out, /purpose = 'pan' and version = 2/)
    await sql(as.get('operator')!, `update key_version set purpose = 'a'' or ''a'' = ''a' where kek = 'abc'`)
    assert.match((await command('read', 'doctor')).out, /purpose = 'a'' or ''a'' = ''a' and version = 2/)
    assert.match(out, /control keys +none can be guessed/)
    const done = await command('operator', 'merchant', 'disable', 'shop')
    assert.equal(done.code, 0, done.err)
    await sql(as.get('operator')!, `update key_version set active_at = now() - interval '1 second' where kek = 'abc'`)
    const late = (await command('read', 'doctor')).out
    assert.match(late, /problem +keys +the key-encryption key does not open a' or 'a' = 'a 2, so no gateway can start/)
    assert.match(late, /delete from key_version where purpose = 'a'' or/)
  } finally {
    await sql(as.get('operator')!, `delete from key_version where kek = 'abc'`)
  }
})

test('a gateway refuses a superuser, the owner of the tables and a user of another role, and serves as its own', async () => {
  const quiet = openLog({ level: 'silent', destination: process.stderr })
  const refusal = (pool: Pool, ownerAllowed: boolean) =>
    refuseDatabase(pool, ownerAllowed, quiet).then(
      () => '',
      (error: Error) => error.message,
    )
  assert.match(await refusal(owner, false), /is a superuser.*member of tollgate_serve/)
  assert.equal(await refusal(owner, true), '')
  assert.match(await refusal(as.get('read')!, true), /may not serve.*grant tollgate_serve to "test_\w+_read"/)
  assert.match(await refusal(as.get('nobody')!, true), /may not serve/)
  assert.equal(await refusal(as.get('serve')!, false), '')
})

test('an owner who may not create roles is shown what to run, migrates then, and may not serve', async () => {
  const server = await startTestServer()
  const url = new URL(server.url)
  const boss = openPool({ url: server.url, connections: 1, use: 'admin', log })
  await sql(boss, `create role plain login password 'try'`)
  await sql(boss, `create database shop owner plain`)
  const plain = openPool({
    url: Object.assign(new URL(url), { username: 'plain', password: 'try', pathname: '/shop' }).href,
    connections: 2,
    use: 'admin',
    log,
  })
  try {
    const refusal = await migrate(plain, systemClock.now(), log).then(
      () => '',
      (error: Error) => error.message,
    )
    assert.match(refusal, /may not create roles/)
    assert.deepEqual(await sql(plain, `select from migration`), [])
    const statements = refusal.split('\n').slice(1)
    assert.equal(statements.length, Object.keys(roles).length)
    for (const one of statements) await sql(boss, one)
    await migrate(plain, systemClock.now(), log)
    await assert.rejects(refuseDatabase(plain, false, log), /plain owns the tables/)
  } finally {
    await Promise.all([plain.close(), boss.close()])
    await server.close()
  }
})
