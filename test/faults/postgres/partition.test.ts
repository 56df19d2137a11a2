import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, postSale, sale, settled, signedSale, statusOf, type Order } from '../../conformance/requests/client.ts'
import { times } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { startServe } from '../../harness/world/serve.ts'
import { holds, until } from '../../harness/clock/until.ts'

/**
 * The network between one gateway and its database drops what it is given, in silence, while
 * another gateway goes on. Both reach the acquirer.
 */

let way: DatabaseProxy
const world = await openWorld({
  through: async (url) => (way = closing(await openDatabaseProxy(url))).url,
  // So that it is the lost lease that keeps a message back.
  env: { TOLLGATE_SEND_WITHIN_MS: '30000' },
})
const desk = closing(await openFaultDesk(world))
await desk.gate({ answerTimeoutMs: 5_000 })
const other = closing(await startServe(world))

const takenOver = async (sold: readonly Order[]): Promise<number> =>
  (
    await desk.rows<{ n: number }>(
      `select count(*)::int as n from all_events where event = 'lease lost' and order_id = any ($1::bigint[])`,
      [sold.map(({ orderid }) => orderid)],
    )
  )[0]!.n

/** Both gateways say the same of them, once the one that was cut off serves again. */
async function ended(sold: readonly Order[], as: string): Promise<void> {
  const served = async () => (await metricsOf(world))('tollgate_cell_open{cell="0"}')
  await until(served, (open) => open === 1)
  for (const gateway of [world, other.world])
    for (const one of sold) {
      const { status, 'error-code': code = '' } = await statusOf(gateway, one)
      assert.equal(`${status} ${code}`.trim(), as)
    }
}

async function nothingTwice(): Promise<void> {
  const { byType, forestalled } = await desk.messages()
  assert.deepEqual([byType['1200'], byType['1201'] ?? 0, forestalled], [(await desk.entries()).length, 0, 0])
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
}

test('no answer of the database arrives, with authorisations under way: the other gateway takes them back', async () => {
  const forget = await desk.script({ amount_minor: '7001' }, { delay_ms: 2_000 })
  const sold = await times(10, () => order(world, { amount: '70.01' }))
  await until(desk.entries, (all) => all.length === 10)
  way.pause('answers')
  // Its statements are carried out, and the gateway does not hear of it.
  const unheard = signedSale(world, { amount: '70.02' })
  const reply = postSale(world, unheard)
  for (const one of await times(10, () => order(other.world))) assert.equal((await settled(other.world, one)).status, 'approved')
  assert.equal(
    await until(
      () => takenOver(sold),
      (n) => n === 10,
    ),
    10,
  )
  assert.equal((await reply).type, 'error')
  const { 'error-code': code } = await until(
    () => sale(world),
    (seen) => seen['error-code'] === '20',
  )
  assert.equal(code, '20', 'after ten seconds it is refused immediately')
  await desk.ended()
  way.resume()
  await forget()
  await ended(sold, 'error 911')
  // The merchant asks the other one again. What was stored unheard ended without a charge.
  const again = await postSale(other.world, unheard)
  assert.equal(again.type, 'async-response')
  await desk.ended()
  await nothingTwice()
})

test('nothing passes, with authorisations that wait for their line: the cut-off gateway never sends them', async () => {
  await desk.line({ refuse: true, close_now: true })
  const sold = await times(10, () => order(world))
  const before = (await desk.entries()).length
  way.pause()
  assert.equal(
    await until(
      () => takenOver(sold),
      (n) => n === 10,
    ),
    10,
  )
  await desk.line({ refuse: false })
  const lines = async () => {
    const metric = await metricsOf(world)
    const gates = metric.names().filter((name) => name.startsWith('tollgate_gate_up{'))
    return gates.every((name) => metric(name) === 1)
  }
  await holds(lines, 'its lines are up')
  await desk.ended()
  assert.equal((await desk.entries()).length, before)
  way.resume()
  await ended(sold, 'error 911')
  for (const one of sold) assert.deepEqual(await desk.entries(one.orderid), [])
  await nothingTwice()
})
