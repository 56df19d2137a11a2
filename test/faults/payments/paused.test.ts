import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, statusOf, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { startServe } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * A gateway that stops for longer than its answers are waited for, as a machine that is suspended
 * does, while another takes over what it had in hand.
 */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 10_000 })
const other = closing(await startServe(world))
closing({ close: () => process.kill(world.pid, 'SIGCONT') })

const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))
const isTaken = `select count(*)::int as n from all_events where event = 'lease lost'`
const takenOver = async (): Promise<number> => (await desk.rows<{ n: number }>(isTaken))[0]!.n

/** Each ends once, with one callback. (As in production, the second gateway calls no loopback.) */
async function endedOnce(sold: Order[]): Promise<void> {
  const ends = await desk.rows<{ ends: number; callbacks: number }>(
    `select (select count(*)::int from all_events e where e.order_id = o.order_id and transaction_no = 1
         and to_state in ('approved', 'declined', 'error')) as ends,
       (select count(*)::int from delivery d where d.order_id = o.order_id) as callbacks
     from orders o where order_id = any ($1::bigint[])`,
    [sold.map(({ orderid }) => orderid)],
  )
  assert.equal(ends.length, sold.length)
  for (const row of ends) assert.deepEqual(row, { ends: 1, callbacks: 1 })
}

test('paused for 20 s with authorisations under way: another takes over, each is sent once and has one end', async () => {
  await desk.script({}, { delay_ms: 9_000 })
  const sold = await times(30, () => order(world, { server_callback_url: 'http://127.0.0.1:9/' }))
  await until(desk.entries, (all) => all.length >= 20)
  process.kill(world.pid, 'SIGSTOP')
  const stoppedAt = performance.now()
  assert.ok((await until(takenOver, (n) => n >= 20, 60_000)) >= 20)
  await desk.ended()
  await until(
    () => performance.now() - stoppedAt,
    (ms) => ms >= 20_000,
    25_000,
  )
  const ended = await times(30, (at) => statusOf(other.world, sold[at]!))
  process.kill(world.pid, 'SIGCONT')
  // It serves again, and says the same of every order.
  const again = await times(30, (at) => statusOf(world, sold[at]!))
  assert.deepEqual(
    again.map(({ status }) => status),
    ended.map(({ status }) => status),
  )
  assert.equal((await statusOf(world, await order(world))).type, 'status-response')
  await desk.ended(60_000)
  const { byType } = await desk.messages()
  assert.deepEqual([byType['1200'], byType['1201'] ?? 0], [(await desk.entries()).length, 0])
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await endedOnce(sold)
})

test('paused with authorisations that wait for the line: those that another process reversed are never sent', async () => {
  const earlier = await takenOver()
  await desk.line({ refuse: true, close_now: true })
  const sold = await times(20, () => order(world, { server_callback_url: 'http://127.0.0.1:9/' }))
  process.kill(world.pid, 'SIGSTOP')
  assert.ok((await until(takenOver, (n) => n >= earlier + 20, 60_000)) >= earlier + 20)
  process.kill(world.pid, 'SIGCONT')
  await desk.line({ refuse: false })
  await desk.ended()
  for (const one of sold) {
    assert.deepEqual(await desk.entries(one.orderid), [])
    const final = await statusOf(world, one)
    assert.deepEqual([final.status, final['error-code']], ['error', '911'])
  }
  assert.equal((await desk.messages()).forestalled, 0, 'an authorisation came after its reversal')
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await endedOnce(sold)
})
