import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newOrderId, notEmpty, sale, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { times } from '../../conformance/operations/operations.ts'
import { query } from '../../harness/postgres/embedded.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { fillLog, fillTable } from '../../harness/postgres/full-disk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { soldAt } from '../../harness/browser/patient-shop.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { holds, until } from '../../harness/clock/until.ts'

/** The disk of a durable PostgreSQL is full, or slow. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld({ embedded: true })
const desk = closing(await openFaultDesk(world))
// Longer than a busy machine takes to fill a disk while answers are held.
await desk.gate({ answerTimeoutMs: 60_000 })

const gatewayLog = (): string => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')
/** Waits for a line of the gateway's log that is written from now on. */
function logged(line: RegExp): Promise<void> {
  const from = gatewayLog().length
  return holds(() => line.test(gatewayLog().slice(from)), String(line))
}
const noRoom = /"batch":"orders".*No space left on device.*a batch is tried again/
const late = async () => (await metricsOf(world))('tollgate_lease_changes_total{mode="late"}')

async function approvedOnce(made: Order): Promise<void> {
  const seen = await untilStatus(world, made, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
  assert.equal(seen.status, 'approved')
  assert.deepEqual(await desk.attempts(made.orderid), ['1 sale approved 000'])
  assert.equal((await desk.entries(made.orderid)).length, 1)
}
const told = (name: string) => merchant.calls(`/${name}`).map(({ query: fields }) => fields.get('status'))

test('no room for new orders: sales wait, nothing is stored of them, and they are made once there is room', async () => {
  const free = await fillTable(world.databaseUrl, 'orders')
  const written = logged(noRoom)
  const waiting = times(10, () => soldAt(world))
  await written
  const [kept] = await desk.rows<{ n: number }>('select count(*)::int as n from order_key')
  assert.equal(kept!.n, 0)
  await free()
  for (const made of await waiting) await approvedOnce(made)
  assert.equal(await late(), 0, 'heartbeats need no room')
})

test('no room for callbacks: outcomes wait in the gateway until there is room, and are sent once', async () => {
  const answer = await desk.script({}, { hold: true })
  const sold = await times(10, () => soldAt(world, (name) => ({ server_callback_url: `${merchant.origin}/${name}` })))
  await until(desk.entries, (all) => all.length === 20)
  const free = await fillTable(world.databaseUrl, 'delivery')
  const written = logged(noRoom)
  await answer()
  await written
  assert.equal((await desk.books()).open, 10)
  await free()
  for (const made of sold) {
    await approvedOnce(made)
    assert.deepEqual(await until(() => told(made.client_orderid), notEmpty), ['approved'])
  }
})

test('a disk that takes 100 ms for each sync: batches grow, no sale is refused, and the lease holds', async () => {
  const set = async (...settings: string[]) => {
    for (const one of [...settings, 'select pg_reload_conf()']) await query(world.databaseUrl, one)
  }
  // The most that PostgreSQL waits by itself before it syncs its log.
  await set('alter system set commit_delay = 100000', 'alter system set commit_siblings = 0')
  const tookMs = async () => {
    const since = performance.now()
    await query(world.databaseUrl, `update id_block set next_id = next_id where name = 'gate'`)
    return performance.now() - since
  }
  await holds(async () => (await tookMs()) >= 100, 'the disk is slow')
  const counts = async () => {
    const metric = await metricsOf(world)
    return ['items', ''].map((of) => metric(`tollgate_batch${of ? `_${of}` : 'es'}_total{batch="orders"}`) ?? 0)
  }
  const [itemsBefore, batchesBefore] = await counts()
  const names = Array.from({ length: 600 }, () => newOrderId())
  const sold: Order[] = []
  const shop = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const reply = await sale(world, { client_orderid: name })
      assert.equal(reply.type, 'async-response', JSON.stringify(reply))
      sold.push({ orderid: reply['gateway-order-id']!, client_orderid: name, serial: reply['serial-number']! })
    }
  }
  await Promise.all(Array.from({ length: 64 }, shop))
  await desk.ended()
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  const [items, batches] = await counts()
  const mean = (items! - itemsBefore!) / (batches! - batchesBefore!)
  // How many come while one commit is written depends on the machine; one by one is never right.
  assert.ok(mean > 3, `${mean} changes share a commit`)
  const ended = await desk.rows(`select from orders where status = 'approved' and order_id = any ($1::bigint[])`, [
    sold.map(({ orderid }) => orderid),
  ])
  assert.equal(ended.length, 600)
  assert.equal(await late(), 0)
  await set('alter system reset commit_delay', 'alter system reset commit_siblings')
})

test('no room for the log of changes: PostgreSQL dies repeatedly, and every payment ends as reported', async () => {
  const answer = await desk.script({}, { hold: true })
  const before = (await desk.entries()).length
  const sold = await times(10, () => soldAt(world))
  await until(desk.entries, (all) => all.length === before + 10)
  const free = await fillLog(world.databaseUrl)
  await answer()
  const waiting = times(5, () => soldAt(world))
  // It recovers, writes down that it has, and dies of that.
  const diedAgain = /PANIC:.*No space left on device[^]*checkpointer process .* was terminated by signal 6/
  await holds(() => diedAgain.test(readFileSync(join(world.directory, 'postgres.log'), 'utf8')), 'it died again')
  await free()
  for (const made of [...sold, ...(await waiting)]) await approvedOnce(made)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
})
