import assert from 'node:assert/strict'
import { test } from 'node:test'
import { order, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { type World } from '../../harness/world/world.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * Two gateway processes, each with its own way to one database, which is gone for both for ten
 * seconds and comes back to one a little earlier.
 */

const merchant = closing(await openReceiver(() => 200))
let first: DatabaseProxy | undefined
const world = await openWorld({ through: async (url) => (first = closing(await openDatabaseProxy(url))).url })
const ways = [first!, closing(await openDatabaseProxy(world.databaseUrl))] as const
const desk = closing(await openFaultDesk(world))
// A silent process is then dead for its payments after 8.5 s: the outage alone is longer.
await desk.gate({ answerTimeoutMs: 4_500 })
const second = closing(await startServe({ ...world, databaseUrl: ways[1].url }))
closing({
  close() {
    for (const way of ways) way.accept()
  },
})

const sell = (through: World, count: number): Promise<Order[]> => Promise.all(Array.from({ length: count }, () => order(through)))

const seconds = async (): Promise<number> =>
  (await desk.rows<{ at: number }>('select extract(epoch from clock_timestamp())::float8 as at'))[0]!.at

test('the database is away for ten seconds: payments answered meanwhile are approved, whichever process is first', async () => {
  // None has it in hand; who reaches the database takes it up, and looks at everything else that
  // is due in the same statement.
  const resting = await openStage(world, desk, merchant).atMethod()
  await desk.script({}, { delay_ms: 3_000 })
  const sold = [...(await sell(world, 10)), ...(await sell(second.world, 10))]
  await until(desk.entries, (all) => all.length === 20)
  for (const way of ways) way.refuse()
  const goneAt = await seconds()
  assert.equal(await until(desk.answers, (count) => count === 20), 20)
  await desk.rows(`update orders set due_at = now() where order_id = $1 and step = 'await method'`, [resting.orderid])
  await until(seconds, (now) => now >= goneAt + 10)
  ways[0].accept()
  const rests = () => desk.rows<{ state: string }>('select state from all_transactions where order_id = $1', [resting.orderid])
  assert.equal((await until(rests, ([row]) => row!.state === 'declined'))[0]!.state, 'declined')
  ways[1].accept()
  await until(desk.books, ({ open }) => open === 0)
  for (const one of sold) assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
})
