import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openLog } from '../../../src/base/log.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { withPartitionsHeld } from '../../../src/storage/detached.ts'
import { rebill, register } from '../../conformance/cards/card.ts'
import {
  accepted,
  order,
  postSale,
  refused,
  sale,
  settled,
  status,
  statusOf,
  type Fields,
} from '../../conformance/requests/client.ts'
import { askStatus, refused as refusedMobile } from '../../conformance/mobile/mobile.ts'
import { follow } from '../../harness/world/follow.ts'
import { until } from '../../harness/clock/until.ts'
import { run, type Ran } from './cli-run.ts'
import { actor, ago, app, before, detach, directory, done, files, kept, listed, mobile, other } from './old-partition.ts'
import { partitions, ref, sold, soldFields, sql, stateOf, stays, width, world } from './old-partition.ts'

/** An old partition on its way out: detached, exported, dropped, and what stops it on the way. */

test('only the owner of the tables detaches, exports and drops, and says so', async () => {
  const owned = new URL(world.databaseUrl)
  for (const role of ['serve', 'operator', 'retention', 'read']) {
    const user = `${owned.pathname.slice(1)}_${role}`
    await sql(`create role ${user} login password 'try' in role tollgate_${role}`)
    const url = Object.assign(new URL(owned), { username: user, password: 'try' }).href
    for (const args of [
      ['detach', ...before],
      ['export', '--to', files],
      ['drop', '--from', files],
    ])
      stays(await run({ DATABASE_URL: url }, ['partitions', ...args]), /needs the owner of the tables/)
  }
})

test('a date within 180 days is wrong usage', async () => {
  const { code, err } = await partitions('detach', '--before', '179d')
  assert.equal(code, 2)
  assert.match(err, /--before must be a time at least 180 days ago/)
})

test('one command is at work on partitions at a time', async () => {
  await other.query(`select pg_advisory_lock(hashtext('tollgate partitions of ' || current_schema()))`)
  stays(await detach(), /Another command is changing partitions/)
  await other.query(`select pg_advisory_unlock_all()`)
})

test('a command that comes when another one is done gets the partitions', async () => {
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: world.databaseUrl, connections: 2, use: 'admin', log })
  try {
    for (let n = 1; n <= 20; n++) {
      // Two that are open, so that the next one asks without delay.
      for (const one of await Promise.all([pool.connect(), pool.connect()])) one.release(false)
      assert.equal(await withPartitionsHeld(pool, async () => 'first'), 'first')
      assert.equal(await withPartitionsHeld(pool, async () => 'next'), 'next')
    }
    await assert.rejects(
      withPartitionsHeld(pool, () => Promise.reject(new Error('it failed'))),
      /it failed/,
    )
    assert.equal(await withPartitionsHeld(pool, () => withPartitionsHeld(pool, async () => 'inner')), undefined)
  } finally {
    await pool.close()
  }
})

test('the partition of new orders stays, and so do later ones', async () => {
  stays(await detach(), /^Partition 0 stays attached: new orders get ids in it\.\n$/)
  const now = await order(world)
  await settled(world, now)
  assert.ok(Number(now.orderid) >= width)
  stays(
    await detach(),
    /^Partition 0 stays attached: gateway \S+ started at .* and may still use ids in it: restart that gateway\.\n$/,
  )
  await ago('orders', width, 2 * width, 190, 'created_at', 'final_at')
  assert.match(done(await partitions('detach', '--before', '500d')), /^No partition lies wholly before/)
  assert.deepEqual(
    (await listed()).map(({ state }) => state).filter((state) => state !== 'attached'),
    [],
  )
})

const soldIn = (table: string, set: string) => `update ${table} set ${set} where order_id = ${sold.orderid}`
// oxfmt-ignore
const needs: readonly [what: string, sets: string, undoes: string, says: RegExp][] = [
  ['an order that has not ended',      soldIn('orders', `status = 'unknown'`),                       soldIn('orders', `status = 'approved'`),                /1 transaction of it has not ended/],
  ['a reversal that is under way',     soldIn('transaction', 'final_at = null'),                     soldIn('transaction', `final_at = now() - interval '400 days'`), /1 transaction of it has not ended/],
  ['a return of lately',               soldIn('transaction', `final_at = now() - interval '150 days'`), soldIn('transaction', `final_at = now() - interval '400 days'`), /1 transaction of it ended after that time/],
  ['callbacks that are due',           soldIn('delivery', `state = 'due', due_at = now() + interval '1 day'`), soldIn('delivery', `state = 'delivered', due_at = null`), /callbacks? of it (is|are) still to be delivered/],
  ['an open invoice of the mobile API', `update mobile_invoice set state = 'holding', due_at = now() + interval '1 day', hold_order_id = 1000001, sum_minor = 1, page_token = 'p'`,
                                       `update mobile_invoice set state = 'ordered', due_at = null, hold_order_id = null, sum_minor = null, page_token = null`, /1 open transaction of the mobile API leads to it/],
  ['an Idempotency-Key that is held',  `insert into idempotency_key (merchant_id, key, digest, order_id, transaction_no, serial_number, held_until)
                                        select merchant_id, 'k', '', order_id, 1, gen_random_uuid(), now() + interval '1 day' from orders where order_id = ${sold.orderid}`,
                                       `delete from idempotency_key where key = 'k'`,                  /1 Idempotency-Key of the last day stands for it/],
  ['a default partition',              'create table request_rest partition of request default',      'drop table request_rest',                               /request has a default partition/],
]
for (const [what, sets, undoes, says] of needs)
  test(`a partition stays for ${what}`, async () => {
    await sql(sets)
    stays(await detach(), says)
    const { left } = JSON.parse((await partitions('detach', ...before, '--json')).out) as { left: { number: number }[] }
    assert.deepEqual(
      left.map(({ number }) => number),
      [0],
    )
    await sql(undoes)
    assert.equal(await stateOf(0), 'attached')
  })

test('no foreign key leads to or from a partitioned table, so nothing but the gateway could need a row', async () => {
  const keys = await sql(
    `select conname from pg_constraint where contype = 'f' and (conrelid in (select partrelid from pg_partitioned_table)
      or confrelid in (select partrelid from pg_partitioned_table))`,
  )
  assert.deepEqual(keys, [])
})

/** Detaching waits for a transaction that reads orders, until this one ends. */
async function whileItWaits(does: () => Promise<unknown>, ending: () => Promise<unknown>): Promise<Ran> {
  await other.query('begin')
  await other.query('select from orders limit 1')
  const ran = detach()
  await waiting()
  await does()
  await ending()
  return ran
}
const waiting = () =>
  until(
    () =>
      sql<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like 'alter table%detach partition%'`,
      ),
    ({ length }) => length > 0,
  )

test('a new row during the detaching puts the partition back, with all its rows', async () => {
  const indexes = () =>
    sql(`select indexrelid::regclass::text as name from pg_index where indrelid = 'orders_p0'::regclass order by 1`)
  const had = await indexes()
  const ran = await whileItWaits(
    async () => {
      await other.query(soldIn('transaction', 'final_at = null'))
    },
    () => other.query('commit'),
  )
  stays(ran, /Partition 0 stays attached: 1 transaction of it has not ended/)
  assert.equal(await stateOf(0), 'attached')
  assert.deepEqual(await indexes(), had)
  assert.equal((await statusOf(world, sold)).status, 'approved')
  await sql(soldIn('transaction', `final_at = now() - interval '400 days'`))
})

test('payments go on while it waits; interrupted, it is run again and finishes', async () => {
  const ran = await whileItWaits(
    async () => {
      const made = await order(world)
      assert.equal((await settled(world, made)).status, 'approved')
      for (const { pid } of await waiting()) await sql('select pg_terminate_backend($1)', [pid])
    },
    () =>
      until(
        () => stateOf(0),
        (state) => state === 'detaching',
      ),
  )
  assert.equal(ran.code, 1)
  stays(await partitions('drop', '--from', files), /Partition 0 is not dropped: it is not detached completely/)
  assert.match(done(await partitions('export', '--to', files)), /No partition is detached/)
  await other.query('rollback')
  assert.match(done(await detach()), /^Detached partition 0\./)
  const [first] = await listed()
  assert.deepEqual([first!.state, ...new Set(first!.tables.map(({ state }) => state))], ['detached', 'detached'])
  assert.equal(first!.tables.length, 8)
  assert.equal(first!.tables.find(({ table }) => table === 'orders')!.rows, 4)
  assert.ok(Date.parse(first!.first_order_at!) < Date.now() - 399 * 86_400_000)
  assert.match(done(await detach()), /^No partition lies wholly before/)
})

test('merchants cannot see the orders of a detached partition, and new orders are accepted', async () => {
  const codeOf = (reply: Fields) => [reply.type, reply['error-code'], reply['error-message']]
  const unknown = codeOf(await status(world, { client_orderid: 'nobody', orderid: '999' }))
  assert.deepEqual(codeOf(await statusOf(world, sold)), unknown)
  assert.deepEqual(codeOf(await status(world, { client_orderid: sold.client_orderid })), unknown)
  assert.deepEqual(codeOf(await follow(world, 'return', sold)), unknown)
  const registered = await register(world, kept)
  assert.equal(registered['error-code'], unknown[1])
  refusedMobile(await askStatus(mobile, app.made, app.made.session), 'ORDER_NOT_FOUND', 'invoiceId is not known')
  // Its name is still taken: the same request charges nothing again, and another one is refused.
  const again = accepted(await postSale(world, soldFields))
  assert.equal(again.orderid, sold.orderid)
  assert.deepEqual(codeOf(await statusOf(world, again)), unknown)
  refused(await sale(world, { client_orderid: sold.client_orderid, amount: '7.00' }), 11)
  const charged = accepted(await rebill(world, ref))
  assert.equal((await settled(world, charged)).status, 'approved')
  assert.equal((await settled(world, await order(world))).status, 'approved')
})

const names = () => readdirSync(files).sort()
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('an export has every row, no card number in clear, and is written once', async () => {
  stays(await partitions('drop', '--from', files), /Partition 0 is not dropped: it is not exported/)
  assert.match(done(await partitions('export', '--to', files)), /^Partition 0 is now in .*, with 4 orders\.\n$/)
  assert.equal(await stateOf(0), 'exported')
  const { tables } = JSON.parse(readFileSync(join(files, 'p0.manifest.json'), 'utf8')) as {
    tables: { table: string; file: string; rows: number; sha256: string; columns: { name: string }[] }[]
  }
  assert.deepEqual(names(), [...tables.map(({ file }) => file), 'p0.manifest.json'].sort())
  chmodSync(directory, 0o711)
  for (const { table, file, rows, sha256, columns } of tables) {
    const bytes = readFileSync(join(files, file))
    assert.equal(statSync(join(files, file)).mode & 0o777, 0o600)
    assert.equal(hash(bytes), sha256)
    const plain = join(directory, `${table}.copy`)
    writeFileSync(plain, gunzipSync(bytes), { mode: 0o644 })
    assert.doesNotMatch(readFileSync(plain, 'utf8'), /4111111111111111|5555555555554444/)
    await sql(`create table again (like ${table}_p0 including generated)`)
    await sql(`copy again (${columns.map(({ name }) => name).join(', ')}) from '${plain}'`)
    for (const [these, those] of [
      [`${table}_p0`, 'again'],
      ['again', `${table}_p0`],
    ])
      assert.deepEqual(await sql(`select t::text from ${these} t except all select t::text from ${those} t`), [], table)
    assert.deepEqual(await sql('select count(*)::int as rows from again'), [{ rows }])
    await sql('drop table again')
  }
  const written = () => names().map((name) => [name, statSync(join(files, name)).mtimeMs])
  const first = written()
  assert.match(done(await partitions('export', '--to', files)), /^Partition 0 was already in/)
  assert.deepEqual(written(), first)
})

const file = (name: string) => join(files, name)
function altered(name: string, alter: (path: string) => void): () => void {
  const bytes = readFileSync(file(name))
  alter(file(name))
  return () => writeFileSync(file(name), bytes)
}
/** A good archive, of an order with another amount. */
const rewrite = (path: string) =>
  writeFileSync(path, gzipSync(gunzipSync(readFileSync(path)).toString('utf8').replace('\t10.50\t', '\t10.51\t')))
const spoiled: readonly [what: string, spoils: () => (() => void) | Promise<() => unknown>, says: RegExp][] = [
  ['a file was rewritten', () => altered('orders_p0.copy.gz', rewrite), /orders_p0\.copy\.gz is not the file that was written/],
  [
    'a file has more',
    () => altered('request_p0.copy.gz', (path) => appendFileSync(path, 'x')),
    /is not the file that was written/,
  ],
  ['a file is missing', () => altered('attempt_p0.copy.gz', (path) => rmSync(path)), /attempt_p0\.copy\.gz is missing/],
  [
    'the manifest was altered',
    () => altered('p0.manifest.json', (path) => appendFileSync(path, ' ')),
    /not the last one written/,
  ],
  ['the manifest is missing', () => altered('p0.manifest.json', (path) => rmSync(path)), /its manifest is not in that directory/],
  [
    'the table was altered',
    async () => {
      await sql(`update orders_p0 set amount_minor = amount_minor + 1`)
      return () => sql(`update orders_p0 set amount_minor = amount_minor - 1`)
    },
    /orders_p0 has other rows than the export/,
  ],
]
for (const [what, spoils, says] of spoiled)
  test(`nothing is dropped where ${what}`, async () => {
    const mend = await spoils()
    stays(await partitions('drop', '--from', files, '--yes'), says)
    assert.equal(await stateOf(0), 'exported')
    await mend()
  })

test('a damaged export can be made again', async () => {
  altered('orders_p0.copy.gz', rewrite)
  writeFileSync(file('delivery_p0.copy.gz.part'), 'of an export that was interrupted')
  assert.match(done(await partitions('export', '--to', files)), /^Partition 0 is now in/)
  assert.equal(names().length, 9)
})

test('only proven partitions are dropped, on request; the rest stays, and the trail has each step', async () => {
  assert.equal(done(await partitions('drop', '--from', files)), 'Can be dropped: partition 0. To do it, add --yes.\n')
  assert.equal(await stateOf(0), 'exported')
  assert.equal(done(await partitions('drop', '--from', files, '--yes')), 'Dropped partition 0.\n')
  assert.equal(await stateOf(0), undefined)
  assert.deepEqual(await sql(`select relname from pg_class where relname ~ '_p0($|_)'`), [])
  assert.equal(done(await partitions('drop', '--from', files, '--yes')), 'No partition is detached.\n')
  assert.equal(names().length, 9)
  assert.equal((await sql('select from order_key where client_orderid = $1', [sold.client_orderid])).length, 1)
  const charged = accepted(await rebill(world, ref))
  assert.equal((await settled(world, charged)).status, 'approved')
  assert.equal((await run({ TOLLGATE_DIR: world.directory }, ['audit', 'verify'])).code, 0)
  const trail = await sql<{ who: string; action: string }>(
    `select who, action from audit where subject = 'partition 0' order by no`,
  )
  assert.ok(trail.every(({ who }) => who.startsWith(`${actor} (`)))
  assert.deepEqual(
    trail.map(({ action }) => action.replace('partitions ', '')),
    ['detach', 'attached', 'detach', 'detach', 'detached', 'export', 'exported', 'export', 'exported', 'drop'],
  )
  const refusals = await sql(`select from audit where action = 'refused' and details->>'reason' like 'partitions %'`)
  assert.ok(refusals.length >= needs.length + spoiled.length)
})
