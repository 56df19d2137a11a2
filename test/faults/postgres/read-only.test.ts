import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * The database takes no writes for a while, as a primary that was demoted, or one that is being
 * promoted. What connects meanwhile may only read, for the life of its connection: whoever keeps
 * such a connection is stuck with it.
 */

let way!: DatabaseProxy
const world = await openWorld({ through: async (url) => (way = closing(await openDatabaseProxy(url))).url })
const desk = closing(await openFaultDesk(world))

const gatewayLog = (): string => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')

const sell = (count: number): Promise<Order[]> => Promise.all(Array.from({ length: count }, () => order(world)))

test('a server takes no writes for a while: payments answered meanwhile are approved, requests wait', async () => {
  const name = new URL(world.databaseUrl).pathname.slice(1)
  await desk.script({}, { delay_ms: 1_500 })
  const answered = await sell(20)
  await until(desk.entries, (all) => all.length === 20)
  await desk.rows(`alter database ${name} set default_transaction_read_only = on`)
  way.cutAll()
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
})
