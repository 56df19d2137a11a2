import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { order, settled } from '../conformance/client.ts'
import { metricsOf } from '../harness/metrics.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { pidsOf } from '../harness/processes.ts'
import { startServe } from '../harness/serve.ts'
import { until } from '../harness/until.ts'

/** `serve --processes`: which of its processes accept connections. */

const world = await openWorld()
const limits = { MAX_CONNECTIONS: '4', MAX_CONNECTIONS_PER_ADDRESS: '4' }
const gateway = closing(await startServe(world, undefined, { PROCESSES: '2', ...limits }))
const { hostname: host, port } = new URL(gateway.world.baseUrl)

/** What the metrics say of a process; `share` is how much it allows by the limit `pair`. */
async function seen(slot: number): Promise<{ accepts: boolean; sales: number; share: number }> {
  const figure = await metricsOf(gateway.world)
  return {
    accepts: figure(`tollgate_process_accepting{slot="${slot}"}`) === 1,
    sales: figure(`tollgate_requests_total{slot="${slot}",operation="sale",outcome="ok"}`) ?? 0,
    share: figure(`tollgate_limit_share{slot="${slot}",limit="pair"}`)!,
  }
}
const both = () => Promise.all([0, 1].map(seen))

/** Waits until those and no others accept connections, and know it. */
async function accepting(slots: readonly number[]) {
  await until(both, (all) => all.every(({ accepts }, slot) => accepts === slots.includes(slot)))
  // Whoever answers has followed what the parent told it before.
  return both()
}

/** A client that keeps its connection: what each reply says of it. */
function openClient() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    close: () => agent.destroy(),
    async ask() {
      const [response] = (await once(get({ host, port, agent, path: '/gateway/' }), 'response')) as [IncomingMessage]
      response.resume()
      await once(response, 'end')
      return response.headers.connection
    },
  }
}

test('the first one accepts all while it is not full, with the share of both in the limits of access', async () => {
  await accepting([0])
  for (let sales = 1; sales <= 8; sales++) await order(gateway.world)
  const [first, second] = await accepting([0])
  assert.deepEqual([first!.sales, second!.sales], [8, 0])
  await until(both, ([one, other]) => one!.share === 2 * other!.share)
})

test('when it has all connections that it may have, the second one accepts others, and gets half of them', async () => {
  const clients = Array.from({ length: 4 }, openClient)
  try {
    for (const { ask } of clients) assert.equal(await ask(), 'keep-alive')
    await accepting([1])
    const said = []
    for (const { ask } of clients) said.push(await ask())
    assert.deepEqual(said, ['keep-alive', 'close', 'keep-alive', 'close'])
    await accepting([0, 1])
    await order(gateway.world)
  } finally {
    for (const { close } of clients) close()
  }
})

test('when they have nothing to do, the first one is enough again', async () => {
  await accepting([0])
})

test('while the first one stands still the second one serves', async () => {
  await accepting([0])
  const [first] = pidsOf(gateway, 0)
  process.kill(first!, 'SIGSTOP')
  try {
    assert.equal((await settled(gateway.world, await order(gateway.world))).status, 'approved')
  } finally {
    process.kill(first!, 'SIGCONT')
  }
})
