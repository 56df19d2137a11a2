import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openServer, type Incoming } from '../../../src/http/server.ts'
import { freePort } from '../../harness/world/port.ts'
import { holds } from '../../harness/clock/until.ts'

/** A server before it has routes, and requests before they have their turn. */

test('a server answers 503 until it is given its routes, and then by them on the same connection', async () => {
  const log = openLog({ level: 'silent', destination: process.stdout })
  const limits = { maxBodiesBytes: 1_000, maxConnections: 10 }
  const settings = { host: '127.0.0.1', port: 0, ...limits, turns: openTurns(nextTurn), random: systemRandom, log }
  const server = await openServer(settings)
  const ask = () => fetch(`http://127.0.0.1:${server.port}/here`)
  const early = await ask()
  assert.deepEqual([early.status, early.headers.get('retry-after')], [503, '1'])
  await early.text()
  await server.serve([{ method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) }])
  const served = await ask()
  assert.deepEqual([served.status, await served.text()], [200, 'served'])
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/there`)).status, 404)
  await server.close(1_000)
  await assert.rejects(ask())
})

test('a server that joins others at their port listens with its routes, not before', async () => {
  const log = openLog({ level: 'silent', destination: process.stdout })
  const limits = { maxBodiesBytes: 1_000, maxConnections: 10 }
  const place = { host: '127.0.0.1', port: await freePort(), sharing: 'joins' } as const
  const server = await openServer({ ...place, ...limits, turns: openTurns(nextTurn), random: systemRandom, log })
  const ask = () => fetch(`http://127.0.0.1:${place.port}/here`)
  await assert.rejects(ask())
  await server.serve([{ method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) }])
  assert.equal(await (await ask()).text(), 'served')
  await server.close(1_000)
  await assert.rejects(ask())
})

test('a request whose connection has closed while it waited for its turn never begins', { timeout: 20_000 }, async () => {
  const log = openLog({ level: 'silent', destination: process.stdout })
  let socket: Socket | undefined
  let waited = false
  const seen = (message: unknown) => ({ socket } = message as { socket: Socket })
  subscribe('http.server.request.start', seen)
  const turns = {
    async begin() {
      socket!.destroy()
      waited = true
    },
  }
  const limits = { maxBodiesBytes: 1_000, maxConnections: 10 }
  const server = await openServer({ host: '127.0.0.1', port: 0, ...limits, turns, random: systemRandom, log })
  let begun = 0
  const handle = () => (begun++, { status: 200, type: 'text/plain', body: '' })
  await server.serve([{ method: 'POST', path: '/here', handle }])
  await assert.rejects(fetch(`http://127.0.0.1:${server.port}/here`, { method: 'POST', body: 'a' }))
  unsubscribe('http.server.request.start', seen)
  await server.close(1_000)
  assert.deepEqual([waited, begun], [true, 0])
})

test(
  'while too many requests wait for their turn, those of every route are refused at once, new work first',
  { timeout: 20_000 },
  async () => {
    const log = openLog({ level: 'silent', destination: process.stdout })
    const begins: (() => void)[] = []
    const turns = {
      begin: (mostWaiting = Infinity) =>
        begins.length < mostWaiting ? new Promise<void>((resolve) => void begins.push(resolve)) : ('full' as const),
    }
    const limits = { maxBodiesBytes: 1_000, maxConnections: 10, maxWaiting: 2 }
    const server = await openServer({ host: '127.0.0.1', port: 0, ...limits, turns, random: systemRandom, log })
    const handle = ({ overloaded, body }: Incoming) => ({
      status: 200,
      type: 'text/plain',
      body: `${body!.toString()} ${overloaded}`,
    })
    await server.serve([
      { method: 'POST', path: '/pay', isShed: true, refusesItself: true, handle },
      { method: 'POST', path: '/look', handle },
    ])
    const post = async (path: string, body: string) =>
      (await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body })).text()
    const waiting = [post('/pay', 'first'), post('/pay', 'second')]
    await holds(() => begins.length === 2, 'two requests wait')
    assert.equal(await post('/pay', 'third'), 'third true')
    waiting.push(post('/look', 'fourth'))
    await holds(() => begins.length === 3, 'a request that begins no work waits like others')
    assert.equal(await post('/look', 'fifth'), 'Too many requests wait\n')
    for (const begin of begins) begin()
    assert.deepEqual(await Promise.all(waiting), ['first false', 'second false', 'fourth false'])
    await server.close(1_000)
  },
)
