import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  accepted,
  order,
  postSale,
  send,
  signedSale,
  statusOf,
  notEmpty,
  untilStatus,
  type Changes,
  type Fields,
  type Order,
} from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { openReceiver } from '../harness/receiver.ts'
import { closing, openWorld } from '../harness/opening.ts'

/** kill -9 of the gateway at every step of a sale. The acquirer dies too, but keeps its books. */

let hanging = true
const merchant = closing(await openReceiver((path) => (path.startsWith('/hangs') && hanging ? 'hang' : 200)))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 6_000 })

/** Usually two seconds or less: the sweep finds what the dead process had in hand. */
const takenUpWithinMs = 20_000

/** When the gateway served again, in milliseconds since 1970. */
const servedAt = (): number => statSync(join(world.directory, 'sandbox.json')).mtimeMs

/** What happened to an order after a moment. */
const eventsAfter = async (orderId: string, at: number): Promise<{ event: string; at: number }[]> =>
  desk.rows(
    `select event, extract(epoch from at)::float8 * 1000 as at from all_events
     where order_id = $1 and at > to_timestamp($2) order by event_no`,
    [orderId, at / 1_000],
  )

async function ended(sold: Order): Promise<Fields> {
  const seen = await untilStatus(world, sold, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
  assert.ok(seen.status !== 'processing' && seen.status !== 'unknown', `order ${sold.orderid} is ${seen.status}`)
  return seen
}

const isReversed = ({ status, 'error-code': code }: Fields) => assert.deepEqual([status, code], ['error', '911'])

async function toldOnce(path: string, status: string): Promise<void> {
  const calls = await until(
    () => merchant.calls(path),
    (all) => all.some(({ answer }) => answer === 200),
  )
  assert.deepEqual(
    calls.filter(({ answer }) => answer === 200).map(({ query }) => query.get('status')),
    [status],
  )
}

const sell = (path: string, changes: Changes = {}): Promise<Order> =>
  order(world, { server_callback_url: `${merchant.origin}${path}`, ...changes })

test('killed with an authorisation under way: it is taken back, never repeated; the same request is the same order', async () => {
  await desk.script({ amount_minor: '2001' }, { delay_ms: 5_900 })
  const fields = signedSale(world, { amount: '20.01', server_callback_url: `${merchant.origin}/authorising` })
  const sold = accepted(await postSale(world, fields))
  await until(() => desk.entries(sold.orderid), notEmpty)
  const killedAt = Date.now()
  await world.crash()
  assert.equal(accepted(await postSale(world, fields)).orderid, sold.orderid)
  isReversed(await ended(sold))
  assert.deepEqual(
    (await desk.entries(sold.orderid)).map(({ state }) => state),
    ['reversed'],
  )
  assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale unknown', '2 reversal approved 400'])
  const [first] = await eventsAfter(sold.orderid, killedAt)
  assert.equal(first!.event, 'lease lost')
  assert.ok(first!.at - servedAt() < takenUpWithinMs, `picked up ${Math.round(first!.at - servedAt())} ms after the restart`)
  await toldOnce('/authorising', 'error')
})

test('killed right after the answer to the request: the order exists, ends, and was sent once at the most', async () => {
  await desk.line({ latency_ms: 50 })
  const sold = await sell('/accepted', { amount: '20.02' })
  await world.crash()
  const { status } = await ended(sold)
  const entries = await desk.entries(sold.orderid)
  assert.ok(entries.length <= 1)
  assert.equal(entries.filter(({ state }) => state === 'approved').length, status === 'approved' ? 1 : 0)
  await toldOnce('/accepted', status!)
})

test('killed between the outcome and its callback: the callback is sent after the restart', async () => {
  const sold = await sell('/hangs', { amount: '20.03' })
  assert.equal((await ended(sold)).status, 'approved')
  await until(
    () => merchant.calls('/hangs'),
    (calls) => calls.length === 1,
  )
  await world.crash(async () => void (hanging = false))
  await toldOnce('/hangs', 'approved')
  const tookMs = merchant.calls('/hangs').at(-1)!.at - servedAt()
  assert.ok(tookMs < takenUpWithinMs, `picked up ${Math.round(tookMs)} ms after the restart`)
  assert.equal(merchant.calls('/hangs').length, 2)
})

test('killed while the reversal is under way: it is sent again under the same names', async () => {
  await desk.script({ amount_minor: '2004' }, { no_answer: true })
  await desk.script({ amount_minor: '2004', message: 'reversal' }, { no_answer: true })
  const sold = await sell('/reversing', { amount: '20.04' })
  await until(
    () => desk.entries(sold.orderid),
    ([entry]) => entry?.state === 'reversed',
  )
  assert.equal((await statusOf(world, sold)).status, 'unknown')
  const killedAt = Date.now()
  await world.crash()
  isReversed(await ended(sold))
  assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale unknown', '2 reversal approved 400'])
  const events = await eventsAfter(sold.orderid, killedAt)
  assert.deepEqual(
    events.map(({ event }) => event),
    ['taken up', 'reversal acknowledged', 'reversed'],
  )
  assert.ok(events[0]!.at - servedAt() < takenUpWithinMs)
  const { byType, repeats, duplicates } = await desk.messages()
  assert.deepEqual([byType['1200'] ?? 0, (byType['1420'] ?? 0) + (byType['1421'] ?? 0), repeats + duplicates <= 1], [0, 1, true])
  await toldOnce('/reversing', 'error')
})

test('killed with 200 sales in flight: each acknowledged one ends with a callback, sent at most once; equal books', async () => {
  await desk.line({ latency_ms: 400 })
  const acknowledged: Order[] = []
  const all = Array.from({ length: 200 }, async (_, at) => {
    const fields = signedSale(world, { server_callback_url: `${merchant.origin}/load/${at}` })
    const answer = await send(
      'POST',
      `${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`,
      new URLSearchParams(fields).toString(),
    ).catch(() => undefined)
    const read = answer && Object.fromEntries(new URLSearchParams(answer.body.replaceAll('\n', '')))
    if (read?.type === 'async-response') acknowledged.push(accepted(read))
  })
  await until(
    () => acknowledged.length,
    (count) => count >= 100,
  )
  await world.crash()
  await Promise.all(all)
  const restartedAt = servedAt()
  await until(
    () => desk.books(),
    ({ open }) => open === 0,
    120_000,
  )
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  assert.ok(acknowledged.length >= 100)
  for (const one of acknowledged) await ended(one)
  const [late] = await desk.rows<{ ms: number | null }>(
    `select max(extract(epoch from first)::float8 * 1000 - $1::float8) as ms
     from (select min(at) as first from all_events
       where at > to_timestamp($1::float8 / 1000) group by merchant_id, order_id) events`,
    [restartedAt],
  )
  assert.ok(late!.ms === null || late!.ms < takenUpWithinMs, `the last was picked up ${late!.ms} ms after the restart`)
  const perOrder = new Map<string, number>()
  for (const { orderId } of await desk.entries()) perOrder.set(orderId, (perOrder.get(orderId) ?? 0) + 1)
  assert.deepEqual(
    [...perOrder].filter(([, count]) => count > 1),
    [],
  )
  const untold = () =>
    desk.rows(`select order_id from orders o where not exists (
      select from delivery d where d.order_id = o.order_id and d.merchant_id = o.merchant_id and d.state = 'delivered')`)
  await until(untold, (rows) => rows.length === 0, 120_000)
  assert.deepEqual(await untold(), [])
})
