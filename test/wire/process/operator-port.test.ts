import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { startServe } from '../../harness/world/serve.ts'
import { askAs } from '../../harness/world/stranger.ts'
import { holds } from '../../harness/clock/until.ts'

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

test('health, readiness and metrics answer any address, localhost and names that the operator gives, and no other', async () => {
  const { world: named, stop } = await startServe(world, undefined, { OPERATOR_NAMES: 'Gateway.internal, gw-1' })
  try {
    for (const path of ['/health', '/ready', '/metrics']) {
      const status = async (host: string) => (await askAs(named.operatorUrl + path, { host })).status
      const { port } = new URL(named.operatorUrl)
      for (const name of [
        'localhost',
        'LOCALHOST',
        '127.0.0.1',
        '[::1]',
        '10.0.0.5',
        '[2001:db8::5]',
        'gateway.internal',
        'gw-1',
      ])
        for (const host of [name, `${name}:${port}`]) assert.equal(await status(host), 200, host)
      for (const host of ['elsewhere.example', `elsewhere.example:${port}`, '127.0.0.1.elsewhere.example', '0x7f.1', 'internal'])
        assert.equal(await status(host), 421, host)
    }
    const { hostname, port } = new URL(named.operatorUrl)
    const old = connect({ host: hostname, port: Number(port) })
    old.write('GET /health HTTP/1.0\r\n\r\n')
    assert.match(await text(old), /^HTTP\/1.1 200 /)
  } finally {
    await stop()
  }
  assert.equal((await askAs(`${world.operatorUrl}/metrics`, { host: 'gateway.internal' })).status, 421)
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

test(
  'while strangers send a hundred thousand requests ahead to both ports, others are served, and it stops in time',
  { timeout: 120_000 },
  async () => {
    const { world: full, child, stop } = await startServe(world)
    const [api, operator] = [full.baseUrl, full.operatorUrl].map((url) => Number(new URL(url).port))
    const figures = async () => {
      const metric = await metricsOf(full)
      return { begun: metric('tollgate_read_total{unit="requests"}')!, bytes: metric('process_resident_memory_bytes')! }
    }
    const before = await figures()
    const path = `${new URL(full.baseUrl).pathname}/api/v2/status/${world.endpoints.plain}`
    const form = 'content-type: application/x-www-form-urlencoded\r\ncontent-length: 7'
    const asked = `POST ${path} HTTP/1.1\r\nhost: a\r\n${form}\r\n\r\nlogin=a`
    const strangers = Array.from({ length: 200 }, (_, at) => {
      const isApi = at % 2 === 0
      const client = connect({ host: '127.0.0.1', port: isApi ? api! : operator!, localAddress: '127.1.0.9' })
      client.on('error', () => {}).resume()
      client.write((isApi ? asked : 'GET /ready HTTP/1.1\r\nhost: a\r\n\r\n').repeat(1_000))
      return client
    })
    try {
      await holds(async () => (await figures()).begun > before.begun + 1_000, 'they are being served')
      const earlier = await figures()
      for (let at = 0; at < 5; at++) {
        assert.equal((await fetch(`${full.baseUrl}/api/v2/status/${world.endpoints.plain}`, { method: 'POST' })).status, 200)
        assert.equal((await fetch(`${full.operatorUrl}/ready`)).status, 200)
      }
      const later = await figures()
      assert.ok(later.begun - earlier.begun < 20_000, `${later.begun - earlier.begun} requests of strangers began meanwhile`)
      assert.ok(later.bytes - before.bytes < 400 * 1_048_576, `${(later.bytes - before.bytes) / 1_048_576} MiB more`)
      assert.ok(later.begun < before.begun + 90_000, 'most of theirs stand there still')
      const asks = performance.now()
      child.kill('SIGTERM')
      await holds(() => child.exitCode !== null || child.signalCode !== null, 'it has ended')
      assert.equal(child.exitCode, 0)
      assert.ok(performance.now() - asks < 15_000, `it took ${performance.now() - asks} ms`)
    } finally {
      for (const client of strangers) client.destroy()
      await stop()
    }
  },
)
