import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { openTurns } from '../../src/base/turn.ts'
import { openServer } from '../../src/http/server.ts'

/** A process listens before it can serve, since others must know its address. */

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
