import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { order, settled } from '../../conformance/requests/client.ts'
import { miscounts } from '../../harness/postgres/minute-counts.ts'
import { ends, openMobile } from '../../conformance/mobile/mobile.ts'
import { approved, followed, part } from '../../conformance/operations/operations.ts'
import { holds } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

/**
 * `backup check` and `reconcile` on a database without a gateway, as a restored copy is; the latter
 * with records that the acquirer might send.
 */

const world = await openWorld({ own: true })
const mobile = await openMobile(world)
closing(mobile.shop)
const [declined, sold, voided] = await Promise.all([
  order(world, { cvv2: '116' }),
  approved(world, 'sale'),
  approved(world, 'preauth'),
  approved(world, 'account-verification'),
  approved(world, 'sale').then((made) => followed(world, 'return', made, part('4.00'))),
  approved(world, 'preauth').then(async (made) => {
    await followed(world, 'capture', made, part('4.00'))
    await followed(world, 'return', made, part('1.00'))
  }),
  ends(mobile, 'APPROVED', 'transfer'),
])
await settled(world, declined)
await followed(world, 'void', voided)
const record = await (await fetch(`${world.acquirerAdminUrl}/ledger/record.csv`)).text()
await world.halt()
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const env = { DATABASE_URL: world.databaseUrl, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') }
const check = (...args: string[]) => run(env, ['backup', 'check', ...args])

test('a whole copy passes, and says of which moment it is and what is in it', async () => {
  const { code, out } = await check('--all')
  assert.equal(code, 0, out)
  assert.match(out, /moment +the newest row is of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/)
  assert.match(out, /orders 7, transactions 12, /)
  assert.match(out, /order_facts\.pan_sealed: 7 rows opened/)
  assert.match(out, /The copy is whole\.\n$/)
  assert.deepEqual((JSON.parse((await check('--json')).out) as { whole: boolean }).whole, true)
})

//   damage, what undoes it, what is found
// oxfmt-ignore
const damage: readonly (readonly [done: string, undone: string, found: RegExp])[] = [
  [`update orders set captured_minor = captured_minor - 1 where captured_minor > 500`, `update orders set captured_minor = captured_minor + 1 where captured_minor > 500`, /books +the captured or returned amount is not the sum/],
  [`update transaction set amount_minor = amount_minor + 1 where kind = 'return'`, `update transaction set amount_minor = amount_minor - 1 where kind = 'return'`, /not the sum .* in 2 orders/],
  [`create table kept as select * from order_event where event_no = 1; delete from order_event where event_no = 1`, `insert into order_event select * from kept; drop table kept`, /books +transactions, attempts, events .* missing/],
  [`create table kept as select * from transaction where kind = 'void'; delete from transaction where kind = 'void'`, `insert into transaction select * from kept; drop table kept`, /books +transactions, attempts, events .* missing/],
  [`update orders set state = 'settled' where state = 'declined'`, `update orders set state = 'declined' where state = 'settled'`, /a state, step or status is unknown to this version/],
  [`update orders set status = 'approved' where status = 'declined'`, `update orders set status = 'declined' where state = 'declined'`, /a state, step or status is unknown to this version/],
  [`update transaction set state = 'declined' where kind = 'capture'`, `update transaction set state = 'approved' where kind = 'capture'`, /differs from that of its last event/],
  [`update attempt set outcome = 'declined' where outcome = 'approved'`, `update attempt set outcome = 'approved' where outcome = 'declined'`, /an approval has no approved attempt at the acquirer/],
  [`update id_block set next_id = next_id - 1000000 where name = 'order'`, `update id_block set next_id = next_id + 1000000 where name = 'order'`, /the next order id is \d+, but \d+ was used already/],
  [`update id_block set next_id = next_id - 1000 where name = 'attempt'`, `update id_block set next_id = next_id + 1000 where name = 'attempt'`, /the next attempt id is \d+, but \d+ was used already/],
  [`update id_block set name = 'gates' where name = 'gate'`, `update id_block set name = 'gate' where name = 'gates'`, /the row of gate ids is missing/],
  [`update id_block set name = 'tokens' where name = 'token'`, `update id_block set name = 'token' where name = 'tokens'`, /the row of token ids is missing/],
  [`update audit set who = who || 'x' where no = 1`, `update audit set who = left(who, -1) where no = 1`, /audit trail +Row 1 .* was changed/],
  [`update order_facts set pan_sealed = set_byte(pan_sealed, 30, 255 - get_byte(pan_sealed, 30))`, `update order_facts set pan_sealed = set_byte(pan_sealed, 30, 255 - get_byte(pan_sealed, 30))`, /order_facts\.pan_sealed: 7 of 7 rows cannot be opened: 1\/1\d+/],
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

type Line = Record<string, string>
const [heading, ...texts] = record.trim().split('\n')
const names = heading!.split(',')
const lines = texts.map((text): Line => Object.fromEntries(text.split(',').map((value, i) => [names[i]!, value])))
/** All of them were of gate 1. */
const count = lines.length
const lineOf = ({ orderid }: { orderid: string }): Line => lines.find((line) => line.order_id === orderid)!
const csv = (all: readonly Line[]) =>
  [names.join(','), ...all.map((line) => names.map((name) => line[name]).join(','))].join('\n')
/** A payment of which nothing is known here. */
const lost = (changes: Line = {}): Line => ({
  ...lineOf(sold),
  stan: '990001',
  rrn: '000000000901',
  order_id: '1000900',
  ...changes,
})

const reconcile = (input: string, ...args: string[]) =>
  run(env, ['reconcile', '-', '--gate', 'sandbox acquirer', '--endpoint', String(world.endpoints.plain), ...args], input)
const rows = async (sql: string) =>
  (await database.query<object>(sql)).rows.map((row) => Object.values(row).map(String).join(' '))
const everything = async () => ({
  orders: await rows(`select order_id, version, status from orders order by 1`),
  ids: await rows(`select name, next_id from id_block order by 1`),
  audit: await rows(`select count(*) from audit`),
})
const nothingChanged = async (work: () => Promise<unknown>) => {
  const before = await everything()
  await work()
  assert.deepEqual(await everything(), before)
}

test('a record that agrees is reported so: approved, declined, and voided, which is reversed at the acquirer', async () => {
  await nothingChanged(async () => {
    const { code, out } = await reconcile(record)
    assert.equal(code, 0, out)
    const told = `^${count} operations of gate 1 \\(sandbox acquirer\\) from .*: ${count} agree, 0 are open here, 0 differ\\.$`
    assert.match(out, new RegExp(told, 'm'))
  })
})

test('ids that the acquirer has seen are found, moved beyond it once, and are not drawn again', async () => {
  const line = csv([...lines, { ...lineOf(declined), stan: '990002', rrn: '000000070000', order_id: '1500000' }])
  const found = await reconcile(line)
  assert.equal(found.code, 1, found.err)
  assert.match(found.out, /has seen order ids up to 1500000, and the next one is \d+: ids would be drawn again/)
  assert.equal((await reconcile(line, '--reverse')).code, 0)
  const ids = await rows(`select next_id from id_block where name in ('order', 'attempt') order by name`)
  assert.deepEqual(ids, ['170000', '1600000'])
  await nothingChanged(async () => assert.equal((await reconcile(line, '--reverse')).code, 0))
  assert.equal((await check()).code, 0)
})

//   the record                                                            how it differs
// oxfmt-ignore
const differing: readonly (readonly [string, () => Line[], RegExp])[] = [
  ['an amount',                       () => [{ ...lineOf(sold), amount_minor: '1051' }],                   /10\.51 USD .* approved, 10\.51 USD +approved, 10\.50 USD/],
  ['declined there, approved here',   () => [{ ...lineOf(sold), outcome: 'declined' }],                    /declined +approved/],
  ['reversed there, approved here',   () => [{ ...lineOf(sold), outcome: 'reversed' }],                    /reversed +approved/],
  ['approved there, declined here',   () => [{ ...lineOf(declined), outcome: 'approved' }],                /approved +declined/],
  ['approved there, voided here',     () => [{ ...lineOf(voided), outcome: 'approved' }],                  /approved +reversed/],
  ['approved here, unknown there',    () => [lineOf(declined), lineOf(voided)],                            /unknown +approved/],
]
for (const [what, made, found] of differing)
  test(`it is found, and never settled: ${what}`, async () => {
    await nothingChanged(async () => {
      for (const how of [[], ['--reverse'], ['--import']]) {
        const { code, out } = await reconcile(csv(made()), '--from', '1h', '--to', '0', ...how)
        assert.equal(code, 1, out)
        assert.match(out, found)
      }
    })
  })

// oxfmt-ignore
const left: readonly (readonly [string, () => Line, 'reverse' | 'import', RegExp])[] = [
  ['a leg of a transfer',                () => lost({ kind: 'debit' }),                                    'reverse', /a leg of a transfer/],
  ['a check of a card',                  () => lost({ kind: 'account-verification', amount_minor: '0' }),  'reverse', /no money moved/],
  ['what is older than 30 days',         () => lost({ time: '250101120000' }),                             'reverse', /older than 30 days/],
  ['another currency',                   () => lost({ currency: '978' }),                                  'reverse', /no endpoint is named for its currency/],
  ['a capture of an unknown payment',    () => lost({ kind: 'capture' }),                                  'reverse', /the payment that it draws on is missing in the database/],
  ['a return of more than was captured', () => lost({ kind: 'return', order_id: sold.orderid, amount_minor: '9999' }), 'reverse', /above the amount of the order/],
  ['a payment of an order that is here', () => lost({ order_id: declined.orderid }),                       'import',  /its order exists/],
]
for (const [what, line, how, why] of left)
  test(`it is left to an operator: ${what}`, async () => {
    await nothingChanged(async () => {
      const { code, out } = await reconcile(csv([line()]), '--to', '0', `--${how}`)
      assert.equal(code, 1, out)
      assert.match(out, why)
    })
  })

test('a lost payment of an order that is here is reversed under an order of its own', async () => {
  const line = csv([...lines, lost({ order_id: declined.orderid })])
  const before = await everything()
  const { code, out: said, err } = await reconcile(line, '--reverse')
  assert.equal(code, 0, said + err)
  const after = await everything()
  const made = after.orders.find((one) => !before.orders.includes(one))
  assert.match(made!, /^1600000 5 unknown$/)
  assert.equal(after.orders.length, before.orders.length + 1)
  assert.deepEqual(
    await rows(`select t.kind, t.state, t.step, t.amount_minor from transaction t where order_id = ${made!.split(' ')[0]}`),
    ['reversal owed record attempt 1050'],
  )
  const { out } = await run(env, ['audit', 'list', '--about', 'reconcile reverse'])
  assert.match(out, new RegExp(`reconcile reverse +order ${made!.split(' ')[0]}`))
  await nothingChanged(async () => assert.match((await reconcile(line, '--reverse')).out, /1 is open here, 0 differ/))
})

test('a record whose RRN lost its zeros is settled under all twelve digits, and the counters move beyond it', async () => {
  const short = csv([...lines, lost({ stan: '700001', rrn: '7000001', order_id: '', currency: '840' })])
  const { code, out, err } = await reconcile(short, '--reverse')
  assert.equal(code, 0, out + err)
  assert.deepEqual(await rows(`select rrn from all_attempts where stan = '700001'`), ['000007000001'])
  assert.deepEqual(await rows(`select next_id from id_block where name = 'attempt'`), ['7100001'])
  const right = short.replace(',7000001,', ',000007000001,')
  await nothingChanged(async () => assert.match((await reconcile(right, '--reverse')).out, /1 is open here, 0 differ/))
})

// oxfmt-ignore
const saved: readonly (readonly [how: string, save: (text: string) => string])[] = [
  ['semicolons and CR LF', (text) => text.replaceAll(',', ';').replaceAll('\n', '\r\n')],
  ['headings in capitals', (text) => text.replace(/^.*/, (first) => first.toUpperCase())],
  ['a byte order mark',    (text) => `\uFEFF${text}`],
  ['cards of 9 to 12 digits as the simulated acquirer masks them', (text) => text.replaceAll(/\d{6}\*+\d{4}/g, '41***1111')],
]
for (const [how, save] of saved)
  test(`a record agrees in each saved form: ${how}`, async () => {
    const { code, out, err } = await reconcile(save(csv(lines)))
    assert.equal(code, 0, out + err)
    assert.match(out, new RegExp(`${count} agree`))
  })

test('a record without a column says which', async () => {
  const { code, err } = await reconcile(record.replace('terminal', 'tid'))
  assert.equal(code, 2)
  assert.match(err, /line 1: the column terminal is missing; there are tid, stan, /)
})

test('only the owner of the tables settles', async () => {
  const asGateway = { ...env, DATABASE_URL: world.gatewayDatabaseUrl }
  const { code, err } = await run(asGateway, ['reconcile', '-', '--gate', '1', '--reverse'], csv([lost({ stan: '990003' })]))
  assert.equal(code, 1)
  assert.match(err, /needs the owner of the tables/)
})

//   line, what is said of it
// oxfmt-ignore
const refused: readonly (readonly [Line, RegExp])[] = [
  [{ stan: '12345' },             /line 2: stan is "12345", not six digits/],
  [{ stan: '' },                  /line 2: stan is missing/],
  [{ time: '261345000000' },      /line 2: time is "261345000000", not the time of field 12/],
  [{ kind: 'purchase' },          /line 2: kind is "purchase", not one of sale, /],
  [{ outcome: 'ok' },             /line 2: outcome is "ok", not one of approved, declined, reversed/],
  [{ currency: 'XYZ' },           /line 2: currency is "XYZ", not one of ISO 4217/],
  [{ amount_minor: '10.50' },     /line 2: amount_minor is "10.50", not an amount in minor units/],
  [{ order_id: '0' },             /line 2: order_id is "0", not the order id of the gateway/],
  [{ rrn: '1.00062E+05' },        /line 2: rrn is "1.00062E\+05", not up to 12 digits, or 12 letters and digits/],
  [{ rrn: '-' },                  /line 2: rrn is "-"/],
  [{ rrn: '00000000.901' },       /line 2: rrn is "00000000\.901"/],
  [{ rrn: 'ABC901' },             /line 2: rrn is "ABC901"/],
  [{ time: '260231120000' },      /line 2: time is "260231120000", which is not a calendar day/],
  [{ terminal: 'OTHER' },         /None of the 1 lines of the record is of terminal \S+ in that time/],
]
for (const [changes, why] of refused)
  test(`a record is refused with its line: ${JSON.stringify(changes)}`, async () => {
    const { code, err } = await reconcile(csv([lost(changes)]))
    assert.equal(code, 2)
    assert.match(err, why)
  })

test('orders settled under short RRNs are sent; one that fits no message is parked, and doctor reports it', async () => {
  const unfit = await reconcile(csv([...lines, lost({ stan: '700003', rrn: '7000003', order_id: '1000951' })]), '--reverse')
  assert.equal(unfit.code, 0, unfit.out + unfit.err)
  const preauth = csv([...lines, lost({ kind: 'preauth', stan: '700002', rrn: '7000002', order_id: '1000950' })])
  const imported = await reconcile(preauth, '--import')
  assert.equal(imported.code, 0, imported.out + imported.err)
  assert.deepEqual((await database.query(miscounts.text, [null])).rows, [], 'what was taken over is counted')
  // As an older version took them over.
  await database.query(`update orders set rrn = '901' where stan = '990001'`)
  await database.query(`update orders set rrn = '1.00062E+05' where stan = '700003'`)
  await world.start()
  await followed(world, 'void', { ...sold, orderid: '1000950', client_orderid: 'restored-1000950' })

  const open = `select order_id from all_transactions where step is not null and alarm is null`
  await holds(async () => (await rows(open)).length === 0, 'all that can be sent is acknowledged')
  const { messages } = (await (await fetch(`${world.acquirerAdminUrl}/messages?limit=1000`)).json()) as {
    messages: { type: string; fields: Record<string, string> }[]
  }
  const seen = messages.map(({ type, fields }) => `${type} ${fields['37']} ${fields['39'] ?? ''}`)
  for (const rrn of ['000000000901', '000007000001', '000007000002']) assert.ok(seen.includes(`1430 ${rrn} 400`), seen.join('\n'))
  const [parked, ...others] = await rows(`select order_id, tries, alarm from all_transactions where alarm is not null`)
  assert.match(parked!, /^\d+ 1 reverse: the message cannot be packed: field 37/)
  assert.deepEqual(others, [])
  const { code, out } = await run(env, ['doctor'])
  assert.equal(code, 1)
  assert.match(out, new RegExp(`problem +transactions +parked for an operator: ${parked!.split(' ')[0]}`))
})

test('each cell is looked at by the check, and ids used in any of them count', async () => {
  await world.halt()
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
      /the next process id is \d+, but 999999 was used already/,
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
