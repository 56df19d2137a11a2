import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { configuration } from '../../../simulation/model/configuration.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Door } from '../../../src/order/door/advance.ts'
import type { Transaction } from '../../../src/order/decide/order.ts'
import { updateAllOrders, updateOrders } from '../../../src/order/store/statements.ts'
import { ensurePartitions } from '../../../src/storage/partitions.ts'
import { openPool, statement, type Pool } from '../../../src/storage/pool.ts'
import type { Heartbeat } from '../../../src/leases/heartbeat.ts'
import { until } from '../../harness/clock/until.ts'
import { approval, doorOn, log, newSale, plainId, secureId } from '../../harness/world/door.ts'
import { openHeartbeat } from '../../harness/clock/heartbeat.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'

/** Faults of one certain moment, at which a connection breaks or a process is slow. */

// Straight to the database, as another process would have it.
const { url, pool: straight } = await openMigrated()
await ensurePartitions(straight)

describe('a batch loses its connection in the second round, when an order of the first one is stored and begun', () => {
  let proxy: DatabaseProxy
  let pool: Pool
  let heartbeat: Heartbeat
  let door: Door
  /** The order id of each step that was begun. */
  const begun: bigint[] = []

  before(async () => {
    proxy = await openDatabaseProxy(url)
    pool = openPool({ url: proxy.url, connections: 2, use: 'oltp', log })
    heartbeat = await openHeartbeat(straight, 1n, 'place of the door', systemClock, log)
    door = doorOn({ pool, straight, processId: heartbeat.processId, onStep: ({ order }) => void begun.push(order.orderId) })
  })
  after(async () => {
    await door?.close()
    await heartbeat?.stop()
    await pool?.close()
    await proxy?.close()
  })

  // oxfmt-ignore
  const cuts = [
    ['the commit was not made', 'before', 'applied'],
    ['the commit was made',     'after',  'applied'],
  ] as const
  for (const [at, [what, when, answer]] of cuts.entries())
    test(`${what}: no step is begun twice`, { timeout: 300_000 }, async () => {
      const [older, newer] = [newSale(BigInt(at * 2 + 1)), newSale(BigInt(at * 2 + 2))]
      await door.submit(older)
      // Another process saves it meanwhile. The copy in this door is stale, so a second round
      // decides again.
      await straight.run(statement('update orders set version = version + 1 where order_id = $1'), [older.order.orderId])
      // The statement runs only in the second round. In the first one no existing row is written.
      const sprung = proxy.cutAtCommit(updateOrders.sql.name, when)
      const [made, told] = await Promise.all([door.submit(newer), door.submit(approval(older.order)), sprung])
      assert.deepEqual(made, { is: 'accepted', orderId: newer.order.orderId, repeat: false })
      assert.equal(told.is, answer)
      assert.deepEqual(
        begun.filter((id) => id === newer.order.orderId),
        [newer.order.orderId],
      )
      const ends = await straight.run(
        statement<{ status: string; attempts: bigint }>(
          `select status, (select count(*) from all_attempts a where a.order_id = o.order_id) as attempts from orders o
           where order_id = any ($1::bigint[]) order by order_id`,
        ),
        [[older.order.orderId, newer.order.orderId]],
      )
      assert.deepEqual(ends, [
        { status: 'approved', attempts: 1n },
        { status: 'processing', attempts: 1n },
      ])
    })

  test('after the commit of an upload its next steps begin once', { timeout: 300_000 }, async () => {
    const sale = newSale(21n, secureId)
    const { merchantId, orderId } = sale.order
    await door.submit(sale)
    assert.deepEqual(
      begun.filter((id) => id === orderId),
      [],
      'it waits for the cardholder',
    )
    const stored = statement<{ id: string }>(
      `select authentication ->> 'threeDSServerTransId' as id from all_transactions where order_id = $1`,
    )
    const [{ id: of } = { id: '' }] = await straight.run(stored, [orderId])
    const event = {
      is: 'method uploaded',
      transactionNo: 1,
      of,
      learned: { compInd: 'Y' },
      lease: heartbeat.processId,
      leaseDueAt: systemClock.now() + 4_000,
    } as const
    const sprung = proxy.cutAtCommit(updateAllOrders.sql.name, 'after')
    const upload = { is: 'event', merchantId, orderId, event } as const
    const [told] = await Promise.all([door.submit(upload), sprung])
    assert.equal(told.is, 'applied')
    assert.deepEqual(
      begun.filter((id) => id === orderId),
      [orderId],
    )
    assert.ok(door.holds({ ...sale.order, transactionNo: 1 }))
    assert.equal((await door.submit({ ...upload })).is, 'ignored', 'the same upload again is another one')
    assert.deepEqual(
      begun.filter((id) => id === orderId),
      [orderId],
    )
  })
})

test('a process that is slow to write its first beat does not take its lease for fresher than its row', async () => {
  const clock = openHandClock(0)
  const instance = 'place of two'
  await straight.run(
    statement(`insert into heartbeat (process_id, instance, started_at, beat_at) values (10, $1, now(), now())`),
    [instance],
  )
  const rival = await straight.connect()
  let opening: Promise<Heartbeat> | undefined
  try {
    await rival.command('begin')
    await rival.run(statement(`select from heartbeat where process_id = 10 for update`))
    // Its own row is written; then it waits to remove the one of its predecessor.
    opening = openHeartbeat(straight, 11n, instance, clock, log)
    const waiting = statement(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
    const written = statement(`select from heartbeat where process_id = 11`)
    const seen = await until(
      async () => [(await straight.run(written)).length, (await straight.run(waiting)).length].join(),
      (rows) => rows === '1,1',
    )
    assert.equal(seen, '1,1', 'its row is there, and it waits')
    clock.pass(3_500)
  } finally {
    await rival.command('commit')
    rival.release(false)
  }
  const heartbeat = await opening
  try {
    const begunAt = clock.monotonic()
    assert.equal(heartbeat.holding(), false, 'in half a second others may take over what it has: it sends nothing')
    clock.pass(1_000)
    await until(() => heartbeat.holding(), Boolean)
    assert.equal(heartbeat.holding(), true, 'once its row is fresh it may')
    assert.equal(heartbeat.holding(begunAt), false, 'but not what it began before')
  } finally {
    await heartbeat.stop()
  }
})

test('while the reading of an order took its time, its last process sent it again: the reversal waits from then', async () => {
  const clock = openHandClock(systemClock.now())
  const proxy = await openDatabaseProxy(url)
  const pool = openPool({ url: proxy.url, connections: 2, use: 'oltp', log })
  const heartbeat = await openHeartbeat(straight, 20n, 'place of a slow one', clock, log)
  let sent: Transaction | undefined
  const door = doorOn({
    pool,
    straight,
    processId: heartbeat.processId,
    clock,
    onStep: (_held, transaction) => void (sent = transaction),
  })
  try {
    const sale = newSale(31n)
    const { merchantId, orderId } = sale.order
    await door.submit(sale)
    door.release(sale.order, sent!)
    proxy.pause()
    const resumed = door.submit({ is: 'resume', merchantId, orderId, transactionNo: 1 })
    await until(door.waiting, (waiting) => waiting === 0)
    clock.pass(2_000)
    proxy.resume()
    assert.equal((await resumed).is, 'applied')
    const reversals = statement<{ due_at: Date }>(`select due_at from all_transactions where order_id = $1 and kind = 'reversal'`)
    const [reversal] = await straight.run(reversals, [orderId])
    const { answerTimeoutMs } = configuration.gate(configuration.endpoint(plainId)!.gateIds[0]!)!.settings
    assert.equal(Number(reversal!.due_at) - clock.now(), answerTimeoutMs)
  } finally {
    await door.close()
    await heartbeat.stop()
    await pool.close()
    await proxy.close()
  }
})
