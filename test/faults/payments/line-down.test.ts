import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, statusOf, notEmpty, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { sendWithinMs } from '../../harness/world/world.ts'

/** The acquirer refuses connections. A payment that was never sent charges and owes nothing. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 1_500 })

const sell = (path: string): Promise<Order> => order(world, { server_callback_url: `${merchant.origin}${path}` })
const finalOf = (sold: Order, withinMs: number) =>
  until(
    () => statusOf(world, sold),
    ({ status }) => status !== 'processing' && status !== 'unknown',
    withinMs,
  )

test('an authorisation waits for a line that comes back in time', async () => {
  await desk.line({ refuse: true, close_now: true })
  const sold = await Promise.all([sell('/1'), sell('/2'), sell('/3')])
  // Longer than the gate waits for an answer: that time counts from the moment of sending.
  await until(
    () => desk.rows<{ down: boolean }>(`select max(started_at) < now() - interval '2 seconds' as down from all_attempts`),
    ([row]) => row!.down,
  )
  for (const one of sold) assert.equal((await statusOf(world, one)).status, 'processing')
  await desk.line({ refuse: false })
  for (const one of sold) {
    assert.equal((await finalOf(one, 60_000)).status, 'approved')
    assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  }
})

test('a payment not sent in time ends in error 909, without a reversal and with one callback', async () => {
  await desk.line({ refuse: true, close_now: true })
  const since = performance.now()
  const sold = await sell('/never-sent')
  const final = await finalOf(sold, 120_000)
  const tookMs = performance.now() - since
  assert.deepEqual([final.status, final['order-stage'], final['error-code']], ['error', 'sale_error', '909'])
  assert.ok(tookMs > sendWithinMs - 500, `given up after ${Math.round(tookMs)} ms`)
  await desk.line({ refuse: false })
  assert.deepEqual(await desk.entries(sold.orderid), [])
  assert.deepEqual(await desk.attempts(sold.orderid), ['1 sale not sent'])
  const calls = await until(() => merchant.calls('/never-sent'), notEmpty)
  assert.deepEqual(
    calls.map(({ query }) => [query.get('status'), query.get('error_code')]),
    [['error', '909']],
  )
})

test('then the next one goes, nothing was sent twice, and the books are equal', async () => {
  assert.equal((await finalOf(await sell('/after'), 60_000)).status, 'approved')
  assert.deepEqual((await desk.messages()).byType['1200'], 4)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
})
