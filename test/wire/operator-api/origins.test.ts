import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// How callbacks stand by the server that they go to. No gateway runs, so rows stay as they are.

const { url: databaseUrl } = closing(await migratedDatabase())
const api = closing(await startOwnApi({ databaseUrl, keyFile: keyFileIn(openDirectory('origins')) }))
for (const login of ['shop', 'other']) await api.tell(['merchant', 'add', '--login', login, '--name', login])
const database = closing(new Client({ connectionString: databaseUrl }))
await database.connect()

let made = 0
/** A callback; times are minutes ago. */
async function callback(login: string, origin: string, state: string, ago: number, more: Record<string, unknown> = {}) {
  const all = { due: null, lease: null, done: null, duration: null, ...more }
  await database.query(
    `insert into delivery (merchant_id, order_id, delivery_no, transaction_no, kind, url, origin, state, created_at, due_at,
      lease, done_at, duration_ms, http_status)
    select merchant_id, 1, $2, 1, 'callback', $3 || '/cb', $3, $4, now() - $5::int * interval '1 min',
      now() - $6::int * interval '1 min', $7, now() - $8::int * interval '1 min', $9, $9 * 0 + 200
    from merchant where login = $1`,
    [login, ++made, origin, state, ago, all.due, all.lease, all.done, all.duration],
  )
  return made
}
const failed = (no: number, ago: number, status: number | null, failure: string | null, answer: string | null) =>
  database.query(
    `insert into delivery_attempt (merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure, answer)
    select merchant_id, 1, $1, (select count(*) + 1 from delivery_attempt where delivery_no = $1),
      now() - $2::int * interval '1 min', 5, $3, $4, $5 from delivery where delivery_no = $1`,
    [no, ago, status, failure, answer],
  )

const bad = 'https://bad.example'
const first = await callback('shop', bad, 'due', 300, { due: 2 })
await callback('shop', bad, 'due', 200, { due: -5 })
await callback('shop', bad, 'due', 10, { due: 1, lease: 7 })
await callback('shop', bad, 'delivered', 20, { done: 20, duration: 5 })
await callback('shop', bad, 'delivered', 240, { done: 240, duration: 5 })
await callback('shop', bad, 'given up', 250)
await failed(first, 120, 500, null, 'too long ago')
await failed(first, 30, null, 'timeout: no answer', null)
await failed(first, 3, 502, null, '')
await callback('shop', 'https://good.example', 'delivered', 5, { done: 5, duration: 5 })
await callback('other', bad, 'due', 1, { due: 1 })

interface Origin {
  merchant: string
  origin: string
  oldest_at: string
  failed_at: string
  paused_in: number | null
  paused_until: string | null
}
const ask = async (body: object, merchant?: string): Promise<Origin[]> => {
  const { token } = await api.tokenFor('auditor', merchant)
  return (await api.ask('delivery/origins', body, { token })).json['origins'] as Origin[]
}
const counts = (due: number, held: number, delivered: number, given: number, tries: number) => ({
  due,
  held_back: held,
  delivered,
  given_up: given,
  failed_tries: tries,
})
const timeless = (all: Origin[]) => all.map(({ oldest_at: _o, failed_at: _f, paused_in: _i, paused_until: _u, ...one }) => one)

test('servers with callbacks due, held back or failed within the hour are listed, and healthy ones left out', async () => {
  const all = await ask({})
  assert.deepEqual(timeless(all), [
    { merchant: 'shop', origin: bad, ...counts(3, 1, 1, 0, 2), failure: 'answered 502' },
    { merchant: 'other', origin: bad, ...counts(1, 1, 0, 0, 0), failure: null },
  ])
  const { oldest_at: oldest } = all[0]!
  assert.ok(Math.abs(Date.now() - Date.parse(oldest) - 300 * 60_000) < 60_000, oldest)
})

test('with a time, the callbacks that were owed since then are counted, earlier ones are not', async () => {
  assert.deepEqual(timeless(await ask({ origin: bad, from: '260min', merchant: 'shop' })), [
    { merchant: 'shop', origin: bad, ...counts(2, 0, 2, 1, 2), failure: 'answered 502' },
  ])
  assert.deepEqual(timeless(await ask({ origin: bad, from: '260min', to: '230min', merchant: 'shop' })), [
    { merchant: 'shop', origin: bad, ...counts(0, 0, 1, 1, 2), failure: 'answered 502' },
  ])
})

test('the breaker of a server, as processes that are alive have noted it', async () => {
  const until = Date.parse('2100-01-01T00:00:00Z')
  const beat = (id: number, ago: number, login: string, end: number) =>
    database.query(
      `insert into heartbeat (process_id, instance, started_at, beat_at, paused_origins)
      select $1::bigint, $1::text, now(), now() - $2::int * interval '1 second',
        json_build_array(json_build_object('merchantId', merchant_id::text, 'origin', $4::text, 'until', $5::bigint))
      from merchant where login = $3`,
      [id, ago, login, bad, end],
    )
  await beat(1, 0, 'shop', until - 60_000)
  await beat(2, 0, 'shop', until)
  await beat(3, 5, 'shop', until + 60_000)
  await beat(4, 0, 'other', 1_000)
  const paused = (await ask({})).map((one) => [one.merchant, one.paused_in, one.paused_until])
  assert.deepEqual(paused, [
    ['shop', 2, '2100-01-01T00:00:00.000Z'],
    ['other', 1, '1970-01-01T00:00:01.000Z'],
  ])
})

test('a user of one merchant sees those of this merchant alone', async () => {
  assert.deepEqual(
    (await ask({}, 'other')).map(({ merchant }) => merchant),
    ['other'],
  )
})
