import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, settled } from '../../conformance/requests/client.ts'
import { approved, followed } from '../../conformance/operations/operations.ts'
import { query } from '../../harness/postgres/embedded.ts'
import { holds } from '../../harness/clock/until.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

/** `reconcile` with records that the acquirer might send, and no gateway running. */

const world = await openWorld({ own: true })
const declined = await order(world, { cvv2: '116' })
await settled(world, declined)
const sold = await approved(world, 'sale')
const voided = await approved(world, 'preauth')
await followed(world, 'void', voided)
const record = await (await fetch(`${world.acquirerAdminUrl}/ledger/record.csv`)).text()
await world.halt()

type Line = Record<string, string>
const [heading, ...texts] = record.trim().split('\n')
const names = heading!.split(',')
const lines = texts.map((text): Line => Object.fromEntries(text.split(',').map((value, i) => [names[i]!, value])))
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

const env = { DATABASE_URL: world.databaseUrl, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') }
const reconcile = (input: string, ...args: string[]) =>
  run(env, ['reconcile', '-', '--gate', 'sandbox acquirer', '--endpoint', String(world.endpoints.plain), ...args], input)
const rows = async (sql: string) => (await query(world.databaseUrl, sql)).map((row) => Object.values(row).map(String).join(' '))
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

test('a record that fits is in agreement: approved, declined, and voided, which is reversed there', async () => {
  await nothingChanged(async () => {
    const { code, out } = await reconcile(record)
    assert.equal(code, 0, out)
    assert.match(out, /^3 operations of gate 1 \(sandbox acquirer\) from .*: 3 agree, 0 are open here, 0 differ\.$/m)
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
  assert.equal((await run(env, ['backup', 'check'])).code, 0)
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
  ['a capture of an unknown payment',    () => lost({ kind: 'capture' }),                                  'reverse', /the payment that it draws on is not here/],
  ['a return of more than was captured', () => lost({ kind: 'return', order_id: sold.orderid, amount_minor: '9999' }), 'reverse', /more captured or returned than it has/],
  ['a payment of an order that is here', () => lost({ order_id: declined.orderid }),                       'import',  /its order is here/],
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
  test(`a record agrees as it was saved: ${how}`, async () => {
    const { code, out, err } = await reconcile(save(csv(lines)))
    assert.equal(code, 0, out + err)
    assert.match(out, /3 agree/)
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
  [{ time: '260231120000' },      /line 2: time is "260231120000", which is no day of a calendar/],
  [{ terminal: 'OTHER' },         /no line of terminal \S+ in that time: of 1 lines/],
]
for (const [changes, why] of refused)
  test(`a record is refused with its line: ${JSON.stringify(changes)}`, async () => {
    const { code, err } = await reconcile(csv([lost(changes)]))
    assert.equal(code, 2)
    assert.match(err, why)
  })

test('what was settled under short RRNs gets out; what fits no message is parked at once, and doctor says so', async () => {
  const unfit = await reconcile(csv([...lines, lost({ stan: '700003', rrn: '7000003', order_id: '1000951' })]), '--reverse')
  assert.equal(unfit.code, 0, unfit.out + unfit.err)
  const preauth = csv([...lines, lost({ kind: 'preauth', stan: '700002', rrn: '7000002', order_id: '1000950' })])
  const imported = await reconcile(preauth, '--import')
  assert.equal(imported.code, 0, imported.out + imported.err)
  // As an older version took them over.
  await query(world.databaseUrl, `update orders set rrn = '901' where stan = '990001'`)
  await query(world.databaseUrl, `update orders set rrn = '1.00062E+05' where stan = '700003'`)
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
