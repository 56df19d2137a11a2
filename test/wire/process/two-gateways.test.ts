import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import {
  accepted,
  ledger,
  newOrderId,
  order,
  postSale,
  refused,
  sale,
  send,
  settled,
  signedSale,
  status,
  statusOf,
  type Fields,
  type Order,
} from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { type World } from '../../harness/world/world.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Two production gateways and a world's own on one database; its new orders wait for a sweep. */

const world = await openWorld({ env: { TOLLGATE_HAND_OVER: 'off' } })
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
let first: GatewayProcess
let second: GatewayProcess

const rows = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  (await database.query<Row>(sql, values)).rows
const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))
const either = (at: number): World => (at % 2 === 0 ? first : second).world
const admin = (path: string, wish: object) =>
  send('POST', `${world.acquirerAdminUrl}${path}`, JSON.stringify(wish), { 'content-type': 'application/json' })

/** A new order that no sweep has found, and that the session of `lock` keeps from changing. */
async function lockedOrder(lock: Client): Promise<Order> {
  for (let tries = 1; ; tries++) {
    const made = await order(world)
    await lock.query('begin')
    await lock.query('select from orders where order_id = $1 for update', [made.orderid])
    const { step, lease } = await stepOf(made)
    // Without a step it was found, and is over already.
    if (step !== null && lease === null) return made
    await lock.query('commit')
    assert.ok(tries < 200, 'the sweep is always first')
  }
}

const stepOf = async (made: Order) =>
  (
    await rows<{ due: string; step: string | null; lease: string | null }>(
      `select due_at::text as due, step, lease from all_transactions where order_id = $1`,
      [made.orderid],
    )
  )[0]!

/** A sale whose commit waits, and with it everything behind it, until the session ends. */
async function saleThatWaits(session: Client): Promise<{ reply: Promise<unknown> }> {
  const fields = signedSale(world)
  await session.query('begin')
  await session.query(
    `insert into order_key (merchant_id, client_orderid, order_id, live, digest, created_at, held_until)
     select merchant_id, $1, 0, false, '', now(), now() from orders limit 1`,
    [fields['client_orderid']],
  )
  const reply = postSale(world, fields)
  const { rows: own } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  const waits = `select count(*)::int as n from pg_stat_activity where ${own[0]!.pid} = any (pg_blocking_pids(pid))`
  await until(
    () => rows<{ n: number }>(waits),
    ([row]) => row!.n > 0,
    60_000,
  )
  return { reply }
}

test('a step that is found due twice, because the database was slow, is carried out once and well', async () => {
  const [lock, name] = [0, 1].map(() => new Client({ connectionString: world.databaseUrl })) as [Client, Client]
  await Promise.all([lock.connect(), name.connect()])
  const waiting = await lockedOrder(lock)
  const { reply } = await saleThatWaits(name)
  await lock.query('commit')
  const due = () => stepOf(waiting)
  const found = await until(due, ({ lease }) => lease !== null, 60_000)
  assert.ok(found.lease !== null, 'the sweep found the order')
  // Looked at again after four seconds, while the first find still waits for its turn.
  assert.notEqual((await until(due, (seen) => seen.due !== found.due, 60_000)).due, found.due, 'it is found again')
  await name.query('rollback')
  await Promise.all([lock.end(), name.end(), reply])
  assert.equal((await settled(world, waiting)).status, 'approved')
  assert.deepEqual(
    (await ledger(world, waiting.orderid)).map(({ state }) => state),
    ['approved'],
  )
})

test('both start, each with a port of its own, on one database', async () => {
  ;[first, second] = await Promise.all([startServe(world), startServe(world)])
  for (const gateway of [first, second]) closing(gateway)
  assert.notEqual(first.world.baseUrl, second.world.baseUrl)
})

test('100 simultaneous equal requests by both gateways make one order and one message, with equal answers', async () => {
  const fields = signedSale(world)
  const replies = await times(100, (at) => postSale(either(at), fields))
  const orders = new Set(replies.map((reply) => accepted(reply).orderid))
  assert.equal(orders.size, 1)
  assert.equal(new Set(replies.map((reply) => reply['serial-number'])).size, 100)
  const made = accepted(replies[0]!)
  assert.equal((await settled(second.world, made)).status, 'approved')
  assert.equal((await ledger(world, made.orderid)).length, 1)
  for (const reply of replies) {
    const seen = await status(either(replies.indexOf(reply)), {
      client_orderid: made.client_orderid,
      orderid: made.orderid,
      'by-request-sn': reply['serial-number']!,
    })
    assert.equal(seen['gateway-order-id'], made.orderid)
  }
})

test('of simultaneous different requests with one client_orderid by both gateways, one is accepted', async () => {
  const client_orderid = newOrderId()
  const replies = await times(40, (at) => sale(either(at), { client_orderid, amount: `${at + 1}.00` }))
  const taken = replies.filter(({ type }) => type === 'async-response')
  assert.equal(taken.length, 1)
  for (const reply of replies) if (reply.type !== 'async-response') refused(reply, 11)
  const made = accepted(taken[0]!)
  await settled(first.world, made)
  const [count] = await rows<{ orders: number }>('select count(*)::int as orders from orders where client_orderid = $1', [
    client_orderid,
  ])
  assert.equal(count!.orders, 1)
  assert.equal((await ledger(world, made.orderid)).length, 1)
})

test('after a decline 40 simultaneous new requests by both gateways make one new order', async () => {
  const client_orderid = newOrderId()
  await settled(first.world, await order(first.world, { client_orderid, cvv2: '116' }))
  const replies = await times(40, (at) => sale(either(at), { client_orderid, amount: `${at + 1}.00` }))
  assert.equal(replies.filter(({ type }) => type === 'async-response').length, 1)
})

test('an order taken by one gateway is immediately known to the other, by either of its names', async () => {
  for (let at = 0; at < 10; at++) {
    const made = await order(either(at), {})
    assert.equal((await statusOf(either(at + 1), made))['gateway-order-id'], made.orderid)
    assert.equal((await status(either(at + 1), { client_orderid: made.client_orderid }))['gateway-order-id'], made.orderid)
  }
})

test('in production a browser is sent to https only, also where the endpoint allows plain http for its callbacks', async () => {
  for (const name of ['redirect_url', 'redirect_success_url', 'redirect_fail_url'])
    refused(await sale(first.world, { [name]: 'http://shop.example/back' }), 3, new RegExp(`^Parameter ${name} is invalid: `))
})

/** Statuses of all sales here so far by the gateway's books, and what the acquirer's books say. */
async function compare(): Promise<{ processing: number; differences: string[] }> {
  const books = await rows<{ order_id: string; status: string }>('select order_id::text, status from orders')
  const answer = await send('GET', `${world.acquirerAdminUrl}/ledger?limit=10000`)
  const { entries }: { entries: Fields[] } = JSON.parse(answer.body)
  const standing = new Map<string, number>()
  for (const entry of entries)
    if (entry.state === 'approved') standing.set(entry.orderId!, (standing.get(entry.orderId!) ?? 0) + 1)
  const differences = books
    .filter(
      (row) =>
        row.status !== 'unknown' &&
        row.status !== 'processing' &&
        (standing.get(row.order_id) ?? 0) !== (row.status === 'approved' ? 1 : 0),
    )
    .map((row) => `${row.order_id} is ${row.status}, charged ${standing.get(row.order_id) ?? 0} times`)
  for (const [orderId, count] of standing) if (count > 1) differences.push(`${orderId} was charged ${count} times`)
  return { processing: books.filter((row) => row.status === 'processing').length, differences }
}

test('one is killed under load: the other finishes, nothing is lost or charged twice, the books are equal', async () => {
  await admin('/line', { latency_ms: 150 })
  const gone = new Promise((resolve) => first.child.once('exit', resolve))
  const names = Array.from({ length: 400 }, () => newOrderId())
  const acknowledged: string[] = []
  let next = 0
  await times(64, async (at) => {
    for (let client_orderid = names[next++]; client_orderid !== undefined; client_orderid = names[next++]) {
      const reply = await sale(either(at), { client_orderid }).catch(() => undefined)
      if (reply?.type === 'async-response') acknowledged.push(client_orderid)
      if (acknowledged.length === 150) first.child.kill('SIGKILL')
    }
  })
  await gone
  assert.ok(acknowledged.length < names.length, 'it was killed in the middle')
  // Usually within six seconds: four of silence, and the work.
  await until(compare, ({ processing }) => processing === 0, 180_000)
  await admin('/line', { latency_ms: 0 })
  const { processing, differences } = await compare()
  assert.deepEqual([processing, differences], [0, []])
  for (const client_orderid of acknowledged) {
    const seen = await status(second.world, { client_orderid })
    assert.equal(seen.type, 'status-response', `${client_orderid} was acknowledged`)
  }
})

test('no two attempts of any process share a name at the acquirer', async () => {
  const twins = await rows('select terminal_id, stan, count(*) from all_attempts group by 1, 2 having count(*) > 1')
  assert.deepEqual(twins, [])
  const shared = await rows('select rrn from all_attempts group by rrn having count(distinct order_id) > 1')
  assert.deepEqual(shared, [], 'a reversal has the RRN of its payment, and no other order has')
  const [count] = await rows<{ attempts: number }>('select count(*)::int as attempts from all_attempts')
  assert.ok(count!.attempts > 100)
})

test('the other one still sells, and stops without losing what it has', async () => {
  const made = await order(second.world, {})
  const since = performance.now()
  await second.stop()
  assert.ok(performance.now() - since < 40_000, `${performance.now() - since} ms`)
  assert.equal(second.child.exitCode, 0, second.output())
  assert.equal((await settled(world, made)).status, 'approved')
})
