import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { systemClock } from '../../src/base/clock.ts'
import { machine } from '../../src/order/machine.ts'
import { openOrderStore } from '../../src/order/store.ts'
import { migrate, migrations } from '../../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'
import { testDatabase, type TestDatabase } from '../harness/postgres.ts'
import { history } from './model-history.ts'
import { forgetAll, stored } from './model-postgres.ts'

/**
 * Random histories are written by the present version, copied into the tables of the version before
 * the wide rows, and migrated. Afterwards everything must be as the present version wrote it.
 */

const log = pino({ level: 'silent' })
const lastNarrow = '0020-parked-invoices.sql'
const databases: TestDatabase[] = []
const pools: Pool[] = []
let present: Pool
let migrated: Pool

async function openDatabase(): Promise<Pool> {
  const database = await testDatabase()
  databases.push(database)
  const pool = openPool({ url: database.url, connections: 2, use: 'admin', log })
  pools.push(pool)
  return pool
}

before(async () => {
  ;[present, migrated] = [await openDatabase(), await openDatabase()]
  await migrate(present, systemClock.now(), log)
})
after(async () => {
  for (const pool of pools) await pool.close()
  for (const database of databases) await database.close()
})

const run = (pool: Pool, sql: string, values: unknown[] = []) => pool.run(statement<Record<string, unknown>>(sql), values)

/** What the narrow tables have, as a query over the present ones. */
const narrow: Readonly<Record<string, string>> = {
  orders: 'select * from orders',
  order_facts: 'select * from order_facts',
  sealed_card: `select *, '\\x01' as fingerprint from order_facts where pan_sealed is not null`,
  transaction: 'select * from all_transactions',
  attempt: 'select * from all_attempts',
  order_event: 'select * from all_events',
  order_key: 'select * from order_key',
  request: 'select * from request',
  locator: 'select * from locator',
  delivery: 'select * from delivery',
  delivery_attempt: 'select * from all_tries',
  card_number_ref: 'select *, number_id as fingerprint from card_number_ref',
  card_reference: 'select *, number_id as fingerprint from card_reference',
  mobile_invoice: 'select * from mobile_invoice',
}

/** Everything that must be equal. First tries of older messages stay in rows of their own. */
const compared: Readonly<Record<string, string>> = {
  orders: 'select * from orders order by merchant_id, order_id',
  order_facts: 'select * from order_facts order by merchant_id, order_id',
  transaction: 'select * from transaction order by merchant_id, order_id, transaction_no',
  attempt: 'select * from attempt order by merchant_id, order_id, attempt_no',
  all_transactions: 'select * from all_transactions order by merchant_id, order_id, transaction_no',
  all_attempts: 'select * from all_attempts order by merchant_id, order_id, attempt_no',
  all_events: 'select * from all_events order by merchant_id, order_id, event_no',
  all_tries: 'select * from all_tries order by merchant_id, order_id, delivery_no, try_no',
  delivery: `select merchant_id, order_id, delivery_no, transaction_no, kind, url, origin, state, due_at, lease, tries,
    created_at, done_at from delivery order by merchant_id, order_id, delivery_no`,
  card_number_ref: 'select * from card_number_ref order by merchant_id, number_id',
  card_reference: 'select * from card_reference order by merchant_id, card_ref_id',
  // Of an older invoice nobody knows whether it has card numbers; a duty looks.
  mobile_invoice: `select to_jsonb(i) - 'has_numbers' as invoice from mobile_invoice i order by merchant_id, invoice_id`,
}

async function narrowCopy(): Promise<void> {
  const all = migrations()
  await migrate(migrated, systemClock.now(), log, all.slice(0, all.findIndex(({ name }) => name === lastNarrow) + 1))
  await run(migrated, 'create table sealed_card_p0 partition of sealed_card for values from (0) to (10000000)')
  for (const { from, to } of machine)
    await run(migrated, 'insert into legal_transition values ($1, $2) on conflict do nothing', [from, to])
  for (const [table, query] of Object.entries(narrow)) {
    const [row] = await run(present, `select coalesce(json_agg(r), '[]')::text as rows from (${query}) r`)
    await run(migrated, `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [row!['rows']])
  }
}

/** The first histories are migrated whatever is in them, later ones for what the others lack. */
const firstSeeds = 10
const mostSeeds = 100
const kinds = ['sale', 'preauth', 'account-verification', 'transfer', 'capture', 'return', 'void', 'cancel', 'credit', 'reversal']
const states =
  'ready,awaiting method,authenticating,authorising,crediting,returning,owed,reversing,unknown,approved,declined,error'

test(
  'an older database has the same orders, cards, events and messages after it was migrated',
  { timeout: 300_000 },
  async () => {
    const missing = new Set([...kinds, ...states.split(',')])
    let orders = 0
    for (let seed = 1; seed <= firstSeeds || (missing.size > 0 && seed <= mostSeeds); seed++) {
      await forgetAll(present)
      await history(seed, stored(present, seed))
      const rows = await run(present, 'select distinct kind, state from all_transactions')
      const seen = rows.flatMap((row) => [String(row['kind']), String(row['state'])]).filter((one) => missing.delete(one))
      if (seed > firstSeeds && seen.length === 0) continue
      await run(migrated, 'drop schema public cascade')
      await run(migrated, 'create schema public')
      await narrowCopy()
      await migrate(migrated, systemClock.now(), log)
      for (const [what, query] of Object.entries(compared))
        assert.deepEqual(await run(migrated, query), await run(present, query), `${what} of history ${seed}`)
      const places = (await run(present, 'select merchant_id, order_id from orders')).map((row) => ({
        merchantId: row['merchant_id'] as bigint,
        orderId: row['order_id'] as bigint,
      }))
      orders += places.length
      const [was, is] = [openOrderStore(present), openOrderStore(migrated)]
      const byId = (a: { orderId: bigint }, b: { orderId: bigint }) => Number(a.orderId - b.orderId)
      assert.deepEqual((await is.load(places)).sort(byId), (await was.load(places)).sort(byId))
      assert.deepEqual(await is.sealedCards(places), await was.sealedCards(places))
    }
    assert.ok(orders > 30, `only ${orders} orders were migrated`)
    assert.deepEqual([...missing], [], 'every kind of order was there')
  },
)

test('the database allows exactly the moves of the machine', async () => {
  const [row] = await run(
    present,
    `select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'order_event_moves_check' and conparentid = 0`,
  )
  const listed = [...String(row!['text']).matchAll(/'([^']+>[^']+>[^']+)'/g)].map(([, move]) => move!)
  assert.deepEqual(listed.sort(), machine.map(({ from, on, to }) => `${from}>${on}>${to}`).sort())
  const insert = `insert into order_event (merchant_id, order_id, event_no, moves, transaction_nos, at)
    values (9, 9, 1, array['approved>declined>declined'], array[1], now())`
  await assert.rejects(run(present, insert), /order_event_moves_check/)
})
