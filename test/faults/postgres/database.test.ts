import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { Client } from 'pg'
import { insertOrders, updateAllOrders } from '../../../src/order/store/statements.ts'
import {
  accepted,
  order,
  postSale,
  sale,
  signedSale,
  notEmpty,
  untilStatus,
  type Changes,
  type Fields,
  type Order,
} from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { World } from '../../harness/world/world.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * The database goes away, breaks at a commit, takes no writes, refuses a conflict, or holds a
 * broken order.
 */

const merchant = closing(await openReceiver(() => 200))
let proxy!: DatabaseProxy
const world = await openWorld({ through: async (url) => (proxy = closing(await openDatabaseProxy(url))).url })
const desk = closing(await openFaultDesk(world))

let sales = 0
const sell = async (changes: Changes = {}): Promise<Order & { path: string }> => {
  const path = `/callback/${++sales}`
  return { ...(await order(world, { server_callback_url: `${merchant.origin}${path}`, ...changes })), path }
}
const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))

async function approvedOnce(sold: Order & { path: string }): Promise<void> {
  const seen = await untilStatus(world, sold, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
  assert.deepEqual([seen.status, seen['error-code']], ['approved', undefined])
  assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale approved 000'])
  assert.equal((await desk.entries(sold.orderid)).length, 1)
  const calls = await until(() => merchant.calls(sold.path), notEmpty)
  assert.deepEqual(
    calls.map(({ query }) => query.get('status')),
    ['approved'],
  )
}

describe('the connection breaks exactly at a commit', () => {
  // oxfmt-ignore
  const cuts = [
    ['of the accepted order, which was made',       insertOrders,    'after'],
    ['of the accepted order, which was not made',   insertOrders,    'before'],
    ['of the outcome, which was made',              updateAllOrders, 'after'],
    ['of the outcome, which was not made',          updateAllOrders, 'before'],
  ] as const
  for (const [what, statement, when] of cuts)
    test(`${what}: the client is answered, there is one order, one message to the acquirer, one callback`, async () => {
      const sprung = proxy.cutAtCommit(statement.sql.name, when)
      const fields = signedSale(world, { server_callback_url: `${merchant.origin}/callback/${++sales}` })
      const sold = { ...accepted(await postSale(world, fields)), path: `/callback/${sales}` }
      await sprung
      await approvedOnce(sold)
      assert.equal(accepted(await postSale(world, fields)).orderid, sold.orderid)
      const made = await desk.rows('select order_id from orders where client_orderid = $1', [sold.client_orderid])
      assert.equal(made.length, 1)
    })
})

describe('the database is unreachable for 5 s', () => {
  // oxfmt-ignore
  const ways: readonly [string, () => void, () => void][] = [
    ['it refuses connections', () => proxy.refuse(), () => proxy.accept()],
    ['it is silent',           () => proxy.pause(),  () => proxy.resume()],
  ]
  for (const [what, goAway, comeBack] of ways)
    test(`${what}: payments under way end well, requests wait meanwhile, and only approved payments are charged`, async () => {
      await desk.line({ latency_ms: 500 })
      const earlier = await times(20, () => sell())
      goAway()
      const since = performance.now()
      const meanwhile = times(10, () => sell())
      await until(
        () => performance.now() - since,
        (ms) => ms >= 5_000,
      )
      comeBack()
      for (const sold of [...earlier, ...(await meanwhile)]) await approvedOnce(sold)
      await desk.line({ latency_ms: 0 })
      await approvedOnce(await sell())
    })
})

const gatewayLog = (): string => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')

test('a serialisation failure is tried again: the order ends once', async () => {
  const name = new URL(world.databaseUrl).pathname.slice(1)
  await desk.rows(`alter database ${name} set default_transaction_isolation = 'repeatable read'`)
  proxy.cutAll()
  const answer = await desk.script({ amount_minor: '3333' }, { hold: true })
  const rival = new Client({ connectionString: world.databaseUrl })
  await rival.connect()
  let sold: Order & { path: string }
  try {
    await rival.query('begin')
    // Nothing is read by it yet, and so nothing seen as it was before the sale.
    sold = await sell({ amount: '33.33' })
    await rival.query('update orders set events = events where order_id = $1', [sold.orderid])
    await until(desk.entries, notEmpty)
    await answer()
    const waiting = () =>
      desk.rows(
        `select pid from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query like '%update orders%'`,
        [name],
      )
    assert.equal((await until(waiting, (rows) => rows.length > 0)).length, 1)
    await rival.query('commit')
  } finally {
    await rival.end()
  }
  await approvedOnce(sold)
  const logged = /"failure":"retry".*could not serialize access/
  assert.match(await until(gatewayLog, (text) => logged.test(text)), logged)
  for (const one of await times(30, () => sell())) await approvedOnce(one)
  await desk.rows(`alter database ${name} reset default_transaction_isolation`)
  proxy.cutAll()
})

test('an order that the database refuses fails alone: its neighbours in the batch are made', async () => {
  await desk.rows('alter table orders add constraint refused check (amount_minor <> 6666)')
  const replies = await times(30, (at) => sale(world, { amount: at === 13 ? '66.66' : '10.00' }))
  const isError = ({ type, 'error-code': code }: Fields) => `${type} ${code ?? ''}`.trim()
  assert.deepEqual(
    replies.map(isError),
    Array.from({ length: 30 }, (_, at) => (at === 13 ? 'error 100' : 'async-response')),
  )
  const [count] = await desk.rows<{ n: number }>('select count(*)::int as n from orders where amount_minor = 6666')
  assert.equal(count!.n, 0)
  await desk.rows('alter table orders drop constraint refused')
})

const sellAt = (count: number, through: World = world): Promise<Order[]> => times(count, () => order(through))
/** Once the payments of earlier tests have ended, which would be counted too. */
async function soFar() {
  await desk.ended(60_000)
  return (await desk.entries()).length
}

/**
 * As a primary that was demoted, or one that is being promoted. What connects meanwhile may only
 * read, for the life of its connection: whoever keeps such a connection is stuck with it.
 */
test('a server takes no writes for a while: payments answered meanwhile are approved, requests wait', async () => {
  const name = new URL(world.databaseUrl).pathname.slice(1)
  const answer = await desk.script({}, { hold: true })
  const entries = await soFar()
  const paid = await sellAt(20)
  await until(desk.entries, (all) => all.length === entries + 20)
  await desk.rows(`alter database ${name} set default_transaction_read_only = on`)
  proxy.cutAll()
  await answer()
  const waiting = sellAt(10)
  assert.equal(
    await until(
      () => desk.answers(paid),
      (count) => count >= 20,
    ),
    20,
  )
  const tried = /"failure":"connection".*read-only transaction/
  assert.match(await until(gatewayLog, (text) => tried.test(text)), tried)
  await desk.rows(`alter database ${name} reset default_transaction_read_only`)
  for (const one of [...paid, ...(await waiting), ...(await sellAt(10))]) {
    const seen = await untilStatus(world, one, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
    assert.equal(seen.status, 'approved')
    assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  }
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
})

const seconds = async (): Promise<number> =>
  (await desk.rows<{ at: number }>('select extract(epoch from clock_timestamp())::float8 as at'))[0]!.at

/** Each process has its own way to the database, which comes back to one a little earlier. */
test('the database is away for ten seconds: payments answered meanwhile are approved, whichever process is first', async () => {
  // A silent process is then dead for its payments after 8.5 s: the outage alone is longer.
  await desk.gate({ answerTimeoutMs: 4_500 })
  const ways = [proxy, closing(await openDatabaseProxy(world.databaseUrl))] as const
  const second = closing(await startServe({ ...world, databaseUrl: ways[1].url }))
  const entries = await soFar()
  // None has it in hand; who reaches the database takes it up, and looks at everything else that
  // is due in the same statement.
  const resting = await openStage(world, desk, merchant).atMethod()
  const answer = await desk.script({}, { hold: true })
  const sold = [...(await sellAt(10)), ...(await sellAt(10, second.world))]
  await until(desk.entries, (all) => all.length === entries + 20)
  for (const way of ways) way.refuse()
  await answer()
  const goneAt = await seconds()
  assert.equal(
    await until(
      () => desk.answers(sold),
      (count) => count >= 20,
    ),
    20,
  )
  await desk.rows(`update orders set due_at = now() where order_id = $1 and step = 'await method'`, [resting.orderid])
  await until(seconds, (now) => now >= goneAt + 10)
  ways[0].accept()
  const rests = () => desk.rows<{ state: string }>('select state from all_transactions where order_id = $1', [resting.orderid])
  assert.equal((await until(rests, ([row]) => row!.state === 'declined'))[0]!.state, 'declined')
  ways[1].accept()
  await desk.ended(60_000)
  for (const one of sold) assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await second.stop()
})

describe('poisoned orders', () => {
  let healthy: Order[]
  let sealed: Order
  let hopeless: Order
  let attemptless: Order
  interface Parked {
    tries: number
    alarm: string | null
  }
  const transactionOf = async ({ orderid }: Order): Promise<Parked> =>
    (
      await desk.rows<Parked>('select tries, alarm from all_transactions where order_id = $1 and transaction_no = 1', [orderid])
    )[0]!

  before(async () => {
    // Long enough that the gateway is dead before any of them is given up.
    await desk.gate({ answerTimeoutMs: 10_000 })
    await desk.script({}, { no_answer: true })
    healthy = await times(20, () => sell())
    ;[sealed, hopeless, attemptless] = await Promise.all([sell(), sell(), sell()])
    await until(() => desk.entries(attemptless.orderid), notEmpty)
    // Two cards that cannot be opened, one of them after enough failures; and an order that was
    // sent although no attempt is on record.
    await world.crash(async () => {
      await desk.rows('update order_facts set pan_sealed = $2 where order_id = any ($1::bigint[])', [
        [sealed.orderid, hopeless.orderid],
        Buffer.alloc(60, 7),
      ])
      await desk.rows('update orders set tries = 7 where order_id = $1', [hopeless.orderid])
      await desk.rows(
        `update orders set attempts = 0, gate_id = null, terminal_id = null, stan = null, rrn = null, started_at = null,
           deadline_at = null where order_id = $1`,
        [attemptless.orderid],
      )
    })
  })

  test('healthy orders of the same batch are taken up without delay', async () => {
    const taken = () =>
      desk.rows<{ late: number | null; n: number }>(
        `select count(*)::int as n, extract(epoch from max(e.at) - min(h.started_at))::float8 as late
         from all_events e, heartbeat h where e.event in ('lease lost', 'answer lost') and e.order_id = any ($1::bigint[])`,
        [healthy.map(({ orderid }) => orderid)],
      )
    const [seen] = await until(taken, ([row]) => row!.n === 20, 60_000)
    assert.equal(seen!.n, 20)
    // Up to 4 s until their rows are read, and 10 s more for a batch with a poisoned order.
    assert.ok(seen!.late !== null && seen!.late < 10, `the last was taken up ${seen!.late} s after the start`)
    for (const one of healthy) {
      const reply = await untilStatus(world, one, ({ status }) => status === 'error')
      assert.equal(reply['error-code'], '911')
    }
  })

  test('an order that failed eight times is parked with an alarm that says why', async () => {
    const { alarm } = await until(
      () => transactionOf(hopeless),
      (row) => row.alarm !== null,
    )
    assert.match(alarm ?? 'none', /^resume: ./)
  })

  test('the others are tried again, later and later', async () => {
    for (const one of [sealed, attemptless]) {
      const row = await until(
        () => transactionOf(one),
        ({ tries }) => tries >= 3,
      )
      // By a machine that took a minute to come here it is given up, as it should be.
      assert.ok(row.tries >= 3 && (row.alarm === null || row.tries >= 8), JSON.stringify(row))
    }
  })

  test('new sales are served meanwhile', async () => {
    for (const one of await times(10, () => sell())) await approvedOnce(one)
  })
})
