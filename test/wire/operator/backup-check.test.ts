import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { order, settled } from '../../conformance/requests/client.ts'
import { ends, openMobile } from '../../conformance/mobile/mobile.ts'
import { approved, followed, part } from '../../conformance/operations/operations.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

/** `backup check` on a database without a gateway, as a restored copy is. */

const world = await openWorld({ own: true })
const mobile = await openMobile(world)
closing(mobile.shop)
await Promise.all([
  order(world, { cvv2: '116' }).then((made) => settled(world, made)),
  approved(world, 'account-verification'),
  approved(world, 'sale').then((made) => followed(world, 'return', made, part('4.00'))),
  approved(world, 'preauth').then(async (made) => {
    await followed(world, 'capture', made, part('4.00'))
    await followed(world, 'return', made, part('1.00'))
  }),
  approved(world, 'preauth').then((made) => followed(world, 'void', made)),
  ends(mobile, 'APPROVED', 'transfer'),
])
await world.halt()
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const env = { DATABASE_URL: world.databaseUrl, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') }
const check = (...args: string[]) => run(env, ['backup', 'check', ...args])

test('a whole copy passes, and says of which moment it is and what is in it', async () => {
  const { code, out } = await check('--all')
  assert.equal(code, 0, out)
  assert.match(out, /moment +the newest row is of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/)
  assert.match(out, /orders 6, transactions 11, /)
  assert.match(out, /order_facts\.pan_sealed: 6 rows opened/)
  assert.match(out, /The copy is whole\.\n$/)
  assert.deepEqual((JSON.parse((await check('--json')).out) as { whole: boolean }).whole, true)
})

//   damage, what undoes it, what is found
// oxfmt-ignore
const damage: readonly (readonly [done: string, undone: string, found: RegExp])[] = [
  [`update orders set captured_minor = captured_minor - 1 where captured_minor > 500`, `update orders set captured_minor = captured_minor + 1 where captured_minor > 500`, /books +what was captured or returned is not the sum/],
  [`update transaction set amount_minor = amount_minor + 1 where kind = 'return'`, `update transaction set amount_minor = amount_minor - 1 where kind = 'return'`, /not the sum .* in 2 orders/],
  [`create table kept as select * from order_event where event_no = 1; delete from order_event where event_no = 1`, `insert into order_event select * from kept; drop table kept`, /books +transactions, attempts, events .* missing/],
  [`create table kept as select * from transaction where kind = 'void'; delete from transaction where kind = 'void'`, `insert into transaction select * from kept; drop table kept`, /books +transactions, attempts, events .* missing/],
  [`update orders set state = 'settled' where state = 'declined'`, `update orders set state = 'declined' where state = 'settled'`, /a state, step or status that this version does not know/],
  [`update orders set status = 'approved' where status = 'declined'`, `update orders set status = 'declined' where state = 'declined'`, /a state, step or status that this version does not know/],
  [`update transaction set state = 'declined' where kind = 'capture'`, `update transaction set state = 'approved' where kind = 'capture'`, /another state than its last event/],
  [`update attempt set outcome = 'declined' where outcome = 'approved'`, `update attempt set outcome = 'approved' where outcome = 'declined'`, /an approval has no attempt that the acquirer approved/],
  [`update id_block set next_id = next_id - 1000000 where name = 'order'`, `update id_block set next_id = next_id + 1000000 where name = 'order'`, /the next order id is \d+, and \d+ is used already/],
  [`update id_block set next_id = next_id - 1000 where name = 'attempt'`, `update id_block set next_id = next_id + 1000 where name = 'attempt'`, /the next attempt id is \d+, and \d+ is used already/],
  [`update id_block set name = 'gates' where name = 'gate'`, `update id_block set name = 'gate' where name = 'gates'`, /the row of gate ids is missing/],
  [`update audit set who = who || 'x' where no = 1`, `update audit set who = left(who, -1) where no = 1`, /audit trail +Row 1 .* was changed/],
  [`update order_facts set pan_sealed = set_byte(pan_sealed, 30, 255 - get_byte(pan_sealed, 30))`, `update order_facts set pan_sealed = set_byte(pan_sealed, 30, 255 - get_byte(pan_sealed, 30))`, /order_facts\.pan_sealed: 6 of 6 rows cannot be opened: 1\/1\d+/],
  [`update migration set name = '9999-later.sql' where name like '0001%'`, `update migration set name = '0001-tables.sql' where name like '9999%'`, /migrations +the database has 9999-later\.sql/],
  [`create table kept as select * from migration where name like '0001%'; delete from migration where name like '0001%'`, `insert into migration select * from kept; drop table kept`, /migrations +not applied: 0001-tables\.sql/],
]
for (const [done, undone, found] of damage)
  test(`it is found: ${done}`, async () => {
    await database.query(done)
    try {
      const { code, out, err } = await check()
      assert.equal(code, 1, out + err)
      assert.match(out, found)
      assert.match(out, /\d problems?\.\n$/)
    } finally {
      await database.query(undone)
    }
    assert.equal((await check()).code, 0)
  })

test('each cell is looked at, and ids used in any of them count', async () => {
  assert.equal((await run(env, ['cell', 'add', '1'])).code, 0)
  const cell = closing(new Client({ connectionString: world.databaseUrl, options: '-c search_path=cell_1' }))
  await cell.connect()
  const whole = await check()
  assert.equal(whole.code, 0, whole.out)
  assert.match(whole.out, /cell 1: counts +orders 0,/)
  for (const [done, undone, found] of [
    [
      `insert into heartbeat (process_id, instance, started_at, beat_at) values (999999, 'x', now(), now())`,
      `delete from heartbeat`,
      /the next process id is \d+, and 999999 is used already/,
    ],
    [`alter schema cell_1 rename to gone`, `alter schema gone rename to cell_1`, /cell 1: migrations +not applied: cell\.sql/],
  ] as const) {
    await cell.query(done)
    const broken = await check()
    await cell.query(undone)
    assert.equal(broken.code, 1, broken.out)
    assert.match(broken.out, found)
  }
})

test('a key-encryption key of another installation is found, and nothing is said of what is sealed', async () => {
  const file = join(world.directory, 'other.key')
  await writeFile(file, Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7 + 1)).toString('base64'), { mode: 0o600 })
  const { code, out } = await run({ ...env, TOLLGATE_KEY_FILE: file }, ['backup', 'check'])
  assert.equal(code, 1, out)
  assert.match(out, /keys +the key-encryption key does not open the keys of this database/)
  assert.doesNotMatch(out, /rows opened/)
})

test('the check writes nothing, not even to the audit trail', async () => {
  const written = async () => (await database.query('select count(*) as n from audit')).rows[0] as object
  const before = await written()
  await check()
  assert.deepEqual(await written(), before)
})
