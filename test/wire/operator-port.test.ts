import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { metricsOf } from '../harness/metrics.ts'
import { openWorld } from '../harness/opening.ts'
import { startServe } from '../harness/serve.ts'
import { holds } from '../harness/until.ts'

/** Health, readiness and metrics have a port of their own. */

const world = await openWorld()

test("the operator's paths are not on the port of the API, nor the API's on the operator's", async () => {
  for (const path of ['/health', '/ready', '/metrics']) {
    assert.equal((await fetch(new URL(path, world.baseUrl))).status, 404, path)
    assert.equal((await fetch(world.operatorUrl + path)).status, 200, path)
    const headed = await fetch(world.operatorUrl + path, { method: 'HEAD' })
    assert.deepEqual([headed.status, await headed.text()], [200, ''], path)
  }
  const { pathname } = new URL(`${world.baseUrl}/api/v2/status/${world.endpoints.plain}`)
  assert.equal((await fetch(world.operatorUrl + pathname, { method: 'POST' })).status, 404)
})

test('while strangers hold all connections of the API, health, readiness and metrics answer', { timeout: 120_000 }, async () => {
  const { world: full, child, stop } = await startServe(world, undefined, { MAX_CONNECTIONS: '40' })
  const refused = async (limit: string) => (await metricsOf(full))(`tollgate_connections_refused_total{limit="${limit}"}`)
  const { port } = new URL(full.baseUrl)
  const held: Socket[] = []
  const hold = (count: number, localAddress: (at: number) => string) => {
    for (let at = 0; at < count; at++)
      held.push(connect({ host: '127.0.0.1', port: Number(port), localAddress: localAddress(at) }).on('error', () => {}))
  }
  try {
    // Without a setting a fifth of them may be of one address.
    hold(9, () => '127.1.0.9')
    await holds(async () => (await refused('address')) === 1, 'the ninth of one address is refused', 60_000)
    hold(40, (at) => `127.1.0.${1 + (at % 5)}`)
    await holds(async () => (await refused('all')) === 8, 'all connections are held', 60_000)
    assert.equal((await metricsOf(full))('tollgate_connections'), 40)
    for (const path of ['/health', '/ready', '/metrics']) assert.ok((await fetch(full.operatorUrl + path)).ok, path)
    assert.equal(child.exitCode, null)
  } finally {
    for (const socket of held) socket.destroy()
    await stop()
  }
})
