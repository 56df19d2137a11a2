import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { call, refOf, register, registered, signedInfo } from '../../conformance/cards/card.ts'
import { accepted, ledger, newOrderId, order, sale, send, settled, statusOf } from '../../conformance/requests/client.ts'
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
import { until } from '../../harness/clock/until.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'
import { movesOf } from '../operations/moves.ts'

/** The merchant of the world moves from cell to cell. */

let world: World
let desk: FaultDesk
const cli = cliOf(() => world)
const { move, moveArguments, refuse, rowsIn, inPause, addCell } = movesOf(() => world)

before(async () => {
  world = await startWorld({ own: true })
  desk = await openFaultDesk(world)
  await desk.gate({ answerTimeoutMs: 60_000 })
  await addCell()
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

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

test('all rows are unchanged in the new cell, and their work goes on', async () => {
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

test('a cardholder who is in the midst of 3-D Secure goes on in the new cell', async () => {
  const { made, seen } = await atChallenge(world)
  const hosted = await secureOrder(world, 'challenge')
  const page = (await whatNow(world, hosted))['redirect-to']
  assert.equal((await move(0)).from, 1)
  const { cres } = await passChallenge(seen)
  await uploadCres(world, made, cres)
  await approvedOnce(world, made)
  assert.equal((await load(page ?? '')).httpStatus, 200)
})

test('a PARes that comes after the move is applied in the new cell, by upload and by browser', async () => {
  const [uploaded, brought] = [await atPares(world), await atPares(world)]
  const signed = await passPares(uploaded.seen)
  const form = await throughHtml(brought.seen)
  assert.equal((await move(1)).from, 0)
  accepted(await uploadPares(world, uploaded.made, signed))
  assert.ok((await submit(form)).httpStatus < 400)
  for (const { made } of [uploaded, brought]) await approvedOnce(world, made)
})

test('the move waits for the check of an invoice, and an invoice that waits for its sum goes on in the new cell', async () => {
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
    const moving = move(0)
    await inPause(moving)
    letGo()
    await moving
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

test('a merchant that cannot be moved is refused and stays', async () => {
  await refuse(moveArguments(7), /There is no cell 7/)
  await refuse(moveArguments(1, 'nobody'), /There is no merchant nobody/)
  await rowsIn(0, `insert into resealing (table_name, version, due_at, rows) values ('nothing', 1, now() + interval '1 day', 0)`)
  await refuse(moveArguments(1), /cell 0 are being sealed again/)
  await rowsIn(0, `delete from resealing where table_name = 'nothing'`)
  assert.deepEqual((await move(0)).from, null, 'it is there already')
  await approved(world, 'sale')
  assert.equal((await send('GET', `${world.operatorUrl}/ready`)).httpStatus, 200)
})

test('drain moves every merchant of a cell', async () => {
  await move(1)
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
