import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { accepted, order, postSale, send, settled, signedSale, type Order } from '../../conformance/requests/client.ts'
import { v4 } from '../../conformance/requests/oauth.ts'
import { times } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { until } from '../../harness/clock/until.ts'

/** The clock of the machine of one of two gateways jumps; the database's does not. */

const program = fileURLToPath(new URL('../../harness/clock/jumping-serve.js', import.meta.url))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, closing(await openReceiver(() => 200)))
const jumping = closing(await startServe(world, program))

async function jump(ms: number): Promise<void> {
  await send('POST', `${new URL(jumping.world.baseUrl).origin}/jump/${ms}`)
  const ahead = (await metricsOf(jumping.world))('tollgate_clock_ahead_seconds') ?? 0
  assert.ok(Math.abs(ahead - ms / 1_000) < 60, `it is ${ahead} s ahead`)
}

const stepOf = async ({ orderid }: Order) =>
  (await desk.rows<{ step: string | null }>('select step from orders where order_id = $1', [orderid]))[0]!.step
const now = async () => (await desk.rows<{ at: Date }>('select clock_timestamp() as at'))[0]!.at

const hour = 3_600_000
// oxfmt-ignore
const jumps: readonly [string, number][] = [
  ['five hours forward', 5 * hour],
  ['five hours back',   -5 * hour],
  ['a month forward',  720 * hour],
  ['a month back',    -720 * hour],
]
for (const [what, ms] of jumps)
  test(`${what}: it pays, repeats and verifies as the others do, and ends the waits that are over, no others`, async () => {
    const [waiting, overdue] = [await stage.atMethod({ cvv2: '123' }), await stage.atMethod()]
    const since = await now()
    await jump(ms)

    const fields = signedSale(world)
    const first = accepted(await postSale(jumping.world, fields))
    assert.equal(accepted(await postSale(world, fields)).orderid, first.orderid)
    const sold = [first, ...(await times(5, () => order(jumping.world)))]
    for (const one of sold) assert.equal((await settled(world, one)).status, 'approved')
    const { client_orderid, orderid } = first
    // Its signature has the right time, and is refused five minutes before or after it.
    assert.equal((await v4(jumping.world, 'status', { client_orderid, orderid })).status, 'approved')
    const inTime = await desk.rows(
      `select from all_attempts a join orders o using (merchant_id, order_id)
       where o.order_id = any ($1::bigint[]) and o.created_at between $2 and $3 and a.started_at between $2 and $3
         and a.deadline_at between $2 and $3::timestamptz + interval '10 minutes'`,
      [sold.map((one) => one.orderid), new Date(since.getTime() - 1_000), new Date((await now()).getTime() + 1_000)],
    )
    assert.equal(inTime.length, sold.length)

    // Alone, it looks for everything that is due in one statement.
    process.kill(world.pid, 'SIGSTOP')
    await desk.rows('update orders set due_at = now() where order_id = $1', [overdue.orderid])
    assert.equal(
      await until(
        () => stepOf(overdue),
        (step) => step === null,
      ),
      null,
    )
    assert.equal(await stepOf(waiting), 'await method')
    process.kill(world.pid, 'SIGCONT')
    await stage.uploadMethod(waiting)
    await stage.isApproved(waiting)
    assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  })
