import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { type World } from '../../harness/world/world.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** The database takes no writes for a while, or is gone, for one gateway process and for two. */

const merchant = closing(await openReceiver(() => 200))
let first: DatabaseProxy | undefined
const world = await openWorld({ through: async (url) => (first = closing(await openDatabaseProxy(url))).url })
const ways = [first!, closing(await openDatabaseProxy(world.databaseUrl))] as const
const desk = closing(await openFaultDesk(world))
const sell = (count: number, through: World = world): Promise<Order[]> =>
  Promise.all(Array.from({ length: count }, () => order(through)))
const gatewayLog = (): string => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')

/**
 * As a primary that was demoted, or one that is being promoted. What connects meanwhile may only
 * read, for the life of its connection: whoever keeps such a connection is stuck with it.
 */
test('a server takes no writes for a while: payments answered meanwhile are approved, requests wait', async () => {
  const name = new URL(world.databaseUrl).pathname.slice(1)
  const unscript = await desk.script({}, { delay_ms: 1_500 })
  const answered = await sell(20)
  await until(desk.entries, (all) => all.length === 20)
  await desk.rows(`alter database ${name} set default_transaction_read_only = on`)
  ways[0].cutAll()
  const waiting = sell(10)
  assert.equal(await until(desk.answers, (count) => count >= 20), 20)
  const tried = /"failure":"connection".*read-only transaction/
  assert.match(await until(gatewayLog, (text) => tried.test(text)), tried)
  await desk.rows(`alter database ${name} reset default_transaction_read_only`)
  for (const one of [...answered, ...(await waiting), ...(await sell(10))]) {
    const seen = await untilStatus(world, one, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
    assert.equal(seen.status, 'approved')
    assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  }
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  await unscript()
})

const seconds = async (): Promise<number> =>
  (await desk.rows<{ at: number }>('select extract(epoch from clock_timestamp())::float8 as at'))[0]!.at

/** Each process has its own way to the database, which comes back to one a little earlier. */
test('the database is away for ten seconds: payments answered meanwhile are approved, whichever process is first', async () => {
  // A silent process is then dead for its payments after 8.5 s: the outage alone is longer.
  await desk.gate({ answerTimeoutMs: 4_500 })
  const second = closing(await startServe({ ...world, databaseUrl: ways[1].url }))
  // None has it in hand; who reaches the database takes it up, and looks at everything else that
  // is due in the same statement.
  const resting = await openStage(world, desk, merchant).atMethod()
  await desk.script({}, { delay_ms: 3_000 })
  const [entered, answered] = [(await desk.entries()).length, await desk.answers()]
  const sold = [...(await sell(10)), ...(await sell(10, second.world))]
  await until(desk.entries, (all) => all.length === entered + 20)
  for (const way of ways) way.refuse()
  const goneAt = await seconds()
  assert.equal(await until(desk.answers, (count) => count === answered + 20), answered + 20)
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
