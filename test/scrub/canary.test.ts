import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import { Client } from 'pg'
import { openLog } from '../../src/base/log.ts'
import { secret } from '../../src/base/secret.ts'
import { checkDigitHolds } from '../../src/base/luhn.ts'
import {
  accepted,
  encodePairs,
  newOrderId,
  order,
  postSale,
  sale,
  saleUrl,
  send,
  settled,
  signedSale,
  status,
  statusOf,
  statusUrl,
  type Changes,
  type Order,
} from '../conformance/client.ts'
import { startWorld, type World } from '../harness/world.ts'
import { cvv2In, openSearch, type Search } from './search.ts'

/** Card data and keys go through every operation, then are searched for wherever data stays. */

const withCheckDigit = (digits: string): string =>
  digits + '0123456789'.split('').find((digit) => checkDigitHolds(digits + digit))!
const pans = {
  usual: withCheckDigit('401288880739041'),
  longest: withCheckDigit('510510073904177310'),
  refused: withCheckDigit('400073904177310'),
}
const shortNumber = withCheckDigit('40007394')
/**
 * Declined by the sandbox. A number is never printed with a leading zero, so this matches nothing
 * by chance.
 */
const cvv2 = '0739'
const email = 'canary-0739@tollgate.example'

let world: World
let database: Client
/** Orders whose outcome is known. */
const finished: Order[] = []
let ofShortNumber: Order
let printed = ''
let search: Search
const placesOf = (text: string): Promise<string[]> => search.placesOf(text)

before(async () => {
  // New orders wait for a sweep, so that their CVV2 has to be stored for a while.
  world = await startWorld({ env: { LOG_LEVEL: 'debug', TOLLGATE_HAND_OVER: 'off' } })
  database = new Client({ connectionString: world.databaseUrl })
  await database.connect()
  search = openSearch(world, database, () => printed)
  await goThroughEverything()
})
after(async () => {
  await database?.end()
  await world?.stop()
})

const fault = (script: object) =>
  send('POST', `${world.acquirerAdminUrl}/faults`, JSON.stringify(script), { 'content-type': 'application/json' })
const card = (pan: string, changes: Changes = {}): Changes => ({ credit_card_number: pan, cvv2, email, ...changes })
const raw = (body: string | Buffer, headers: Changes = {}, path = saleUrl(world)) => send('POST', path, body, headers)
const callback = () => `${world.merchantServerUrl}/callback`

async function goThroughEverything(): Promise<void> {
  const group = { path: `group/${world.groups.multi}` }
  const taken = await Promise.all([
    order(world, card(pans.usual, { server_callback_url: callback() })),
    order(world, card(pans.longest, { cvv2: '1234', notify_url: callback() })),
    order(world, card(pans.usual, { cvv2: '1234', currency: 'EUR' }), group),
    order(world, card(pans.longest, { expire_year: '2020' })),
    order(world, card(shortNumber, { cvv2: '1234' })),
    order(world, card(pans.usual, { server_callback_url: 'http://127.0.0.1:9/' })),
  ])
  ofShortNumber = taken[4]
  await refusedInEveryWay()
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

/** Every refusal of a sale with a card in it; bodies that are no form; a field that is too long. */
async function refusedInEveryWay(): Promise<void> {
  const pan = pans.refused
  const form = encodePairs(Object.entries(signedSale(world, card(pan))))
  const again = card(pan, { client_orderid: newOrderId(), cvv2: '1234' })
  // oxfmt-ignore
  const changes: readonly Changes[] = [
    { order_desc: undefined }, { control: 'x' }, { cvv2: `${cvv2}${cvv2}` }, { cvv2: `${cvv2}x` }, { credit_card_number: `${pan}0000` }, { credit_card_number: `${pan}x` },
    { credit_card_number: ` ${pan.slice(0, 8)} ${pan.slice(8)}` }, { cardNumber: pans.usual }, { currency: 'KWD' }, { currency: 'XXY' }, { amount: pan }, { expire_month: pan },
    { server_callback_url: `http://user:${pan}@a.example/` }, { redirect_url: `ftp://a.example/${pan}` }, { ipaddress: pan }, { country: pan }, { email: pan },
  ]
  for (const change of changes) assert.equal((await sale(world, card(pan, change))).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: world.endpoints.disabled })).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: 999_999_999 })).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: world.other.endpoint })).type, 'validation-error')
  const first = signedSale(world, again)
  finished.push(accepted(await postSale(world, first)))
  accepted(await postSale(world, first))
  assert.equal((await sale(world, { ...again, amount: '11.00' })).type, 'validation-error')
  await settled(world, finished.at(-1)!)
  await Promise.all([
    raw(`${form}&x=%`),
    raw(Buffer.concat([Buffer.from(`${form}&x=`), Buffer.of(0xff)])),
    raw(form, { 'content-type': 'text/plain' }),
    raw(`${form}&cvv2=${cvv2}`),
    raw(JSON.stringify(card(pan)), { 'content-type': 'application/json' }),
    raw(`${form}&x=${'y'.repeat(3 * 1024 * 1024)}`),
    raw(form, {}, saleUrl(world, pan)),
    raw('', {}, `${saleUrl(world)}?${form}`),
    raw(form, {}, statusUrl(world)),
    raw(form, {}, `${world.baseUrl}/nowhere/${pan}`),
    raw(form, { accept: 'application/vnd.pay+json' }),
    send('GET', `${saleUrl(world)}?credit_card_number=${pan}&cvv2=${cvv2}`),
    send('GET', `${world.baseUrl}/view-receipt/${pan}/${pan}/`),
    raw(form.replace('credit_card_number=', `credit_card_number=${'1'.repeat(100_000)}`)),
  ])
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

test('the search finds a number that is in a column, in bytes, in a log or in the output', async () => {
  const log = join(world.directory, 'log', 'gateway.log')
  const planted = withCheckDigit('400000073904177')
  const kept = printed
  await database.query('create table scratch (note jsonb, bytes bytea)')
  await database.query('insert into scratch values ($1, null)', [JSON.stringify({ deep: [planted] })])
  await database.query('insert into scratch values (null, $1)', [Buffer.from(`x${pans.refused}`)])
  const untouched = readFileSync(log)
  appendFileSync(log, `{"msg":"${Buffer.from(planted).toString('base64')}"}\n`)
  printed += `at ${planted.slice(0, 4)} ${planted.slice(4, 8)} ${planted.slice(8, 12)} ${planted.slice(12)}`
  const found = [await placesOf(planted), await placesOf(pans.refused)]
  await database.query('drop table scratch')
  writeFileSync(log, untouched)
  printed = kept
  assert.deepEqual(found, [
    ['table public.scratch', `file ${join('log', 'gateway.log')}`, 'the output'],
    ['table public.scratch'],
  ])
})

test('the search reads the tables of orders and cards, the finest log, and the ledger of the acquirer', async () => {
  const places = await search.everything()
  const content = (name: RegExp) =>
    [...places]
      .filter(([place]) => name.test(place))
      .map(([, text]) => text)
      .join('')
  for (const { orderid } of finished)
    for (const table of [/table .*orders_p/, /table .*order_facts_p/]) assert.ok(content(table).includes(orderid), String(table))
  assert.match(content(/gateway\.log/), /"level":20.*to the acquirer/)
  assert.ok(content(/acquirer-ledger/).includes(finished[0]!.orderid))
  assert.ok(content(/^the output/).length > 0)
})

for (const [which, pan] of Object.entries(pans))
  test(`the card number of ${which} cards is nowhere in clear`, async () => {
    assert.deepEqual(await placesOf(pan), [])
  })

test('a CVV2 is nowhere in clear', async () => {
  for (const [name, content] of await search.everything()) {
    assert.equal(cvv2In(content, cvv2), undefined, name)
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
  for (const place of await placesOf(email)) assert.match(place, /^table public\.order/)
})

test('a Secret prints as stars whichever way it is printed', () => {
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
