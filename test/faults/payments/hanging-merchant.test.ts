import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, notEmpty, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** A merchant's server that takes calls and never answers, with 1,000 callbacks waiting for it. */

let hanging = true
const waiting = 1_000

const hangs = closing(await openReceiver(() => (hanging ? 'hang' : 200)))
const answers = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))

let others = 0
/** The other merchant sells; answers how long after the outcome its callback came. */
async function otherIsToldAfterMs(): Promise<number> {
  const path = `/other/${++others}`
  const as = { login: world.other.login, controlKey: world.other.controlKey }
  const sold: Order = await order(world, { server_callback_url: `${answers.origin}${path}` }, { path: world.other.endpoint, as })
  const [call] = await until(() => answers.calls(path), notEmpty)
  assert.ok(call, 'the other merchant was notified')
  const [row] = await desk.rows<{ at: number }>(
    'select extract(epoch from final_at)::float8 * 1000 as at from orders where order_id = $1',
    [sold.orderid],
  )
  return call.at - row!.at
}

test('1,000 callbacks that hang delay no callback of another merchant, at any time', async () => {
  let next = 0
  const shop = async () => {
    while (next < waiting) await order(world, { server_callback_url: `${hangs.origin}/${next++}` })
  }
  const selling = Promise.all(Array.from({ length: 32 }, shop))
  const delays = [await otherIsToldAfterMs()]
  await selling
  // A sale is accepted before it has an outcome to report.
  const waitingCalls = `select count(*)::int as n from delivery where state = 'due' and origin = $1`
  const due = async () => (await desk.rows<{ n: number }>(waitingCalls, [hangs.origin]))[0]!.n
  assert.equal(await until(due, (n) => n >= waiting, 120_000), waiting)
  // Past the first calls, which time out after 10 s and open the breaker, and the probes after
  // that.
  const since = performance.now()
  while (performance.now() - since < 15_000 || delays.length < 10) {
    delays.push(await otherIsToldAfterMs())
    await until(
      () => performance.now(),
      (now) => now - since > delays.length * 500,
    )
  }
  // Behind a hanging call it would be ten seconds, because each one waits for the one before.
  assert.ok(Math.max(...delays) < 9_000, `the slowest came after ${Math.max(...delays)} ms`)
})

test('the breaker spares a merchant that does not answer, and when he answers again all he waits for arrives', async () => {
  const count = async () =>
    (
      await desk.rows<{ tries: number; delivered: number }>(
        `select sum(tries)::int as tries, count(*) filter (where state = 'delivered')::int as delivered
         from delivery where origin = $1`,
        [hangs.origin],
      )
    )[0]!
  const { tries, delivered } = await count()
  assert.equal(delivered, 0)
  // 32 calls time out together after 10 s; then the lane is open, and probed by one call at a time.
  assert.ok(tries >= 10 && tries < 100, `${tries} tries`)
  hanging = false
  const seen = await until(count, (now) => now.delivered === waiting, 240_000)
  assert.equal(seen.delivered, waiting)
})
