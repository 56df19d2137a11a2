import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { openLog } from '../../src/base/log.ts'
import { secret } from '../../src/base/secret.ts'
import { cardNumber, newOrderId, order, send, settled, status, statusOf, type Order } from '../conformance/requests/client.ts'
import { closing, openWorld } from '../harness/world/opening.ts'
import { openReceiver } from '../harness/world/receiver.ts'
import { until } from '../harness/clock/until.ts'
import { run } from '../wire/operator/cli-run.ts'
import { card, cvv2, email, pans, shortNumber } from './cards.ts'
import { refusedInEveryWay } from './refusals.ts'
import { cvv2In, cvv2InTables, openSearch, type Search } from './search.ts'

/** Card data and keys go through every operation, then are searched for wherever data stays. */

const merchant = closing(await openReceiver(() => 200))
const callback = `${merchant.origin}/callback`
// A PostgreSQL of its own, whose files are searched too. New orders wait for a sweep, so that their
// CVV2 has to be stored for a while.
const world = await openWorld({ embedded: true, env: { LOG_LEVEL: 'debug', TOLLGATE_HAND_OVER: 'off' } })
const database = closing(new Client({ connectionString: world.databaseUrl }))
/** Orders whose outcome is known. */
const finished: Order[] = []
let ofShortNumber: Order
let printed = ''
/** What commands print, by their words. */
let told: ReadonlyMap<string, string> = new Map()
const received = () =>
  merchant
    .calls('/callback')
    .map((call) => JSON.stringify([call.raw, call.headers]))
    .join('\n')
const search: Search = openSearch(
  world,
  database,
  () => printed,
  () => [...told, ['a callback', received()]],
)
/** The places after everything was done. */
let all: ReadonlyMap<string, string>
const placesOf = (text: string): Promise<string[]> => search.placesOf(text, all)
/** Where the database keeps tables, and its write-ahead log. */
const inTables = /^file postgres.base/
const inWal = /^file postgres.pg_wal/

before(async () => {
  await database.connect()
  await goThroughEverything()
  told = await everyCommand()
  await database.query('checkpoint')
  all = await search.everything()
})

const fault = (script: object) =>
  send('POST', `${world.acquirerAdminUrl}/faults`, JSON.stringify(script), { 'content-type': 'application/json' })

async function goThroughEverything(): Promise<void> {
  const group = { path: `group/${world.groups.multi}` }
  const taken = await Promise.all([
    order(world, card(pans.usual, { server_callback_url: `${world.merchantServerUrl}/callback` })),
    order(world, card(pans.longest, { cvv2: '1234', notify_url: callback })),
    order(world, card(pans.usual, { cvv2: '1234', currency: 'EUR' }), group),
    order(world, card(pans.longest, { expire_year: '2020' })),
    order(world, card(shortNumber, { cvv2: '1234' })),
    order(world, card(pans.usual, { server_callback_url: 'http://127.0.0.1:9/' })),
  ])
  ofShortNumber = taken[4]
  finished.push(await refusedInEveryWay(world))
  for (const made of taken) await receiptOf(made)
  await crashWhileAuthorising()
  await status(world, { client_orderid: newOrderId(), credit_card_number: pans.refused, cvv2 })
  printed += world.output()
}

async function receiptOf(made: Order): Promise<void> {
  const seen = await settled(world, made)
  finished.push(made)
  if (seen['receipt-id']) await send('GET', `${world.baseUrl}/view-receipt/${seen['end-point-id']}/${seen['receipt-id']}/`)
}

async function crashWhileAuthorising(): Promise<void> {
  await fault({ match: { amount_minor: '7391' }, do: { delay_ms: 60_000 } })
  await order(world, card(pans.usual, { amount: '73.91' }))
  const waiting = await order(world, card(pans.longest, { amount: '73.92' }))
  printed += world.output()
  await world.crash()
  await settled(world, waiting)
  finished.push(waiting)
}

/** What shows an operator an order, its merchant or its messages, in words and as JSON. */
async function everyCommand(of = finished, actor = 'canary'): Promise<Map<string, string>> {
  const lines = [
    ...of.map(({ orderid }) => `order show ${orderid}`),
    'order find --limit 100',
    'delivery list --limit 100',
    'access --limit 100',
    'invoice find',
    'cards forget',
    'merchant list',
    'endpoint list',
    'gate list',
    'keys list',
    'doctor',
    'audit list --limit 100',
    'audit head',
    'audit verify',
  ]
  const printedBy = new Map<string, string>()
  for (const line of lines)
    for (const words of line === 'audit head' ? [line] : [line, `${line} --json`]) {
      const { code, out, err } = await run({ TOLLGATE_DIR: world.directory, TOLLGATE_ACTOR: actor }, words.split(' '))
      assert.equal(code, 0, `${words}: ${err}`)
      printedBy.set(`tollgate ${words}`, out + err)
    }
  return printedBy
}

test('the search finds a number that is in a column, in bytes, in a log or in the output', async () => {
  const log = join(world.directory, 'log', 'gateway.log')
  const numbers = ['1', '2', '3', '4'].map((digit) => cardNumber(`40000007390417${digit}`))
  const [inJson, inBytes, inBigint, inNumeric] = numbers
  const planted = cardNumber('400000073904177')
  const kept = printed
  await database.query('create table scratch (note jsonb, bytes bytea, big bigint, sum numeric, code text)')
  await database.query('insert into scratch values ($1, $2, $3, $4, $5)', [
    JSON.stringify({ deep: [inJson] }),
    Buffer.from(`x${inBytes}`),
    inBigint,
    inNumeric,
    '0738',
  ])
  await database.query('checkpoint')
  const untouched = readFileSync(log)
  appendFileSync(log, `{"msg":"${Buffer.from(planted).toString('base64')}"}\n`)
  printed += `at ${planted.slice(0, 4)} ${planted.slice(4, 8)} ${planted.slice(8, 12)} ${planted.slice(12)}`
  const places = await search.everything()
  await database.query('drop table scratch')
  await database.query('checkpoint')
  writeFileSync(log, untouched)
  printed = kept
  assert.deepEqual(await search.placesOf(planted, places), [`file ${join('log', 'gateway.log')}`, 'the output'])
  for (const number of numbers) {
    const [table, ...files] = await search.placesOf(number, places)
    assert.equal(table, 'table public.scratch')
    assert.ok(files.some((file) => inTables.test(file)) && files.some((file) => inWal.test(file)), files.join())
  }
  const withCode = [...places].filter(([, content]) => cvv2InTables(content, '0738')).map(([name]) => name)
  assert.ok(withCode.some((file) => inTables.test(file)) && withCode.some((file) => inWal.test(file)), withCode.join())
  const dropped = await search.placesOf(inJson!)
  assert.ok(dropped.length > 0 && dropped.every((place) => inWal.test(place)), dropped.join())
})

test('the search finds what goes across the pages of the write-ahead log', async () => {
  const planted = `across-${newOrderId()} `.repeat(1_000)
  await database.query(`select pg_logical_emit_message(false, 'canary', $1)`, [planted])
  await database.query('checkpoint')
  const places = await search.placesOf(planted)
  assert.ok(places.length > 0 && places.every((place) => inWal.test(place)), places.join())
})

test('the search finds the name of an order in callbacks and in what commands print', async () => {
  const planted = `planted-${newOrderId()}`
  const made = await order(world, card(pans.usual, { cvv2: '1234', client_orderid: planted, server_callback_url: callback }))
  await settled(world, made)
  await until(received, (text) => text.includes(planted))
  await database.query(
    `insert into access_refused (hour, login, endpoint, operation, address, reason, count, first_at, last_at)
     values (date_trunc('hour', now()), $1, '1', 'sale', '127.0.0.1', 'planted', 1, now(), now())`,
    [planted],
  )
  const printedNow = await everyCommand([made], planted)
  const places = new Map([...printedNow, ['a callback', received()]])
  assert.deepEqual((await search.placesOf(planted, places)).toSorted(), [
    'a callback',
    ...['access --limit 100', 'audit list --limit 100', 'order find --limit 100', `order show ${made.orderid}`].flatMap(
      (words) => [`tollgate ${words}`, `tollgate ${words} --json`],
    ),
  ])
  assert.ok((await search.placesOf(made.orderid, places)).includes('tollgate delivery list --limit 100 --json'))
})

test('the search reads the tables of orders and cards, the finest log, and the ledger of the acquirer', async () => {
  const content = (name: RegExp) =>
    [...all]
      .filter(([place]) => name.test(place))
      .map(([, text]) => text)
      .join('')
  for (const { orderid } of finished)
    for (const table of [/table .*orders_p/, /table .*order_facts_p/]) assert.ok(content(table).includes(orderid), String(table))
  assert.match(content(/gateway\.log/), /"level":"debug".*to the acquirer/)
  assert.ok(content(/acquirer-ledger/).includes(finished[0]!.orderid))
  assert.ok(content(/^the output/).length > 0)
})

for (const [which, pan] of Object.entries(pans))
  test(`the card number of ${which} cards is nowhere in clear`, async () => {
    assert.deepEqual(await placesOf(pan), [])
  })

test('a CVV2 is nowhere in clear', async () => {
  for (const [name, content] of all) {
    assert.equal((name.startsWith('file postgres') ? cvv2InTables : cvv2In)(content, cvv2), undefined, name)
    assert.ok(!name.startsWith('table') || !content.includes(`\\x${Buffer.from(cvv2).toString('hex')}`), name)
  }
})

test('no sealed CVV2 is kept of an order that has its outcome, or has been sent', async () => {
  const kept = await database.query<{ order_id: string; state: string }>(
    `select order_id, t.state from order_facts c join all_transactions t using (merchant_id, order_id)
     where c.cvv2_sealed is not null and t.transaction_no = 1 and t.state not in ('filtering', 'ready')`,
  )
  assert.deepEqual(kept.rows, [])
})

test('a card number that is too short never shows its first six and last four digits together', async () => {
  const seen = await statusOf(world, ofShortNumber)
  const shown = `${seen['bin'] ?? ''}${seen['last-four-digits'] ?? ''}`
  assert.ok(shown.length <= shortNumber.length - 3, `${shown.length} digits of ${shortNumber.length} are shown`)
})

test('no control key is outside sandbox.json, but for what is printed to the person at the terminal', async () => {
  assert.deepEqual(await placesOf(world.other.controlKey), [])
  assert.deepEqual(
    (await placesOf(world.merchant.controlKey)).filter((place) => place !== 'the output'),
    [],
  )
})

test('the master key is in its file only, in whatever spelling', async () => {
  const text = readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8').trim()
  assert.deepEqual(await placesOf(text), [])
  assert.deepEqual(await placesOf(Buffer.from(text, 'base64').toString('latin1')), [])
  assert.deepEqual(await placesOf(Buffer.from(text, 'base64').toString('hex')), [])
})

test('an e-mail address is in the order and in no log', async () => {
  for (const place of await placesOf(email))
    assert.ok(/^table public\.order|^tollgate order/.test(place) || inTables.test(place) || inWal.test(place), place)
})

test('a Secret prints as stars, in every way of printing', () => {
  const hidden = secret(pans.usual)
  const ways = [
    String(hidden),
    ['', hidden].join('a'),
    JSON.stringify({ hidden }),
    inspect(hidden),
    inspect({ deep: [hidden] }),
    [hidden].join(),
    JSON.stringify(Object.entries(hidden)),
  ]
  for (const text of ways) assert.ok(!text.includes(pans.usual.slice(4, 12)), text)
})

// oxfmt-ignore
const lines: readonly (readonly [string, (pan: string) => string])[] = [
  ['alone',                        (pan) => pan],
  ['in quotes and brackets',       (pan) => `("${pan}")`],
  ['right after a letter',         (pan) => `card${pan}`],
  ['right before a letter',        (pan) => `${pan}and`],
  ['in a form',                    (pan) => `credit_card_number=${pan}&cvv2=`],
  ['in a form that is in a form',  (pan) => `query=card%3D${pan}%26`],
  ['in a path with blanks',        (pan) => `/pay%20${pan}`],
  ['after a control character',    (pan) => `\b${pan}\f${pan}\n${pan}`],
  ['with blanks between groups',   (pan) => pan.replace(/(.{4})(?=.)/g, '$1 ')],
  ['with dashes between groups',   (pan) => pan.replace(/(.{4})(?=.)/g, '$1-')],
]
for (const [what, line] of lines)
  test(`the second net: a card number in a log line is cut, ${what}`, () => {
    let written = ''
    const log = openLog({ level: 'info', destination: { write: (text) => void (written += text) } })
    log.info({ reason: line(pans.usual) }, 'x')
    assert.ok(written.includes('"reason"'))
    assert.ok(!written.replace(/[ -]/g, '').includes(pans.usual), written)
  })
