import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { call, refOf, register, registered, signedInfo } from '../../conformance/cards/card.ts'
import { accepted, ledger, newOrderId, order, sale } from '../../conformance/requests/client.ts'
import { send, settled, statusOf, type Order } from '../../conformance/requests/client.ts'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { walk } from '../../conformance/mobile/mobile-consumer.ts'
import { waits } from '../../conformance/mobile/mobile-merchant.ts'
import { begin as begun, cardAt, openMobile, orderOf, rested } from '../../conformance/mobile/mobile.ts'
import { approved, begin, followed, keyed, times } from '../../conformance/operations/operations.ts'
import { atPares, passPares, throughHtml, uploadPares } from '../../conformance/three-d-secure/pares.ts'
import {
  approvedOnce,
  atChallenge,
  load,
  passChallenge,
  secureOrder,
  submit,
  uploadCres,
  whatNow,
} from '../../conformance/three-d-secure/shopper.ts'
import { movedTables, stayingTables } from '../../../src/operator/cells/merchant-rows.ts'
import { openFaultDesk, type FaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { startWorld, type World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

/** The merchant of the world moves from cell to cell while it pays. */

let world: World
let desk: FaultDesk
const cli = cliOf(() => world)

before(async () => {
  world = await startWorld({ own: true })
  desk = await openFaultDesk(world)
  await desk.gate({ answerTimeoutMs: 60_000 })
  await cli.tell(['cell', 'add', '1'])
  await until(
    async () => (await metricsOf(world))('tollgate_cell_open{cell="1"}'),
    (open) => open === 1,
  )
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

interface Move {
  from: number | null
  to: number
  removed_orders: number
}

const moveArguments = (to: number, login = world.merchant.login) => ['merchant', 'move', login, '--to', String(to), '--json']
async function move(to: number): Promise<Move> {
  const ran = await run({ TOLLGATE_DIR: world.directory }, moveArguments(to))
  assert.equal(ran.code, 0, ran.err)
  return JSON.parse(ran.out) as Move
}

async function rowsIn<Row extends object>(cellNo: number, sql: string, values: unknown[] = []): Promise<Row[]> {
  const path = cellNo === 0 ? {} : { options: `-c search_path=cell_${cellNo}` }
  const client = new Client({ connectionString: world.databaseUrl, ...path })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** All rows of the merchant in a cell that a move takes along, table by table. */
async function allRows(cellNo: number): Promise<Record<string, string[]>> {
  const [own] = await rowsIn<{ id: string }>(0, 'select merchant_id::text as id from merchant where login = $1', [
    world.merchant.login,
  ])
  const read = async (table: string) => {
    const text = `select row_to_json(t)::text as row from ${table} t where merchant_id = $1 order by 1`
    return [table, (await rowsIn<{ row: string }>(cellNo, text, [own!.id])).map(({ row }) => row)] as const
  }
  return Object.fromEntries(await Promise.all(movedTables.map(read)))
}
/** Orders and messages that have this. */
async function countIn(cellNo: number, column: 'due_at' | 'lease'): Promise<number> {
  const [row] = await rowsIn<{ count: number }>(
    cellNo,
    `select (select count(*) from orders where ${column} is not null)::int
       + (select count(*) from delivery where ${column} is not null)::int as count`,
  )
  return row!.count
}
const allAtRest = (cellNo: number) =>
  until(
    () => countIn(cellNo, 'due_at'),
    (count) => count === 0,
  )

test('every table of a cell that has a merchant goes along with it or stays for a reason', async () => {
  const tables = await rowsIn<{ name: string }>(
    1,
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id'
     where c.relnamespace = 'cell_1'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  )
  assert.deepEqual(tables.map(({ name }) => name).sort(), [...movedTables, ...stayingTables].sort())
})

test('all rows are in the new cell as they were in the old one, and work on', async () => {
  const sold = await times(4, () => approved(world, 'sale'))
  const held = await approved(world, 'preauth')
  const { made: first, ref } = await registered(world)
  const key = newOrderId()
  const once = await approved(world, 'sale', {}, keyed(key))
  await allAtRest(0)
  const old = await allRows(0)
  for (const table of ['orders', 'order_key', 'idempotency_key', 'card_reference', 'card_number_ref'])
    assert.ok(old[table]!.length > 0, `no row of ${table} to move`)

  const moved = await move(1)
  assert.deepEqual([moved.from, moved.to, moved.removed_orders], [0, 1, old.orders!.length])
  assert.deepEqual(await allRows(1), old)
  assert.deepEqual(Object.values(await allRows(0)).flat(), [], 'the old cell has rows left')
  for (const made of [...sold, held, first, once]) assert.equal((await statusOf(world, made)).status, 'approved')
  const taken = await sale(world, { client_orderid: sold[0]!.client_orderid, amount: '99.99' })
  assert.equal(taken.type, 'validation-error', JSON.stringify(taken))
  const again = await begin(world, 'sale', { client_orderid: once.client_orderid }, keyed(key))
  assert.equal(again['paynet-order-id'] ?? again.orderid ?? once.orderid, once.orderid)
  assert.equal(refOf(await register(world, first)), ref)
  assert.equal((await call(world, 'get-card-info', signedInfo(world, ref))).type, 'get-card-info-response')
  await followed(world, 'capture', held)
  await approved(world, 'sale')
})

test('answers that come after the move are applied in the new cell, and no other process takes the payments up', async () => {
  const other = await startServe(world)
  const unscript = await desk.script({}, { hold: true })
  const sold = await times(12, () => order(world))
  for (const { orderid } of sold)
    await until(
      () => ledger(world, orderid),
      (entries) => entries.length === 1,
    )
  assert.equal((await move(0)).from, 1)
  for (const made of sold) assert.equal((await statusOf(world, made)).status, 'processing')
  await unscript()
  for (const made of sold) {
    assert.equal((await settled(world, made)).status, 'approved')
    assert.deepEqual(
      (await ledger(world, made.orderid)).map(({ state }) => state),
      ['approved'],
    )
    assert.deepEqual(await desk.attempts(made.orderid), ['1 sale approved 000'])
  }
  await other.stop()
  assert.deepEqual(Object.values(await allRows(1)).flat(), [])
})

test('a cardholder who is in the midst of 3-D Secure goes on in the new cell', async () => {
  const { made, seen } = await atChallenge(world)
  const hosted = await secureOrder(world, 'challenge')
  const page = (await whatNow(world, hosted))['redirect-to']
  await move(1)
  const { cres } = await passChallenge(seen)
  await uploadCres(world, made, cres)
  await approvedOnce(world, made)
  assert.equal((await load(page ?? '')).httpStatus, 200)
})

test('a callback that is under way is recorded in the new cell, and not sent again', async () => {
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  const receiver = await openReceiver(
    () => 200,
    () => held,
  )
  try {
    const made = await order(world, { server_callback_url: `${receiver.origin}/move` })
    await until(
      () => Promise.resolve(receiver.calls('/move').length),
      (count) => count === 1,
    )
    await move(0)
    answer()
    const states = await until(
      () => rowsIn<{ state: string; tries: number }>(0, 'select state, tries from delivery where order_id = $1', [made.orderid]),
      ([row]) => row?.state === 'delivered',
    )
    assert.deepEqual(states, [{ state: 'delivered', tries: 1 }])
    assert.equal(receiver.calls('/move').length, 1)
  } finally {
    answer()
    await receiver.close()
  }
})

test('a PARes that comes after the move is applied in the new cell, by upload and by browser', async () => {
  const [uploaded, brought] = [await atPares(world), await atPares(world)]
  const signed = await passPares(uploaded.seen)
  const form = await throughHtml(brought.seen)
  await move(1)
  accepted(await uploadPares(world, uploaded.made, signed))
  assert.ok((await submit(form)).httpStatus < 400)
  for (const { made } of [uploaded, brought]) await approvedOnce(world, made)
})

test('an invoice whose check is under way, and one that waits for its sum, go on in the new cell', async () => {
  const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile_random_sum])
  try {
    const { check, letGo } = waits()
    const checked = await begun(mobile, 'sale', {}, { check })
    await until(
      () => Promise.resolve(mobile.shop.checks(checked.invoiceId).length),
      (count) => count === 1,
    )
    const asked = await begun(
      mobile,
      'sale',
      { [`${cardAt('sale')}.number`]: newCard() },
      { endpoint: world.endpoints.mobile_random_sum },
    )
    const page = await rested(mobile, asked)
    assert.equal(page.state, 'REDIRECT_REQUEST', JSON.stringify(page))
    const [{ sum }] = (await rowsIn<{ sum: string }>(
      1,
      'select (sum_minor / 100.0)::numeric(4, 2)::text as sum from mobile_invoice where invoice_id = $1',
      [asked.invoiceId],
    )) as [{ sum: string }]
    await move(0)
    letGo()
    await walk(page, sum)
    for (const made of [checked, asked]) {
      const told = await rested(mobile, made, ['REDIRECT_REQUEST'])
      assert.equal(told.state, 'APPROVED', JSON.stringify(told))
      const entries = await ledger(world, orderOf(told))
      assert.deepEqual(
        entries.map(({ state }) => state),
        ['approved'],
      )
      await until(
        () => Promise.resolve(mobile.shop.notifications(made.invoiceId).length),
        (count) => count === 1,
      )
    }
  } finally {
    await mobile.shop.close()
  }
})

test('sales that are made all the while are neither refused nor lost nor doubled', async () => {
  const made: Order[] = []
  const over = new AbortController()
  const shop = async () => {
    while (!over.signal.aborted) made.push(await order(world))
  }
  const shops = times(8, shop)
  for (const to of [1, 0, 1]) assert.equal((await move(to)).to, to)
  over.abort()
  await shops
  assert.ok(made.length > 50, `only ${made.length} sales`)
  for (const one of made) {
    assert.equal((await settled(world, one)).status, 'approved')
    assert.deepEqual(
      (await ledger(world, one.orderid)).map(({ state }) => state),
      ['approved'],
    )
  }
  const [stored] = await rowsIn<{ count: number }>(1, 'select count(*)::int as count from orders where order_id = any ($1)', [
    made.map(({ orderid }) => orderid),
  ])
  assert.equal(stored!.count, made.length)
})

async function refuse(args: string[], words: RegExp): Promise<void> {
  const ran = await run({ TOLLGATE_DIR: world.directory }, args)
  assert.equal(ran.code, 1, ran.out)
  assert.match(ran.err, words)
}

test('a merchant on whose orders a process works that does not serve the new cell stays, and goes later', async () => {
  const other = await startServe(world, undefined, { TOLLGATE_CELLS: '1' })
  try {
    const unscript = await desk.script({}, { delay_ms: 8_000 })
    const made = await order(other.world)
    await until(
      () => ledger(world, made.orderid),
      (entries) => entries.length === 1,
    )
    await refuse(moveArguments(0), /do not serve cell 0/)
    await unscript()
    assert.equal((await settled(world, made)).status, 'approved')
    await until(
      () => countIn(1, 'lease'),
      (count) => count === 0,
    )
    assert.equal((await move(0)).from, 1)
  } finally {
    await other.stop()
  }
  assert.equal((await move(1)).from, 0)
})

test('what cannot be moved is refused and stays', async () => {
  await refuse(moveArguments(7), /There is no cell 7/)
  await refuse(moveArguments(0, 'nobody'), /There is no merchant nobody/)
  await rowsIn(0, `insert into resealing (table_name, version, due_at, rows) values ('nothing', 1, now() + interval '1 day', 0)`)
  await refuse(moveArguments(0), /cell 0 are being sealed again/)
  await rowsIn(0, `delete from resealing where table_name = 'nothing'`)
  assert.deepEqual((await move(1)).from, null, 'it is there already')
  await approved(world, 'sale')
  assert.equal((await send('GET', `${world.operatorUrl}/ready`)).httpStatus, 200)
})

test('drain moves every merchant of a cell', async () => {
  const logins = await cli.json<{ merchants: { login: string; cell: number }[] }>('merchant', 'list')
  const ran = await run({ TOLLGATE_DIR: world.directory }, ['cell', 'drain', '1', '--to', '0', '--json'])
  assert.equal(ran.code, 0, ran.err)
  const drained = JSON.parse(ran.out) as { merchants: { login: string }[] }
  assert.deepEqual(
    drained.merchants.map(({ login }) => login),
    logins.merchants.filter(({ cell }) => cell === 1).map(({ login }) => login),
  )
  assert.equal((await settled(world, await order(world))).status, 'approved')
})
